//! bpf/: DIF translated to programs of the kernel's BPF machine, for kernels without the module.

pub mod asm;
pub mod btf;
mod found;
mod groups;
mod helper;
mod image;
pub mod insn;
pub mod kernel;
pub mod library;
pub mod listing;
pub mod machine;
pub mod memory;
pub mod missing;
pub mod needs;
pub mod object;
mod offsets;
pub mod program;
pub mod reader;
mod rooms;
pub mod support;
pub mod tuple;

pub use found::{By, Found};
pub use image::{Home, Image, Located, Unable, Unit};

//! sites/target/: one kernel, running or under a sysroot: its modules, their symbols, their files. Everything is lazy.

mod data;
pub(super) mod drivers;
mod files;
mod kernel;
pub(super) mod loaded;
mod modules;
mod own;
pub(super) mod program;
pub(super) mod refusals;
mod running;
mod set;
pub mod stack;
mod symbolized;
mod tree;
pub(super) mod unloaded;

pub use kernel::Kernel;
pub use modules::Module;
pub use symbolized::Symbolized;

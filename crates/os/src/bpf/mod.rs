//! os/bpf/: bpf(2): maps, programs, types, and attaching programs.

mod attached;
mod map;
mod program;
mod syscall;
mod types;
mod uprobe;

pub use attached::{Attached, Counted, attach};
pub use map::{Map, MapKind};
pub use program::{Function, Program, ProgramKind};
pub use types::{ModuleTypes, Types};
pub use uprobe::{InFile, uprobe_events};

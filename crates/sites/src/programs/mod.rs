//! sites/programs/: programs and libraries in which probes are placed: the files of a process, or one file.

mod file;
pub(crate) mod golang;
mod names;
mod placing;
mod process;
mod refusals;
mod set;

pub use file::ProgramFile;
pub use names::{libraries, library};
pub(crate) use refusals::{many_processes, no_debug_information, no_function, only_inlined};
pub(crate) use set::Meant;
pub use set::Programs;

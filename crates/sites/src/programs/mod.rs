//! sites/programs/: programs and libraries in which probes are placed: the files of a process, or one file.

mod file;
pub(crate) mod golang;
mod missing;
mod names;
mod placing;
mod process;
mod refusals;
mod servers;
mod set;
mod static_probes;

pub use file::ProgramFile;
pub use names::{libraries, library};
pub(crate) use refusals::{many_processes, no_debug_information, no_function, only_inlined};
pub(crate) use set::Meant;
pub use set::Programs;

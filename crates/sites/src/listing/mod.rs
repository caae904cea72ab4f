//! sites/listing/: contents of --disas, of probe descriptions and of stack frames; functions with their graphs.

pub mod about;
pub mod chosen;
pub mod disas;
pub mod frames;
pub mod members;
mod opened;
mod place;
pub mod programs;
mod searched;
mod unprobed;
pub(super) mod variables;
pub(super) mod verdict;

pub use place::Place;
pub use searched::{InPrograms, ProgramCode, Searched};
pub use unprobed::Unprobed;

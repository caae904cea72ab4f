//! sites/uprobe/: the instructions of a program that can have a uprobe, and the one that gets it.

mod judge;
mod kernel;
mod placing;
mod refused;

pub use judge::{Way, judge};
pub use kinst_os::uprobe::Nop5;
pub use placing::{Around, Freedom, Placed, Wish, place};
pub use refused::Refused;

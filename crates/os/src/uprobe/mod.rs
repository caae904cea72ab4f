//! os/uprobe/: a test whether the kernel preserves the stack of programs at probed nops.

mod leaf;
mod red_zone;

pub use red_zone::{Nop5, Untested, be_tested, nop5};

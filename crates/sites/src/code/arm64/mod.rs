//! sites/code/arm64/: the instructions of aarch64; the one home of yaxpeax-arm, which only writes them as text.

mod classes;
mod deciding;
mod flow;
mod set;
mod tables;
mod text;
mod words;

pub(super) use set::Arm64;

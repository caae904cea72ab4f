//! sites/code/arm64/: the instructions of aarch64; the only user of yaxpeax-arm, which disassembles.

mod classes;
mod deciding;
mod exclusive;
mod flow;
mod guard;
mod operand;
mod set;
mod tables;
mod text;
mod unhandled;
mod words;

pub(super) use set::Arm64;

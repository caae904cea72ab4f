//! sites/code/: the effects of instructions, and which of them can be traced.

mod arm64;
pub(super) mod deciding;
pub(super) mod decode;
pub(super) mod leaving;
pub(super) mod notes;
pub(super) mod operand;
pub(super) mod pclntab;
mod reader;
pub(super) mod refusal;
mod set;
pub(super) mod stapsdt;
pub(super) mod tables;
pub(super) mod x86;

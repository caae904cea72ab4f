//! sites/listing/: what `dtrace --disas` and the description of a probe are made of.

pub mod about;
pub mod disas;
pub(super) mod variables;

//! consumer/: records → text.

pub mod clock;
pub mod output;
pub mod printf;
pub mod symbols;

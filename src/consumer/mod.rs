//! consumer/: records → text.

pub mod aggregate;
pub mod clock;
pub mod message;
pub mod output;
pub mod places;
pub mod printf;
pub mod run;
pub mod sink;
pub mod symbols;
pub mod text;

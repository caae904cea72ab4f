//! consumer/: records → text.

pub mod aggregate;
pub mod clock;
pub mod enabled;
pub mod message;
pub mod output;
pub mod printf;
pub mod record;
pub mod run;
pub mod sink;
pub mod symbols;
pub mod text;

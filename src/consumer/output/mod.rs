//! consumer/output/: formatting of records as text.

pub mod bytes;
mod escape;
pub mod flow;
pub mod quantize;
pub mod shape;
pub mod stack;
mod text;

pub use escape::{escaped, visible};
pub use text::Text;

//! consumer/output/: formatting of records as text.

pub(crate) mod bytes;
mod escape;
pub(crate) mod flow;
pub(crate) mod quantize;
pub(crate) mod shape;
pub(crate) mod stack;
mod text;

pub(crate) use escape::{escaped, visible};
pub(crate) use text::Text;

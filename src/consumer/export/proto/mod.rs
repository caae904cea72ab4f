//! consumer/export/proto/: messages of Protocol Buffers, as far as they are written; the one home of prost.

pub mod profile;
pub mod trace;

pub use prost::Message;

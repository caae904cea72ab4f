//! consumer/export/proto/: messages of Protocol Buffers, as far as they are written; the one home of prost.

pub(super) mod profile;
pub(super) mod trace;

pub(super) use prost::Message;

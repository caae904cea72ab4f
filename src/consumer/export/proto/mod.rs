//! consumer/export/proto/: the Protocol Buffers messages that the formats write; the only user of prost.

pub(super) mod profile;
pub(super) mod trace;

pub(super) use prost::Message;

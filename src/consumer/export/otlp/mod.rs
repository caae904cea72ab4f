//! consumer/export/otlp/: -O otlp: metrics and logs for an OpenTelemetry collector, as OTLP/JSON.

pub(crate) mod collector;
mod envelope;
mod exporter;
mod logs;
mod points;
mod queue;
mod schema;
#[cfg(test)]
mod tests;

pub(crate) use envelope::Envelope;
pub(crate) use exporter::{Otlp, Receiver};

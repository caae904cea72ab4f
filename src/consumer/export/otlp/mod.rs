//! consumer/export/otlp/: -O otlp: metrics and logs for OpenTelemetry's collector, as OTLP/JSON.

pub mod collector;
mod envelope;
mod exporter;
mod logs;
mod points;
mod queue;
mod schema;
#[cfg(test)]
mod tests;

pub use envelope::Envelope;
pub use exporter::{Otlp, Receiver};

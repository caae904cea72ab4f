//! consumer/export/: -O: what becomes of a trace besides text.

pub mod destination;
mod exporter;
mod exports;
pub mod flame;
pub mod folded;
pub mod form;
pub mod json;
pub mod labels;
pub mod metrics;
pub mod otlp;
pub mod perfetto;
pub mod pprof;
pub mod profile;
pub mod prom;
mod proto;
mod tables;

pub use exporter::Export;
pub use exports::Exports;
pub use tables::Tables;

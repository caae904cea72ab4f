//! consumer/export/: -O: the output formats other than text.

pub(crate) mod destination;
mod exporter;
mod exports;
pub(crate) mod flame;
pub(crate) mod folded;
pub mod format;
pub(crate) mod json;
pub(crate) mod labels;
pub(crate) mod metrics;
pub(crate) mod otlp;
pub(crate) mod perfetto;
pub(crate) mod pprof;
pub(crate) mod profile;
pub(crate) mod prom;
mod proto;
mod tables;

pub use exporter::Export;
pub use exports::Exports;
pub use tables::Tables;

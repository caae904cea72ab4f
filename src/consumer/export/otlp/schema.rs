//! consumer/export/otlp/schema.rs: the messages of OTLP (opentelemetry-proto 1.x) in JSON encoding.
//!
//! In this encoding, 64-bit integers are strings, bytes are base64, and enumerators are numbers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize, Serializer};

/// AGGREGATION_TEMPORALITY_CUMULATIVE
pub(super) const CUMULATIVE: u32 = 2;

/// A 64-bit integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Int(pub i64);

impl Serialize for Int {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct KeyValue {
    pub key: String,
    pub value: AnyValue,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) enum AnyValue {
    #[serde(rename = "stringValue")]
    String(String),
    #[serde(rename = "intValue")]
    Int(Int),
    #[serde(rename = "doubleValue")]
    Double(f64),
    #[serde(rename = "bytesValue", serialize_with = "base64")]
    Bytes(Vec<u8>),
    #[serde(rename = "arrayValue")]
    Array { values: Vec<AnyValue> },
    #[serde(rename = "kvlistValue")]
    Record { values: Vec<KeyValue> },
}

fn base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

#[derive(Debug, Serialize)]
pub(super) struct Resource {
    pub attributes: Vec<KeyValue>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogRecord {
    pub time_unix_nano: Int,
    pub observed_time_unix_nano: Int,
    pub severity_number: u32,
    pub severity_text: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<AnyValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metric {
    pub name: String,
    pub description: String,
    #[serde(flatten)]
    pub data: Data,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Data {
    #[serde(rename_all = "camelCase")]
    Sum { data_points: Vec<NumberPoint>, aggregation_temporality: u32, is_monotonic: bool },
    #[serde(rename_all = "camelCase")]
    Gauge { data_points: Vec<NumberPoint> },
    #[serde(rename_all = "camelCase")]
    Histogram { data_points: Vec<HistogramPoint>, aggregation_temporality: u32 },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NumberPoint {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<KeyValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time_unix_nano: Option<Int>,
    pub time_unix_nano: Int,
    #[serde(flatten)]
    pub value: Number,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) enum Number {
    #[serde(rename = "asInt")]
    Int(Int),
    #[serde(rename = "asDouble")]
    Double(f64),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HistogramPoint {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<KeyValue>,
    pub start_time_unix_nano: Int,
    pub time_unix_nano: Int,
    pub count: Int,
    pub bucket_counts: Vec<Int>,
    pub explicit_bounds: Vec<f64>,
}

/// The answer to a request, as far as it reports rejected data.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Answer {
    pub partial_success: PartialSuccess,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PartialSuccess {
    rejected_log_records: Count,
    rejected_data_points: Count,
    pub error_message: String,
}

/// A count as a string or a number: collectors write both.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Count {
    Number(u64),
    Text(String),
}

impl Default for Count {
    fn default() -> Count {
        Count::Number(0)
    }
}

impl PartialSuccess {
    pub(super) fn rejected(&self) -> u64 {
        let count = |count: &Count| match count {
            Count::Number(number) => *number,
            Count::Text(text) => text.parse().unwrap_or(0),
        };
        count(&self.rejected_log_records).saturating_add(count(&self.rejected_data_points))
    }
}

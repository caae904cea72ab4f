//! consumer/export/otlp/envelope.rs: the envelope of a request: the resource and the scope of the data.

use super::queue::{Item, Signal};
use super::schema::{AnyValue, KeyValue, Resource};
use serde::Serialize;

/// The envelope around the items of a request, as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    pub(super) resource: String,
    scope: String,
}

impl Envelope {
    /// Makes an envelope for this program on this machine. It reads the environment variables of OpenTelemetry's SDKs.
    pub(crate) fn of_this_machine() -> Envelope {
        let variable = |name| std::env::var(name).unwrap_or_default();
        Envelope::new(
            &kinst_os::hostname(),
            &variable("OTEL_SERVICE_NAME"),
            &variable("OTEL_RESOURCE_ATTRIBUTES"),
        )
    }

    /// `attributes`: `key=value,key=value`, with commas and the like percent-encoded.
    pub(super) fn new(host: &str, service: &str, attributes: &str) -> Envelope {
        let mut all: Vec<(String, String)> = vec![
            ("service.name".into(), "kinst".into()),
            ("service.version".into(), env!("CARGO_PKG_VERSION").into()),
            ("host.name".into(), host.into()),
        ];
        let mut set = |key: &str, value: String| match all.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = value,
            None => all.push((key.into(), value)),
        };
        let pairs = attributes.split(',').filter_map(|pair| pair.split_once('='));
        for (key, value) in pairs.filter(|(key, _)| !key.trim().is_empty()) {
            set(key.trim(), unquoted(value.trim()));
        }
        if !service.is_empty() {
            set("service.name", service.into());
        }
        let attributes = all.into_iter().map(|(key, value)| text(&key, value)).collect();
        let scope = serde_json::json!({ "name": "kinst", "version": env!("CARGO_PKG_VERSION") });
        Envelope {
            resource: String::from_utf8(json(&Resource { attributes })).unwrap_or_default(),
            scope: scope.to_string(),
        }
    }

    /// Returns a request with these items.
    pub(crate) fn request(&self, signal: Signal, items: &[Item]) -> Vec<u8> {
        let (outer, inner, list) = match signal {
            Signal::Logs => ("resourceLogs", "scopeLogs", "logRecords"),
            Signal::Metrics { .. } => ("resourceMetrics", "scopeMetrics", "metrics"),
        };
        let Envelope { resource, scope } = self;
        let head =
            format!("{{\"{outer}\":[{{\"resource\":{resource},\"{inner}\":[{{\"scope\":{scope},\"{list}\":[");
        let mut request = head.into_bytes();
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                request.push(b',');
            }
            request.extend(&item.json);
        }
        request.extend(b"]}]}]}");
        request
    }
}

/// Decodes `%2C` and the like.
fn unquoted(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(super) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    KeyValue { key: key.to_owned(), value: AnyValue::String(value.into()) }
}

pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    // Serialization cannot fail: all keys are strings, and no `Serialize` returns an error.
    serde_json::to_vec(value).unwrap_or_default()
}

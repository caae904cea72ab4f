//! consumer/export/otlp/: -O otlp: metrics and logs for OpenTelemetry's collector, as OTLP/JSON.

pub mod collector;
mod logs;
mod points;
mod queue;
mod schema;

use super::metrics::Metrics;
use super::{Export, Tables};
use crate::consumer::event::Event;
use crate::consumer::message::Message;
use collector::Collector;
use queue::{Item, Signal};
use schema::{AnyValue, KeyValue, Resource};
use serde::Serialize;

/// Where requests go.
#[derive(Debug)]
pub enum Receiver {
    /// A file with one request a line, as the collector's otlpjsonfile receiver reads it.
    Lines,
    Collector(Collector),
}

#[derive(Debug)]
pub struct Otlp {
    metrics: Metrics,
    receiver: Receiver,
    envelope: Envelope,
    /// What the next lines are made of.
    waiting: Vec<Item>,
    /// How often the aggregations were read.
    readings: u64,
}

impl Otlp {
    pub fn new(metrics: Metrics, receiver: Receiver) -> Otlp {
        let envelope = Envelope::of_this_machine();
        Otlp { metrics, receiver, envelope, waiting: Vec::new(), readings: 0 }
    }

    fn push(&mut self, item: Item) {
        match &mut self.receiver {
            Receiver::Lines => self.waiting.push(item),
            Receiver::Collector(collector) => collector.push(item),
        }
    }

    fn read(&mut self, tables: &dyn Tables) {
        let now = kinst_os::time_of_day();
        self.readings += 1;
        let families = self.metrics.read(tables, now);
        let of_program = self.metrics.of_program;
        for (number, family) in families.into_iter().enumerate() {
            // Points about the tracer itself are not what a user counts.
            let count = if number < of_program { family.points.len() as u64 } else { 0 };
            let json = json(&points::metric(family, now));
            self.push(Item { signal: Signal::Metrics { reading: self.readings }, json, count });
        }
    }

    fn write_lines(&mut self, out: &mut Vec<u8>) {
        let mut rest = &self.waiting[..];
        while let Some((signal, length)) = queue::batch(rest) {
            let (now, after) = rest.split_at(length);
            out.extend(self.envelope.request(signal, now));
            out.push(b'\n');
            rest = after;
        }
        self.waiting.clear();
    }
}

impl Export for Otlp {
    fn event(&mut self, event: &Event<'_>, _out: &mut Vec<u8>) {
        if let Some(record) = logs::of_event(event) {
            self.push(Item { signal: Signal::Logs, json: json(&record), count: 1 });
        }
    }

    fn message(&mut self, message: &Message, _out: &mut Vec<u8>) {
        self.metrics.message(message);
        let record = logs::of_message(message, kinst_os::time_of_day());
        self.push(Item { signal: Signal::Logs, json: json(&record), count: 1 });
    }

    fn switch(&mut self, tables: &dyn Tables, _out: &mut Vec<u8>) {
        self.read(tables);
    }

    fn cycle(&mut self, out: &mut Vec<u8>, messages: &mut Vec<Message>) {
        self.write_lines(out);
        messages.append(&mut self.metrics.messages());
        if let Receiver::Collector(collector) = &self.receiver {
            messages.extend(collector.messages().into_iter().map(Message::problem));
        }
    }

    fn finish(&mut self, tables: &dyn Tables, _status: u8, out: &mut Vec<u8>) -> Option<String> {
        self.read(tables);
        self.write_lines(out);
        if let Receiver::Collector(collector) = &mut self.receiver {
            collector.finish();
        }
        None
    }

    fn has_lost(&self) -> bool {
        matches!(&self.receiver, Receiver::Collector(collector) if collector.has_lost())
    }
}

/// What is around the records of a request, already as JSON.
#[derive(Clone, Debug)]
pub struct Envelope {
    resource: String,
    scope: String,
}

impl Envelope {
    /// The resource is this program on this machine; the variables are those of OpenTelemetry's SDKs.
    pub fn of_this_machine() -> Envelope {
        let variable = |name| std::env::var(name).unwrap_or_default();
        Envelope::new(
            &kinst_os::hostname(),
            &variable("OTEL_SERVICE_NAME"),
            &variable("OTEL_RESOURCE_ATTRIBUTES"),
        )
    }

    /// `attributes`: `key=value,key=value`, with percent signs for commas and the like.
    fn new(host: &str, service: &str, attributes: &str) -> Envelope {
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

    /// A request with these items.
    pub fn request(&self, signal: Signal, items: &[Item]) -> Vec<u8> {
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

/// Reads `%2C` and its like.
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

fn text(key: &str, value: impl Into<String>) -> KeyValue {
    KeyValue { key: key.to_owned(), value: AnyValue::String(value.into()) }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // All keys are strings, and nothing here fails by itself.
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests;

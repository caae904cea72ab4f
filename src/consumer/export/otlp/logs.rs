//! consumer/export/otlp/logs.rs: converts firings, faults and losses to OTLP log records.

use super::envelope::text;
use super::schema::{AnyValue, Int, KeyValue, LogRecord};
use crate::consumer::clock::rfc3339;
use crate::consumer::event::{Acted, Event, Printed};
use crate::consumer::export::labels;
use crate::consumer::message::{Message, What};
use crate::consumer::value::Value;
use std::collections::HashMap;

/// Severities of OTLP's data model.
const INFO: (u32, &str) = (9, "INFO");
const WARN: (u32, &str) = (13, "WARN");
const ERROR: (u32, &str) = (17, "ERROR");

/// Returns `None` for a firing that shows nothing, such as a clause that only clears an aggregation.
pub(super) fn of_event(event: &Event<'_>) -> Option<LogRecord> {
    let mut shown = Shown::default();
    event.actions.iter().for_each(|action| shown.action(action));
    if shown.attributes.is_empty() && shown.body.is_empty() && !event.actions.is_empty() {
        return None;
    }
    let mut attributes = vec![text("probe", event.probe.name.to_string()), int("cpu", event.cpu.into())];
    attributes.append(&mut shown.attributes);
    let body = shown.body.strip_suffix(b"\n").unwrap_or(&shown.body);
    let body = (!body.is_empty()).then(|| string(body));
    Some(record(event.wall, kinst_os::time_of_day(), INFO, body, attributes))
}

/// `now`: nanoseconds since 1970.
pub(super) fn of_message(message: &Message, now: i64) -> LogRecord {
    let mut attributes = Vec::new();
    let severity = match message.what {
        What::Fault { epid, name, action, address, count } => {
            attributes.extend([
                text("fault", name),
                int("enabling", epid.into()),
                int("action", action.into()),
            ]);
            attributes.extend(address.map(|address| text("address", format!("{address:#x}"))));
            attributes.push(int("count", count.into()));
            ERROR
        }
        What::Drop { tag, cpu, count } => {
            attributes.push(text("drop", tag.to_ascii_lowercase()));
            attributes.extend(cpu.map(|cpu| int("cpu", cpu.into())));
            attributes.push(int("count", count.into()));
            WARN
        }
        What::Problem => WARN,
    };
    record(now, now, severity, Some(AnyValue::String(message.text.clone())), attributes)
}

fn record(
    time: i64,
    observed: i64,
    (number, name): (u32, &'static str),
    body: Option<AnyValue>,
    attributes: Vec<KeyValue>,
) -> LogRecord {
    LogRecord {
        time_unix_nano: Int(time),
        observed_time_unix_nano: Int(observed),
        severity_number: number,
        severity_text: name,
        body,
        attributes,
    }
}

/// The visible output of a firing's actions.
#[derive(Default)]
struct Shown<'a> {
    body: Vec<u8>,
    attributes: Vec<KeyValue>,
    /// The number of attributes by name, for `trace.0`, `trace.1` …
    numbers: HashMap<&'a str, usize>,
}

impl<'a> Shown<'a> {
    fn action(&mut self, acted: &Acted<'a>) {
        match acted {
            Acted::Printf { text, arguments } => {
                self.body.extend(text);
                arguments.iter().for_each(|value| self.numbered("printf", any(value)));
            }
            Acted::Printa { text, .. } => self.body.extend(text.iter().flatten()),
            Acted::Trace(value) | Acted::Symbol(value) => {
                if !self.body.is_empty() {
                    self.body.push(b' ');
                }
                self.body.extend(labels::text(value).into_bytes());
                self.numbered("trace", any(value));
            }
            Acted::Print { value, .. } => self.numbered("print", any(value)),
            Acted::PrintAll(printed) => {
                for line in printed {
                    if let Printed::Value(member) = line {
                        let value = any(&member.value);
                        self.attributes.push(KeyValue { key: format!("variable.{}", member.name), value });
                    }
                }
            }
            Acted::Stack(frames) => self.numbered("stack", stack(frames)),
            Acted::Ustack { pid, frames } => {
                self.numbered("ustack", stack(frames));
                self.attributes.push(int("pid", i128::from(*pid)));
            }
            Acted::Memory(value) => self.numbered("memory", any(value)),
            Acted::System(command) => self.numbered("system", string(command)),
            Acted::Freopen(_)
            | Acted::Ftruncate
            | Acted::Exit(_)
            | Acted::Clear(_)
            | Acted::Trunc { .. }
            | Acted::Normalize { .. }
            | Acted::Denormalize(_)
            | Acted::Setopt { .. } => {}
        }
    }

    fn numbered(&mut self, name: &'a str, value: AnyValue) {
        let number = self.numbers.entry(name).or_default();
        self.attributes.push(KeyValue { key: format!("{name}.{number}"), value });
        *number += 1;
    }
}

fn int(key: &str, number: i128) -> KeyValue {
    KeyValue { key: key.to_owned(), value: whole(number) }
}

/// Returns a number, or its digits if it does not fit 64 bits.
fn whole(number: i128) -> AnyValue {
    match i64::try_from(number) {
        Ok(number) => AnyValue::Int(Int(number)),
        Err(_) => AnyValue::String(number.to_string()),
    }
}

/// Returns text, or bytes if it is not UTF-8.
fn string(bytes: &[u8]) -> AnyValue {
    match std::str::from_utf8(bytes) {
        Ok(text) => AnyValue::String(text.to_owned()),
        Err(_) => AnyValue::Bytes(bytes.to_vec()),
    }
}

fn stack(frames: &[crate::consumer::frame::Frame]) -> AnyValue {
    let frame = |frame: &crate::consumer::frame::Frame| {
        let place = frame.place.as_ref().map(|place| format!(" {}:{}", place.file, place.line));
        AnyValue::String(format!("{frame}{}", place.unwrap_or_default()))
    };
    AnyValue::Array { values: frames.iter().map(frame).collect() }
}

fn any(value: &Value) -> AnyValue {
    match value {
        Value::Int(number) => whole(*number),
        Value::Pointer(address) => AnyValue::String(format!("{address:#x}")),
        Value::Float(number) if number.is_finite() => AnyValue::Double(*number),
        Value::Float(number) => AnyValue::String(number.to_string()),
        Value::Text(text) => string(text),
        Value::Bytes(bytes) => AnyValue::Bytes(bytes.clone()),
        Value::Time(nanoseconds) => AnyValue::String(rfc3339(*nanoseconds)),
        Value::Address(frame) => AnyValue::String(frame.to_string()),
        Value::Module(name) => AnyValue::String(name.clone()),
        Value::Stack(frames) => stack(frames),
        Value::Enum { name: Some(name), .. } => AnyValue::String(name.clone()),
        Value::Enum { name: None, value } => whole(*value),
        Value::Array(elements) => AnyValue::Array { values: elements.iter().map(any).collect() },
        Value::Record(members) => {
            let member = |member: &crate::consumer::value::Member| KeyValue {
                key: member.name.clone(),
                value: any(&member.value),
            };
            AnyValue::Record { values: members.iter().map(member).collect() }
        }
    }
}

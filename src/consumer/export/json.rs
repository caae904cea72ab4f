//! consumer/export/json.rs: -O json: one object a line.

mod value;

use self::value::{Address, Aggregated, FrameObject, Int, Shown, Text};
use super::exporter::Export;
use super::tables::Tables;
use crate::consumer::clock::rfc3339;
use crate::consumer::event::{Acted, Event, Joined, Printed};
use crate::consumer::message::{Message, What};
use crate::consumer::table::Table;
use crate::consumer::value::{Member, Value};
use kinst_base::probe::Probe;
use kinst_dif::ActionKind;
use serde::Serialize;

/// The version of the schema. It changes only when the output would break a reader of the previous one.
pub(crate) const VERSION: u32 = 1;

#[derive(Debug, Default)]
pub(crate) struct Json {
    begun: bool,
}

impl Json {
    pub(crate) fn new() -> Json {
        Json::default()
    }

    fn begin_at(&mut self, time: impl Fn() -> String, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.begun, true) {
            put(&Line::Begin { schema: VERSION, timestamp: time() }, out);
        }
    }

    fn line(&mut self, object: &Line<'_>, out: &mut Vec<u8>) {
        self.begin_at(now, out);
        put(object, out);
    }

    fn tables<'a>(&mut self, tables: &'a [Table<'a>], out: &mut Vec<u8>) {
        for table in tables {
            for row in &table.rows {
                let object = Line::Aggregation {
                    aggregation: table.name,
                    function: function(table.function),
                    key: values(&row.key),
                    value: Aggregated(&row.value),
                };
                self.line(&object, out);
            }
        }
    }
}

impl Export for Json {
    fn begin(&mut self, wall: i64, _monotonic: i64, out: &mut Vec<u8>) {
        self.begin_at(|| rfc3339(wall), out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        let record = Line::Record {
            timestamp: rfc3339(event.wall),
            monotonic: Int(event.monotonic.into()),
            cpu: event.cpu,
            probe: identity(event.probe),
            actions: event.actions.iter().map(action).collect(),
        };
        self.line(&record, out);
    }

    fn message(&mut self, message: &Message, out: &mut Vec<u8>) {
        let text = &*message.text;
        let object = match message.what {
            What::Fault { epid, name, action, address, count } => Line::Error {
                timestamp: now(),
                message: text,
                fault: name,
                enabling: epid,
                action,
                address: address.map(Address),
                count,
            },
            What::Drop { tag, cpu, count } => {
                Line::Drop { timestamp: now(), message: text, kind: tag.to_ascii_lowercase(), cpu, count }
            }
            What::Problem => Line::Problem { timestamp: now(), message: text },
        };
        self.line(&object, out);
    }

    fn show(&mut self, tables: &dyn Tables, out: &mut Vec<u8>) {
        self.line(&Line::Snapshot { timestamp: now() }, out);
        self.tables(&tables.all(), out);
    }

    fn finish(&mut self, tables: &dyn Tables, status: u8, out: &mut Vec<u8>) -> Option<String> {
        self.tables(&tables.unprinted(), out);
        self.line(&Line::End { timestamp: rfc3339(tables.ended().0), status }, out);
        None
    }
}

fn put(object: &Line<'_>, out: &mut Vec<u8>) {
    // Writing to a Vec cannot fail, and all keys are strings.
    let _ = serde_json::to_writer(&mut *out, object);
    out.push(b'\n');
}

fn now() -> String {
    rfc3339(kinst_os::time_of_day())
}

/// Returns the name of an aggregating function: `count`, `quantize`.
fn function(function: ActionKind) -> String {
    format!("{function:?}").to_ascii_lowercase()
}

/// A line of output.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Begin {
        schema: u32,
        timestamp: String,
    },
    Record {
        timestamp: String,
        monotonic: Int,
        cpu: u32,
        probe: Identity<'a>,
        actions: Vec<Action<'a>>,
    },
    /// The user requested the aggregations (SIGUSR1): rows of all of them follow.
    Snapshot {
        timestamp: String,
    },
    /// A row of an aggregation, at the end or after a snapshot.
    Aggregation {
        aggregation: &'a str,
        function: String,
        key: Vec<Shown<'a>>,
        value: Aggregated<'a>,
    },
    Drop {
        timestamp: String,
        message: &'a str,
        kind: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        cpu: Option<u32>,
        count: u64,
    },
    /// A clause that failed.
    Error {
        timestamp: String,
        message: &'a str,
        fault: &'a str,
        enabling: u32,
        action: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        address: Option<Address>,
        count: u64,
    },
    Problem {
        timestamp: String,
        message: &'a str,
    },
    End {
        timestamp: String,
        status: u8,
    },
}

#[derive(Serialize)]
struct Identity<'a> {
    id: u32,
    provider: &'a str,
    module: &'a str,
    function: &'a str,
    name: &'a str,
}

fn identity(probe: &Probe) -> Identity<'_> {
    let name = &probe.name;
    Identity {
        id: probe.id,
        provider: &name.provider,
        module: &name.module,
        function: &name.function,
        name: &name.name,
    }
}

#[derive(Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
enum Action<'a> {
    Trace {
        value: Shown<'a>,
    },
    Print {
        #[serde(rename = "type")]
        type_name: &'a str,
        value: Shown<'a>,
    },
    /// print(args) and print(locals)
    Variables {
        variables: Vec<Variable<'a>>,
    },
    Printf {
        text: Text<'a>,
        arguments: Vec<Shown<'a>>,
    },
    Printa {
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<Text<'a>>,
        aggregations: &'a [&'a str],
        rows: Vec<Row<'a>>,
    },
    Stack {
        frames: Vec<FrameObject<'a>>,
    },
    Ustack {
        pid: u64,
        frames: Vec<FrameObject<'a>>,
    },
    Symbol {
        value: Shown<'a>,
    },
    Memory {
        value: Shown<'a>,
    },
    System {
        command: Text<'a>,
    },
    Freopen {
        path: Text<'a>,
    },
    Ftruncate {},
    Exit {
        status: u32,
    },
    Clear {
        aggregation: &'a str,
    },
    Trunc {
        aggregation: &'a str,
        count: Int,
    },
    Normalize {
        aggregation: &'a str,
        normal: Int,
    },
    Denormalize {
        aggregation: &'a str,
    },
    Setopt {
        option: Text<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Text<'a>>,
    },
}

#[derive(Serialize)]
struct Row<'a> {
    key: Vec<Shown<'a>>,
    values: Vec<Aggregated<'a>>,
}

#[derive(Serialize)]
struct Variable<'a> {
    /// The function that the variable belongs to. If absent, it is the function of the nearest preceding variable that
    /// has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    type_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Shown<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable: Option<&'a str>,
}

fn action<'a>(acted: &'a Acted<'a>) -> Action<'a> {
    match acted {
        Acted::Trace(value) => Action::Trace { value: Shown(value) },
        Acted::Print { type_name, value } => Action::Print { type_name, value: Shown(value) },
        Acted::PrintAll(printed) => Action::Variables { variables: variables(printed) },
        Acted::Printf { text, arguments } => {
            Action::Printf { text: Text(text), arguments: values(arguments) }
        }
        Acted::Printa { text, names, rows } => Action::Printa {
            text: text.as_deref().map(Text),
            aggregations: names,
            rows: rows.iter().map(row).collect(),
        },
        Acted::Stack(frames) => Action::Stack { frames: frames.iter().map(FrameObject).collect() },
        Acted::Ustack { pid, frames } => {
            Action::Ustack { pid: *pid, frames: frames.iter().map(FrameObject).collect() }
        }
        Acted::Symbol(value) => Action::Symbol { value: Shown(value) },
        Acted::Memory(value) => Action::Memory { value: Shown(value) },
        Acted::System(command) => Action::System { command: Text(command) },
        Acted::Freopen(path) => Action::Freopen { path: Text(path) },
        Acted::Ftruncate => Action::Ftruncate {},
        Acted::Exit(status) => Action::Exit { status: *status },
        Acted::Clear(name) => Action::Clear { aggregation: name },
        Acted::Trunc { name, count } => Action::Trunc { aggregation: name, count: Int((*count).into()) },
        Acted::Normalize { name, normal } => {
            Action::Normalize { aggregation: name, normal: Int((*normal).into()) }
        }
        Acted::Denormalize(name) => Action::Denormalize { aggregation: name },
        Acted::Setopt { name, value } => {
            Action::Setopt { option: Text(name), value: value.as_deref().map(Text) }
        }
    }
}

fn row(row: &Joined) -> Row<'_> {
    Row { key: values(&row.key), values: row.values.iter().map(Aggregated).collect() }
}

/// Converts the lines of print(args). A function's name goes to its first variable.
fn variables<'a>(printed: &'a [Printed<'a>]) -> Vec<Variable<'a>> {
    let none = || Variable { function: None, name: None, type_name: None, value: None, unavailable: None };
    let mut function = None;
    printed
        .iter()
        .filter_map(|line| match line {
            Printed::Function(name) => {
                function = Some(*name);
                None
            }
            Printed::Value(Member { type_name, name, value }) => Some(Variable {
                function: function.take(),
                name: Some(name),
                type_name: Some(type_name),
                value: Some(Shown(value)),
                ..none()
            }),
            Printed::Missing { name, type_name, why } => Some(Variable {
                function: function.take(),
                name: Some(name),
                type_name: Some(type_name),
                unavailable: Some(why),
                ..none()
            }),
        })
        .collect()
}

fn values(values: &[Value]) -> Vec<Shown<'_>> {
    values.iter().map(Shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;
    use kinst_base::probe::{Fields, Place};

    /// A clause that records nothing still fires; unknown fields of a fault are left out.
    #[test]
    fn lines() {
        let name = Fields::new("fbt", "vmlinux", "vfs_read", "entry");
        let probe = Probe { id: 3, name, place: Place::FbtEntry { func: 1 } };
        let event = Event {
            probe: &probe,
            cpu: 1,
            monotonic: 5,
            wall: 1_700_000_000_000_000_001,
            thread: None,
            step: None,
            actions: Vec::new(),
        };
        let (mut json, mut out) = (Json::new(), Vec::new());
        json.event(&event, &mut out);
        let fault = What::Fault { epid: 1, name: "divide-by-zero", action: 0, address: None, count: 2 };
        json.message(&Message { what: fault, text: "twice".into() }, &mut out);
        let drop = What::Drop { tag: "PRINCIPAL", cpu: Some(0), count: 7 };
        json.message(&Message { what: drop, text: "7 drops on CPU 0".into() }, &mut out);
        json.message(&Message::problem("a problem"), &mut out);
        let text = String::from_utf8(out).unwrap();
        // All times except the record's are the current time.
        let lines = text.lines().map(|line| match line.split_once("\"timestamp\":\"") {
            Some((before, rest)) if !line.contains("\"record\"") => format!("{before}… {}", &rest[32..]),
            _ => line.to_owned(),
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        snapshot::settings("consumer").bind(|| insta::assert_snapshot!("json-lines", text));
    }
}

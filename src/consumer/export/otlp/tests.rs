//! consumer/export/otlp/tests.rs: tests of the lines of a file, decoded with OpenTelemetry's schema.

use super::envelope::Envelope;
use super::exporter::{Otlp, Receiver};
use crate::consumer::event::{Acted, Event, Printed};
use crate::consumer::export::exporter::Export as _;
use crate::consumer::export::metrics::Metrics;
use crate::consumer::frame::Frame;
use crate::consumer::message::{Message, What};
use crate::consumer::table::Aggregate;
use crate::consumer::value::{Member, Value};
use crate::tables::{self, Rows, number, program};
use crate::{needs, snapshot};
use kinst_base::probe::{Fields, Place, Probe};
use serde_json::Value as Json;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Returns the file of a trace with every kind of record and metric.
fn lines() -> String {
    let (program, options) = program(
        "BEGIN { @reads[execname, cpu] = count(); @balance = sum(arg0); @lat[cpu] = quantize(arg0); @mean = avg(arg0);
            @worst = max(arg0); }",
    );
    let rows = Rows::new(&program)
        .add("reads", &[Value::Text(b"s\"h\xff\n".to_vec()), Value::Int(1)], number(i64::MAX.into()))
        .add("reads", &[tables::text("cat"), Value::Int(0)], number(3))
        .add("balance", &[], number(-4))
        .add_values("lat", &[Value::Int(0)], &[5, 6, 9])
        .add("mean", &[], Aggregate::Moment { shown: 2, count: 4, sum: 10, squares: 0 })
        .add("worst", &[], number(99));
    let metrics = Metrics::new("otlp", &program, &options, 1_000).unwrap();
    let mut otlp = Otlp::new(metrics, Receiver::Lines);
    otlp.envelope = Envelope::new("host", "", "deployment.environment=test%2C one,host.name=other");
    let probe =
        Probe { id: 7, name: Fields::new("fbt", "vmlinux", "vfs_read", "entry"), place: Place::Begin };
    let mut out = Vec::new();
    for actions in events() {
        let (wall, thread, step) = (1_700_000_000_000_000_001, None, None);
        let event = Event { probe: &probe, cpu: 1, monotonic: 5, wall, thread, step, actions };
        otlp.event(&event, &mut out);
    }
    let what = What::Fault { epid: 1, name: "invalid address", action: 2, address: Some(16), count: 1 };
    otlp.message(&Message { what, text: "error on enabled probe".into() }, &mut out);
    let what = What::Drop { tag: "PRINCIPAL", cpu: Some(1), count: 3 };
    otlp.message(&Message { what, text: "3 drops on CPU 1".into() }, &mut out);
    otlp.message(&Message::problem("failed to write"), &mut out);
    otlp.switch(&rows, &mut out);
    assert!(out.is_empty(), "lines are written once a round");
    let mut messages = Vec::new();
    otlp.cycle(&mut out, &mut messages);
    let before = out.len();
    otlp.cycle(&mut out, &mut messages);
    assert_eq!((out.len(), messages.len()), (before, 0), "each is written once");
    otlp.finish(&rows, 0, &mut out);
    String::from_utf8(out).unwrap()
}

fn events() -> Vec<Vec<Acted<'static>>> {
    let frame = |function: &str, offset| Frame {
        address: 0xffff_ffff_8100_0000,
        module: Some("vmlinux".into()),
        function: Some(function.into()),
        offset,
        ..Frame::default()
    };
    let member = |name: &str, value| Member { type_name: "int".into(), name: name.into(), value };
    let record = Value::Record(vec![
        member("a", Value::Int(1)),
        member("b", Value::Array(vec![Value::Enum { name: Some("ONE".into()), value: 1 }])),
    ]);
    vec![
        vec![
            Acted::Printf {
                text: b"read 10 by sh\n".to_vec(),
                arguments: vec![Value::Int(10), tables::text("sh"), Value::Float(0.5), Value::Int(1 << 64)],
            },
            Acted::Trace(Value::Text(b"\xff\xfe".to_vec())),
        ],
        vec![
            Acted::Stack(vec![frame("vfs_read", 0), frame("ksys_read", 16)]),
            Acted::Ustack { pid: 12, frames: vec![frame("main", 4)] },
            Acted::Print { type_name: "struct s", value: record },
            Acted::PrintAll(vec![
                Printed::Function("vfs_read"),
                Printed::Value(member("count", Value::Int(-3))),
                Printed::Missing { name: "pos", type_name: "loff_t *", why: "optimized out" },
            ]),
            Acted::Memory(Value::Bytes(vec![0, 255, 16])),
        ],
        // A firing without actions is shown; one that only clears is not.
        Vec::new(),
        vec![Acted::Clear("reads"), Acted::Exit(0)],
    ]
}

/// Replaces the times by `T`.
fn without_times(text: &str) -> String {
    let mut parts = text.split("UnixNano\":\"");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (time, rest) = part.split_once('"').expect("a time's end");
        let fixed = matches!(time, "1000" | "1700000000000000001");
        shown += &format!("UnixNano\":\"{}\"{rest}", if fixed { time } else { "T" });
    }
    shown
}

#[test]
fn every_record_and_metric() {
    let mut shown = String::new();
    for line in without_times(&lines()).lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        shown += &format!("{}\n", serde_json::to_string_pretty(&line).unwrap());
    }
    let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    let shown = shown.replace(&version, "\"VERSION\"");
    snapshot::settings("consumer").bind(|| insta::assert_snapshot!("otlp", shown));
}

/// Decodes each line to OTLP's messages, which fails for an unknown field or a wrong type, and encodes them again.
const DECODE: &str = "
import sys
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
for line in sys.stdin:
    message = ExportLogsServiceRequest() if line.startswith('{\"resourceLogs\"') else ExportMetricsServiceRequest()
    json_format.Parse(line, message)
    message.ParseFromString(message.SerializeToString())
    print(json_format.MessageToJson(message, use_integers_for_enums=True, indent=None))
";

/// Removes fields with default values.
fn without_defaults(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            fields.retain(|name, value| !(name == "isMonotonic" && *value == false));
            fields.values_mut().for_each(without_defaults);
        }
        Json::Array(elements) => elements.iter_mut().for_each(without_defaults),
        _ => {}
    }
}

#[test]
fn the_schema_of_opentelemetry_reads_the_same() {
    let Some(monitoring) = needs::monitoring() else { return };
    let mut python = Command::new("python3")
        .args(["-c", DECODE])
        .env("PYTHONPATH", monitoring.join("python"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ours = lines();
    python.stdin.take().unwrap().write_all(ours.as_bytes()).unwrap();
    let decoded = python.wait_with_output().unwrap();
    assert!(decoded.status.success(), "{}", String::from_utf8_lossy(&decoded.stderr));
    let theirs = String::from_utf8(decoded.stdout).unwrap();
    assert_eq!(ours.lines().count(), theirs.lines().count());
    for (our, their) in ours.lines().zip(theirs.lines()) {
        let mut our: Json = serde_json::from_str(our).unwrap();
        without_defaults(&mut our);
        assert_eq!(our, serde_json::from_str::<Json>(their).unwrap());
    }
}

#[test]
fn the_resource_is_as_the_environment_says() {
    let resource = |service, attributes| {
        let envelope = Envelope::new("host", service, attributes);
        let value: Json = serde_json::from_str(&envelope.resource).unwrap();
        let attributes = value["attributes"].as_array().unwrap().clone();
        let pair = |pair: Json| {
            format!("{}={}", pair["key"].as_str().unwrap(), pair["value"]["stringValue"].as_str().unwrap())
        };
        attributes
            .into_iter()
            .map(pair)
            .filter(|pair| !pair.starts_with("service.version"))
            .collect::<Vec<_>>()
    };
    assert_eq!(resource("", ""), ["service.name=kinst", "host.name=host"]);
    assert_eq!(
        resource("disk", "service.name=x, a=b%3Dc ,%,=,host.name=n"),
        ["service.name=disk", "host.name=n", "a=b=c"]
    );
}

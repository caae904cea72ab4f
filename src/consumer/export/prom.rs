//! consumer/export/prom.rs: -O prom: aggregations in Prometheus' text format, for node_exporter's textfile collector.

use super::exporter::Export;
use super::metrics::{Family, Kind, Metrics, Value};
use super::tables::Tables;
use crate::consumer::message::Message;
use std::fmt::Write as _;
use std::path::Path;

/// The prefix of all names.
const PREFIX: &str = "kinst_";

#[derive(Debug)]
pub(crate) struct Prom {
    metrics: Metrics,
    /// The value of the label `trace`, which separates the series of different files in a directory.
    trace: String,
}

impl Prom {
    pub(crate) fn new(metrics: Metrics, file: &str) -> Prom {
        let stem = Path::new(file).file_stem().unwrap_or_default();
        Prom { metrics, trace: stem.to_string_lossy().into_owned() }
    }

    fn write(&mut self, tables: &dyn Tables, out: &mut Vec<u8>) {
        let families = self.metrics.read(tables, kinst_os::time_of_day());
        out.extend(text(&families, &self.trace).into_bytes());
    }
}

impl Export for Prom {
    fn message(&mut self, message: &Message, _out: &mut Vec<u8>) {
        self.metrics.message(message);
    }

    fn switch(&mut self, tables: &dyn Tables, out: &mut Vec<u8>) {
        self.write(tables, out);
    }

    fn cycle(&mut self, _out: &mut Vec<u8>, messages: &mut Vec<Message>) {
        messages.append(&mut self.metrics.messages());
    }

    fn finish(&mut self, tables: &dyn Tables, _status: u8, out: &mut Vec<u8>) -> Option<String> {
        self.write(tables, out);
        None
    }
}

/// Formats the text exposition format, version 0.0.4.
fn text(families: &[Family], trace: &str) -> String {
    let mut text = String::new();
    for family in families {
        let name = format!("{PREFIX}{}{}", family.name, family.kind.suffixes()[0]);
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Sum | Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for point in &family.points {
            let own = point.labels.iter().map(|(name, value)| (&**name, &**value));
            let labels: Vec<String> =
                [("trace", trace)].into_iter().chain(own).map(|(name, value)| label(name, value)).collect();
            let labels = labels.join(",");
            let _ = match &point.value {
                Value::Whole(number) => writeln!(text, "{name}{{{labels}}} {number}"),
                Value::Real(number) => writeln!(text, "{name}{{{labels}}} {number}"),
                Value::Histogram { bounds, counts } => {
                    histogram(&mut text, &name, &labels, bounds, counts);
                    Ok(())
                }
            };
        }
    }
    text
}

/// Writes a histogram; buckets are cumulative. It has no `_sum`, as a distribution does not record one.
fn histogram(text: &mut String, name: &str, labels: &str, bounds: &[i64], counts: &[u64]) {
    let mut so_far: u64 = 0;
    let bounds = bounds.iter().map(i64::to_string).chain(["+Inf".to_owned()]);
    for (bound, count) in bounds.zip(counts) {
        so_far = so_far.saturating_add(*count);
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {so_far}");
    }
    let _ = writeln!(text, "{name}_count{{{labels}}} {so_far}");
}

/// `name="value"`
fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::value::Value as Key;
    use crate::snapshot;
    use crate::tables::{self, Rows, number, program};
    use proptest::prelude::*;

    #[test]
    fn every_kind() {
        let (program, options) = program(
            "BEGIN { @reads[execname, cpu] = count(); @bytes[execname] = sum((uint64_t)arg0); @balance = sum(arg0);
                @size[arg0] = quantize(arg0); @lat = lquantize(arg0, 0, 30, 10); @slow = llquantize(arg0, 10, 0, 2, 10);
                @worst = max(arg0); @mean = avg(arg0); }",
        );
        let sh = [tables::text("sh")];
        let odd = [Key::Text(b"a\"b\\c\nd\xff".to_vec())];
        let rows = Rows::new(&program)
            .add("reads", &[sh[0].clone(), Key::Int(1)], number(1 << 60))
            .add("reads", &[sh[0].clone(), Key::Int(0)], number(3))
            .add("bytes", &sh, number(4096))
            .add("bytes", &odd, number(1))
            .add("balance", &[], number(-4))
            .add_values("size", &[Key::Int(1)], &[0, 5, 6, 9])
            .add_values("size", &[Key::Int(2)], &[-1, -1])
            .add_values("lat", &[], &[-5, 0, 15, 99, 100])
            .add_values("slow", &[], &[1, 15, 99, 100, 5000])
            .add("worst", &[], number(99))
            .add(
                "mean",
                &[],
                crate::consumer::table::Aggregate::Moment { shown: 2, count: 4, sum: 10, squares: 0 },
            );
        let metrics = Metrics::new("prom", &program, &options, 0).unwrap();
        let mut prom = Prom::new(metrics, "/var/lib/textfile/disk.prom");
        let mut out = Vec::new();
        prom.switch(&rows, &mut out);
        let text = String::from_utf8(out).unwrap();
        snapshot::settings("consumer").bind(|| insta::assert_snapshot!("metrics.prom", text));
    }

    /// Parses a label's value back, as the format specifies.
    fn unescaped(text: &str) -> Option<String> {
        let text = text.strip_prefix("x=\"")?.strip_suffix('"')?;
        let (mut value, mut letters) = (String::new(), text.chars());
        while let Some(letter) = letters.next() {
            value.push(match letter {
                '\\' => match letters.next()? {
                    '\\' => '\\',
                    '"' => '"',
                    'n' => '\n',
                    _ => return None,
                },
                '"' | '\n' => return None,
                other => other,
            });
        }
        Some(value)
    }

    proptest! {
        #[test]
        fn labels_read_back(value in "(?s)(.|\\\\|\"|\n|n){0,20}") {
            prop_assert_eq!(unescaped(&label("x", &value)), Some(value));
        }

        #[test]
        fn any_bytes_are_a_label(bytes: Vec<u8>) {
            let value = crate::consumer::export::labels::text(&Key::Text(bytes));
            prop_assert_eq!(unescaped(&label("x", &value)), Some(value));
        }
    }
}

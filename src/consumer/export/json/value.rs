//! consumer/export/json/value.rs: values as JSON.

use crate::consumer::clock::rfc3339;
use crate::consumer::frame::Frame;
use crate::consumer::table::{Aggregate, Bucket};
use crate::consumer::value::{Member, Value};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use std::collections::HashMap;

/// A number, or a decimal string beyond 2^53: many readers store numbers as doubles.
pub(super) struct Int(pub(super) i128);

impl Serialize for Int {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: i128 = 1 << 53;
        match i64::try_from(self.0) {
            Ok(number) if (-EXACT..=EXACT).contains(&self.0) => serializer.serialize_i64(number),
            _ => serializer.collect_str(&self.0),
        }
    }
}

/// `"0xffffffff81000000"`
#[derive(Clone, Copy)]
pub(super) struct Address(pub(super) u64);

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

/// A string, or `{"bytes": "68ff"}` if it is not UTF-8.
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => bytes(self.0, serializer),
        }
    }
}

fn bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("bytes", &hex)?;
    map.end()
}

pub(super) struct Shown<'a>(pub(super) &'a Value);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Int(number) => Int(*number).serialize(serializer),
            Value::Pointer(address) => Address(*address).serialize(serializer),
            Value::Float(number) if number.is_finite() => serializer.serialize_f64(*number),
            Value::Float(number) => serializer.collect_str(number),
            Value::Text(text) => Text(text).serialize(serializer),
            Value::Bytes(value) => bytes(value, serializer),
            Value::Time(nanoseconds) => serializer.serialize_str(&rfc3339(*nanoseconds)),
            Value::Address(frame) => FrameObject(frame).serialize(serializer),
            Value::Module(name) => serializer.serialize_str(name),
            Value::Stack(frames) => serializer.collect_seq(frames.iter().map(FrameObject)),
            Value::Enum { name, value } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("enumerator", name)?;
                map.serialize_entry("value", &Int(*value))?;
                map.end()
            }
            Value::Array(elements) => serializer.collect_seq(elements.iter().map(Shown)),
            Value::Record(members) => {
                let (mut map, mut seen) = (serializer.serialize_map(None)?, HashMap::new());
                for member in named(members) {
                    // Base classes may have members of the same name.
                    let count: &mut u32 = seen.entry(&member.name).or_default();
                    *count += 1;
                    match count {
                        1 => map.serialize_entry(&member.name, &Shown(&member.value))?,
                        _ => {
                            map.serialize_entry(&format!("{}#{count}", member.name), &Shown(&member.value))?
                        }
                    }
                }
                map.end()
            }
        }
    }
}

/// Returns the named members. As in C, the members of an anonymous struct or union belong to the enclosing one.
fn named(members: &[Member]) -> Vec<&Member> {
    let mut all = Vec::new();
    for member in members {
        match &member.value {
            Value::Record(inner) if member.name.is_empty() => all.extend(named(inner)),
            _ => all.push(member),
        }
    }
    all
}

pub(super) struct FrameObject<'a>(pub(super) &'a Frame);

impl Serialize for FrameObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Frame { address, pid, module, function, offset, inlined, place } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("address", &Address(*address))?;
        if let Some(pid) = pid {
            map.serialize_entry("pid", pid)?;
        }
        if let Some(module) = module {
            map.serialize_entry("module", module)?;
        }
        if let Some(function) = function {
            map.serialize_entry("function", function)?;
            map.serialize_entry("offset", offset)?;
            map.serialize_entry("inlined", inlined)?;
        }
        if let Some(place) = place {
            map.serialize_entry("file", &place.file)?;
            map.serialize_entry("line", &place.line)?;
        }
        map.end()
    }
}

/// The value of an aggregation.
pub(super) struct Aggregated<'a>(pub(super) &'a Aggregate);

impl Serialize for Aggregated<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Aggregate::Number(number) => Int(*number).serialize(serializer),
            Aggregate::Moment { shown, .. } => Int(*shown).serialize(serializer),
            Aggregate::Distribution(buckets) => {
                let mut map = serializer.serialize_map(Some(1))?;
                let buckets: Vec<BucketObject> = buckets.iter().map(bucket).collect();
                map.serialize_entry("buckets", &buckets)?;
                map.end()
            }
        }
    }
}

/// A bucket for values from `min` to `max`, both inclusive; null means unbounded.
#[derive(Serialize)]
struct BucketObject {
    min: Option<Int>,
    max: Option<Int>,
    count: Int,
}

fn bucket(bucket: &Bucket) -> BucketObject {
    let int = |number: i64| Int(number.into());
    BucketObject { min: bucket.min.map(int), max: bucket.max.map(int), count: int(bucket.count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    fn frame(function: &str, inlined: bool) -> Frame {
        Frame {
            address: 0xffff_ffff_8100_0004,
            module: Some("vmlinux".into()),
            function: Some(function.into()),
            offset: if inlined { 0 } else { 4 },
            inlined,
            place: inlined.then(|| kinst_sites::listing::Place { file: "a.c".into(), line: 7 }),
            ..Frame::default()
        }
    }

    fn member(name: &str, value: Value) -> Member {
        Member { type_name: "int".into(), name: name.into(), value }
    }

    #[test]
    fn values() {
        let record = vec![
            member("a", Value::Int(1)),
            member(
                "",
                Value::Record(vec![member("x", Value::Int(2)), member("y", Value::Text(b"z".into()))]),
            ),
            member("e", Value::Enum { name: None, value: 9 }),
        ];
        let all = [
            Value::Int(-(1 << 53)),
            Value::Int((1 << 53) + 1),
            Value::Int(-(1 << 63)),
            Value::Pointer(0xffff_8881_0000_0000),
            Value::Pointer(0),
            Value::Float(1.5),
            Value::Float(f64::NAN),
            Value::Float(f64::NEG_INFINITY),
            Value::Text("caf\u{e9} \"\n".into()),
            Value::Text(vec![b'h', 0xff]),
            Value::Bytes(vec![0, 1]),
            Value::Time(1),
            Value::Module("ext4".into()),
            Value::Address(Frame { address: 16, pid: Some(7), ..Frame::default() }),
            Value::Stack(vec![frame("inner", true), frame("outer", false)]),
            Value::Enum { name: Some("RED".into()), value: 0 },
            Value::Array(vec![Value::Int(1), Value::Array(Vec::new())]),
            Value::Record(record),
        ];
        let lines: Vec<String> =
            all.iter().map(|value| serde_json::to_string(&Shown(value)).unwrap()).collect();
        snapshot::settings("consumer").bind(|| insta::assert_snapshot!("json-values", lines.join("\n")));
    }
}

//! render.rs: the header as Rust: constants, open enums, and structs that read and write themselves as bytes.

use std::fmt::Write;

use super::parse::{Define, Enum, Field, Header, Struct, Value};

const PRELUDE: &str = r#"//! base/uapi.rs: the interface of /dev/dtrace/kinst. Generated from kmod/include/uapi by `cargo xtask uapi`.

use std::mem::{offset_of, size_of};

/// Plain data, read from and written to bytes in the machine's byte order, as the device uses it.
pub trait Plain: Copy + Default {
    /// Bytes of a value.
    const SIZE: usize;

    /// From the first `SIZE` bytes; `None` if there are fewer.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// Appends `SIZE` bytes.
    fn write(&self, out: &mut Vec<u8>);

    /// The `SIZE` bytes of the value.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::SIZE);
        self.write(&mut out);
        out
    }
}

macro_rules! plain_integer {
    ($($integer:ident)*) => {$(
        impl Plain for $integer {
            const SIZE: usize = size_of::<$integer>();

            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|bytes| $integer::from_ne_bytes(*bytes))
            }

            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

plain_integer!(u8 u16 u32 u64 i32 i64);

impl<T: Plain, const N: usize> Plain for [T; N]
where
    [T; N]: Default,
{
    const SIZE: usize = N * T::SIZE;

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut array = [T::default(); N];
        for (index, element) in array.iter_mut().enumerate() {
            *element = T::read(bytes.get(index * T::SIZE..)?)?;
        }
        Some(array)
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|element| element.write(out));
    }
}
"#;

/// Writing to a String cannot fail, so the results of `write!` are ignored.
pub(super) fn render(header: &Header) -> String {
    let mut out = PRELUDE.to_string();
    for item in &header.defines {
        define(&mut out, item);
    }
    for item in &header.enums {
        enumeration(&mut out, item);
    }
    for item in &header.structs {
        structure(&mut out, item);
    }
    out
}

fn define(out: &mut String, define: &Define) {
    out.push('\n');
    documented(out, &define.doc, &define.name);
    let name = constant_name(&define.name);
    let _ = match &define.value {
        Value::Number(value) if *value <= u64::from(u32::MAX) => {
            writeln!(out, "pub const {name}: u32 = {value:#x};")
        }
        Value::Number(value) => writeln!(out, "pub const {name}: u64 = {value:#x};"),
        Value::Text(text) => writeln!(out, "pub const {name}: &str = {text:?};"),
        Value::Ioctl(value) => writeln!(out, "pub const {name}: u32 = {value:#010x};"),
    };
}

/// A number with named constants instead of a Rust enum: a newer module may send unknown values.
fn enumeration(out: &mut String, item: &Enum) {
    let ty = type_name(&item.name);
    out.push('\n');
    documented(out, &item.doc, &format!("enum {}", item.name));
    let _ = writeln!(
        out,
        "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]\npub struct {ty}(pub u32);\n\nimpl {ty} {{"
    );
    let prefix = common_prefix(item);
    let names: Vec<&str> = item.values.iter().map(|value| short_name(&value.name, &prefix)).collect();
    for (value, name) in item.values.iter().zip(&names) {
        documented(out, &value.doc, &value.name);
        let _ = writeln!(out, "pub const {name}: {ty} = {ty}({});", value.value);
    }
    let _ = writeln!(out, "\n/// In the order of the header.\npub const ALL: &'static [{ty}] = &[");
    for name in &names {
        let _ = write!(out, "{ty}::{name},");
    }
    let _ = writeln!(
        out,
        "];\n\n/// The name in the header.\npub fn name(self) -> Option<&'static str> {{\nmatch self {{"
    );
    for (value, name) in item.values.iter().zip(&names) {
        let _ = writeln!(out, "{ty}::{name} => Some({:?}),", value.name);
    }
    out.push_str("_ => None,\n}\n}\n}\n");
}

fn structure(out: &mut String, item: &Struct) {
    let ty = type_name(&item.name);
    out.push('\n');
    documented(out, &item.doc, &format!("struct {}", item.name));
    out.push_str("#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]\n#[repr(C)]\n");
    let _ = writeln!(out, "pub struct {ty} {{");
    for field in &item.fields {
        match field.name.as_str() {
            "reserved" => out.push_str("/// Zero.\n"),
            name => documented(out, &field.doc, &format!("{}.{name}", item.name)),
        }
        let _ = writeln!(out, "pub {}: {},", field_name(field), field_type(field));
    }
    let _ = writeln!(out, "}}\n\nimpl Plain for {ty} {{\nconst SIZE: usize = {};\n", item.size);
    let _ = writeln!(out, "fn read(bytes: &[u8]) -> Option<Self> {{\nSome({ty} {{");
    for field in &item.fields {
        let _ = writeln!(out, "{}: Plain::read(bytes.get({}..)?)?,", field_name(field), field.offset);
    }
    out.push_str("})\n}\n\nfn write(&self, out: &mut Vec<u8>) {\n");
    for field in &item.fields {
        let _ = writeln!(out, "self.{}.write(out);", field_name(field));
    }
    out.push_str("}\n}\n\nconst _: () = {\n");
    let _ = writeln!(out, "assert!(size_of::<{ty}>() == {});", item.size);
    for field in &item.fields {
        let _ = writeln!(out, "assert!(offset_of!({ty}, {}) == {});", field_name(field), field.offset);
    }
    out.push_str("};\n");
}

/// The comment of the header; without one, the name to search for there.
fn documented(out: &mut String, lines: &[String], name: &str) {
    if lines.is_empty() {
        let _ = writeln!(out, "/// `{name}`");
    }
    for line in lines {
        // Rustdoc would treat brackets as links.
        let line = line.replace('[', "\\[").replace(']', "\\]").replace('<', "\\<");
        let _ = writeln!(out, "/// {}", line.trim());
    }
}

fn constant_name(name: &str) -> &str {
    name.strip_prefix("KINST_").unwrap_or(name)
}

/// `kinst_ring_consumer` is `RingConsumer`.
fn type_name(name: &str) -> String {
    let words = name.strip_prefix("kinst_").unwrap_or(name).split('_');
    words
        .map(|word| {
            word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect::<String>()
        })
        .collect()
}

fn field_name(field: &Field) -> &str {
    match field.name.as_str() {
        // Keywords in Rust.
        "type" => "ty",
        "mod" => "module",
        name => name,
    }
}

fn field_type(field: &Field) -> String {
    let element = match field.ty.name.strip_prefix("kinst_") {
        Some(_) => type_name(&field.ty.name),
        None => field.ty.name.clone(),
    };
    match field.count {
        Some(count) => format!("[{element}; {count}]"),
        None => element,
    }
}

/// `V_` of KINST_V_OK, KINST_V_HEADER …: the first word of the last value after KINST_.
fn common_prefix(item: &Enum) -> String {
    let last = item.values.last().map_or("", |value| constant_name(&value.name));
    last.split_once('_').map_or(String::new(), |(word, _)| format!("{word}_"))
}

fn short_name<'a>(name: &'a str, prefix: &str) -> &'a str {
    let name = constant_name(name);
    name.strip_prefix(prefix).unwrap_or(name)
}

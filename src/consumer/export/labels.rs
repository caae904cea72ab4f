//! consumer/export/labels.rs: the names and values of metric labels.

use crate::consumer::clock::rfc3339;
use crate::consumer::value::Value;
use kinst_dif::{Aggregation, Display};
use std::fmt::Write as _;

/// A mistake in -x promlabels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("-x promlabels={setting}: the program has no aggregation @{name}")]
    Unknown { setting: String, name: String },
    #[error("-x promlabels={setting}: @{name} has {keys}, not {names}")]
    Count { setting: String, name: String, keys: String, names: usize },
    #[error("-x promlabels={setting}: no aggregation has {names} keys")]
    NoneFits { setting: String, names: usize },
    #[error("-x promlabels={setting}: '{name}' cannot be the name of a label: {why}")]
    Name { setting: String, name: String, why: &'static str },
}

/// The label names from the user.
#[derive(Debug)]
pub(crate) struct Names {
    /// `NAME:LABEL,LABEL`
    own: Vec<(String, Vec<String>)>,
    /// `LABEL,LABEL`: for each aggregation with as many keys that is not named.
    all: Vec<Vec<String>>,
}

impl Names {
    /// Parses the values of -x promlabels.
    pub(crate) fn new(aggregations: &[Aggregation], settings: &[String]) -> Result<Names, Error> {
        let mut names = Names { own: Vec::new(), all: Vec::new() };
        for setting in settings {
            let (aggregation, list) = match setting.split_once(':') {
                Some((name, list)) => (Some(name.trim_start_matches('@')), list),
                None => (None, &**setting),
            };
            let list = read(setting, list)?;
            let Some(name) = aggregation else {
                if !aggregations.iter().any(|aggregation| aggregation.keys.len() == list.len()) {
                    return Err(Error::NoneFits { setting: setting.clone(), names: list.len() });
                }
                names.all.push(list);
                continue;
            };
            let name = if name.is_empty() { "_" } else { name };
            let Some(found) = aggregations.iter().find(|aggregation| aggregation.name == name) else {
                return Err(Error::Unknown { setting: setting.clone(), name: name.to_owned() });
            };
            if found.keys.len() != list.len() {
                let keys = match found.keys.len() {
                    0 => "no key".to_owned(),
                    1 => "1 key".to_owned(),
                    more => format!("{more} keys"),
                };
                let (setting, name) = (setting.clone(), name.to_owned());
                return Err(Error::Count { setting, name, keys, names: list.len() });
            }
            names.own.push((name.to_owned(), list));
        }
        Ok(names)
    }

    /// Returns the labels of an aggregation: as given, else the variables in its keys, else key0, key1 …
    pub(crate) fn of(&self, aggregation: &Aggregation) -> Vec<String> {
        let own = self.own.iter().rev().find(|(name, _)| *name == aggregation.name).map(|(_, list)| list);
        let all = || self.all.iter().rev().find(|list| list.len() == aggregation.keys.len());
        if let Some(given) = own.or_else(all) {
            return given.clone();
        }
        let mut labels: Vec<String> = Vec::new();
        for index in 0..aggregation.keys.len() {
            let name = aggregation.key_names.get(index).cloned().flatten();
            let name = name.filter(|name| problem(name).is_none() && !labels.contains(name));
            labels.push(name.unwrap_or_else(|| format!("key{index}")));
        }
        labels
    }
}

fn read(setting: &str, list: &str) -> Result<Vec<String>, Error> {
    let mut labels: Vec<String> = Vec::new();
    for name in list.split(',').map(str::trim) {
        let twice = labels.iter().any(|known| known == name).then_some("it occurs twice");
        if let Some(why) = problem(name).or(twice) {
            return Err(Error::Name { setting: setting.to_owned(), name: name.to_owned(), why });
        }
        labels.push(name.to_owned());
    }
    Ok(labels)
}

/// Returns the reason why a name cannot be that of a label.
fn problem(name: &str) -> Option<&'static str> {
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !letters || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Some("use letters, digits and _, not beginning with a digit");
    }
    match name {
        _ if name.starts_with("__") => Some("names with __ are reserved for Prometheus"),
        "le" | "quantile" | "trace" => Some("it already has a meaning"),
        _ => None,
    }
}

/// Whether a key is a stack, which does not fit on one line.
pub(crate) fn has_stack(aggregation: &Aggregation) -> bool {
    aggregation.keys.iter().any(|key| matches!(key, Display::Stack | Display::Ustack))
}

/// Returns a key component as the value of a label.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Pointer(address) => format!("{address:#x}"),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => utf8(text),
        Value::Bytes(bytes) => array(bytes),
        Value::Time(nanoseconds) => rfc3339(*nanoseconds),
        Value::Address(frame) => frame.to_string(),
        Value::Module(name) => name.clone(),
        Value::Enum { name: Some(name), .. } => name.clone(),
        Value::Enum { name: None, value } => value.to_string(),
        // Keys are never of these kinds.
        Value::Stack(_) | Value::Array(_) | Value::Record(_) => String::new(),
    }
}

/// Formats an array of bytes: as text if only zeros follow it, else as two hex digits per byte.
fn array(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (text, rest) = bytes.split_at(end);
    match std::str::from_utf8(text) {
        Ok(text) if rest.iter().all(|byte| *byte == 0) && !text.chars().any(char::is_control) => {
            text.to_owned()
        }
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Converts bytes to text, with invalid UTF-8 as escapes like `\xff`.
pub(crate) fn utf8(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables;

    fn labels(text: &str, settings: &[&str]) -> Result<Vec<String>, String> {
        let (program, _) = tables::program(text);
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let names = Names::new(&program.aggregations, &settings).map_err(|error| error.to_string())?;
        Ok(program.aggregations.iter().map(|aggregation| names.of(aggregation).join(",")).collect())
    }

    #[test]
    fn keys_have_the_names_of_their_variables() {
        let text =
            "string dev; BEGIN { dev = \"sda\"; @a[execname, pid + 1, dev] = count(); @b[cpu, cpu] = count();
            this->le = 1; @c[this->le, probefunc] = count(); @d = count(); @e[(int)pid] = count();
            @e[(int)cpu] = count(); self->__x = 1; @f[self->__x, \"\"] = count(); }";
        assert_eq!(
            labels(text, &[]).unwrap(),
            ["execname,key1,dev", "cpu,key1", "key0,probefunc", "", "key0", "key0,key1"]
        );
    }

    #[test]
    fn the_user_gives_names() {
        let text = "BEGIN { @[pid] = count(); @a[pid, cpu] = count(); @b[cpu, pid] = count(); }";
        assert_eq!(
            labels(text, &["b:x,y", "one", "m, n", "@:lone"]).unwrap(),
            ["lone", "m,n", "x,y"],
            "the name wins over the number"
        );
        for (wrong, says) in [
            ("c:x", "the program has no aggregation @c"),
            ("a:x", "@a has 2 keys, not 1"),
            ("x,y,z", "no aggregation has 3 keys"),
            ("a:x,x", "it occurs twice"),
            ("a:le,x", "it already has a meaning"),
            ("a:,x", "use letters"),
            ("a:1x,y", "use letters"),
            ("a:__x,y", "reserved for Prometheus"),
        ] {
            let error = labels(text, &[wrong]).unwrap_err();
            assert!(error.contains(says) && error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn texts_of_keys() {
        assert_eq!(text(&Value::Text(b"a\xffb\\\xc3\xa9\xe2\x82".to_vec())), "a\\xffb\\é\\xe2\\x82");
        assert_eq!(text(&Value::Bytes(b"sda\0\0".to_vec())), "sda");
        assert_eq!(text(&Value::Bytes(b"sd\0a".to_vec())), "73640061");
        assert_eq!(text(&Value::Bytes(vec![1, 0xff])), "01ff");
        assert_eq!(text(&Value::Int(-1)), "-1");
        assert_eq!(text(&Value::Enum { name: None, value: 3 }), "3");
    }
}

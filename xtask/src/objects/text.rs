//! Conversion of a trace in objects to the text that dtrace would have printed, except for blanks.
//!
//! It follows only the schema. Details that objects lack (the types of members, the bars of distributions) are gaps.

use std::collections::HashMap;

use super::json::Json;

/// Matches any text.
pub(super) const GAP: &str = "\u{1}";

/// The options that affect the text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Style {
    pub quiet: bool,
    pub flow: bool,
    /// rawbytes: text and bytes are dumps of memory, which objects do not have.
    pub raw: bool,
}

/// Converts a trace.
pub(super) fn text(objects: &[Json], style: Style) -> Vec<u8> {
    let mut text = Text { style, out: Vec::new(), headed: false, depths: HashMap::new() };
    for object in objects {
        match object["type"].as_str() {
            Some("record") => text.record(object),
            Some("aggregation") => text.row(&object["key"], &[&object["value"]], object["function"].as_str()),
            _ => {}
        }
    }
    text.out
}

struct Text {
    style: Style,
    out: Vec<u8>,
    headed: bool,
    /// By CPU: the last probe and its time.
    depths: HashMap<String, (u64, String)>,
}

impl Text {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn record(&mut self, record: &Json) {
        let Style { quiet, flow, .. } = self.style;
        if !std::mem::replace(&mut self.headed, true) {
            match (flow, quiet) {
                (true, _) => self.put("CPU FUNCTION\n"),
                (false, false) => self.put("CPU ID FUNCTION:NAME\n"),
                (false, true) => {}
            }
        }
        let probe = &record["probe"];
        let field = |name: &str| probe[name].as_str().unwrap_or_default();
        let named = format!("{}:{}", field("function"), field("name"));
        let cpu = record["cpu"].plain();
        if flow {
            let firing = (probe["id"].as_u64().unwrap_or(0), record["monotonic"].plain());
            let last = self.depths.insert(cpu.clone(), firing.clone());
            let syscall = field("provider") == "syscall";
            let sign = match (field("name").ends_with("entry"), field("name").ends_with("return")) {
                (true, _) if last.as_ref() != Some(&firing) => Some(if syscall { "=>" } else { "->" }),
                (_, true) if last.as_ref() != Some(&firing) => Some(if syscall { "<=" } else { "<-" }),
                _ => None,
            };
            match sign {
                Some(sign) => self.put(&format!(" {cpu} {sign} {} ", field("function"))),
                None => self.put(&format!(" {cpu} | {named} ")),
            }
        } else if !quiet {
            self.put(&format!("{cpu} {} {named} ", probe["id"].plain()));
        }
        let mut open = false;
        for action in record["actions"].elements() {
            let kind = action["action"].as_str().unwrap_or_default();
            if std::mem::replace(&mut open, matches!(kind, "print" | "variables")) {
                self.put("\n");
            }
            self.action(kind, action);
        }
        if open || !quiet {
            self.put("\n");
        }
    }

    fn action(&mut self, kind: &str, action: &Json) {
        match kind {
            "trace" => {
                let start = self.out.len();
                self.value(&action["value"]);
                if !self.style.quiet {
                    // Text and addresses are in columns, numbers are not.
                    const COLUMNS: usize = 33;
                    let fills =
                        self.out.len() - start < COLUMNS && !matches!(action["value"], Json::Number(_));
                    self.out.insert(start, b' ');
                    self.put(if fills { " " } else { "" });
                }
            }
            "symbol" => {
                self.put(" ");
                self.value(&action["value"]);
                self.put(" ");
            }
            "setopt" if action["option"].as_str() == Some("quiet") => {
                self.style.quiet = action.get("value").is_none_or(|value| value.as_str() == Some("yes"));
            }
            "printf" => self.raw(&action["text"]),
            "printa" if action.get("text").is_some() => self.raw(&action["text"]),
            "printa" => {
                self.put("\n");
                for row in action["rows"].elements() {
                    let values: Vec<&Json> = row["values"].elements().iter().collect();
                    self.row(&row["key"], &values, None);
                }
            }
            "stack" | "ustack" => self.frames(&action["frames"]),
            "memory" => {
                let bytes = unhex(&action["value"]);
                self.dump(&bytes);
            }
            "print" => {
                self.put(&format!(" {} ", action["type"].as_str().unwrap_or_default()));
                self.member(&action["value"]);
            }
            "variables" => {
                self.put(" {\n");
                for variable in action["variables"].elements() {
                    self.variable(variable);
                }
                self.put("}");
            }
            _ => {}
        }
    }

    /// One of print(args) and print(locals).
    fn variable(&mut self, variable: &Json) {
        if let Some(function) = variable["function"].as_str() {
            self.put(&format!(" {function}():\n"));
        }
        let [name, type_name] = ["name", "type"].map(|field| variable[field].as_str().unwrap_or_default());
        match variable["unavailable"].as_str() {
            Some(why) => self.put(&format!(" {type_name} {name} is not available: {why}\n")),
            None => {
                self.put(&format!(" {type_name} {name} = "));
                self.member(&variable["value"]);
                self.put("\n");
            }
        }
    }

    fn raw(&mut self, text: &Json) {
        match text.as_str() {
            Some(text) => self.put(text),
            None => self.out.extend(unhex(text)),
        }
    }

    /// A value without a format.
    fn value(&mut self, value: &Json) {
        match value {
            Json::Array(_) => self.frames(value),
            Json::Text(text) if self.style.raw || !printable(text.as_bytes()) => {
                self.put(&format!(" {GAP} "))
            }
            Json::Object(_) if value.get("bytes").is_some() => {
                let bytes = unhex(value);
                let text = until_nul(&bytes);
                // A dump of text that is not UTF-8 includes the bytes after its end.
                if self.style.raw || text.len() == bytes.len() {
                    return self.put(&format!(" {GAP} "));
                }
                let padded = bytes[text.len()..].iter().all(|byte| *byte == 0);
                match !text.is_empty() && padded && printable(text) {
                    true => self.out.extend_from_slice(text),
                    false => self.dump(&bytes),
                }
            }
            Json::Object(_) => self.put(&frame(value)),
            other => self.put(&other.plain()),
        }
    }

    fn frames(&mut self, frames: &Json) {
        self.put("\n");
        for each in frames.elements() {
            self.put(&format!(" {}\n", frame(each)));
        }
    }

    fn row(&mut self, key: &Json, values: &[&Json], function: Option<&str>) {
        for part in key.elements() {
            self.put("  ");
            self.value(part);
        }
        for value in values {
            match value.get("buckets") {
                None => self.put(&format!(" {}", value.plain())),
                Some(buckets) => self.distribution(buckets.elements(), function),
            }
        }
        self.put("\n");
    }

    fn distribution(&mut self, buckets: &[Json], function: Option<&str>) {
        self.put("\nvalue ------------- Distribution ------------- count\n ");
        // The empty buckets at both ends, and all of them where nothing was counted.
        self.put(&format!("{GAP} "));
        for bucket in buckets {
            let [min, max] = ["min", "max"].map(|bound| bucket[bound].plain().parse::<i64>());
            let label = match (min, max) {
                (Ok(min), Ok(max)) if max < 0 && function.is_none_or(|name| name == "quantize") => {
                    // Powers of two are named by the bound that is nearer to zero.
                    if min == max || (min - 1).unsigned_abs() == 2 * max.unsigned_abs() { max } else { min }
                        .to_string()
                }
                (Ok(min), Ok(_)) => min.to_string(),
                (Ok(min), Err(_)) if min == 1 << 62 => min.to_string(),
                (Ok(min), Err(_)) => format!(">= {min}"),
                (Err(_), Ok(max)) if max == -(1 << 62) => max.to_string(),
                (Err(_), Ok(max)) => format!("< {}", max + 1),
                (Err(_), Err(_)) => GAP.to_owned(),
            };
            self.put(&format!("{label} {GAP} {}\n", bucket["count"].plain()));
        }
        self.put(&format!("{GAP}\n"));
    }

    /// A value of print(), as C initialises it.
    fn member(&mut self, value: &Json) {
        match value {
            Json::Number(number) => match number.as_u64() {
                Some(number) => self.put(&format!("{number:#x}")),
                None => self.put(GAP),
            },
            // A number beyond 2^53, or a string.
            Json::Text(text) => match text.parse::<u64>() {
                Ok(number) if number > 1 << 53 => self.put(&format!("{number:#x}")),
                _ => self.put(&format!("\"{}\"", escaped(text.as_bytes()))),
            },
            Json::Array(elements) => self.array(elements),
            Json::Object(members) => match (value.get("enumerator"), value.get("bytes")) {
                (Some(Json::Text(name)), _) => self.put(name),
                // A number, text that is not UTF-8, bytes of unknown meaning.
                (Some(_), _) | (_, Some(Json::Text(_))) => self.put(&format!(" {GAP} ")),
                _ => {
                    self.put("{\n");
                    for (name, member) in members {
                        // Types, the widths of bit-fields, and the braces of anonymous members.
                        self.put(&format!(" {GAP} {name} {GAP} = "));
                        self.member(member);
                        self.put("\n");
                    }
                    self.put(&format!(" {GAP} }}"));
                }
            },
            Json::Null | Json::Bool(_) => self.put(GAP),
        }
    }

    fn array(&mut self, elements: &[Json]) {
        let bytes: Option<Vec<u8>> =
            elements.iter().map(|e| e.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect();
        if let Some(bytes) = bytes.filter(|bytes| is_text(bytes)) {
            return self.put(&format!("\"{}\"", escaped(until_nul(&bytes))));
        }
        self.put("[ ");
        for (index, element) in elements.iter().enumerate() {
            let nested =
                matches!(element, Json::Array(_) | Json::Object(_)) && element.get("enumerator").is_none();
            self.put(if nested || index == 0 { " " } else { ", " });
            self.member(element);
        }
        self.put(" ]");
    }

    fn dump(&mut self, bytes: &[u8]) {
        self.put("\n 0 1 2 3 4 5 6 7 8 9 a b c d e f 0123456789abcdef\n");
        for (row, bytes) in bytes.chunks(16).enumerate() {
            let hex: String = bytes.iter().map(|byte| format!(" {byte:02x}")).collect();
            let letters: String = bytes
                .iter()
                .map(|byte| if matches!(byte, 0x20..=0x7e) { char::from(*byte) } else { '.' })
                .collect();
            self.put(&format!(" {:x}:{hex} {letters}\n", row * 16));
        }
    }
}

fn frame(frame: &Json) -> String {
    let text = |name: &str| frame[name].as_str();
    let module = text("module").map_or_else(String::new, |module| format!("{module}`"));
    let place = match (text("file"), frame["line"].as_u64()) {
        (Some(file), Some(line)) => format!(" {file}:{line}"),
        _ => String::new(),
    };
    match (text("function"), frame["offset"].as_u64()) {
        (Some(function), _) if frame["inlined"] == Json::Bool(true) => {
            format!("{module}{function} (inlined){place}")
        }
        (Some(function), Some(offset)) if offset > 0 => format!("{module}{function}+{offset:#x}{place}"),
        (Some(function), _) => format!("{module}{function}{place}"),
        (None, _) => format!("{module}{}", text("address").unwrap_or_default()),
    }
}

fn unhex(value: &Json) -> Vec<u8> {
    let hex = value["bytes"].as_str().unwrap_or_default();
    let pairs = (0..hex.len() / 2).map(|index| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16));
    pairs.map_while(Result::ok).collect()
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn printable(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, 0x20..=0x7e | 0x07..=0x0d))
}

fn is_text(bytes: &[u8]) -> bool {
    let text = until_nul(bytes);
    (2..bytes.len()).contains(&text.len()) && text.iter().all(|byte| matches!(byte, 0x20..=0x7e))
}

/// The escapes of a D string.
fn escaped(text: &[u8]) -> String {
    let letter = |byte: &u8| match byte {
        7 => "\\a".to_owned(),
        8 => "\\b".to_owned(),
        12 => "\\f".to_owned(),
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'\t' => "\\t".to_owned(),
        11 => "\\v".to_owned(),
        b'"' => "\\\"".to_owned(),
        b'\\' => "\\\\".to_owned(),
        0x20..=0x7e => char::from(*byte).to_string(),
        other => format!("\\{other:03o}"),
    };
    text.iter().map(letter).collect()
}

//! options.rs: the options of `-x`, `#pragma D option` and setopt(), as one table.

use crate::attributes;
use crate::diag::suggest::nearest;
use std::time::Duration;

/// What an option's value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value, or yes/no, on/off, enable/disable, true/false, set/unset.
    Flag,
    /// Bytes: a number with k, m, g or t. One below the least is raised to it, as the kernel rounds anyway.
    Size {
        min: u64,
        max: u64,
    },
    /// A period: a number with ns us ms s m h d, or hz. Kept in nanoseconds.
    Rate {
        min: u64,
        max: u64,
    },
    Number {
        min: u64,
        max: u64,
    },
    /// A number of no fixed meaning to the table: decimal, octal or 0x.
    Mask,
    Choice(&'static [&'static str]),
    Text,
    /// Every use adds one.
    List,
    /// `1.9.2`
    Version,
    /// `Evolving/Evolving/Common`
    Attributes,
}

/// Who may set an option, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before compiling.
    Compile,
    /// Before compiling, and not from a D program.
    Context,
    /// Before tracing starts.
    Run,
    /// At any time, also by setopt().
    Dynamic,
    /// A name of dtrace that does nothing here, and why: programs that set it compile, and cannot be enabled.
    Refused(&'static str),
}

pub struct Spec {
    pub name: &'static str,
    pub kind: Kind,
    pub when: When,
    /// As the user would write it; empty: unset.
    pub default: &'static str,
}

const fn row(name: &'static str, kind: Kind, when: When, default: &'static str) -> Spec {
    Spec { name, kind, when, default }
}

const SECOND: u64 = 1_000_000_000;
const ANY: u64 = u64::MAX;
const fn number(max: u64) -> Kind {
    Kind::Number { min: 0, max }
}
/// A buffer: the least and the most are the kernel module's.
const BUFFER: Kind = Kind::Size { min: 4096, max: 1 << 40 };
const STRING: Kind = Kind::Size { min: 8, max: 65536 };
const fn rate(min: u64, max: u64) -> Kind {
    Kind::Rate { min, max }
}

/// All options, by name. (Spec: dtrace's options, the D language §8.) Those of Oracle about BPF, CTF archives, locked
/// memory and paths of its own are taken and mean nothing here.
pub const TABLE: &[Spec] = &[
    row("agghist", Kind::Flag, When::Dynamic, ""),
    row("aggpack", Kind::Flag, When::Refused("it is not there yet"), ""),
    row("aggpercpu", Kind::Flag, When::Compile, ""),
    row("aggrate", rate(1_000_000, ANY), When::Dynamic, "1s"),
    row("aggsize", BUFFER, When::Run, "4m"),
    row("aggsortkey", Kind::Flag, When::Dynamic, ""),
    row("aggsortkeypos", number(u32::MAX as u64), When::Dynamic, "0"),
    row("aggsortpos", number(u32::MAX as u64), When::Dynamic, "0"),
    row("aggsortrev", Kind::Flag, When::Dynamic, ""),
    row("aggzoom", Kind::Flag, When::Dynamic, ""),
    row("amin", Kind::Attributes, When::Compile, ""),
    row("argref", Kind::Flag, When::Compile, ""),
    row("bpflog", Kind::Flag, When::Run, ""),
    row("bpflogsize", Kind::Text, When::Run, ""),
    row("bufpolicy", Kind::Choice(&["switch", "ring", "fill"]), When::Run, "switch"),
    row("bufresize", Kind::Choice(&["auto", "manual"]), When::Run, "auto"),
    row("bufsize", BUFFER, When::Run, "4m"),
    row("cleanrate", rate(200_000, 60 * SECOND), When::Run, "101hz"),
    row("core", Kind::Text, When::Compile, ""),
    row("cpp", Kind::Flag, When::Compile, ""),
    row("cppargs", Kind::List, When::Context, ""),
    row("cpphdrs", Kind::Flag, When::Context, ""),
    row("cpppath", Kind::Text, When::Context, "cpp"),
    row("cpu", number(u32::MAX as u64 - 1), When::Run, ""),
    row("ctfpath", Kind::Text, When::Compile, ""),
    row("ctypes", Kind::Text, When::Compile, ""),
    row("debug", Kind::Flag, When::Compile, ""),
    row("debugassert", Kind::Text, When::Compile, ""),
    row("defaultargs", Kind::Flag, When::Compile, ""),
    row("define", Kind::List, When::Context, ""),
    row("destructive", Kind::Flag, When::Run, ""),
    row("disasm", Kind::Text, When::Compile, ""),
    row("dofstashpath", Kind::Text, When::Compile, ""),
    row("droptags", Kind::Flag, When::Compile, ""),
    row("dtypes", Kind::Text, When::Compile, ""),
    row("dump", Kind::Choice(&["ast", "plain", "typed", "dif"]), When::Compile, ""),
    row("dynvarsize", BUFFER, When::Run, "1m"),
    row("empty", Kind::Flag, When::Compile, ""),
    row("encoding", Kind::Choice(&["ascii", "utf8"]), When::Dynamic, "ascii"),
    row("errtags", Kind::Flag, When::Compile, ""),
    row("evaltime", Kind::Choice(&["exec", "preinit", "postinit", "main"]), When::Compile, "exec"),
    row("flowindent", Kind::Flag, When::Dynamic, ""),
    row("grabanon", Kind::Flag, When::Refused("there is no anonymous tracing"), ""),
    row("incdir", Kind::List, When::Context, ""),
    row("iregs", Kind::Number { min: 1, max: 8 }, When::Compile, ""),
    row("jstackframes", number(512), When::Run, "50"),
    row("jstackstrsize", STRING, When::Run, "512"),
    row("kdefs", Kind::Flag, When::Compile, ""),
    row("knodefs", Kind::Flag, When::Compile, ""),
    row("late", Kind::Choice(&["static", "dynamic"]), When::Compile, ""),
    row("lazyload", Kind::Flag, When::Compile, ""),
    row("ldpath", Kind::Text, When::Context, ""),
    row("libdir", Kind::List, When::Compile, ""),
    row("linkmode", Kind::Text, When::Compile, ""),
    row("linknommap", Kind::Flag, When::Compile, ""),
    row("linktype", Kind::Text, When::Compile, ""),
    row("lockmem", Kind::Text, When::Run, ""),
    row("maxframes", Kind::Text, When::Run, ""),
    row("missinglocals", Kind::Choice(&["error", "zero"]), When::Compile, "error"),
    row("maxprobes", number(100_000_000), When::Context, "1024"),
    row("modpath", Kind::Text, When::Compile, ""),
    row("nocache", Kind::Flag, When::Context, ""),
    row("nojump", Kind::Flag, When::Run, ""),
    row("nolibs", Kind::Flag, When::Compile, ""),
    row("noresolve", Kind::Flag, When::Refused("it is not there yet"), ""),
    row("nspec", number(1024), When::Run, "1"),
    row("pcapsize", Kind::Text, When::Run, ""),
    row("pgmax", number(u32::MAX as u64), When::Compile, ""),
    row("preallocate", Kind::Text, When::Compile, ""),
    row("printsize", Kind::Text, When::Refused("it is not there yet"), ""),
    row("procfspath", Kind::Text, When::Compile, ""),
    row("pspec", Kind::Flag, When::Compile, ""),
    row("quiet", Kind::Flag, When::Dynamic, ""),
    row("quietresize", Kind::Flag, When::Run, ""),
    row("rawbytes", Kind::Flag, When::Dynamic, ""),
    row("scratchsize", Kind::Text, When::Run, ""),
    row("setenv", Kind::List, When::Context, ""),
    row("specsize", BUFFER, When::Run, "32k"),
    row("stackframes", number(512), When::Run, "20"),
    row("stackindent", number(4096), When::Dynamic, "14"),
    row("statusrate", rate(1_000_000, 10 * SECOND), When::Run, "1s"),
    row("stdc", Kind::Choice(&["a", "c", "s", "t"]), When::Context, "a"),
    row("strip", Kind::Flag, When::Compile, ""),
    row("strsize", STRING, When::Run, "256"),
    row("switchrate", rate(1_000_000, ANY), When::Dynamic, "1s"),
    row("syslibdir", Kind::Text, When::Compile, ""),
    row("sysroot", Kind::Text, When::Context, ""),
    row("sysslice", Kind::Flag, When::Compile, ""),
    row("temporal", Kind::Flag, When::Run, ""),
    row("tree", Kind::Mask, When::Compile, ""),
    row("tregs", Kind::Number { min: 1, max: 8 }, When::Compile, ""),
    row("udefs", Kind::Flag, When::Compile, ""),
    row("undef", Kind::List, When::Context, ""),
    row("unodefs", Kind::Flag, When::Compile, ""),
    row("unsetenv", Kind::List, When::Context, ""),
    row("useruid", Kind::Text, When::Compile, ""),
    row("ustackframes", number(512), When::Run, "20"),
    row("verbose", Kind::Flag, When::Compile, ""),
    row("version", Kind::Version, When::Compile, ""),
    row("vmlinux", Kind::Text, When::Context, ""),
    row("zdefs", Kind::Flag, When::Compile, ""),
];

/// The values of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// As [`TABLE`].
    values: Vec<Value>,
    /// The first setting that tracing cannot honour, and why.
    unsupported: Option<(String, &'static str)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Unset,
    Number(u64),
    Text(String),
    List(Vec<String>),
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    CommandLine,
    Program,
    /// The action setopt(), while tracing.
    Setopt,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("Invalid option name")]
    Unknown { nearest: Option<&'static str> },
    #[error("Invalid value for specified option")]
    Value { expected: String },
    #[error("Option cannot be set by a D program")]
    NotInProgram,
    #[error("Option cannot be set while tracing")]
    TooLate,
    #[error("Option is not supported on Linux")]
    Refused(&'static str),
}

impl Error {
    /// What to do next.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::Unknown { nearest: Some(name) } => Some(format!("did you mean '{name}'?")),
            Error::Unknown { nearest: None } => Some("-x help lists the options".to_owned()),
            Error::Value { expected } => Some(format!("expected {expected}")),
            Error::NotInProgram => Some("give it on the command line, with -x".to_owned()),
            Error::Refused(reason) => Some((*reason).to_owned()),
            Error::TooLate => None,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        let value = |spec: &Spec| match spec.default {
            "" => Value::Unset,
            text => parse(spec.kind, Some(text)).unwrap_or(Value::Unset),
        };
        Options { values: TABLE.iter().map(value).collect(), unsupported: None }
    }
}

impl Options {
    pub fn set(&mut self, name: &str, value: Option<&str>, from: From) -> Result<(), Error> {
        let Some(index) = TABLE.iter().position(|spec| spec.name == name) else {
            return Err(Error::Unknown { nearest: nearest(name, TABLE.iter().map(|spec| spec.name)) });
        };
        let spec = &TABLE[index];
        match (spec.when, from) {
            (When::Refused(reason), From::Setopt) => return Err(Error::Refused(reason)),
            (When::Context, From::Program) => return Err(Error::NotInProgram),
            (When::Context | When::Compile | When::Run, From::Setopt) => return Err(Error::TooLate),
            _ => {}
        }
        let parsed = parse(spec.kind, value)?;
        let refused = match spec.when {
            When::Refused(reason) => Some(reason),
            _ => refused_value(name, &parsed),
        };
        if let Some(reason) = refused {
            let setting = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
            self.unsupported.get_or_insert((setting, reason));
        }
        match (&mut self.values[index], parsed) {
            (Value::List(list), Value::List(more)) => list.extend(more),
            (slot, parsed) => *slot = parsed,
        }
        Ok(())
    }

    /// The first setting that tracing cannot honour, and why.
    pub fn unsupported(&self) -> Option<(&str, &'static str)> {
        self.unsupported.as_ref().map(|(setting, reason)| (setting.as_str(), *reason))
    }

    pub fn flag(&self, name: &str) -> bool {
        matches!(self.value(name), Value::Number(1..))
    }

    /// A size in bytes, a rate in nanoseconds, a number; 0 when unset.
    pub fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Number(number) => *number,
            _ => 0,
        }
    }

    /// Was it given, or has it a default?
    pub fn is_set(&self, name: &str) -> bool {
        *self.value(name) != Value::Unset
    }

    pub fn period(&self, name: &str) -> Duration {
        Duration::from_nanos(self.number(name))
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.value(name) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self, name: &str) -> &[String] {
        match self.value(name) {
            Value::List(list) => list,
            _ => &[],
        }
    }

    fn value(&self, name: &str) -> &Value {
        let index = TABLE.iter().position(|spec| spec.name == name);
        // A name that is not in the table is a slip in this program, not in its input.
        &self.values[index.unwrap_or_else(|| panic!("no option is called {name}"))]
    }
}

/// The table for people: name, what it takes, default.
pub fn describe() -> String {
    let rows = TABLE.iter().filter(|spec| !matches!(spec.when, When::Refused(_))).map(|spec| {
        let takes = match spec.kind {
            Kind::Flag => String::new(),
            Kind::Size { .. } => "SIZE".to_owned(),
            Kind::Rate { .. } => "RATE".to_owned(),
            Kind::Number { .. } | Kind::Mask => "N".to_owned(),
            Kind::Choice(choices) => choices.join("|"),
            Kind::Version => "N.N".to_owned(),
            Kind::Attributes => "NAME/DATA/CLASS".to_owned(),
            Kind::Text | Kind::List => "TEXT".to_owned(),
        };
        let when = match spec.when {
            When::Dynamic => "also by setopt()",
            When::Context => "not by #pragma D option",
            _ => "",
        };
        format!("{:<13} {takes:<24} {:<8} {when}", spec.name, spec.default).trim_end().to_owned() + "\n"
    });
    format!("{:<13} {:<24} DEFAULT\n", "OPTION", "VALUE") + &rows.collect::<String>()
}

/// Of some options only one value can be honoured.
fn refused_value(name: &str, value: &Value) -> Option<&'static str> {
    let Value::Text(text) = value else { return None };
    (name == "evaltime" && text != "exec")
        .then_some("a command is stopped where its program begins: evaltime=exec")
}

fn parse(kind: Kind, value: Option<&str>) -> Result<Value, Error> {
    let expected = |text: &str| Error::Value { expected: text.to_owned() };
    let text = value.filter(|text| !text.is_empty());
    match kind {
        Kind::Flag => match value {
            None | Some("yes" | "on" | "enable" | "enabled" | "true" | "set") => Ok(Value::Number(1)),
            Some("no" | "off" | "disable" | "disabled" | "false" | "unset") => Ok(Value::Number(0)),
            Some(_) => Err(expected("no value, or yes or no")),
        },
        Kind::Size { min, max } => match text.and_then(parse_size) {
            Some(size) if size <= max => Ok(Value::Number(size.max(min))),
            Some(_) => Err(expected(&format!("a size of no more than {max} bytes"))),
            None => Err(expected("a size such as 512, 64k, 4m or 1g")),
        },
        Kind::Rate { min, max } => text
            .and_then(parse_rate)
            .map(|period| Value::Number(period.clamp(min, max)))
            .ok_or_else(|| expected("a rate such as 10hz, 100ms or 1s")),
        Kind::Number { min, max } => text
            .and_then(parse_integer)
            .filter(|number| (min..=max).contains(number))
            .map(Value::Number)
            .ok_or_else(|| expected(&format!("a number from {min} to {max}"))),
        Kind::Mask => text.and_then(parse_integer).map(Value::Number).ok_or_else(|| expected("a number")),
        Kind::Choice(choices) => text
            .filter(|text| choices.contains(text))
            .map(|text| Value::Text(text.to_owned()))
            .ok_or_else(|| expected(&format!("one of {}", choices.join(", ")))),
        Kind::Text => text.map(|text| Value::Text(text.to_owned())).ok_or_else(|| expected("a value")),
        Kind::Version => text
            .filter(|text| is_version(text))
            .map(|text| Value::Text(text.to_owned()))
            .ok_or_else(|| expected("a version such as 1.9")),
        Kind::Attributes => text
            .filter(|text| attributes::parse(text).is_ok())
            .map(|text| Value::Text(text.to_owned()))
            .ok_or_else(|| expected("attributes such as Evolving/Evolving/Common")),
        Kind::List => text.map(|text| Value::List(vec![text.to_owned()])).ok_or_else(|| expected("a value")),
    }
}

/// `1.9` or `1.9.2`
pub fn is_version(text: &str) -> bool {
    let numbers: Vec<&str> = text.split('.').collect();
    (2..=3).contains(&numbers.len()) && numbers.iter().all(|number| number.parse::<u8>().is_ok())
}

/// `4m`: bytes.
pub fn parse_size(text: &str) -> Option<u64> {
    let shift = match text.bytes().last()?.to_ascii_lowercase() {
        b'k' => 10,
        b'm' => 20,
        b'g' => 30,
        b't' => 40,
        _ => return parse_integer(text),
    };
    let number = parse_integer(&text[..text.len() - 1])?;
    number.checked_mul(1 << shift)
}

/// `10hz`, `100ms`, `1s`: nanoseconds. A number alone is nanoseconds, as in the reference.
pub fn parse_rate(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let scale = match unit.to_ascii_lowercase().as_str() {
        "hz" => return SECOND.checked_div(number),
        "" | "ns" | "nsec" => 1,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => SECOND,
        "m" | "min" => 60 * SECOND,
        "h" | "hour" => 3_600 * SECOND,
        "d" | "day" => 86_400 * SECOND,
        _ => return None,
    };
    number.checked_mul(scale)
}

/// Decimal, 0x hexadecimal or 0 octal.
fn parse_integer(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // from_str_radix would take a sign.
    digits.bytes().all(|b| b.is_ascii_alphanumeric()).then(|| u64::from_str_radix(digits, radix).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_kind() {
        for spec in TABLE.iter().filter(|spec| !spec.default.is_empty()) {
            assert!(parse(spec.kind, Some(spec.default)).is_ok(), "{}", spec.name);
        }
    }

    #[test]
    fn the_table_has_no_name_twice() {
        let mut names: Vec<_> = TABLE.iter().map(|spec| spec.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
    }

    #[test]
    fn sizes_and_rates() {
        assert_eq!(parse_size("4m"), Some(4 << 20));
        assert_eq!(parse_size("0x10k"), Some(16 << 10));
        assert_eq!(parse_size("99999999999999999999"), None);
        assert_eq!(parse_size("18446744073709551615t"), None);
        assert_eq!(parse_size("-1"), None);
        assert_eq!(parse_size("k"), None);
        assert_eq!(parse_rate("101hz"), Some(9_900_990));
        assert_eq!(parse_rate("0hz"), None);
        assert_eq!(parse_rate("2sec"), Some(2 * SECOND));
        assert_eq!(parse_rate("5"), Some(5));
        assert_eq!(parse_rate("s"), None);
    }

    #[test]
    fn settings() {
        let mut options = Options::default();
        assert_eq!(options.number("bufsize"), 4 << 20);
        assert!(!options.flag("quiet"));
        options.set("quiet", None, From::Setopt).unwrap();
        assert!(options.flag("quiet"));
        options.set("quiet", Some("no"), From::Program).unwrap();
        assert!(!options.flag("quiet"));
        assert_eq!(
            options.set("quite", None, From::CommandLine),
            Err(Error::Unknown { nearest: Some("quiet") })
        );
        assert_eq!(options.set("bufsize", Some("1m"), From::Setopt), Err(Error::TooLate));
        assert_eq!(options.set("cpppath", Some("x"), From::Program), Err(Error::NotInProgram));
        assert_eq!(options.set("zonename", None, From::CommandLine), Err(Error::Unknown { nearest: None }));
        assert!(matches!(options.set("nspec", Some("x"), From::Program), Err(Error::Value { .. })));
        options.set("bufsize", Some("1k"), From::Program).unwrap();
        assert_eq!(options.number("bufsize"), 4096);
        assert!(matches!(options.set("strsize", Some("1g"), From::Program), Err(Error::Value { .. })));
        options.set("statusrate", Some("1h"), From::Program).unwrap();
        assert_eq!(options.number("statusrate"), 10 * SECOND);
        options.set("define", Some("A"), From::CommandLine).unwrap();
        options.set("define", Some("B=1"), From::CommandLine).unwrap();
        assert_eq!(options.list("define"), ["A", "B=1"]);
    }
}

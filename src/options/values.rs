//! options/values.rs: the values of the options in a run.

use super::error::Error;
use super::key::{Flag, Key, List, Number, Text};
use super::parse::{parse, parse_rate, parse_size};
use super::table::{Kind, Spec, TABLE, When};
use super::value::Value;
use kinst_base::diag::suggest::nearest;
use std::collections::BTreeMap;
use std::time::Duration;

/// The values of the options in a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Parallel to [`TABLE`].
    values: Vec<Value>,
    /// The first setting that tracing cannot honour, with the reason.
    unsupported: Option<(String, &'static str)>,
    /// The options that were set and have no effect, each once.
    without: Vec<&'static str>,
    /// The last setting of each option whose given value was adjusted: a size or time below the minimum.
    raised: BTreeMap<&'static str, String>,
}

/// The source of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// -x, and the letters that set an option.
    CommandLine,
    /// A pragma of the D text: `#pragma D option quiet`.
    Program,
    /// The action setopt(), while tracing.
    Setopt,
}

impl Default for Options {
    fn default() -> Options {
        let value = |spec: &Spec| match spec.default {
            "" => Value::Unset,
            text => parse(spec.kind, Some(text)).unwrap_or(Value::Unset),
        };
        Options {
            values: TABLE.iter().map(value).collect(),
            unsupported: None,
            without: Vec::new(),
            raised: BTreeMap::new(),
        }
    }
}

impl Options {
    /// Sets an option, or adds a value to a list. On an error, nothing is changed.
    pub fn set(&mut self, name: &str, value: Option<&str>, from: From) -> Result<(), Error> {
        let Some(index) = TABLE.iter().position(|spec| spec.name == name) else {
            return Err(Error::Unknown { nearest: nearest(name, TABLE.iter().map(|spec| spec.name)) });
        };
        let spec = &TABLE[index];
        match (spec.when, from) {
            (When::Refused(reason), From::Setopt) => return Err(Error::Refused(reason)),
            (When::Context, From::Program) => return Err(Error::NotInProgram),
            // It names a program to execute, as do the preprocessor options.
            (When::Without(_), From::Program) if name == "ldpath" => return Err(Error::NotInProgram),
            (When::Dynamic, From::Setopt) => {}
            (_, From::Setopt) => return Err(Error::TooLate),
            _ => {}
        }
        let parsed = parse(spec.kind, value)?;
        // An option that is switched off is not missed.
        let on = parsed != Value::Number(0);
        let refused = match spec.when {
            When::Refused(reason) => Some(reason).filter(|_| on),
            _ => refused_value(name, &parsed),
        };
        if let Some(reason) = refused {
            let setting = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
            self.unsupported.get_or_insert((setting, reason));
        }
        if matches!(spec.when, When::Without(_)) && on && !self.without.contains(&spec.name) {
            self.without.push(spec.name);
        }
        match raised(spec, value, &parsed) {
            Some(text) => self.raised.insert(spec.name, text),
            None => self.raised.remove(spec.name),
        };
        match (&mut self.values[index], parsed) {
            (Value::List(list), Value::List(more)) => list.extend(more),
            (slot, parsed) => *slot = parsed,
        }
        Ok(())
    }

    /// Returns the first setting that tracing cannot honour, with the reason.
    pub fn unsupported(&self) -> Option<(&str, &'static str)> {
        self.unsupported.as_ref().map(|(setting, reason)| (setting.as_str(), *reason))
    }

    /// Returns the options that were set and have no effect, with the reason.
    pub fn without_effect(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let reason = |name: &&'static str| {
            let spec = TABLE.iter().find(|spec| spec.name == *name)?;
            if let When::Without(why) = spec.when { Some((*name, why)) } else { None }
        };
        self.without.iter().filter_map(reason)
    }

    /// Returns a note for each setting whose value was adjusted.
    pub fn raised(&self) -> impl Iterator<Item = &str> {
        self.raised.values().map(String::as_str)
    }

    /// Whether an option is on; it is off if unset.
    pub fn flag(&self, key: Key<Flag>) -> bool {
        matches!(self.value(key), Value::Number(1..))
    }

    /// Returns a size in bytes, a rate in nanoseconds, or an integer; 0 if unset.
    pub fn number(&self, key: Key<Number>) -> u64 {
        match self.value(key) {
            Value::Number(number) => *number,
            _ => 0,
        }
    }

    /// Whether it was set, or has a default.
    pub fn is_set<V>(&self, key: Key<V>) -> bool {
        *self.value(key) != Value::Unset
    }

    /// Returns a rate as a period; zero if unset.
    pub fn period(&self, key: Key<Number>) -> Duration {
        Duration::from_nanos(self.number(key))
    }

    /// Returns a string, a choice, a version or attributes; `None` if unset.
    pub fn text(&self, key: Key<Text>) -> Option<&str> {
        match self.value(key) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the values in the order in which they were set; empty if unset.
    pub fn list(&self, key: Key<List>) -> &[String] {
        match self.value(key) {
            Value::List(list) => list,
            _ => &[],
        }
    }

    fn value<V>(&self, key: Key<V>) -> &Value {
        &self.values[key.index]
    }
}

/// Returns the note for a size below the minimum, or a rate that is out of range.
fn raised(spec: &Spec, given: Option<&str>, parsed: &Value) -> Option<String> {
    let (Value::Number(used), given) = (parsed, given?) else { return None };
    let now = match spec.kind {
        Kind::Size { .. } if parse_size(given)? < *used => format!("raised to {used}, the minimum"),
        Kind::Rate { .. } if parse_rate(given)? != *used => {
            format!("out of range: {used} ns is the nearest possible value")
        }
        _ => return None,
    };
    Some(format!("{}={given} is {now}", spec.name))
}

/// Returns why a value is refused: some options accept only one value.
fn refused_value(name: &str, value: &Value) -> Option<&'static str> {
    let Value::Text(text) = value else { return None };
    match (name, text.as_str()) {
        ("late", "dynamic") => Some("a translation is compiled where it is used: late=static"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::key;
    use crate::options::table::SECOND;

    #[test]
    fn every_default_is_a_value_of_its_kind() {
        for spec in TABLE.iter().filter(|spec| !spec.default.is_empty()) {
            assert!(parse(spec.kind, Some(spec.default)).is_ok(), "{}", spec.name);
        }
    }

    #[test]
    fn what_is_not_as_it_was_given_is_said() {
        let mut options = Options::default();
        options.set("strsize", Some("1"), From::Program).unwrap();
        options.set("aggrate", Some("1ns"), From::Program).unwrap();
        options.set("bufsize", Some("1m"), From::Program).unwrap();
        let said: Vec<&str> = options.raised().collect();
        assert_eq!(
            said,
            [
                "aggrate=1ns is out of range: 1000000 ns is the nearest possible value",
                "strsize=1 is raised to 8, the minimum"
            ]
        );
        options.set("strsize", Some("16"), From::Program).unwrap();
        assert_eq!(options.raised().count(), 1);
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
        assert_eq!(options.number(key::BUFSIZE), 4 << 20);
        assert!(!options.flag(key::QUIET));
        options.set("quiet", None, From::Setopt).unwrap();
        assert!(options.flag(key::QUIET));
        options.set("quiet", Some("no"), From::Program).unwrap();
        assert!(!options.flag(key::QUIET));
        assert_eq!(
            options.set("quite", None, From::CommandLine),
            Err(Error::Unknown { nearest: Some("quiet") })
        );
        assert_eq!(options.set("bufsize", Some("1m"), From::Setopt), Err(Error::TooLate));
        assert_eq!(options.set("cpppath", Some("x"), From::Program), Err(Error::NotInProgram));
        assert_eq!(options.set("zonename", None, From::CommandLine), Err(Error::Unknown { nearest: None }));
        assert!(matches!(options.set("nspec", Some("x"), From::Program), Err(Error::Value { .. })));
        options.set("bufsize", Some("1k"), From::Program).unwrap();
        assert_eq!(options.number(key::BUFSIZE), 4096);
        assert!(matches!(options.set("strsize", Some("1g"), From::Program), Err(Error::Value { .. })));
        for size in TABLE.iter().filter(|spec| matches!(spec.kind, Kind::Size { min: 1.., .. })) {
            let zero = Error::Value { expected: "a size above 0".to_owned() };
            assert_eq!(options.set(size.name, Some("0k"), From::CommandLine), Err(zero), "{}", size.name);
        }
        for (yes, no) in [("1", "0"), ("Yes", "NO"), ("ON", "Off"), ("Enable", "disable"), ("TRUE", "False")]
        {
            options.set("destructive", Some(yes), From::Program).unwrap();
            assert!(options.flag(key::DESTRUCTIVE), "{yes}");
            options.set("destructive", Some(no), From::Program).unwrap();
            assert!(!options.flag(key::DESTRUCTIVE), "{no}");
        }
        assert!(matches!(options.set("destructive", Some("2"), From::Program), Err(Error::Value { .. })));
        options.set("statusrate", Some("1h"), From::Program).unwrap();
        assert_eq!(options.number(key::STATUSRATE), 10 * SECOND);
        // Every setting either has an effect or is reported.
        assert_eq!(options.without_effect().count(), 0);
        options.set("bpflog", None, From::Program).unwrap();
        options.set("bpflog", None, From::CommandLine).unwrap();
        options.set("strip", Some("no"), From::Program).unwrap();
        options.set("temporal", None, From::Program).unwrap();
        let without: Vec<_> = options.without_effect().map(|(name, _)| name).collect();
        assert_eq!(without, ["bpflog"]);
        options.set("grabanon", Some("no"), From::Program).unwrap();
        options.set("late", Some("static"), From::Program).unwrap();
        options.set("scratchsize", Some("64k"), From::Program).unwrap();
        assert!(matches!(options.set("scratchsize", Some("65k"), From::Program), Err(Error::Value { .. })));
        assert_eq!(options.unsupported(), None);
        options.set("late", Some("dynamic"), From::Program).unwrap();
        assert!(options.unsupported().is_some_and(|(setting, _)| setting == "late=dynamic"));
        options.set("define", Some("A"), From::CommandLine).unwrap();
        options.set("define", Some("B=1"), From::CommandLine).unwrap();
        assert_eq!(options.list(key::DEFINE), ["A", "B=1"]);
    }
}

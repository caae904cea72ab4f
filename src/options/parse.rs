//! options/parse.rs: parsing of option values.

use super::error::Error;
use super::table::{Kind, SECOND};
use super::value::Value;
use kinst_base::attributes;

pub(super) fn parse(kind: Kind, value: Option<&str>) -> Result<Value, Error> {
    let expected = |text: &str| Error::Value { expected: text.to_owned() };
    let text = value.filter(|text| !text.is_empty());
    match kind {
        Kind::Flag => match value.map(str::to_ascii_lowercase).as_deref() {
            None | Some("1" | "yes" | "on" | "enable" | "enabled" | "true" | "set") => Ok(Value::Number(1)),
            Some("0" | "no" | "off" | "disable" | "disabled" | "false" | "unset") => Ok(Value::Number(0)),
            Some(_) => Err(expected("no value, or yes or no, on or off, true or false, 1 or 0")),
        },
        Kind::Size { min, max } => match text.and_then(parse_size) {
            Some(0) if min > 0 => Err(expected("a size above 0")),
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
            .filter(|text| version(text).is_some_and(|version| (OLDEST..=D_VERSION).contains(&version)))
            .map(|text| Value::Text(text.to_owned()))
            .ok_or_else(|| {
                let ([most, least, _], [major, minor, _]) = (OLDEST, D_VERSION);
                expected(&format!("a version of D from {most}.{least} to {major}.{minor}"))
            }),
        Kind::Attributes => text
            .filter(|text| attributes::parse(text).is_ok())
            .map(|text| Value::Text(text.to_owned()))
            .ok_or_else(|| expected("attributes such as Evolving/Evolving/Common")),
        Kind::List => text.map(|text| Value::List(vec![text.to_owned()])).ok_or_else(|| expected("a value")),
    }
}

/// The version of the D language: major, minor, micro.
pub const D_VERSION: [u8; 3] = [1, 13, 0];

const OLDEST: [u8; 3] = [1, 0, 0];

/// Parses `1.9` or `1.9.2`.
fn version(text: &str) -> Option<[u8; 3]> {
    let numbers: Option<Vec<u8>> = text.split('.').map(|number| number.parse().ok()).collect();
    match numbers?[..] {
        [major, minor] => Some([major, minor, 0]),
        [major, minor, micro] => Some([major, minor, micro]),
        _ => None,
    }
}

/// `1.9` or `1.9.2`
pub fn is_version(text: &str) -> bool {
    version(text).is_some()
}

/// Parses a size such as `4m`, in bytes.
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

/// Parses `10hz`, `100ms`, `1s` to nanoseconds. A bare number is nanoseconds, as in the reference
/// implementation.
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

/// Parses a decimal, 0x hexadecimal or 0 octal number.
fn parse_integer(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // from_str_radix would accept a sign.
    digits.bytes().all(|b| b.is_ascii_alphanumeric()).then(|| u64::from_str_radix(digits, radix).ok())?
}

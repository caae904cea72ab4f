//! parser/lex/probe.rs: the fields of a probe specifier, split at `:` and counted from the right.

use super::macros::Macros;
use crate::parser::ast::ProbeDescKind;
use crate::parser::error::{ParseError, ProbeError};
use kinst_base::probe::{Fields, is_mangled};
use kinst_base::source::{Origin, Span};

/// The fields from the left, with their maximum size in bytes without the terminating NUL.
const FIELDS: [(&str, usize); 4] = [("provider", 63), ("module", 63), ("function", 191), ("name", 63)];

/// The maximum size of a program's path in the field of the module, and of a function of C++ or Rust.
const LONG: usize = 4095;

/// Returns the number of fields that a specifier of this origin may have; the last one is the rightmost
/// field.
fn field_count(origin: Origin) -> usize {
    match origin {
        Origin::Script | Origin::Library | Origin::Predicate | Origin::Name | Origin::Id => 4,
        Origin::Function => 3,
        Origin::Module => 2,
        Origin::Provider => 1,
    }
}

/// The inputs of a specifier in addition to its text.
pub(crate) struct Context<'a> {
    pub origin: Origin,
    pub macros: &'a Macros,
    pub defaultargs: bool,
}

/// Parses the description of a specifier; `used` is called with the macro arguments that it names.
pub(crate) fn describe(
    text: &str,
    span: Span,
    context: &Context<'_>,
    used: &mut dyn FnMut(usize),
) -> Result<ProbeDescKind, ParseError> {
    let most = field_count(context.origin);
    let parts = split(text);
    if parts.len() > most {
        let problem = ProbeError::TooManyFields { most, rightmost: FIELDS[most - 1].0, given: parts.len() };
        return Err(ParseError::Probe { problem, span });
    }
    let mut fields: [String; 4] = Default::default();
    let mut end = span.end as usize;
    for (part, index) in parts.iter().rev().zip((0..most).rev()) {
        let span = Span::new(span.file, end - part.len(), end);
        let refuse = |problem| ParseError::Probe { problem, span };
        let (name, limit) = FIELDS[index];
        let field = match part.strip_prefix('"') {
            Some(_) if name != "function" => return Err(refuse(ProbeError::Quoted(name))),
            // A `$` in quotes is part of the name, as in symbols of Rust.
            Some(rest) => rest.trim_end_matches('"').to_owned(),
            None => expand(part, context, used).map_err(refuse)?,
        };
        let is_long = match name {
            "module" => field.starts_with('/'),
            "function" => part.starts_with('"') || is_mangled(&field),
            _ => false,
        };
        let limit = if is_long { LONG } else { limit };
        if field.len() > limit {
            return Err(refuse(ProbeError::FieldTooLong { field: name, limit }));
        }
        fields[index] = field;
        end = span.start.saturating_sub(1) as usize;
    }
    let [provider, module, function, name] = fields;
    Ok(ProbeDescKind::Fields(Box::new(Fields { provider, module, function, name })))
}

/// Splits a specifier at the colons that are not in quotes.
fn split(text: &str) -> Vec<&str> {
    let mut quoted = false;
    text.split(|c: char| {
        quoted ^= c == '"';
        c == ':' && !quoted
    })
    .collect()
}

/// Parses a description that is a plain number: a probe's id, if the rightmost field is a name.
pub(crate) fn describe_id(digits: &str, span: Span, origin: Origin) -> Result<ProbeDescKind, ParseError> {
    let fail = |problem| Err(ParseError::Probe { problem, span });
    if field_count(origin) != FIELDS.len() {
        return fail(ProbeError::IdNotAllowed { rightmost: FIELDS[field_count(origin) - 1].0 });
    }
    match digits.parse::<u32>() {
        Ok(id) if id > 0 => Ok(ProbeDescKind::Id(id)),
        _ => fail(ProbeError::NoSuchId(digits.to_owned())),
    }
}

/// Returns the field with its macro, if any, replaced by the macro's text.
fn expand(field: &str, context: &Context<'_>, used: &mut dyn FnMut(usize)) -> Result<String, ProbeError> {
    let Some((before, rest)) = field.split_once('$') else {
        return Ok(field.to_owned());
    };
    let rest = rest.strip_prefix('$').unwrap_or(rest);
    if rest.contains('$') {
        return Err(ProbeError::TwoMacros(field.to_owned()));
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 {
        let (number, after) = rest.split_at(digits);
        let undefined = || ProbeError::UndefinedMacro(format!("${number}"));
        let index: usize = number.parse().map_err(|_| undefined())?;
        used(index);
        let value = match context.macros.argument(index) {
            Some(value) => value,
            None if context.defaultargs => "",
            None => return Err(undefined()),
        };
        return Ok(format!("{before}{value}{after}"));
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    match context.macros.variable(name) {
        Some(value) => Ok(format!("{before}{value}{after}")),
        None => Err(ProbeError::UndefinedMacro(format!("${name}"))),
    }
}

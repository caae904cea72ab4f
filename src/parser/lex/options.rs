//! parser/lex/options.rs: the lexer's inputs in addition to the text.

use super::macros::Macros;
use crate::vocabulary::builtin::Version;

/// The inputs of a compilation, except the text.
pub struct ParseOptions<'a> {
    /// Values of `$1`, `$pid` and the like.
    pub macros: &'a Macros,
    /// Whether a name is a type, for the lexer. It must be false for the names of D's variables, functions and actions.
    pub is_type_name: &'a dyn Fn(&str) -> bool,
    /// The settings at the start of the text.
    pub settings: Settings,
}

/// The settings that `#pragma D option` changes while the text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Option defaultargs: a missing macro argument is 0 or `""`.
    pub defaultargs: bool,
    /// Option argref: the text need not name the last macro argument.
    pub argref: bool,
    /// Option empty: the text may lack clauses and declarations.
    pub empty: bool,
    /// Option pspec: a type's name between clauses is a probe description, not a declaration.
    pub pspec: bool,
    /// Whether the directives of the preprocessor are treated as comments.
    pub directives: bool,
    /// Whether any name can be called, because only the shape of the text matters.
    pub any_call: bool,
    /// Whether any name in parentheses may be a type, because only the number of a probe's arguments matters.
    pub any_type: bool,
    /// Option version.
    pub version: Option<Version>,
}

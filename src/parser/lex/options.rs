//! parser/lex/options.rs: the inputs of the lexer besides the text.

use super::macros::Macros;
use crate::vocabulary::builtin::Version;

/// The inputs of a compilation before it reads the text.
pub struct ParseOptions<'a> {
    pub macros: &'a Macros,
    /// Whether a name is a type, for the lexer. It must be false for the names of D's variables, functions and actions.
    pub is_type_name: &'a dyn Fn(&str) -> bool,
    pub settings: Settings,
}

/// The settings that `#pragma D option` changes while the text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub defaultargs: bool,
    pub argref: bool,
    pub empty: bool,
    pub pspec: bool,
    /// Whether the directives of the preprocessor are treated as comments.
    pub directives: bool,
    /// Whether any name can be called, as only the shape of the text matters.
    pub any_call: bool,
    /// Option version.
    pub version: Option<Version>,
}

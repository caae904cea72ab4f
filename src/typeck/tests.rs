//! typeck/tests.rs: helpers for the tests: D texts parsed, and checked to the typed tree.

use super::{Env, check, typed};
use crate::diag::Diagnostic;
use crate::parser::{self, Macros, ParseOptions, Settings};
use crate::source::{Origin, Source, Sources};
use crate::sugar::{self, plain};
use crate::types::TypeSource;
use crate::types::intrinsic::Intrinsic;

/// Parses and checks a text.
pub fn check_text(text: &str) -> Result<typed::Program, Diagnostic> {
    check(&parse_text(text)?, &Env::default()).map_err(|error| error.diagnostic())
}

/// Parses a text into the tree without sugar.
pub fn parse_text(text: &str) -> Result<plain::Program, Diagnostic> {
    let mut sources = Sources::default();
    let source = Source { name: "test.d".to_owned(), origin: Origin::Script, text: text.to_owned() };
    let file = sources.add(source);
    let is_type_name = |name: &str| Intrinsic.named(name).is_some();
    let options = ParseOptions {
        macros: &Macros::default(),
        is_type_name: &is_type_name,
        settings: Settings::default(),
    };
    let parsed = parser::parse(&sources, file, &options).map_err(|error| error.diagnostic())?;
    Ok(sugar::as_written(vec![parsed.program]))
}

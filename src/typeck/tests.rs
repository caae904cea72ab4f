//! typeck/tests.rs: helpers for tests: D programs, parsed and checked to the typed tree.

use super::{Env, check, typed};
use crate::parser::{self, Macros, ParseOptions, Settings};
use crate::sugar::{self, Aliases, plain};
use kinst_base::diag::Diagnostic;
use kinst_base::source::{Origin, Source, Sources};
use kinst_sites::{NothingWanted, SiteIndex};
use kinst_types::TypeSource;
use kinst_types::intrinsic::Intrinsic;

/// Parses and checks a program.
pub(crate) fn check_text(text: &str) -> Result<typed::Program, Diagnostic> {
    check(&parse_text(text)?, &Env::default()).map_err(|error| error.diagnostic())
}

/// Parses a program into the tree without sugar, with nothing inlined.
pub(crate) fn parse_text(text: &str) -> Result<plain::Program, Diagnostic> {
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
    let index = |_| -> Result<Box<dyn SiteIndex>, _> { Ok(Box::new(NothingWanted)) };
    let env = sugar::Env { aliases: &Aliases::default(), places: &Intrinsic, index: &index, zdefs: false };
    let mut programs =
        sugar::desugar(vec![parsed.program], &env).map_err(|stopped| stopped.errors[0].clone())?;
    Ok(programs.remove(0))
}

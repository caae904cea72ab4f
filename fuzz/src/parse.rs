//! fuzz/src/parse.rs: parsing of arbitrary text; a tree that is printed or formatted parses back to the same tree.

use kinst::diag::render::{self, Style};
use kinst::parser::{self, Macros, ParseOptions, Settings, ast};
use kinst::source::{FileId, Origin, Source, Sources};
use kinst::types::TypeSource;
use kinst::types::intrinsic::Intrinsic;

pub fn parse(data: &[u8]) {
    let Some((sources, file)) = super::source(data) else { return };
    let macros = Macros {
        script: "fuzz.d".to_owned(),
        arguments: vec!["1".to_owned(), "two".to_owned()],
        variables: vec![("pid".to_owned(), 7), ("uid".to_owned(), 0)],
        targetless: false,
    };
    // The known types must not change between the two parses.
    let is_type_name = |word: &str| word.ends_with("_t") || Intrinsic.named(word).is_some();
    let settings =
        Settings { argref: true, empty: true, defaultargs: true, any_call: true, ..Settings::default() };
    let options = ParseOptions { macros: &macros, is_type_name: &is_type_name, settings };
    match parser::parse(&sources, file, &options) {
        Ok(parsed) => {
            if !parsed.program.items.iter().any(|item| matches!(item, ast::Item::Pragma(_))) {
                printed(&parsed.program, sources.get(file), &options);
            }
            laid_out(&sources, file, &options);
        }
        Err(error) => {
            let style =
                Style { program: "dtrace", color: false, errtags: true, subject: Some(file), width: None };
            render::text(&sources, &error.diagnostic(), &style);
            render::json(&sources, &error.diagnostic(), &style);
        }
    }
    let _ = parser::parse_expression(&sources, file, &options);
    let _ = parser::parse_type_name(&sources, file, &options);
}

/// Checks that the clauses parse back from the output of -d.
fn printed(program: &ast::Program, source: &Source, options: &ParseOptions<'_>) {
    let mut clauses = program.clone();
    // A clause without a body is printed with an empty one.
    clauses.items.retain(|item| matches!(item, ast::Item::Clause(clause) if clause.body.is_some()));
    let text = parser::pretty::clauses(&clauses);
    // A macro may put a digit at the start of a description, which source text cannot: such a provider does not exist.
    if text.lines().any(|line| line.contains(':') && line.starts_with(|first: char| first.is_ascii_digit())) {
        return;
    }
    let script = Source { origin: Origin::Script, ..source.clone() };
    let Some(again) = read(&text, &script, options) else {
        panic!("-d prints a program that does not parse:\n{text}")
    };
    assert_eq!(
        parser::dump::program(&again),
        parser::dump::program(&clauses),
        "-d prints a different program:\n{text}"
    );
}

fn laid_out(sources: &Sources, file: FileId, options: &ParseOptions<'_>) {
    let Ok((text, parsed)) = parser::format(sources, file, options) else {
        panic!("the text was just parsed")
    };
    let again = read(&text, sources.get(file), options);
    let again = again.unwrap_or_else(|| panic!("--fmt writes a program that does not parse:\n{text}"));
    assert_eq!(
        parser::dump::program(&again),
        parser::dump::program(&parsed.program),
        "--fmt writes a different program:\n{text}"
    );
}

fn read(text: &str, source: &Source, options: &ParseOptions<'_>) -> Option<ast::Program> {
    let mut sources = Sources::default();
    let file = sources.add(Source { text: text.to_owned(), ..source.clone() });
    parser::parse(&sources, file, options).ok().map(|parsed| parsed.program)
}

//! fuzz/src/compile.rs: compilation of arbitrary text: it compiles or is refused, and the verifier accepts the result.

use std::sync::LazyLock;

use arbitrary::Unstructured;
use kinst::bpf::{listing, machine};
use kinst::diag::render::{self, Style};
use kinst::diag::{Diagnostic, tags};
use kinst::dif::{self, disasm};
use kinst::knowledge::Knowledge;
use kinst::options::Options;
use kinst::parser::Macros;
use kinst::pipeline::{self, Compiled, Given, LibraryFile};
use kinst::source::{FileId, Origin, Source, Sources};

use super::grammar;
use super::kernel::Fixture;

/// Compiles arbitrary text.
pub fn compile(data: &[u8]) {
    if let Some((mut sources, file)) = super::source(data) {
        whole(&mut sources, file);
    }
}

/// Compiles a program that the grammar makes from the input: most of them parse, and many are valid.
pub fn program(data: &[u8]) {
    let text = grammar::program(&mut Unstructured::new(data));
    let mut sources = Sources::default();
    let shown = Shown(text.clone());
    let file = sources.add(Source { name: "fuzz.d".to_owned(), origin: Origin::Script, text });
    whole(&mut sources, file);
    drop(shown);
}

/// Prints the text made from an input if the target panics.
struct Shown(String);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the program:\n{}", self.0);
        }
    }
}

static KERNEL: LazyLock<Vec<u8>> = LazyLock::new(super::kernel::btf);

fn whole(sources: &mut Sources, file: FileId) {
    let fixture = Fixture { btf: Some(KERNEL.clone()), ..Fixture::default() };
    let kernel = Knowledge::new(fixture);
    let mut options = Options::default();
    let compiled = with(sources, file, &kernel, &mut options);
    let Some((desugared, compiled)) = compiled else { return };
    let limits = dif::Options { destructive: true, ..dif::Options::default() };
    if let Err(error) = kinst_oracle::verify::verify_program(&compiled.program, &limits) {
        let own = matches!(error, kinst_oracle::verify::ProgramError::Refused(_));
        assert!(!own, "{error}\n{}", disasm::program(&compiled.program));
    }
    disasm::program(&compiled.program);
    listing::program(&compiled.program, &limits, machine::X86_64);
    // A program's declarations are not printed, and macros are printed expanded.
    let text = &sources.get(file).text;
    let declares = ["struct", "union", "enum", "typedef", "inline", "translator", "provider", "#", "$"];
    if !declares.iter().any(|word| text.contains(word)) && !declared(text) {
        let text = desugared.clone();
        let file = sources.add(Source { name: "again.d".to_owned(), origin: Origin::Script, text });
        let again = with(sources, file, &kernel, &mut options);
        let (_, again) =
            again.unwrap_or_else(|| panic!("-d prints a program that does not compile:\n{desugared}"));
        assert_eq!(
            disasm::program(&again.program),
            disasm::program(&compiled.program),
            "-d prints a different program:\n{desugared}"
        );
    }
}

/// Whether variables or types are declared between the clauses. Declarations end in a semicolon outside braces.
fn declared(text: &str) -> bool {
    let text = unquoted(text);
    text.rsplit('}').next().is_some_and(|rest| rest.contains(';')) || {
        let mut depth = 0_i32;
        text.bytes().any(|byte| {
            depth += i32::from(byte == b'{') - i32::from(byte == b'}');
            depth <= 0 && byte == b';'
        })
    }
}

/// Returns the text without its comments and quoted parts.
fn unquoted(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map(|end| end + 4),
            '"' | '\'' => closing(rest, first),
            _ => None,
        };
        if end.is_none() {
            bare.push(first);
        }
        rest = &rest[end.unwrap_or(first.len_utf8())..];
    }
    bare
}

/// Returns the position after the quote that closes the one at the start.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = true;
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn with(
    sources: &Sources,
    file: FileId,
    kernel: &Knowledge<Fixture>,
    options: &mut Options,
) -> Option<(String, Compiled)> {
    let macros = Macros {
        script: "fuzz.d".to_owned(),
        arguments: vec!["1".to_owned(), "two".to_owned()],
        variables: vec![("pid".to_owned(), 7), ("uid".to_owned(), 0)],
        targetless: false,
    };
    options.set("argref", None, kinst::options::From::CommandLine).expect("it is a flag");
    let index = |_| Err(Box::new(Diagnostic::error(tags::UNKNOWN, "there is no index")));
    let libraries: &[LibraryFile] = &[];
    let given = Given { macros: &macros, kernel, places: kernel, index: &index, libraries, stability: true };
    let compilation = pipeline::compile(sources, &[file], given, options);
    let style = Style { program: "dtrace", color: false, errtags: true, subject: Some(file), width: None };
    match compilation.result {
        Ok(compiled) => Some((compilation.desugared, compiled)),
        Err(diagnostics) => {
            for diagnostic in &diagnostics {
                render::text(sources, diagnostic, &style);
                render::json(sources, diagnostic, &style);
            }
            None
        }
    }
}

/// Translates arbitrary words as a DIFO, verified or not, to BPF.
pub fn bpf(data: &[u8]) {
    let insns = data.chunks_exact(4).filter_map(|word| Some(u32::from_ne_bytes(word.try_into().ok()?)));
    let difo = dif::Difo {
        insns: insns.collect(),
        ints: vec![0, 1, u64::MAX],
        strings: b"\0text\0".to_vec(),
        ..dif::Difo::default()
    };
    let program = dif::Program { difos: vec![difo], ..dif::Program::default() };
    for machine in [machine::X86_64, machine::ARM64] {
        listing::program(&program, &dif::Options::default(), machine);
    }
}

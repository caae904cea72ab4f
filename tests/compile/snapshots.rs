//! tests/compile/snapshots.rs: snapshot tests: each input `<area>/<folder>/<case>.d` has a `<case>.<stage>.snap` for
//! each stage of its area.
//!
//! `cargo insta test --test compile --review` shows the differences, and accepts them.
//! The first line of an input may be a directive, which the program under test does not see:
//! `/* test: -n, args: one two, defaultargs, argref, empty, type: foo_t, kernel, copies, missinglocals[: skip], variables: 10 */`.
//! `/* test: stages: typed json */` gives an input the stages of these areas in addition to its own area's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use kinst::attributes::{self, Attributes};
use kinst::diag::Diagnostic;
use kinst::diag::render::{self, Style};
use kinst::options::Options;
use kinst::parser::{self, Macros, ParseError, ParseOptions, Parsed, Settings, ast};
use kinst::pipeline::{self, Given};
use kinst::probe::{Description, Fields, Site};
use kinst::sites::{self, DwarfIndex, InScope, NothingWanted, Places, SiteIndex};
use kinst::source::{FileId, Origin, Source, Sources};
use kinst::typeck::MissingLocals;
use kinst::types::KernelTypes;
use kinst::types::intrinsic::Intrinsic;
use kinst::{codegen, dif, sugar, typeck};

use crate::kernel;
use crate::snapshot;
use crate::sysroot;

/// A function that returns a stage's text for a case.
type Stage = fn(&Case) -> String;

/// The stages of each area, with the middle part of their files' names, one row per stage.
const STAGES: &[(&str, &str, Stage)] = &[
    ("parse", "ast", dump_ast),
    ("parse", "d", print_ast),
    ("aliases", "d", print_aliased),
    ("sugar", "d", print_plain),
    ("inline", "d", print_desugared),
    ("errors", "stderr", stderr),
    ("json", "json", json),
    ("programs", "d", print_plain),
    ("programs", "typed", typed),
    ("programs", "dif", listing),
    ("check", "stderr", check_stderr),
    ("compile", "stderr", compile_stderr),
    ("typed", "typed", typed),
    ("dif", "dif", dump_dif),
    ("fmt", "d", format),
];

#[test]
fn every_case_matches_its_snapshots() {
    // Shown if the test fails.
    println!("`cargo insta test --test compile --review` accepts what differs");
    let mut inputs = 0;
    insta::glob!("../snapshots", "**/*.d", |input| {
        inputs += 1;
        let settings = snapshot::settings(input.parent().unwrap());
        for area in areas(input) {
            let case = Case::read(input, area);
            for (stage, run) in stages(area) {
                let text = ended(run(&case));
                settings.bind(|| insta::assert_snapshot!(format!("{}.{stage}", name(input)), text));
            }
        }
    });
    let filtered = std::env::var_os("INSTA_GLOB_FILTER").is_some();
    assert!(inputs >= 500 || filtered, "only {inputs} inputs under {}", snapshot::folder().display());
}

/// No two stages of an input make the same file, and every file is made by an input.
#[test]
fn every_snapshot_has_one_input() {
    let mut made = BTreeSet::new();
    for input in snapshot::files(&snapshot::folder(), "d") {
        for (stage, _) in areas(&input).into_iter().flat_map(stages) {
            let file = input.with_extension(format!("{stage}.snap"));
            assert!(made.insert(file.clone()), "two stages of {} make {}", input.display(), file.display());
        }
    }
    let areas: BTreeSet<&str> = STAGES.iter().map(|row| row.0).collect();
    let found = areas.iter().flat_map(|area| snapshot::files(&snapshot::folder().join(area), "snap"));
    let orphans: Vec<PathBuf> = found.filter(|file| !made.contains(file)).collect();
    assert!(orphans.is_empty(), "no input makes these files: {orphans:#?}");
}

/// The cases of these areas must be errors; tags.rs requires one of each tag.
#[test]
fn what_is_to_fail_fails() {
    let mut cases = (0, 0);
    for input in snapshot::files(&snapshot::folder(), "d") {
        let areas = areas(&input);
        if areas.contains(&"errors") {
            assert!(Case::read(&input, "errors").parse().is_err(), "{} is not an error", input.display());
            cases.0 += 1;
        }
        if areas.contains(&"check") {
            assert!(check(&Case::read(&input, "check")).is_err(), "{} is not an error", input.display());
            cases.1 += 1;
        }
    }
    assert!(cases.0 > 100 && cases.1 > 200, "only {cases:?} cases");
}

/// The deepest trees that the parser accepts do not exhaust the stack of a later stage.
#[test]
fn the_deepest_trees_reach_the_end() {
    let n = parser::MAX_DEPTH - 4;
    for (name, expression) in [
        ("sum", format!("{}1", "x + ".repeat(n))),
        ("signs", format!("{}x", "- ".repeat(n))),
        ("conditionals", format!("{}3", "x ? 1 : ".repeat(n))),
        ("assignments", format!("{}1", "x = ".repeat(n))),
        ("casts", format!("{}x", "(int)".repeat(n))),
        ("logic", format!("{}x", "x && ".repeat(n))),
        ("right", format!("{}x{}", "x - (".repeat(n), ")".repeat(n))),
        ("commas", format!("{}x", "x, ".repeat(n))),
        ("calls", format!("{}\"x\"{}", "strjoin(\"a\", ".repeat(n), ")".repeat(n))),
    ] {
        let case = Case::of(&format!("BEGIN {{ x = 1; y = ({expression}); }}\n"));
        let done = generate(&case);
        let told =
            done.as_ref().err().is_none_or(|error| error.starts_with("dtrace: failed to compile script"));
        assert!(told, "{name}: {done:?}");
        assert!(!dump_ast(&case).starts_with("dtrace: "), "{name}");
    }
    let ifs = format!("BEGIN {{ x = 1; {}y = 1; }}\n", "if (x) ".repeat(n));
    generate(&Case::of(&ifs)).unwrap();
}

/// Information about a kernel.
trait Known: KernelTypes + Places {}

impl<K: KernelTypes + Places> Known for K {}

/// An input, and how it was given on the command line.
struct Case {
    sources: Sources,
    file: FileId,
    macros: Macros,
    settings: Settings,
    types: Vec<String>,
    /// The fixture's kernel, or none.
    kernel: Box<dyn Known>,
    /// Option amin.
    amin: Option<Attributes>,
    /// Option missinglocals.
    missing_locals: MissingLocals,
}

impl Case {
    fn of(text: &str) -> Case {
        let mut sources = Sources::default();
        let source = Source { name: "test.d".to_owned(), origin: Origin::Script, text: text.to_owned() };
        let file = sources.add(source);
        let (macros, settings, kernel) = (Macros::default(), Settings::default(), Box::new(Intrinsic));
        let types = Vec::new();
        let missing_locals = MissingLocals::Error;
        Case { sources, file, macros, settings, types, kernel, amin: None, missing_locals }
    }

    fn read(path: &Path, area: &str) -> Case {
        let text = parser::decode(std::fs::read(path).unwrap()).unwrap();
        let (directive, program) = split(&text);
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut macros =
            Macros { script: name.clone(), arguments: Vec::new(), variables: Vec::new(), targetless: false };
        for (variable, value) in [("pid", 4321), ("uid", 1000), ("target", 0)] {
            macros.variables.push((variable.to_owned(), value));
        }
        let (mut settings, mut types, mut origin) = (Settings::default(), Vec::new(), Origin::Script);
        let mut kernel: Box<dyn Known> = Box::new(Intrinsic);
        let (mut amin, mut variables, mut missing_locals) = (None, 0, MissingLocals::Error);
        for word in words(directive) {
            match word.split_once(": ").unwrap_or((word, "")) {
                ("stages", _) => {}
                ("-n", _) => origin = Origin::Name,
                ("-f", _) => origin = Origin::Function,
                ("-m", _) => origin = Origin::Module,
                ("-P", _) => origin = Origin::Provider,
                ("-i", _) => origin = Origin::Id,
                ("args", list) => macros.arguments = list.split(' ').map(str::to_owned).collect(),
                ("type", list) => types = list.split(' ').map(str::to_owned).collect(),
                ("kernel", _) => kernel = Box::new(kernel::Fixture::with_btf().types()),
                ("copies", _) => kernel = Box::new(kernel::Fixture::with_copies().types()),
                ("missinglocals", "skip") => missing_locals = MissingLocals::Skip,
                ("missinglocals", _) => missing_locals = MissingLocals::Zero,
                ("amin", text) => amin = attributes::parse(text).ok(),
                ("variables", count) => variables = count.parse().unwrap(),
                ("defaultargs", _) => settings.defaultargs = true,
                ("argref", _) => settings.argref = true,
                ("empty", _) => settings.empty = true,
                ("pspec", _) => settings.pspec = true,
                (other, _) => panic!("{}: unknown directive {other}", path.display()),
            }
        }
        let assigned: String = (0..variables).map(|n| format!("BEGIN {{ v{n} = 1; }}\n")).collect();
        let program = &(assigned + program);
        let mut sources = Sources::default();
        let text = if origin == Origin::Script { program } else { program.trim_end_matches('\n') }.to_owned();
        let name = if origin == Origin::Script { name } else { text.clone() };
        let file = sources.add(Source { name, origin, text });
        // The shape of a tree does not depend on the functions that can be called.
        settings.any_call = area == "parse";
        Case { sources, file, macros, settings, types, kernel, amin, missing_locals }
    }

    fn parse(&self) -> Result<Parsed, ParseError> {
        let is_type_name =
            |word: &str| self.types.iter().any(|name| name == word) || self.kernel.named(word).is_some();
        let options =
            ParseOptions { macros: &self.macros, is_type_name: &is_type_name, settings: self.settings };
        parser::parse(&self.sources, self.file, &options)
    }

    fn style(&self) -> Style<'static> {
        Style { program: "dtrace", color: false, errtags: true, subject: Some(self.file), width: None }
    }

    fn program(&self) -> Result<ast::Program, String> {
        let failed = |error: ParseError| render::text(&self.sources, &error.diagnostic(), &self.style());
        self.parse().map(|parsed| parsed.program).map_err(failed)
    }
}

/// Runs the checker, whose diagnostic is rendered like the parser's.
fn check(case: &Case) -> Result<typeck::typed::Program, String> {
    let failed = |diagnostic: &Diagnostic| render::text(&case.sources, diagnostic, &case.style());
    let nothing = |_| -> Result<Box<dyn SiteIndex>, _> { Ok(Box::new(NothingWanted)) };
    let aliases = sugar::Aliases::default();
    let env = sugar::Env { aliases: &aliases, places: &Intrinsic, index: &nothing, zdefs: false };
    let desugared = sugar::desugar(vec![case.program()?], &env);
    let plain = desugared.map_err(|stopped| stopped.errors.iter().map(failed).collect::<String>())?.remove(0);
    let (kernel, places, missing_locals) = (&*case.kernel, &*case.kernel, case.missing_locals);
    let env = typeck::Env { kernel, places, amin: case.amin, missing_locals, ..typeck::Env::default() };
    typeck::check(&plain, &env)
        .map_err(|error| render::text(&case.sources, &error.diagnostic(), &case.style()))
}

fn generate(case: &Case) -> Result<dif::Program, String> {
    codegen::generate(&check(case)?)
        .map_err(|error| render::text(&case.sources, &error.diagnostic(), &case.style()))
}

/// Returns the canonical layout; preprocessor lines are kept.
fn format(case: &Case) -> String {
    let settings = Settings {
        defaultargs: true,
        argref: true,
        empty: true,
        directives: true,
        any_call: true,
        ..Settings::default()
    };
    let is_type_name =
        |word: &str| case.types.iter().any(|name| name == word) || case.kernel.named(word).is_some();
    let options = ParseOptions { macros: &case.macros, is_type_name: &is_type_name, settings };
    match parser::format(&case.sources, case.file, &options) {
        Ok((text, _)) => text,
        Err(error) => render::text(&case.sources, &error.diagnostic(), &case.style()),
    }
}

fn typed(case: &Case) -> String {
    let told = |program: &typeck::typed::Program| -> String {
        let told = program.warnings.iter().chain(&program.remarks);
        told.map(|told| render::text(&case.sources, told, &case.style())).collect()
    };
    check(case).map_or_else(|error| error, |program| typeck::dump(&program) + &told(&program))
}

fn listing(case: &Case) -> String {
    generate(case).map_or_else(|error| error, |program| dif::disasm::program(&program))
}

fn check_stderr(case: &Case) -> String {
    check(case).map_or_else(|error| error, |_| "no error\n".to_owned())
}

/// Runs the whole pipeline, like `dtrace -e`.
fn compile_stderr(case: &Case) -> String {
    let index = |_| -> Result<Box<dyn SiteIndex>, _> { unreachable!("no case names an inlined function") };
    let given = Given {
        macros: &case.macros,
        kernel: &*case.kernel,
        places: &*case.kernel,
        index: &index,
        libraries: &[],
        stability: false,
    };
    match pipeline::compile(&case.sources, &[case.file], given, &mut Options::default()).result {
        Ok(_) => "no error\n".to_owned(),
        Err(errors) => errors.iter().map(|error| render::text(&case.sources, error, &case.style())).collect(),
    }
}

/// Returns the actions and the listing of each DIFO, after verification.
fn dump_dif(case: &Case) -> String {
    match generate(case) {
        Ok(program) => {
            let options = dif::Options { destructive: true, ..dif::Options::default() };
            kinst_oracle::verify::verify_program(&program, &options).unwrap();
            dif::dump::dump(&program)
        }
        Err(error) => error,
    }
}

fn dump_ast(case: &Case) -> String {
    case.program().map_or_else(|error| error, |program| parser::dump::program(&program))
}

fn print_ast(case: &Case) -> String {
    case.program().map_or_else(|error| error, |program| parser::pretty::clauses(&program))
}

/// Returns the output of `-d`: the program after all rewrites, with the sites of a small kernel.
fn print_desugared(case: &Case) -> String {
    static ROOT: LazyLock<tempfile::TempDir> = LazyLock::new(sysroot::sysroot);
    let program = match case.program() {
        Ok(program) => program,
        Err(error) => return error,
    };
    let index = |wanted| -> Result<Box<dyn SiteIndex>, _> {
        let kernel = sites::Kernel::sysroot(ROOT.path(), None).expect("a kernel");
        Ok(Box::new(DwarfIndex::new(Arc::new(kernel), wanted)))
    };
    let aliases = sugar::Aliases::default();
    let env = sugar::Env { aliases: &aliases, places: &Intrinsic, index: &index, zdefs: false };
    match sugar::desugar(vec![program], &env) {
        Ok(plain) => plain.iter().map(|plain| parser::pretty::clauses(&ast::Program::from(plain))).collect(),
        Err(stopped) => {
            stopped.errors.iter().map(|error| render::text(&case.sources, error, &case.style())).collect()
        }
    }
}

/// Returns the program after the expansion of the aliases of tests/support/aliases.d, or the errors.
fn print_aliased(case: &Case) -> String {
    let library = std::fs::read_to_string(crate::commands::support("aliases.d")).unwrap();
    let library = Case::of(&library).program().expect("a library");
    let library = sugar::as_written(vec![library]);
    let aliases = sugar::Aliases::new(std::iter::once(&library));
    match case.program().map(|program| aliases.expand(vec![program], &WithoutMissing, false)) {
        Err(error) => error,
        Ok(Ok(programs)) => programs.iter().map(parser::pretty::clauses).collect(),
        Ok(Err(errors)) => {
            errors.iter().map(|error| render::text(&case.sources, error, &case.style())).collect()
        }
    }
}

/// The functions whose name does not begin with `missing`.
struct WithoutMissing;

impl Places for WithoutMissing {
    fn probes(&self, description: &Description) -> Vec<Fields> {
        description.fields().filter(|fields| !fields.function.starts_with("missing")).into_iter().collect()
    }

    fn instructions(&self, _: &Fields) -> Result<Vec<Site>, Box<Diagnostic>> {
        Ok(Vec::new())
    }

    fn scopes(&self, _: &[Site]) -> Vec<InScope> {
        Vec::new()
    }
}

fn print_plain(case: &Case) -> String {
    case.program().map_or_else(
        |error| error,
        |program| {
            let plain = sugar::as_written(vec![program]);
            parser::pretty::clauses(&ast::Program::from(&plain))
        },
    )
}

fn stderr(case: &Case) -> String {
    case.program().map_or_else(|error| error, |_| "no error\n".to_owned())
}

/// Returns the JSON without the rendered text, which the other snapshot shows.
fn json(case: &Case) -> String {
    let Err(error) = case.parse() else { return "no error\n".to_owned() };
    let line = render::json(&case.sources, &error.diagnostic(), &case.style());
    assert!(!line.contains('\n'));
    let mut object: serde_json::Value = serde_json::from_str(&line).unwrap();
    object.as_object_mut().unwrap().remove("rendered");
    format!("{}\n", serde_json::to_string_pretty(&object).unwrap())
}

/// Splits a text into its directive, if it has one, and the program.
fn split(text: &str) -> (&str, &str) {
    let rest = text.strip_prefix("/* test: ");
    rest.map_or(("", text), |rest| rest.split_once(" */\n").unwrap())
}

fn words(directive: &str) -> impl Iterator<Item = &str> {
    directive.split(", ").filter(|word| !word.is_empty())
}

/// The areas whose stages apply to an input: its own, and the ones in its directive.
fn areas(input: &Path) -> Vec<&'static str> {
    let text = parser::decode(std::fs::read(input).unwrap()).unwrap();
    let home = input.strip_prefix(snapshot::folder()).unwrap().iter().next().and_then(|home| home.to_str());
    let further = words(split(&text).0).find_map(|word| word.strip_prefix("stages: "));
    let area = |name: &str| {
        let row = STAGES.iter().find(|row| row.0 == name);
        row.unwrap_or_else(|| panic!("{}: no area {name}", input.display())).0
    };
    home.into_iter().chain(further.unwrap_or_default().split_whitespace()).map(area).collect()
}

fn stages(area: &str) -> impl Iterator<Item = (&'static str, Stage)> {
    STAGES.iter().filter(move |row| row.0 == area).map(|row| (row.1, row.2))
}

/// The name of a case.
fn name(input: &Path) -> &str {
    input.file_stem().unwrap().to_str().unwrap()
}

/// Marks a text without a newline at the end, which insta ignores.
fn ended(text: String) -> String {
    if text.is_empty() || text.ends_with('\n') { text } else { text + "\n\\ No newline at the end" }
}

//! tests/snapshots.rs: one input file `<area>/<case>.d` fans out to `<case>.<stage>.snap`, one for each stage of its area.
//!
//! `UPDATE=1 cargo test --test snapshots` writes the files anew; their diff is what to review.
//! The first line of an input may be a directive, which the program under test does not see:
//! `/* test: -n, args: one two, defaultargs, argref, empty, type: foo_t, kernel, copies, missinglocals, variables: 10 */`.

#[path = "support/kernel.rs"]
mod kernel;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kinst::attributes::{self, Attributes};
use kinst::diag::render::{self, Style};
use kinst::options::Options;
use kinst::parser::{self, Macros, ParseError, ParseOptions, Parsed, Settings, ast};
use kinst::pipeline::{self, Given};
use kinst::sites::Places;
use kinst::sites::SiteIndex;
use kinst::source::{FileId, Origin, Source, Sources};
use kinst::types::KernelTypes;
use kinst::types::intrinsic::Intrinsic;
use kinst::{codegen, dif, sugar, typeck};

/// A stage's text for a case.
type Stage = fn(&Case) -> String;

/// The stages of each area, by the middle part of their files' names: a row a stage.
const STAGES: &[(&str, &str, Stage)] = &[
    ("parse", "ast", dump_ast),
    ("parse", "d", print_ast),
    ("sugar", "d", print_plain),
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let update = std::env::var_os("UPDATE").is_some();
    let (mut report, mut expected, mut cases) = (String::new(), Vec::new(), 0);
    for area in areas() {
        for input in files(&root.join(area), "d") {
            cases += 1;
            let case = Case::read(&input);
            for (_, stage, run) in STAGES.iter().filter(|row| row.0 == area) {
                let path = input.with_extension(format!("{stage}.snap"));
                compare(&path, &run(&case), update, &mut report);
                expected.push(path);
            }
        }
        for orphan in files(&root.join(area), "snap").into_iter().filter(|path| !expected.contains(path)) {
            writeln!(report, "{}: no input makes this file", orphan.display()).unwrap();
        }
    }
    assert!(cases >= 40, "only {cases} cases under {}", root.display());
    assert!(report.is_empty(), "\n{report}\nreview, then UPDATE=1 cargo test --test snapshots");
}

/// Every case of the errors area fails, and each tag that the parser knows has a case.
#[test]
fn the_parsers_tags_have_a_case_each() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/errors");
    let mut seen: Vec<&str> = Vec::new();
    for input in files(&root, "d") {
        let case = Case::read(&input);
        match case.parse() {
            Ok(_) => panic!("{} is no error", input.display()),
            Err(error) => seen.push(error.tag().0),
        }
    }
    let missing: Vec<&str> = PARSER_TAGS.iter().copied().filter(|tag| !seen.contains(tag)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

/// Every case of the check area fails, and each tag of the checker has a case.
#[test]
fn the_checkers_tags_have_a_case_each() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/check");
    let mut seen = String::new();
    for input in files(&root, "d") {
        let Err(text) = check(&Case::read(&input)) else { panic!("{} is no error", input.display()) };
        seen += text.lines().next().unwrap();
    }
    let missing: Vec<&&str> = CHECKER_TAGS.iter().filter(|tag| !seen.contains(&format!("[{tag}]"))).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

const CHECKER_TAGS: &[&str] = &[
    "D_ACT_SPEC",
    "D_ADDROF_LVAL",
    "D_ADDROF_VAR",
    "D_AGG_COMM",
    "D_AGG_FUNC",
    "D_AGG_MDIM",
    "D_AGG_NULL",
    "D_AGG_REDEF",
    "D_AGG_SCALAR",
    "D_AGG_SPEC",
    "D_ARGS_TYPE",
    "D_ARR_BADREF",
    "D_ATTR_MIN",
    "D_ARR_BOUNDS",
    "D_ARR_LOCAL",
    "D_CAST_INVAL",
    "D_CG_DYN",
    "D_CG_EXPR",
    "D_CLEAR_AGGARG",
    "D_CLEAR_AGGBAD",
    "D_CLEAR_PROTO",
    "D_COMM_COMM",
    "D_COMM_DREC",
    "D_DECL_ARRBIG",
    "D_DECL_ARRNULL",
    "D_DECL_ARRSUB",
    "D_DECL_BADCLASS",
    "D_DECL_BFCONST",
    "D_DECL_BFSIZE",
    "D_DECL_BFTYPE",
    "D_DECL_CHARATTR",
    "D_DECL_COMBO",
    "D_DECL_DYNOBJ",
    "D_DECL_ENCONST",
    "D_DECL_ENOFLOW",
    "D_DECL_IDRED",
    "D_DECL_INCOMPLETE",
    "D_DECL_LOCASSC",
    "D_DECL_LONGINT",
    "D_DECL_PARMCLASS",
    "D_DECL_PROTO_FORM",
    "D_DECL_PROTO_NAME",
    "D_DECL_PROTO_VARARGS",
    "D_DECL_PROTO_VOID",
    "D_DECL_SCOPE",
    "D_DECL_SIGNINT",
    "D_DECL_TYPERED",
    "D_DECL_USELESS",
    "D_DECL_VOIDATTR",
    "D_DECL_VOIDOBJ",
    "D_DEREF_NONPTR",
    "D_DEREF_VOID",
    "D_DIV_ZERO",
    "D_DREC_COMM",
    "D_EXIT_SPEC",
    "D_FREOPEN_INVALID",
    "D_FUNC_IDKIND",
    "D_FUNC_UNDEF",
    "D_IDENT_BADREF",
    "D_IDENT_UNDEF",
    "D_KEY_TYPE",
    "D_LLQUANT_FACTOREVEN",
    "D_LLQUANT_FACTORMATCH",
    "D_LLQUANT_FACTORNSTEPS",
    "D_LLQUANT_FACTORSMALL",
    "D_LLQUANT_FACTORTYPE",
    "D_LLQUANT_FACTORVAL",
    "D_LLQUANT_HIGHMATCH",
    "D_LLQUANT_HIGHTYPE",
    "D_LLQUANT_HIGHVAL",
    "D_LLQUANT_LOWMATCH",
    "D_LLQUANT_LOWTYPE",
    "D_LLQUANT_LOWVAL",
    "D_LLQUANT_MAGRANGE",
    "D_LLQUANT_MAGTOOBIG",
    "D_LLQUANT_NSTEPMATCH",
    "D_LLQUANT_NSTEPTYPE",
    "D_LLQUANT_NSTEPVAL",
    "D_LQUANT_BASETYPE",
    "D_LQUANT_BASEVAL",
    "D_LQUANT_LIMTYPE",
    "D_LQUANT_LIMVAL",
    "D_LQUANT_MATCHBASE",
    "D_LQUANT_MATCHLIM",
    "D_LQUANT_MATCHSTEP",
    "D_LQUANT_MISMATCH",
    "D_LQUANT_STEPLARGE",
    "D_LQUANT_STEPSMALL",
    "D_LQUANT_STEPTYPE",
    "D_LQUANT_STEPVAL",
    "D_LOCALS",
    "D_NORMALIZE_AGGARG",
    "D_NORMALIZE_AGGBAD",
    "D_NORMALIZE_PROTO",
    "D_NORMALIZE_SCALAR",
    "D_OFFSETOF_BITFIELD",
    "D_OFFSETOF_TYPE",
    "D_OP_ACT",
    "D_OP_ARITH",
    "D_OP_ARRFUN",
    "D_OP_DYN",
    "D_OP_INCOMPAT",
    "D_OP_INCOMPLETE",
    "D_OP_INT",
    "D_OP_LVAL",
    "D_OP_SCALAR",
    "D_OP_SOU",
    "D_OP_VFPTR",
    "D_OP_WRITE",
    "D_PRAGMA_DEPEND",
    "D_PRAGMA_INVAL",
    "D_PRAGMA_SCOPE",
    "D_PRAGMA_UNUSED",
    "D_PRED_SCALAR",
    "D_PRINTA_AGGARG",
    "D_PRINTA_AGGBAD",
    "D_PRINTA_AGGKEY",
    "D_PRINTA_AGGPROTO",
    "D_PRINTA_PROTO",
    "D_PRINTF_AGG_CONV",
    "D_PRINTF_ARG_EXTRA",
    "D_PRINTF_ARG_FMT",
    "D_PRINTF_ARG_PROTO",
    "D_PRINTF_ARG_TYPE",
    "D_PRINTF_DYN_PROTO",
    "D_PRINTF_DYN_TYPE",
    "D_PRINTF_FMT_EMPTY",
    "D_PRINTM_ADDR",
    "D_PRINTM_SIZE",
    "D_PRINT_AGG",
    "D_PRINT_DYN",
    "D_PRINT_VOID",
    "D_PROTO_ARG",
    "D_PROTO_LEN",
    "D_PROV_BADNAME",
    "D_PROV_INCOMPAT",
    "D_PROV_PRARGLEN",
    "D_PROV_PRDUP",
    "D_PROV_PRXLATOR",
    "D_REGS_IDX",
    "D_SIZEOF_TYPE",
    "D_SPEC_COMM",
    "D_SPEC_DREC",
    "D_SPEC_SPEC",
    "D_STACK_PROTO",
    "D_STACK_SIZE",
    "D_STRINGOF_TYPE",
    "D_SYNTAX",
    "D_TRACEMEM_ADDR",
    "D_TRACEMEM_ARGS",
    "D_TRACEMEM_DYNSIZE",
    "D_TRACEMEM_SIZE",
    "D_TRACE_AGG",
    "D_TRACE_DYN",
    "D_TRACE_VOID",
    "D_TRUNC_AGGARG",
    "D_TRUNC_AGGBAD",
    "D_TRUNC_PROTO",
    "D_TRUNC_SCALAR",
    "D_UNKNOWN",
    "D_USTACK_FRAMES",
    "D_USTACK_PROTO",
    "D_USTACK_STRSIZE",
    "D_VAR_UNDEF",
    "D_XLATE_INCOMPAT",
    "D_XLATE_MEMB",
    "D_XLATE_NOCONV",
    "D_XLATE_NONE",
    "D_XLATE_REDECL",
    "D_XLATE_SOU",
];

/// The deepest trees that the parser lets through do not exhaust the stack of a later stage.
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

const PARSER_TAGS: &[&str] = &[
    "D_SYNTAX",
    "D_EMPTY",
    "D_INT_OFLOW",
    "D_INT_DIGIT",
    "D_STR_NL",
    "D_CHR_NL",
    "D_CHR_NULL",
    "D_CHR_OFLOW",
    "D_MACRO_UNDEF",
    "D_MACRO_OFLOW",
    "D_MACRO_UNUSED",
    "D_PRAGERR",
    "D_PRAGCTL_INVAL",
    "D_PRAGMA_INVAL",
    "D_PRAGMA_MALFORM",
    "D_PDESC_INVAL",
    "D_FUNC_IDENT",
    "D_DECL_CLASS",
];

/// What is known of a kernel.
trait Known: KernelTypes + Places {}

impl<K: KernelTypes + Places> Known for K {}

/// An input, and how the command line brought it in.
struct Case {
    sources: Sources,
    file: FileId,
    macros: Macros,
    settings: Settings,
    types: Vec<String>,
    /// That of the fixture, or none.
    kernel: Box<dyn Known>,
    /// Option amin.
    amin: Option<Attributes>,
    /// Option missinglocals.
    missing_locals_are_zero: bool,
}

impl Case {
    fn of(text: &str) -> Case {
        let mut sources = Sources::default();
        let source = Source { name: "test.d".to_owned(), origin: Origin::Script, text: text.to_owned() };
        let file = sources.add(source);
        let (macros, settings, kernel) = (Macros::default(), Settings::default(), Box::new(Intrinsic));
        let types = Vec::new();
        let missing_locals_are_zero = false;
        Case { sources, file, macros, settings, types, kernel, amin: None, missing_locals_are_zero }
    }

    fn read(path: &Path) -> Case {
        let text = parser::decode(std::fs::read(path).unwrap()).unwrap();
        let (directive, program) = match text.strip_prefix("/* test: ") {
            Some(rest) => rest.split_once(" */\n").unwrap(),
            None => ("", text.as_str()),
        };
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut macros = Macros { script: name.clone(), arguments: Vec::new(), variables: Vec::new() };
        for (variable, value) in [("pid", 4321), ("uid", 1000), ("target", 0)] {
            macros.variables.push((variable.to_owned(), value));
        }
        let (mut settings, mut types, mut origin) = (Settings::default(), Vec::new(), Origin::Script);
        let mut kernel: Box<dyn Known> = Box::new(Intrinsic);
        let (mut amin, mut variables, mut missing_locals_are_zero) = (None, 0, false);
        for word in directive.split(", ").filter(|word| !word.is_empty()) {
            match word.split_once(": ").unwrap_or((word, "")) {
                ("-n", _) => origin = Origin::Name,
                ("-f", _) => origin = Origin::Function,
                ("-m", _) => origin = Origin::Module,
                ("-P", _) => origin = Origin::Provider,
                ("-i", _) => origin = Origin::Id,
                ("args", list) => macros.arguments = list.split(' ').map(str::to_owned).collect(),
                ("type", list) => types = list.split(' ').map(str::to_owned).collect(),
                ("kernel", _) => kernel = Box::new(kernel::Fixture::with_btf().types()),
                ("copies", _) => kernel = Box::new(kernel::Fixture::with_copies().types()),
                ("missinglocals", _) => missing_locals_are_zero = true,
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
        // What a tree looks like does not depend on which names can be called.
        settings.any_call = path.parent().unwrap().ends_with("parse");
        Case { sources, file, macros, settings, types, kernel, amin, missing_locals_are_zero }
    }

    fn parse(&self) -> Result<Parsed, ParseError> {
        let is_type_name =
            |word: &str| self.types.iter().any(|name| name == word) || self.kernel.named(word).is_some();
        let options =
            ParseOptions { macros: &self.macros, is_type_name: &is_type_name, settings: self.settings };
        parser::parse(&self.sources, self.file, &options)
    }

    fn style(&self) -> Style<'static> {
        Style { program: "dtrace", color: false, errtags: true, subject: Some(self.file) }
    }

    fn program(&self) -> Result<ast::Program, String> {
        let failed = |error: ParseError| render::text(&self.sources, &error.diagnostic(), &self.style());
        self.parse().map(|parsed| parsed.program).map_err(failed)
    }
}

/// A later stage fails with its own diagnostic, rendered like the parser's.
fn check(case: &Case) -> Result<typeck::typed::Program, String> {
    let (plain, _) = sugar::as_written(case.program()?, sugar::Session::default());
    let (kernel, places, missing_locals_are_zero) =
        (&*case.kernel, &*case.kernel, case.missing_locals_are_zero);
    let env =
        typeck::Env { kernel, places, amin: case.amin, missing_locals_are_zero, ..typeck::Env::default() };
    typeck::check(&plain, &env)
        .map_err(|error| render::text(&case.sources, &error.diagnostic(), &case.style()))
}

fn generate(case: &Case) -> Result<dif::Program, String> {
    codegen::generate(&check(case)?)
        .map_err(|error| render::text(&case.sources, &error.diagnostic(), &case.style()))
}

/// The canonical layout; the preprocessor's lines stay.
fn format(case: &Case) -> String {
    let settings = Settings {
        defaultargs: true,
        argref: true,
        empty: true,
        directives: true,
        any_call: true,
        pspec: false,
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
        program.warnings.iter().map(|warning| render::text(&case.sources, warning, &case.style())).collect()
    };
    check(case).map_or_else(|error| error, |program| typeck::dump(&program) + &told(&program))
}

fn listing(case: &Case) -> String {
    generate(case).map_or_else(|error| error, |program| dif::disasm::program(&program))
}

fn check_stderr(case: &Case) -> String {
    check(case).map_or_else(|error| error, |_| "no error\n".to_owned())
}

/// The whole pipeline, as `dtrace -e` runs it.
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

/// The actions and, object by object, the listing; all of it verified.
fn dump_dif(case: &Case) -> String {
    match generate(case) {
        Ok(program) => {
            let options = dif::Options { destructive: true, ..dif::Options::default() };
            dif::verify::verify_program(&program, &options).unwrap();
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

fn print_plain(case: &Case) -> String {
    case.program().map_or_else(
        |error| error,
        |program| {
            let (plain, _) = sugar::as_written(program, sugar::Session::default());
            parser::pretty::clauses(&ast::Program::from(&plain))
        },
    )
}

fn stderr(case: &Case) -> String {
    case.program().map_or_else(|error| error, |_| "no error\n".to_owned())
}

/// Without the rendered text, which the other snapshot shows.
fn json(case: &Case) -> String {
    let Err(error) = case.parse() else { return "no error\n".to_owned() };
    let line = render::json(&case.sources, &error.diagnostic(), &case.style());
    assert!(!line.contains('\n'));
    let mut object: serde_json::Value = serde_json::from_str(&line).unwrap();
    object.as_object_mut().unwrap().remove("rendered");
    format!("{}\n", serde_json::to_string_pretty(&object).unwrap())
}

fn areas() -> Vec<&'static str> {
    let mut areas: Vec<&str> = STAGES.iter().map(|row| row.0).collect();
    areas.dedup();
    areas
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

fn compare(path: &Path, actual: &str, update: bool, report: &mut String) {
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return;
    }
    if update {
        std::fs::write(path, actual).unwrap();
        return;
    }
    writeln!(report, "{}", path.display()).unwrap();
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    for line in old.iter().skip(first).take(8) {
        writeln!(report, "  - {line}").unwrap();
    }
    for line in new.iter().skip(first).take(8) {
        writeln!(report, "  + {line}").unwrap();
    }
}

//! pipeline.rs: the order of the stages: parse → desugar → check → generate.

use std::collections::HashSet;

use crate::codegen;
use crate::options::key;
use crate::options::{From as Setter, Options};
use crate::parser::{self, Macros, ParseOptions, Settings, ast};
use crate::sugar::{self, MakeIndex, plain};
use crate::typeck::{self, MissingLocals};
use crate::vocabulary::{self, builtin::Version};
use kinst_base::attributes;
use kinst_base::diag::{Diagnostic, advice, tags};
use kinst_base::probe::Description;
use kinst_base::source::{FileId, Source, Sources, Span};
use kinst_sites::Places;
use kinst_types::KernelTypes;

/// The inputs of a compilation other than the source files.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// The macro arguments and variables: `$1`, `$target`.
    pub macros: &'a Macros,
    /// The kernel's types and symbols.
    pub kernel: &'a dyn KernelTypes,
    /// The kernel's probes, and the variables at instructions.
    pub places: &'a dyn Places,
    /// The function that makes the index of inlined copies, called only if a program names an inlined function.
    pub index: &'a MakeIndex<'a>,
    /// The D libraries in the order in which they are read.
    pub libraries: &'a [LibraryFile],
    /// Whether to compute [`Compiled::stability`].
    pub stability: bool,
}

/// A D library among the sources.
#[derive(Clone, Copy, Debug)]
pub struct LibraryFile {
    /// The id of its source.
    pub file: FileId,
    /// Whether it comes with the compiler: it is left out if the kernel lacks its types.
    pub own: bool,
}

/// The outcome of a compilation, and its intermediate output.
#[derive(Debug)]
pub struct Compilation {
    /// -d: the programs after sugar, as D source. Empty if that stage was not reached.
    pub desugared: String,
    /// -xtree and -x dump: the trees.
    pub dumps: String,
    /// The program, or the errors that stopped it.
    pub result: Result<Compiled, Vec<Diagnostic>>,
}

/// A program that was compiled without errors.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The clauses and DIFOs, from which a back end makes its image.
    pub program: kinst_dif::Program,
    /// The spans of the probe descriptions, by clause of the program.
    pub descriptions: Vec<Vec<Span>>,
    /// The stability of each clause's dependencies, by clause of the program. Empty if it was not requested.
    pub stability: Vec<typeck::Stability>,
    /// The warnings, which do not stop a run.
    pub warnings: Vec<Diagnostic>,
    /// The remarks that -v shows.
    pub remarks: Vec<Diagnostic>,
}

/// Compiles all programs of a run into one. `options` receives the settings of their pragmas.
pub fn compile(
    sources: &Sources,
    programs: &[FileId],
    given: Given<'_>,
    options: &mut Options,
) -> Compilation {
    let mut stages = Stages { desugared: String::new(), dumps: String::new() };
    let result = stages.run(sources, programs, given, options);
    Compilation { desugared: stages.desugared, dumps: stages.dumps, result }
}

/// The stability of these probes, and the types of their arguments.
pub fn describe(
    sources: &Sources,
    probes: &[Description],
    given: Given<'_>,
    options: &Options,
) -> Result<Vec<typeck::ProbeStability>, Vec<Diagnostic>> {
    let libraries = parse_libraries(sources, given, &mut HashSet::new())?;
    let libraries = named(sources, &libraries);
    let env = environment(options, given, &libraries);
    typeck::describe(probes, &env).map_err(|error| vec![error.diagnostic()])
}

/// Returns the program in its canonical layout, or an error if that layout would parse into another tree.
pub fn format(source: &Source, given: Given<'_>, sources: &Sources) -> Result<String, Vec<Diagnostic>> {
    let mut types = HashSet::new();
    parse_libraries(sources, given, &mut types)?;
    let is_type_name = |word: &str| is_type(word, &types, given.kernel);
    // Arguments and the preprocessor's definitions are unknown.
    let settings = Settings {
        defaultargs: true,
        argref: true,
        empty: true,
        directives: true,
        any_call: true,
        ..Settings::default()
    };
    let options = ParseOptions { macros: given.macros, is_type_name: &is_type_name, settings };
    let read = |text: &str| -> Result<(String, String), Vec<Diagnostic>> {
        let mut sources = Sources::default();
        let file = sources.add(Source { text: text.to_owned(), ..source.clone() });
        let (text, parsed) =
            parser::format(&sources, file, &options).map_err(|error| vec![error.diagnostic()])?;
        Ok((text, parser::dump::program(&parsed.program)))
    };
    let (text, tree) = read(&source.text)?;
    match read(&text) {
        Ok((again, same)) if again == text && same == tree => Ok(text),
        _ => {
            let title = "formatting would change the meaning of this program";
            Err(vec![Diagnostic::error(tags::UNKNOWN, title).help("please report it; the file is unchanged")])
        }
    }
}

struct Stages {
    desugared: String,
    dumps: String,
}

impl Stages {
    fn run(
        &mut self,
        sources: &Sources,
        programs: &[FileId],
        given: Given<'_>,
        options: &mut Options,
    ) -> Result<Compiled, Vec<Diagnostic>> {
        let mut types = HashSet::new();
        let libraries = parse_libraries(sources, given, &mut types)?;
        let libraries = named(sources, &libraries);
        let mut warnings = Vec::new();
        let parsed = parse(sources, programs, given, options, (&mut types, &mut warnings));
        let trees = parsed.map_err(|stopped| {
            let Interrupted { before, read, whole, errors } = *stopped;
            let env = environment(options, given, &libraries);
            earlier_error(before, read, whole, &env).map_or(errors, |earlier| vec![earlier])
        })?;
        let dump = Dump::new(options);
        for tree in &trees {
            self.dump(dump.ast, || parser::dump::program(tree));
        }
        let zdefs = options.flag(key::ZDEFS);
        let aliases = sugar::Aliases::new(libraries.iter().map(|library| library.program));
        let env = sugar::Env { aliases: &aliases, places: given.places, index: given.index, zdefs };
        let plain = self.desugar(trees, &env, dump)?;
        let env = typeck::Env { stability: given.stability, ..environment(options, given, &libraries) };
        let arguments = &given.macros.arguments;
        let typed = typeck::check(&plain, &env).map_err(|error| {
            let diagnostic = error.diagnostic();
            // An error in a clause may follow from a probe that does not exist.
            let unmatched = (!zdefs).then(|| unmatched(&plain, &diagnostic, given.places)).flatten();
            vec![unmatched.unwrap_or_else(|| explained(sources, arguments, diagnostic))]
        })?;
        self.dump(dump.typed, || typeck::dump(&typed));
        let program = codegen::generate(&typed).map_err(|error| vec![error.diagnostic()])?;
        self.dump(dump.dif, || kinst_dif::dump::dump(&program));
        let spans = |clause: &typeck::typed::Clause| clause.probes.iter().map(|probe| probe.span).collect();
        let descriptions = typed.clauses.iter().map(spans).collect();
        let stability = typed.clauses.into_iter().filter_map(|clause| clause.stability).collect();
        warnings.extend(typed.warnings.into_iter().chain(seldom_made(&plain)));
        Ok(Compiled { program, descriptions, stability, warnings, remarks: typed.remarks })
    }

    /// Desugars the programs and joins the results: they share variables and aggregations.
    fn desugar(
        &mut self,
        trees: Vec<ast::Program>,
        env: &sugar::Env<'_>,
        dump: Dump,
    ) -> Result<plain::Program, Vec<Diagnostic>> {
        let (programs, errors) = match sugar::desugar(trees, env) {
            Ok(programs) => (programs, None),
            Err(sugar::Stopped { before, errors }) => (before, Some(errors)),
        };
        let mut whole = plain::Program { items: Vec::new() };
        for plain in programs {
            let tree = ast::Program::from(&plain);
            let text = parser::pretty::clauses(&tree);
            self.dump(dump.plain, || parser::dump::program(&tree));
            self.dump(dump.text, || text.clone());
            self.desugared.push_str(&text);
            whole.items.extend(plain.items);
        }
        errors.map_or(Ok(whole), Err)
    }

    fn dump(&mut self, wanted: bool, text: impl FnOnce() -> String) {
        if wanted {
            self.dumps.push_str(&text());
        }
    }
}

/// The trees to dump.
#[derive(Clone, Copy)]
struct Dump {
    ast: bool,
    plain: bool,
    text: bool,
    typed: bool,
    dif: bool,
}

impl Dump {
    /// Bits of -xtree: 1 the parse tree, 2 and 4 the checked tree, 8 the D source after sugar.
    fn new(options: &Options) -> Dump {
        let (tree, dump) = (options.number(key::TREE), options.text(key::DUMP).unwrap_or_default());
        Dump {
            ast: tree & 1 != 0 || dump == "ast",
            plain: dump == "plain",
            text: tree & 8 != 0,
            typed: tree & 6 != 0 || dump == "typed",
            dif: dump == "dif",
        }
    }
}

fn parse(
    sources: &Sources,
    programs: &[FileId],
    given: Given<'_>,
    options: &mut Options,
    (types, warnings): (&mut HashSet<String>, &mut Vec<Diagnostic>),
) -> Result<Vec<ast::Program>, Box<Interrupted>> {
    let mut trees = Vec::new();
    for file in programs {
        let settings = Settings {
            defaultargs: options.flag(key::DEFAULTARGS),
            argref: options.flag(key::ARGREF),
            empty: options.flag(key::EMPTY),
            pspec: options.flag(key::PSPEC),
            directives: false,
            any_call: false,
            any_type: false,
            version: version(options),
        };
        let is_type_name = |word: &str| is_type(word, types, given.kernel);
        let parse_options = ParseOptions { macros: given.macros, is_type_name: &is_type_name, settings };
        let (mut read, mut whole, mut errors) = match parser::parse_until(sources, *file, &parse_options) {
            Ok(parsed) => {
                warnings.extend(parsed.target.filter(|_| given.macros.targetless).map(targetless));
                (parsed.program, true, Vec::new())
            }
            Err(stopped) => (stopped.read, stopped.at_end, vec![stopped.error.diagnostic()]),
        };
        if let Err((item, diagnostic)) = set_pragmas(&read, options) {
            read.items.truncate(item);
            (whole, errors) = (false, vec![*diagnostic]);
        }
        if !errors.is_empty() {
            return Err(Box::new(Interrupted { before: trees, read, whole, errors }));
        }
        note_types(&read, types);
        trees.push(read);
    }
    Ok(trees)
}

/// `$target` without -c or -p.
fn targetless(span: Span) -> Diagnostic {
    Diagnostic::warning(tags::MACRO_UNDEF, "$target has no value: it is 0")
        .at(span, "process 0 is the idle task")
        .help("name the process: -c COMMAND or -p PID")
}

/// The first error of a text that contains only an expression.
pub fn expression(sources: &Sources, file: FileId, given: Given<'_>) -> Result<(), Box<Diagnostic>> {
    let is_type_name = |word: &str| is_type(word, &HashSet::new(), given.kernel);
    let settings = Settings { defaultargs: true, argref: true, ..Settings::default() };
    let options = ParseOptions { macros: given.macros, is_type_name: &is_type_name, settings };
    parser::parse_expression(sources, file, &options).map(drop).map_err(|error| Box::new(error.diagnostic()))
}

/// A program whose descriptions are as written.
type Written = plain::Program<ast::ProbeDesc>;

/// A program that could not be parsed to its end, or that has a refused pragma.
struct Interrupted {
    /// The preceding programs.
    before: Vec<ast::Program>,
    /// The part that precedes the mistake, and whether that is the whole program.
    read: ast::Program,
    whole: bool,
    errors: Vec<Diagnostic>,
}

/// The first error that precedes a mistake: each program is checked before the next one is parsed, and
/// declarations while they are parsed.
fn earlier_error(
    before: Vec<ast::Program>,
    read: ast::Program,
    whole: bool,
    env: &typeck::Env<'_>,
) -> Option<Diagnostic> {
    if !before.iter().all(|program| program.items.is_empty())
        && let Err(error) = typeck::check_written(sugar::as_written(before.clone()), env)
    {
        return Some(error.diagnostic());
    }
    let all = sugar::as_written(before.into_iter().chain([read]).collect());
    typeck::check_read(&all, env, whole).err().map(|error| error.diagnostic())
}

/// The kernel is consulted last: its types are read at the first word that is otherwise unknown.
fn is_type(word: &str, types: &HashSet<String>, kernel: &dyn KernelTypes) -> bool {
    types.contains(word) || !vocabulary::is_known_name(word) && kernel.named(word).is_some()
}

/// Parses the libraries. A library of the compiler that does not parse with this kernel's types is left out.
fn parse_libraries(
    sources: &Sources,
    given: Given<'_>,
    types: &mut HashSet<String>,
) -> Result<Vec<(LibraryFile, Written)>, Vec<Diagnostic>> {
    let mut programs = Vec::new();
    for library in given.libraries {
        let is_type_name = |word: &str| is_type(word, types, given.kernel);
        let parse_options = ParseOptions {
            macros: given.macros,
            is_type_name: &is_type_name,
            settings: Settings { argref: true, empty: true, ..Settings::default() },
        };
        match parser::parse(sources, library.file, &parse_options) {
            Ok(parsed) => {
                note_types(&parsed.program, types);
                programs.push((*library, sugar::as_written(vec![parsed.program])));
            }
            Err(_) if library.own => {}
            Err(error) => return Err(vec![error.diagnostic()]),
        }
    }
    Ok(programs)
}

/// The libraries in the checker's format, each named by its file.
fn named<'a>(sources: &'a Sources, libraries: &'a [(LibraryFile, Written)]) -> Vec<typeck::Library<'a>> {
    let library = |(library, program): &'a (LibraryFile, Written)| {
        let name = &sources.get(library.file).name;
        typeck::Library { name: name.rsplit('/').next().unwrap_or(name), program, own: library.own }
    };
    libraries.iter().map(library).collect()
}

/// Adds the types of this program, which later programs may use.
fn note_types(program: &ast::Program, types: &mut HashSet<String>) {
    for item in &program.items {
        if let ast::Item::Declaration(declaration) = item {
            types.extend(declaration.type_names().map(str::to_owned));
        }
    }
}

/// Sets the options of `#pragma D option name=value`, in source order. On an error, returns the index of
/// the refused item and the reason.
fn set_pragmas(program: &ast::Program, options: &mut Options) -> Result<(), (usize, Box<Diagnostic>)> {
    for (index, item) in program.items.iter().enumerate() {
        let ast::Item::Pragma(ast::Pragma::Option { name, value, span }) = item else { continue };
        let value = value.as_ref().map(|value| value.node.as_str());
        if let Err(error) = options.set(&name.node, value, Setter::Program) {
            let title = format!("failed to set option '{}': {error}", name.node);
            let diagnostic = Diagnostic::error(tags::PRAGMA_OPTSET, title).at(*span, "set here");
            return Err((index, Box::new(error.help().into_iter().fold(diagnostic, Diagnostic::help))));
        }
    }
    Ok(())
}

fn environment<'a>(
    options: &Options,
    given: Given<'a>,
    libraries: &'a [typeck::Library<'a>],
) -> typeck::Env<'a> {
    let number = |name| u32::try_from(options.number(name)).unwrap_or(u32::MAX);
    typeck::Env {
        kernel: given.kernel,
        places: given.places,
        strsize: number(key::STRSIZE),
        stackframes: number(key::STACKFRAMES),
        ustackframes: number(key::USTACKFRAMES),
        maxframes: if options.is_set(key::MAXFRAMES) { number(key::MAXFRAMES) } else { u32::MAX },
        ustackcopy: options.is_set(key::USTACKCOPY).then(|| number(key::USTACKCOPY)),
        amin: options.text(key::AMIN).and_then(|text| attributes::parse(text).ok()),
        libraries,
        jstackframes: number(key::JSTACKFRAMES),
        jstackstrsize: number(key::JSTACKSTRSIZE),
        stability: false,
        version: version(options),
        missing_locals: match options.text(key::MISSINGLOCALS) {
            Some("zero") => MissingLocals::Zero,
            Some("skip") => MissingLocals::Skip,
            _ => MissingLocals::Error,
        },
    }
}

/// Option version, whose format was checked when it was set.
fn version(options: &Options) -> Option<Version> {
    let mut version = [0; 3];
    for (part, text) in version.iter_mut().zip(options.text(key::VERSION)?.split('.')) {
        *part = text.parse().ok()?;
    }
    Some(version)
}

/// The first description that matches nothing, in the clause of an error or in a preceding one.
fn unmatched(program: &plain::Program, error: &Diagnostic, places: &dyn Places) -> Option<Diagnostic> {
    let at = error.labels.iter().find(|label| label.primary).map(|label| label.span);
    // A library's source is not part of the program.
    let is_before = |span: Span| at.is_none_or(|at| span.file != at.file || span.start <= at.start);
    let probes = program.items.iter().filter_map(|item| match item {
        plain::Item::Clause(clause) if is_before(clause.span) => Some(&clause.probes),
        _ => None,
    });
    // Sites have already been looked up.
    let mut described = probes.flatten().filter(|probe| !matches!(probe.kind, Description::Site(_)));
    described.find_map(|probe| {
        let diagnostic = *places.unmatched(&probe.kind)?;
        let labelled = !diagnostic.labels.is_empty();
        Some(if labelled { diagnostic } else { diagnostic.at(probe.span, "no such probe") })
    })
}

/// Adds help that depends on the wording of the error.
fn explained(sources: &Sources, arguments: &[String], diagnostic: Diagnostic) -> Diagnostic {
    let span = diagnostic.labels.iter().find(|label| label.primary).map(|label| label.span);
    let text = span.and_then(|at| sources.get(at.file).text.get(at.start as usize..at.end as usize));
    match text {
        Some(text) => advice::advise(diagnostic, text, arguments),
        None => diagnostic,
    }
}

/// Warnings about system calls that the C library does not use, each at its description.
fn seldom_made(program: &plain::Program) -> Vec<Diagnostic> {
    let (fields, spans): (Vec<_>, Vec<_>) = program.described().into_iter().unzip();
    let warnings = kinst_sites::seldom_made(&fields).into_iter();
    warnings.map(|(number, warning)| warning.at(spans[number], "seldom fires")).collect()
}

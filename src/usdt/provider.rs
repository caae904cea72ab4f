//! usdt/provider.rs: the definitions of providers in a file for -h and -G, whose types C defines.

use crate::parser::{self, Macros, ParseOptions, Settings, ast};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::{FileId, Sources, Span};

/// The most arguments of a probe: the notes of <sys/sdt.h> have twelve.
const MOST_ARGUMENTS: usize = 12;

/// A provider of static probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name: `postgresql`.
    pub name: String,
    /// Its probes, in text order.
    pub probes: Vec<Probe>,
}

/// A static probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its name as written: `query__start`.
    pub name: String,
    /// The number of arguments.
    pub arguments: usize,
    /// Their types as written.
    pub types: String,
}

/// Returns the name of the variable that is not 0 while a probe is traced.
pub fn semaphore(provider: &str, probe: &str) -> String {
    format!("{provider}_{probe}_semaphore")
}

/// Parses the definitions of a file. Types of the arguments are those of the program: any name is one. A file without any
/// text is valid, since the build files of projects make some.
pub fn parse(sources: &Sources, file: FileId, macros: &Macros) -> Result<Vec<Provider>, Diagnostic> {
    let settings =
        Settings { directives: true, any_type: true, argref: true, empty: true, ..Settings::default() };
    let options = ParseOptions { macros, is_type_name: &|_| false, settings };
    let parsed = parser::parse(sources, file, &options).map_err(|error| error.diagnostic())?;
    let mut providers: Vec<Provider> = Vec::new();
    for item in &parsed.program.items {
        match item {
            ast::Item::Provider(defined) => {
                let text = &sources.get(file).text;
                let made = provider(defined, text)?;
                if providers.iter().any(|known| known.name == made.name) {
                    return Err(twice("provider", &made.name, defined.name.span));
                }
                providers.push(made);
            }
            ast::Item::Clause(clause) => {
                let title = "a file for -h or -G has only definitions of providers";
                let error = Diagnostic::error(tags::SYNTAX, title).at(clause.span, "a clause");
                return Err(error.help("put the clauses into another file, and trace with that"));
            }
            _ => {}
        }
    }
    let is_pragma = |item: &ast::Item| matches!(item, ast::Item::Pragma(_));
    match providers.is_empty() && !parsed.program.items.iter().all(is_pragma) {
        true => Err(Diagnostic::error(tags::SYNTAX, "the file defines no provider")
            .help("provider NAME { probe begin(int, char *); probe end(); };")),
        false => Ok(providers),
    }
}

fn provider(defined: &ast::Provider, text: &str) -> Result<Provider, Diagnostic> {
    let name = &defined.name.node;
    let mut probes: Vec<Probe> = Vec::new();
    check_name(name, defined.name.span)?;
    for probe in &defined.probes {
        let (name, span) = (&probe.name.node, probe.name.span);
        check_name(name, span)?;
        if probes.iter().any(|known| known.name == *name) {
            return Err(twice("probe", name, span));
        }
        let list = match &probe.native.list[..] {
            [one] if is_nothing(one) => &[],
            list => list,
        };
        let arguments = list.len();
        if probe.native.variadic {
            let title = "a static probe has a fixed number of arguments";
            return Err(Diagnostic::error(tags::SYNTAX, title).at(span, "ends with `...`"));
        }
        if arguments > MOST_ARGUMENTS {
            let title = format!("a static probe has at most {MOST_ARGUMENTS} arguments");
            return Err(Diagnostic::error(tags::SYNTAX, title).at(span, format!("it has {arguments}")));
        }
        let types: Vec<&str> = list.iter().map(|param| written(param, text)).collect();
        probes.push(Probe { name: name.clone(), arguments, types: types.join(", ") });
    }
    Ok(Provider { name: name.clone(), probes })
}

fn twice(what: &str, name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(tags::SYNTAX, format!("{what} `{name}` is defined twice")).at(span, "the second time")
}

/// Names are parts of names in C, and of a note, where a pattern would match other probes.
fn check_name(name: &str, span: Span) -> Result<(), Diagnostic> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.chars().all(is_part) {
        return Ok(());
    }
    let title = format!("`{name}` cannot be a part of a name in C");
    Err(Diagnostic::error(tags::SYNTAX, title)
        .at(span, "has other characters than letters, digits and underscores")
        .help("two underscores in the name of a probe are the dash of its description"))
}

/// Whether this is the `void` of an empty list.
fn is_nothing(param: &ast::Param) -> bool {
    let is_void = |spec: &ast::TypeSpec| *spec == ast::TypeSpec::Keyword(ast::TypeKeyword::Void);
    param.name.is_none()
        && param.ty.derived.is_empty()
        && param.ty.specs.iter().all(|spec| is_void(&spec.node))
}

fn written<'t>(param: &ast::Param, text: &'t str) -> &'t str {
    let span = param.ty.span;
    text.get(span.start as usize..span.end as usize).unwrap_or_default().trim()
}

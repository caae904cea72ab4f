//! sites/copies/calls.rs: the boundaries of the inlined copies in one ELF file, as calls.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::together::{doubt_conditions, doubt_shared};
use crate::flow::Undecodable;
use crate::flow::callers::{Callers, Left};
use crate::flow::doubts::Doubt;
use kinst_base::diag::{Diagnostic, suggest, tags};
use kinst_debuginfo::debuginfod::Say;
use kinst_debuginfo::{ElfFile, Error};
use kinst_dwarf::query::{self, Query};
use kinst_dwarf::{InlineCopy, Missing, demangled};

use crate::flow::marks::Linked;
use crate::flow::points::Point;
use crate::symtab::{Role, Symbols};

/// An inlined copy, seen as a call of the function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The called function, with path and generic arguments according to its language.
    pub function: String,
    /// The place where it begins, if that is known.
    pub entry: Place,
    /// Places where control enters it, by address.
    pub entries: Vec<Boundary>,
    /// Places where control leaves it, by address.
    pub returns: Vec<Boundary>,
    /// Why its entries or returns may be incomplete; `None` if they are exact.
    pub inexact: Option<Inexact>,
    /// The source file of the call.
    pub file: String,
    /// The line of the call in that file, from 1; 0 if unknown, and the file is then `??`.
    pub line: u64,
}

/// Why a call may be counted incorrectly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inexact {
    /// The returns are the last instructions of the copy's ranges.
    Returns(Undecodable),
    /// Other entries may exist.
    Entries(Doubt),
}

/// A place where a copy is entered or left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// The instruction; with [`Boundary::to`], the source of the edge.
    pub place: Place,
    /// If set, only when control goes from the place to this one.
    pub to: Option<Place>,
}

/// An address of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// A relocatable file (a module) has no addresses, only offsets in sections.
    pub address: u64,
    /// Section to which the address is relative; `None` for an address in the program.
    pub section: Option<String>,
    /// The function symbol that contains it, and the offset in bytes; `None` outside all symbols.
    pub caller: Option<(String, u64)>,
}

/// The calls of a function in one file, if its debug information could be read.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// Calls in the order of the debug information.
    pub calls: Vec<Call>,
    /// The functions that a partial path matches, if there are several: without generic arguments, each with
    /// its number of calls.
    pub candidates: BTreeMap<String, usize>,
    /// Why there may be more calls.
    pub incomplete: Option<Box<Diagnostic>>,
}

/// Returns the calls of `function` in a program, an object, a module or a vmlinux, in the order of its debug
/// information; if the file has no debug information, it is searched for under /usr/lib/debug.
pub fn in_file(path: &Path, function: &str) -> Result<Calls, Box<Diagnostic>> {
    in_file_asking(path, function, &|_| ())
}

/// Like [`in_file`]; `say` reports that debuginfod is queried for the file's debug information.
pub fn in_file_asking(path: &Path, function: &str, say: Say<'_>) -> Result<Calls, Box<Diagnostic>> {
    let file = File::open(path, say)?;
    let findings = kinst_dwarf::find_meant(file.debug(), function, true).map_err(refusal)?;
    let incomplete = file.incomplete(&findings);
    let defined = findings.functions.iter().any(|function| function.defined);
    let copies = findings.functions.into_iter().flat_map(|function| function.copies);
    let mut copies: Vec<InlineCopy> = copies.collect();
    let candidates = candidates(&mut copies, function);
    let calls = file.calls(&copies, function);
    match incomplete {
        Some(error) if calls.is_empty() => Err(error),
        None if calls.is_empty() => Err(Box::new(file.none(function, defined))),
        incomplete => Ok(Calls { calls, candidates, incomplete }),
    }
}

/// Returns the functions that a name may match, if there are several. If one of them has exactly this path,
/// only its copies are retained.
fn candidates(copies: &mut Vec<InlineCopy>, function: &str) -> BTreeMap<String, usize> {
    let path = |copy: &InlineCopy| {
        copy.function.as_deref().map_or_else(|| function.to_owned(), query::without_arguments)
    };
    let mut candidates: BTreeMap<String, usize> = BTreeMap::new();
    copies.iter().for_each(|copy| *candidates.entry(path(copy)).or_default() += 1);
    let wanted = query::without_arguments(function);
    if candidates.contains_key(&wanted) {
        copies.retain(|copy| path(copy) == wanted);
        candidates.clear();
    }
    if candidates.len() < 2 {
        candidates.clear();
    }
    candidates
}

/// A file with its instructions and the file with its debug information, which are usually the same.
struct File {
    image: ElfFile,
    separate: Option<ElfFile>,
    symbols: Symbols,
}

impl File {
    fn open(path: &Path, say: Say<'_>) -> Result<File, Box<Diagnostic>> {
        let image = ElfFile::open(path).map_err(refusal)?;
        let separate = if image.has_dwarf() { None } else { Some(separate_file(&image, say)?) };
        let symbols =
            Symbols::of_image(separate.as_ref().unwrap_or(&image), Role::Program).map_err(refusal)?;
        Ok(File { image, separate, symbols })
    }

    fn debug(&self) -> &ElfFile {
        self.separate.as_ref().unwrap_or(&self.image)
    }

    fn calls(&self, copies: &[InlineCopy], function: &str) -> Vec<Call> {
        let linked = match self.image.machine() {
            Some(_) => Linked::of_program(&self.image, self.debug()),
            None => Linked::default(),
        };
        let callers = Callers::new(&self.symbols, linked.code(&self.image), &linked.marks);
        // A partial path or a pattern matches several functions; C functions have no paths.
        let is_one = query::is_plain(function);
        let mut by_function: BTreeMap<(Option<&str>, u64), Vec<usize>> = BTreeMap::new();
        for (index, copy) in copies.iter().enumerate() {
            let origin = if is_one { 0 } else { copy.origin };
            by_function.entry((copy.function.as_deref(), origin)).or_default().push(index);
        }
        let of_functions = by_function.values().map(|of| of.iter().map(|index| &copies[*index]).collect());
        let of_functions: Vec<Vec<&InlineCopy>> = of_functions.collect();
        let mut left = callers.left(&of_functions.concat());
        doubt_conditions(&of_functions, &mut left);
        doubt_shared(&of_functions, &mut left);
        let mut ordered: Vec<(usize, Left)> = by_function.into_values().flatten().zip(left).collect();
        ordered.sort_by_key(|(index, _)| *index);
        let calls = ordered.into_iter().map(|(index, left)| self.call(&copies[index], left, function));
        calls.collect()
    }

    fn call(&self, copy: &InlineCopy, left: Left, function: &str) -> Call {
        let entry = self.place(left.entry);
        let boundary = |point: &Point| match *point {
            Point::At(address) => Boundary { place: self.place(address), to: None },
            Point::Edge { from, to, .. } => Boundary { place: self.place(from), to: Some(self.place(to)) },
        };
        let entries = left.entries.iter().map(boundary).collect();
        let returns = left.sites.iter().map(boundary).collect();
        let (file, line) = match &copy.call {
            Some(call) => (call.file.clone(), call.line),
            None => ("??".to_owned(), 0),
        };
        Call {
            function: copy.function.as_deref().unwrap_or(function).to_owned(),
            entry,
            entries,
            returns,
            inexact: left.unread.map(Inexact::Returns).or(left.doubt.map(Inexact::Entries)),
            file,
            line,
        }
    }

    fn place(&self, address: u64) -> Place {
        let symbol = self.symbols.containing(address);
        let caller = symbol.map(|symbol| (demangled(self.symbols.name(symbol)), address - symbol.address));
        let section = self.debug().section_at(address).filter(|_| self.debug().is_relocatable());
        match section {
            Some(section) => {
                Place { address: address - section.address, section: Some(section.name.clone()), caller }
            }
            None => Place { address, section: None, caller },
        }
    }

    /// Returns a warning about unreadable parts of the debug information.
    fn incomplete(&self, findings: &kinst_dwarf::Findings) -> Option<Box<Diagnostic>> {
        let path = self.debug().path().display();
        if !findings.missing.is_empty() {
            return Some(Box::new(with_missing(incomplete(self.debug()), &findings.missing)));
        }
        let first = findings.damaged.first()?;
        let error = Diagnostic::error(tags::DEBUGINFO, format!("{path}: some debug information is damaged"));
        Some(Box::new(error.note(first.clone())))
    }

    /// Explains the absence of copies.
    fn none(&self, function: &str, defined: bool) -> Diagnostic {
        let path = self.image.path().display();
        let names = kinst_dwarf::inline_names(self.debug()).unwrap_or_default();
        let query = Query::new(function);
        if names.iter().any(|name| query.matches(&query::split(name, "::"))) {
            return Diagnostic::error(
                tags::PDESC_ZERO,
                format!("no call of `{function}` is inlined in {path}"),
            )
            .note(
                "it is an inline function, but every call of it was compiled as a call, or none was compiled",
            );
        }
        if defined || !self.symbols.named(function).is_empty() {
            return Diagnostic::error(
                tags::PDESC_ZERO,
                format!("`{function}` is not inlined anywhere in {path}"),
            )
            .note("it is compiled out of line");
        }
        let error = Diagnostic::error(tags::PDESC_ZERO, format!("no function `{function}` in {path}"));
        let last = |name| query::split(name, "::").last().copied().unwrap_or_default();
        let whole = function.contains("::");
        let known: BTreeSet<&str> = names.iter().map(|name| if whole { name } else { last(name) }).collect();
        let near = suggest::nearest_few(function, known, 3);
        if near.is_empty() {
            return error;
        }
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        error.help(format!("did you mean {}?", near.join(" or ")))
    }
}

fn separate_file(image: &ElfFile, say: Say<'_>) -> Result<ElfFile, Box<Diagnostic>> {
    let mut searched = kinst_debuginfo::debug_file_of(image);
    searched.ask(image.build_id(), &image.path().display().to_string(), say);
    if let Some(found) = searched.found {
        return Ok(found);
    }
    let title = format!("{} has no debug information", image.path().display());
    let mut error = Diagnostic::error(tags::DEBUGINFO, title);
    if let Some(id) = image.build_id() {
        error = error.note(format!("build id: {id}"));
    }
    for refused in &searched.refused {
        error = error.note(refused.to_string());
    }
    let places: Vec<String> = searched.places.iter().map(|place| place.display().to_string()).collect();
    if !places.is_empty() {
        error = error.note(format!("looked for: {}", places.join(", ")));
    }
    Err(Box::new(error.help("compile it with -g, or install the package with its debug information")))
}

fn refusal(error: Error) -> Box<Diagnostic> {
    Box::new(error.diagnostic())
}
/// Some files with split debug information cannot be used.
pub(crate) fn incomplete(file: &ElfFile) -> Diagnostic {
    let title = format!("{}: a part of the debug information cannot be used", file.path().display());
    Diagnostic::error(tags::DEBUGINFO, title)
}

/// Adds the files with split debug information that cannot be used.
pub(crate) fn with_missing(mut error: Diagnostic, missing: &BTreeMap<Missing, usize>) -> Diagnostic {
    const SHOWN: usize = 3;
    for one in missing.keys().take(SHOWN) {
        error = error.note(one.to_string());
    }
    if missing.len() > SHOWN {
        error = error.note(format!("and {} more", missing.len() - SHOWN));
    }
    error.help(kinst_dwarf::SPLIT_HELP)
}

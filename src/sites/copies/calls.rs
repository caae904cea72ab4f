//! sites/copies/calls.rs: the call boundaries of the inlined copies in one ELF file.

use std::path::Path;

use crate::debuginfo::debuginfod::Say;
use crate::debuginfo::{self, D_DEBUGINFO, Error, Image};
use crate::diag::{Diagnostic, suggest, tags};
use crate::dwarf::{self, InlineCopy};
use crate::sites::flow::Undecodable;
use crate::sites::flow::callers::{Callers, Left};
use crate::sites::flow::marks::Linked;
use crate::sites::flow::points::Point;
use crate::sites::symtab::{Role, Symbols};

/// An inlined copy, as a call of the function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub entry: Place,
    /// The places where control leaves it, by address.
    pub returns: Vec<Return>,
    /// Why the returns are not exact; they are then the last instructions of the copy's ranges.
    pub inexact: Option<Undecodable>,
    /// The source file of the call.
    pub file: String,
    pub line: u64,
}

/// A place where a copy is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Return {
    pub place: Place,
    /// If set, the copy is left only when control goes from the place to this one.
    pub to: Option<Place>,
}

/// An address of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// A relocatable file (a module) has no addresses, only offsets in sections.
    pub address: u64,
    /// The section that the address is an offset in; `None` if it is the address in the program.
    pub section: Option<String>,
    /// The function symbol that contains it and the distance from it in bytes; `None` outside all symbols.
    pub caller: Option<(String, u64)>,
}

/// The calls of `function` in a program, an object, a module or a vmlinux, in the order of its debug information;
/// a file without any is searched for under /usr/lib/debug.
pub fn in_file(path: &Path, function: &str) -> Result<Vec<Call>, Box<Diagnostic>> {
    in_file_asking(path, function, &|_| ())
}

/// Like [`in_file`]; `say` reports that debuginfod is queried for the file's debug information.
pub fn in_file_asking(path: &Path, function: &str, say: Say<'_>) -> Result<Vec<Call>, Box<Diagnostic>> {
    let file = File::open(path, say)?;
    let wanted = [function.to_owned()];
    let findings = dwarf::find(file.debug(), &wanted, true).map_err(refusal)?;
    let copies = findings.functions.into_iter().flat_map(|function| function.copies);
    let copies: Vec<InlineCopy> = copies.collect();
    let calls = file.calls(&copies);
    if calls.is_empty() {
        return Err(Box::new(file.none(function)));
    }
    Ok(calls)
}

/// A file with its instructions and the one with its debug information, which are mostly the same.
struct File {
    image: Image,
    separate: Option<Image>,
    symbols: Symbols,
}

impl File {
    fn open(path: &Path, say: Say<'_>) -> Result<File, Box<Diagnostic>> {
        let image = Image::open(path).map_err(refusal)?;
        let separate = if image.has_dwarf() { None } else { Some(separate_file(&image, say)?) };
        let symbols =
            Symbols::of_image(separate.as_ref().unwrap_or(&image), Role::Program).map_err(refusal)?;
        Ok(File { image, separate, symbols })
    }

    fn debug(&self) -> &Image {
        self.separate.as_ref().unwrap_or(&self.image)
    }

    fn calls(&self, copies: &[InlineCopy]) -> Vec<Call> {
        let linked = match self.image.machine() {
            Some(_) => Linked::of_program(&self.image, self.debug()),
            None => Linked::default(),
        };
        let callers = Callers::new(&self.symbols, linked.code(&self.image), &linked.marks);
        let left = callers.left(&copies.iter().collect::<Vec<_>>());
        copies.iter().zip(left).map(|(copy, left)| self.call(copy, left)).collect()
    }

    fn call(&self, copy: &InlineCopy, left: Left) -> Call {
        let entry = self.place(left.entry);
        let returns = left.sites.into_iter().map(|exit| match exit {
            Point::At(address) => Return { place: self.place(address), to: None },
            Point::Edge { from, to, .. } => Return { place: self.place(from), to: Some(self.place(to)) },
        });
        let (file, line) = match &copy.call {
            Some(call) => (call.file.clone(), call.line),
            None => ("??".to_owned(), 0),
        };
        Call { entry, returns: returns.collect(), inexact: left.unread, file, line }
    }

    fn place(&self, address: u64) -> Place {
        let symbol = self.symbols.containing(address);
        let caller = symbol.map(|symbol| (self.symbols.name(symbol).to_owned(), address - symbol.address));
        let section = self.debug().section_at(address).filter(|_| self.debug().is_relocatable());
        match section {
            Some(section) => {
                Place { address: address - section.address, section: Some(section.name.clone()), caller }
            }
            None => Place { address, section: None, caller },
        }
    }

    /// Why there are no copies.
    fn none(&self, function: &str) -> Diagnostic {
        let path = self.image.path().display();
        let names = dwarf::inline_names(self.debug()).unwrap_or_default();
        if names.contains(function) {
            return Diagnostic::error(
                tags::PDESC_ZERO,
                format!("no call of `{function}` is inlined in {path}"),
            )
            .note(
                "it is an inline function, but every call of it was compiled as a call, or none was compiled",
            );
        }
        if !self.symbols.named(function).is_empty() {
            return Diagnostic::error(
                tags::PDESC_ZERO,
                format!("`{function}` is not inlined anywhere in {path}"),
            )
            .note("it is a function with code of its own");
        }
        let error =
            Diagnostic::error(tags::PDESC_ZERO, format!("there is no function `{function}` in {path}"));
        let near = suggest::nearest_few(function, names.iter().map(String::as_str), 3);
        if near.is_empty() {
            return error;
        }
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        error.help(format!("did you mean {}?", near.join(" or ")))
    }
}

fn separate_file(image: &Image, say: Say<'_>) -> Result<Image, Box<Diagnostic>> {
    let mut searched = debuginfo::debug_file_of(image);
    searched.ask(image.build_id(), &image.path().display().to_string(), say);
    if let Some(found) = searched.found {
        return Ok(found);
    }
    let title = format!("{} has no debug information", image.path().display());
    let mut error = Diagnostic::error(D_DEBUGINFO, title);
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

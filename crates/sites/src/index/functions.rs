//! sites/index/functions.rs: the functions of one image and their sites, from its index or its debug information.

use kinst_base::image::ImageId;
use std::collections::{BTreeMap, BTreeSet};

use crate::cache::known::Known;
use crate::copies::resolve::resolve;
use crate::flow::points::Point;
use crate::image::Image;
use crate::model::{Boundary, FunctionSites};
use crate::symtab::Symbols;
use kinst_dwarf::{Function, GoQuery, query};

/// A function of an image: the sites of its copies, and its out-of-line symbols.
#[derive(Debug)]
pub(super) struct ImageFunction {
    pub image: ImageId,
    pub name: String,
    pub known: Known,
    /// The symbols of the function and its clones; empty if all calls are inlined.
    pub out_of_line: Vec<String>,
}

impl ImageFunction {
    pub(super) fn points(&self, boundary: Boundary) -> &[Point] {
        points(&self.known, boundary)
    }
}

/// Returns the points where a function begins or ends.
pub(super) fn points(known: &Known, boundary: Boundary) -> &[Point] {
    match boundary {
        Boundary::Entry => &known.entries,
        Boundary::Return => &known.exits,
    }
}

/// Returns those of the named functions that the image has, with their sites; from the index, if cached.
pub(super) fn named(image: Image<'_>, names: Vec<String>) -> Vec<ImageFunction> {
    match image.index() {
        Some(index) => {
            let known = names.iter().map(|name| index.function(name).unwrap_or_default()).collect();
            with_instances(image, names, known)
        }
        None => explored(image, names),
    }
}

/// Like [`named`], for a long sorted list of names of which an image has few.
pub(super) fn among(image: Image<'_>, names: &[String]) -> Vec<ImageFunction> {
    let Some(index) = image.index() else { return explored(image, names.to_vec()) };
    let is_wanted = |name: &&str| names.binary_search_by(|wanted| wanted.as_str().cmp(name)).is_ok();
    let own = image.symbols().into_iter().flat_map(Symbols::iter);
    let own = own.map(|(name, _)| name_of_clone(name));
    let here: BTreeSet<&str> = index.names().filter(is_wanted).chain(own.filter(is_wanted)).collect();
    let known = here.iter().map(|name| index.function(name).unwrap_or_default()).collect();
    with_instances(image, here.into_iter().map(str::to_owned).collect(), known)
}

/// Returns the functions of a program that a name, which may be a path or a pattern, means, sorted by name: those of C++
/// and Rust under their paths, all others under the name.
pub(super) fn meant(image: Image<'_>, function: &str) -> Vec<(String, Known)> {
    let query = GoQuery::new(function);
    if let Some(described) = image.described(&|name| query.matches(name)) {
        let (names, functions): (Vec<String>, Vec<Function>) = described.into_iter().unzip();
        let known = resolve(image, &functions);
        return names.into_iter().zip(known).collect();
    }
    let Some(file) = image.debug() else { return Vec::new() };
    if query::is_plain(function) && !image.may_know(file, &[function.to_owned()]) {
        return Vec::new();
    }
    // Reading the names of the sites takes as long as reading the sites: both run in parallel.
    let find = || kinst_dwarf::find_meant(file, function, false);
    let findings = match rayon::join(find, || image.symbols().map(|_| ())).0 {
        Ok(findings) => findings,
        Err(error) => {
            image.all().warn(error.warning());
            return Vec::new();
        }
    };
    let remark = |line| image.all().remark(format!("{}: {line}", file.path().display()));
    findings.damaged.iter().for_each(remark);
    let mut by_name: BTreeMap<String, Function> = BTreeMap::new();
    for mut found in findings.functions {
        let copies = std::mem::take(&mut found.copies);
        for copy in copies {
            let name = copy.function.as_deref().unwrap_or(function).to_owned();
            let known = Function { defined: true, inline: true, ..Function::default() };
            by_name.entry(name).or_insert(known).copies.push(copy);
        }
        if let Some(own) = by_name.get_mut(function) {
            *own = Function { copies: std::mem::take(&mut own.copies), ..found };
        } else if by_name.is_empty() && found.defined {
            by_name.insert(function.to_owned(), found);
        }
    }
    let (names, functions): (Vec<String>, Vec<Function>) = by_name.into_iter().unzip();
    let known = resolve(image, &functions);
    names.into_iter().zip(known).collect()
}

/// Returns the names of all matching functions, inlined and out-of-line.
pub(super) fn names(image: Image<'_>, passes: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names = image.inline_names();
    names.retain(|name| passes(name));
    let own = own_names(image).filter(|name| passes(name));
    names.extend(own.map(str::to_owned));
    names
}

/// Returns the names of the out-of-line functions, without clones.
pub(super) fn own_names(image: Image<'_>) -> impl Iterator<Item = &'_ str> {
    let own = image.symbols().into_iter().flat_map(Symbols::iter);
    own.filter(|(name, symbol)| !symbol.gone() && !name.contains('.')).map(|(name, _)| name)
}

/// Converts the points of a function to offsets in the containing functions; `None` if nothing is left.
pub(super) fn sites(image: Image<'_>, found: &ImageFunction, boundary: Boundary) -> Option<FunctionSites> {
    let points = found.points(boundary).iter();
    let function = FunctionSites {
        module: image.name().to_owned(),
        function: found.name.clone(),
        sites: points.filter_map(|point| image.point(*point).ok()).collect(),
        out_of_line: found.out_of_line.clone(),
    };
    (!function.sites.is_empty() || !function.out_of_line.is_empty()).then_some(function)
}

/// Looks up functions in the debug information.
fn explored(image: Image<'_>, names: Vec<String>) -> Vec<ImageFunction> {
    let functions = match image.debug() {
        // Most files do not have a given name. The kernel's assembly functions are only in its symbols.
        Some(file) if !image.may_know(file, &names) => match image.all().is_first(image.id()) {
            true => vec![Function::default(); names.len()],
            false => Vec::new(),
        },
        // Reading the names of the sites takes as long as reading the sites: both run in parallel.
        Some(file) => {
            match rayon::join(|| kinst_dwarf::find(file, &names, false), || image.symbols().map(|_| ())).0 {
                Ok(findings) => {
                    let remark = |line| image.all().remark(format!("{}: {line}", file.path().display()));
                    findings.damaged.iter().for_each(remark);
                    findings.functions
                }
                Err(error) => {
                    image.all().warn(error.warning());
                    return Vec::new();
                }
            }
        }
        None => {
            let is_one = |name: &str| names.iter().any(|one| one == name);
            let mut described = image.described(&is_one).unwrap_or_default();
            names.iter().map(|name| described.remove(name).unwrap_or_default()).collect()
        }
    };
    if functions.is_empty() {
        return Vec::new();
    }
    let known = resolve(image, &functions);
    with_instances(image, names, known)
}

/// Drops functions that the image does not have.
pub(super) fn with_instances(image: Image<'_>, names: Vec<String>, known: Vec<Known>) -> Vec<ImageFunction> {
    let symbols = image.symbols();
    let found = names.into_iter().zip(known).map(|(name, known)| {
        let out_of_line = symbols.map(|symbols| symbols.instances(&name)).unwrap_or_default();
        ImageFunction { image: image.id(), name, known, out_of_line }
    });
    found.filter(|found| found.known.inline || !found.out_of_line.is_empty()).collect()
}

/// Returns the name of a clone's function: `f` for `f.isra.0`.
pub(super) fn name_of_clone(name: &str) -> &str {
    name.split_once('.').map_or(name, |(function, _)| function)
}

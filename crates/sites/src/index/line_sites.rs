//! sites/index/line_sites.rs: the instructions where a source line begins, in a function and its inlined copies.

use kinst_base::image::{ImageId, ModuleId};
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::refusals::no_sites;
use crate::image::Image;
use crate::image::info::Info;
use crate::image::naming::split_ordinal;
use crate::model::{FoundSite, SourceLine};
use crate::symtab::{Symbol, Symbols};
use crate::target::Kernel;
use crate::target::refusals::{Missing, no_debug_information, no_module};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::probe::Site;
use kinst_dwarf::{Body, Frame, Statement};

/// Returns one site for each body and copy of the function that has code on the line, in the order of the
/// debug information.
pub(super) fn line_sites(
    kernel: &Kernel,
    module: &str,
    function: &str,
    line: &SourceLine,
) -> Result<Vec<FoundSite>, Box<Diagnostic>> {
    let modules = kernel.modules_matching(module);
    if modules.is_empty() {
        return Err(Box::new(no_module(kernel, module)));
    }
    let mut search = Search::new(line);
    for module in &modules {
        if !kernel.image(*module).may_mention(split_ordinal(function).0) {
            if *module == ModuleId::PROPER && kernel.layout(*module).is_none() {
                return Err(Box::new(no_lines(kernel, &modules, *module, function)));
            }
            continue;
        }
        let Some(info) = kernel.image(*module).info() else {
            return Err(Box::new(no_lines(kernel, &modules, *module, function)));
        };
        let searched = info.and_then(|info| search.image(kernel.image(*module), &info, function, &[]));
        searched.map_err(|error| Box::new(error.diagnostic()))?;
    }
    let Search { seen, sites, .. } = search;
    match sites.is_empty() {
        false => Ok(sites),
        true if seen.bodies == 0 => Err(Box::new(no_sites(kernel, &modules, function, &[]))),
        true => Err(Box::new(no_code_on_line("kinst:", function, line, &seen))),
    }
}

/// Reports that the module has or may have the function, but that its lines are unknown.
fn no_lines(kernel: &Kernel, modules: &[ModuleId], module: ModuleId, function: &str) -> Diagnostic {
    let known = !kernel.functions_named(modules, function).is_empty();
    no_debug_information(kernel, module, function, Missing::Lines { out_of_line: known })
}

/// A search for a line in images.
pub(super) struct Search<'l> {
    line: &'l SourceLine,
    pub seen: Seen,
    pub sites: Vec<FoundSite>,
    taken: HashSet<(ImageId, u64)>,
}

/// The lines with code in the function, for messages.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Number of bodies: the function itself and its copies.
    pub bodies: usize,
    /// Lines where statements of the function begin, without those of inlined functions; by file, the
    /// function's own file first.
    pub own: BTreeMap<String, BTreeSet<u64>>,
    /// Lines where statements begin, including those of inlined functions.
    pub all: BTreeMap<String, BTreeSet<u64>>,
}

impl<'l> Search<'l> {
    pub(super) fn new(line: &'l SourceLine) -> Search<'l> {
        Search { line, seen: Seen::default(), sites: Vec::new(), taken: HashSet::new() }
    }

    /// Takes the first instruction of the line in each body and copy of a function; `of_path` are those of its bodies
    /// that have other names, as in C++ and Rust.
    pub(super) fn image(
        &mut self,
        image: Image<'_>,
        info: &Info<'_>,
        function: &str,
        of_path: &[Symbol],
    ) -> Result<(), kinst_debuginfo::Error> {
        let (name, ordinal) = split_ordinal(function);
        let symbols = image.symbols();
        let named: Vec<Symbol> = match ordinal {
            Some(_) => image.functions_named(function),
            None => {
                let instances = symbols.map(|symbols| symbols.instances(name)).unwrap_or_default();
                instances.iter().flat_map(|name| image.functions_named(name)).collect()
            }
        };
        for symbol in named.iter().chain(of_path) {
            if let Some(body) = info.body_at(symbol.address)? {
                let function = body.function();
                // The symbol may be an assembly function with the same name.
                if function.contains(symbol.address) {
                    self.body(image, info, &body, function)?;
                }
            }
        }
        if ordinal.is_some() {
            return Ok(());
        }
        for copy in info.copies(name)? {
            let Some(body) = info.body_at(copy.ranges.first().map_or(copy.entry(), |range| range.start))?
            else {
                continue;
            };
            if let Some(frame) = body.frames().find(|frame| frame.die == copy.die) {
                self.body(image, info, &body, frame)?;
            }
        }
        Ok(())
    }

    /// Takes the first instruction of a line of a file in each body and copy that has code on it.
    pub(super) fn anywhere(
        &mut self,
        image: Image<'_>,
        info: &Info<'_>,
    ) -> Result<(), kinst_debuginfo::Error> {
        let Some(file) = &self.line.file else { return Ok(()) };
        let mut frames: HashSet<u64> = HashSet::new();
        let own = image.symbols().into_iter().flat_map(Symbols::records);
        let mut last = None;
        for symbol in own.filter(|symbol| !symbol.gone()) {
            // Several symbols may name one function.
            if last.replace(symbol.address) == Some(symbol.address) {
                continue;
            }
            let range = symbol.address..symbol.address.saturating_add(symbol.size);
            let Some(lines) = info.lines_in(&range)? else { continue };
            for statement in lines.statements(range) {
                if !is_suffix(file, statement.place.file) {
                    continue;
                }
                self.seen.add(&statement, true);
                if u64::from(statement.place.line) != self.line.line {
                    continue;
                }
                // The line is known, too, if the functions are in a file that is missing.
                let body = info.body_at(statement.address).unwrap_or_default();
                let frame =
                    body.as_ref().and_then(|body| body.at(statement.address).first().map(|frame| frame.die));
                if frame.is_none_or(|die| frames.insert(die))
                    && self.taken.insert((image.id(), statement.address))
                {
                    self.sites.extend(image.site(statement.address).ok());
                }
            }
        }
        Ok(())
    }

    /// Takes the first instruction of the line in a body or copy.
    fn body(
        &mut self,
        image: Image<'_>,
        info: &Info<'_>,
        body: &Body,
        frame: &Frame,
    ) -> Result<(), kinst_debuginfo::Error> {
        let definition = info.definition(frame.origin)?;
        let owners = Owners::of(info, body)?;
        self.seen.bodies += 1;
        // Ranges that are not entered by falling through come last: `.cold` parts, whatever their address.
        let mut ranges: Vec<_> = frame.ranges.iter().collect();
        let entry = frame.entries.first().copied().unwrap_or_default();
        ranges.sort_by_key(|range| (!range.contains(&entry), range.start));
        let mut first = None;
        for range in ranges {
            let Some(lines) = info.lines_in(range)? else { continue };
            for statement in lines.statements(range.clone()) {
                let own = owners.owner(&statement) == Some(frame.origin);
                self.seen.add(&statement, own);
                let wanted = u64::from(statement.place.line) == self.line.line
                    && match &self.line.file {
                        Some(file) => is_suffix(file, statement.place.file),
                        None => own && same_file(statement.place.file, &definition.file),
                    };
                if wanted && first.is_none() {
                    first = Some(statement.address);
                }
            }
        }
        if let Some(address) = first
            && self.taken.insert((image.id(), address))
            && let Ok(FoundSite { site, module_needed }) = image.site(address)
        {
            let site = Site { copy: Some(frame.name.clone()), inlined: frame.call.is_some(), ..site };
            self.sites.push(FoundSite { site, module_needed });
        }
        Ok(())
    }
}

/// Assigns lines to functions. A line does not belong to the innermost copy at its address: at the beginning
/// of a call, statements of the caller and of the copy begin at the same instruction. C functions do not
/// nest, so a line belongs to the last function that is defined before it.
struct Owners {
    /// File, line and origin of the definitions of all functions in a body.
    defined: Vec<(String, u64, u64)>,
}

impl Owners {
    fn of(info: &Info<'_>, body: &Body) -> Result<Owners, kinst_debuginfo::Error> {
        let origins: BTreeSet<u64> = body.frames().map(|frame| frame.origin).collect();
        let mut defined = Vec::new();
        for origin in origins {
            let definition = info.definition(origin)?;
            defined.push((definition.file.clone(), definition.line, origin));
        }
        Ok(Owners { defined })
    }

    fn owner(&self, statement: &Statement<'_>) -> Option<u64> {
        let before = self.defined.iter().filter(|(file, line, _)| {
            *line <= u64::from(statement.place.line) && same_file(statement.place.file, file)
        });
        before.max_by_key(|(_, line, _)| *line).map(|(_, _, origin)| *origin)
    }
}

impl Seen {
    fn add(&mut self, statement: &Statement<'_>, own: bool) {
        let add = |files: &mut BTreeMap<String, BTreeSet<u64>>| {
            let lines = match files.get_mut(statement.place.file) {
                Some(lines) => lines,
                None => files.entry(statement.place.file.to_owned()).or_default(),
            };
            lines.insert(statement.place.line.into());
        };
        add(&mut self.all);
        if own {
            add(&mut self.own);
        }
    }

    /// Returns the lines of all files whose paths end with `file`.
    pub(super) fn lines_of(&self, file: &str) -> BTreeSet<u64> {
        let files = self.all.iter().filter(|(path, _)| is_suffix(file, path));
        files.flat_map(|(_, lines)| lines.iter().copied()).collect()
    }
}

/// Whether a path ends with the components of `end`: `file.h` matches `include/linux/file.h`, but not `profile.h`.
fn is_suffix(end: &str, path: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// Whether two paths denote the same file: two units may name it from different directories.
fn same_file(a: &str, b: &str) -> bool {
    !a.is_empty() && !b.is_empty() && (is_suffix(a, b) || is_suffix(b, a))
}

/// Reports that no code of the files is on the line.
pub(super) fn no_code_on_line_of_file(line: &SourceLine, seen: &Seen) -> Diagnostic {
    let file = line.file.as_deref().unwrap_or_default();
    let lines = seen.lines_of(file);
    if lines.is_empty() {
        return Diagnostic::error(tags::PDESC_ZERO, format!("no code is from the file `{file}`"))
            .help("the end of a path is enough: parse.c@123, src/parse.c@123");
    }
    let found =
        Diagnostic::error(tags::PDESC_ZERO, format!("no statement begins on line {} of {file}", line.line));
    let near = [lines.range(..line.line).next_back(), lines.range(line.line..).next()];
    let near: Vec<String> = near.into_iter().flatten().map(|line| format!("{file}@{line}")).collect();
    found.help(format!("the nearest lines with code: {}", near.join(", ")))
}

/// Reports that the function has no code on the line. `image` has the first two fields of the description.
pub(super) fn no_code_on_line(image: &str, function: &str, line: &SourceLine, seen: &Seen) -> Diagnostic {
    let number = line.line;
    let error = |title| Diagnostic::error(tags::PDESC_ZERO, title);
    let (lines, form): (BTreeSet<u64>, String) = match &line.file {
        Some(file) => {
            let lines = seen.lines_of(file);
            if lines.is_empty() {
                let files: Vec<&str> = seen.all.keys().map(String::as_str).take(8).collect();
                return error(format!("the file `{file}` is not part of `{function}`"))
                    .note(format!("its code is from {}", files.join(", ")));
            }
            (lines, format!("{file}@"))
        }
        None => (seen.own.values().flatten().copied().collect(), "L".to_owned()),
    };
    let before = lines.range(..number).next_back();
    let after = lines.range(number..).find(|line| **line != number);
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return error(format!("no statement of `{function}` has code"));
    };
    let files: Vec<&str> = seen.own.keys().map(String::as_str).collect();
    let offer = |line: &u64| format!("{image}:{function}:{form}{line}");
    match (before, after) {
        (Some(before), Some(after)) => error(format!("no statement of `{function}` begins on line {number}"))
            .note(format!("the nearest lines with code are {before} and {after}"))
            .help(format!("try {} or {}", offer(before), offer(after))),
        _ => {
            let near = if before.is_some() { last } else { first };
            error(format!("line {number} is outside of `{function}`"))
                .note(match &line.file {
                    Some(file) => format!("its code from {file} is on lines {first} to {last}"),
                    None => format!("its code is on lines {first} to {last} of {}", files.join(", ")),
                })
                .help(format!("try {}", offer(near)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_suffix, same_file};

    #[test]
    fn ends_of_paths() {
        assert!(is_suffix("file.h", "include/linux/file.h"));
        assert!(is_suffix("linux/file.h", "include/linux/file.h"));
        assert!(!is_suffix("file.h", "include/linux/profile.h"));
        assert!(same_file("../fs/a.c", "fs/a.c") && same_file("fs/a.c", "fs/a.c"));
        assert!(!same_file("", "fs/a.c"));
    }
}

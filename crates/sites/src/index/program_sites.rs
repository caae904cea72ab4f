//! sites/index/program_sites.rs: the sites of functions in the programs and libraries that descriptions name.

use std::sync::Arc;

use super::functions::{self, ImageFunction};
use super::line_sites::{self, Search};
use super::refusals::{self, Count};
use crate::cache::known::Known;
use crate::image::Image;
use crate::image::info::READ_WHOLE_BELOW;
use crate::model::{Boundary, FoundSite, FunctionSites, SiteIndex, SourceLine};
use crate::programs::{self, Meant, ProgramFile, Programs};
use crate::symtab::Symbol;
use kinst_base::diag::Diagnostic;
use kinst_base::glob::{Pattern, is_glob};
use kinst_base::probe::Site;
use kinst_base::space::Space;
use kinst_dwarf::query;

/// [`SiteIndex`] over the programs of one space: a process, or a file in all processes.
pub(super) struct ProgramSites<'p> {
    programs: &'p Programs,
    space: Space,
    /// Maximum number of probes for a glob over functions.
    max_probes: usize,
}

impl<'p> ProgramSites<'p> {
    pub(super) fn new(programs: &'p Programs, space: Space, max_probes: usize) -> ProgramSites<'p> {
        ProgramSites { programs, space, max_probes }
    }

    /// Returns all functions of a file that match, inlined ones and others.
    fn found(&self, meant: &Meant, function: &str) -> Vec<ImageFunction> {
        let image = meant.file.image();
        let mut found = match function.is_empty() || is_glob(function) {
            true => Self::found_by_glob(image, function),
            false => self.found_by_name(meant, function),
        };
        // The symbols of C++ and Rust have other names.
        let own: Vec<String> =
            meant.file.meant(function).iter().map(|(symbol, _)| image.own_name(symbol)).collect();
        match found.iter_mut().find(|found| found.name == function) {
            Some(one) => one.out_of_line.extend(own),
            None if own.is_empty() => {}
            None => found.push(ImageFunction {
                image: image.id(),
                name: function.to_owned(),
                known: Known::default(),
                out_of_line: own,
            }),
        }
        found
    }

    fn found_by_glob(image: Image<'_>, function: &str) -> Vec<ImageFunction> {
        let glob = Pattern::new(function);
        let mut names = functions::names(image, |name| glob.matches(name) || name == function);
        let has_paths = image.inline_names().iter().any(|name| name.contains("::"));
        names.retain(|name| !name.contains("::"));
        names.sort_unstable();
        names.dedup();
        let mut found = functions::among(image, &names);
        if has_paths {
            let of_paths = functions::meant(image, function).into_iter();
            found.extend(of_paths.filter(|(name, _)| name.contains("::")).map(|(name, known)| {
                ImageFunction { image: image.id(), name, known, out_of_line: Vec::new() }
            }));
        }
        found
    }

    /// Looks in the cache first: the debug information of a large program takes a second.
    fn found_by_name(&self, meant: &Meant, function: &str) -> Vec<ImageFunction> {
        let image = meant.file.image();
        let debug = meant.file.debug_file().filter(|file| file.debug_info_size() >= READ_WHOLE_BELOW);
        let cached = debug.and_then(|file| Some((self.programs.cache()?, file, file.build_id()?)));
        let known = cached.and_then(|(cache, file, id)| cache.meant(id, file, function));
        let found = known.unwrap_or_else(|| {
            let found = functions::meant(image, function);
            // Nothing is found, too, if the debug information cannot be read.
            let is_whole = || !found.is_empty() && !meant.file.is_incomplete();
            if let Some((cache, file, id)) = cached.filter(|_| is_whole()) {
                cache.write_meant(id, file, function, &found);
            }
            found
        });
        let (mut names, mut known): (Vec<String>, Vec<Known>) = found.into_iter().unzip();
        if names.iter().all(|name| name != function) {
            // It may be a function without inlined copies.
            names.push(function.to_owned());
            known.push(Known::default());
        }
        functions::with_instances(image, names, known)
    }

    /// Converts the points of a function to sites of this space.
    fn sites(&self, meant: &Meant, found: &ImageFunction, boundary: Boundary) -> Option<FunctionSites> {
        let sites = functions::sites(meant.file.image(), found, boundary)?;
        let placed = |found: FoundSite| self.placed(meant, found);
        let sites = FunctionSites {
            module: meant.module.clone(),
            sites: sites.sites.into_iter().map(placed).collect(),
            ..sites
        };
        Some(sites)
    }

    /// Names the file of a site: another file of the process may have a function of the same name.
    fn placed(&self, meant: &Meant, found: FoundSite) -> FoundSite {
        let site = Site { space: self.space, module: meant.module.clone(), ..found.site };
        FoundSite { site, module_needed: true }
    }

    fn no_function(&self, files: &[&ProgramFile], function: &str) -> Diagnostic {
        programs::no_function(files, function, self.programs.has_anonymous_code(self.space))
    }

    fn too_many(
        &self,
        function: &str,
        found: &[(&Meant, ImageFunction)],
        boundary: Boundary,
    ) -> Option<Diagnostic> {
        let count: usize =
            found.iter().map(|(_, found)| found.points(boundary).len() + found.out_of_line.len()).sum();
        let pattern = if function.is_empty() { "*" } else { function };
        let count = Count::Exact { count, functions: found.len() };
        (count.least() > self.max_probes).then(|| refusals::too_many_sites(pattern, count, self.max_probes))
    }
}

fn files_of(meant: &[Meant]) -> Vec<&ProgramFile> {
    meant.iter().map(|meant| &*meant.file).collect()
}

/// Replaces the functions that a glob matches by the glob, once for each file: those that cannot be traced are left out
/// when it is looked up.
fn with_pattern(pattern: &str, sites: impl Iterator<Item = FunctionSites>) -> Vec<FunctionSites> {
    let mut made: Vec<FunctionSites> = Vec::new();
    let mut patterns: Vec<FunctionSites> = Vec::new();
    for mut of in sites {
        let own = std::mem::take(&mut of.out_of_line);
        if !own.is_empty() && patterns.iter().all(|known| known.module != of.module) {
            let (module, function) = (of.module.clone(), pattern.to_owned());
            patterns.push(FunctionSites {
                module,
                out_of_line: vec![function.clone()],
                function,
                sites: Vec::new(),
            });
        }
        if !of.sites.is_empty() {
            made.push(of);
        }
    }
    made.extend(patterns);
    made
}

fn remark(meant: &Meant, found: &ImageFunction) {
    let image = meant.file.image();
    for remark in found.known.dropped.remarks() {
        image.all().remark(format!("{}: {}: {remark}", meant.module, found.name));
    }
    if meant.file.debug_file().is_none() && meant.file.go_table() != Some(Ok(())) {
        let path = meant.file.path().display();
        image
            .all()
            .remark(format!("{path} has no debug information: inlined copies of {} are unknown", found.name));
    }
}

impl SiteIndex for ProgramSites<'_> {
    fn inline_sites(
        &self,
        module: &str,
        function: &str,
        boundary: Boundary,
    ) -> Result<Vec<FunctionSites>, Box<Diagnostic>> {
        let meant = self.programs.meant(self.space, module)?;
        let mut found: Vec<(&Meant, ImageFunction)> = Vec::new();
        let several = function.is_empty() || is_glob(function);
        for meant in &meant {
            // All functions are refused before the files of a large process are read.
            if function.is_empty() {
                let count = functions::own_names(meant.file.image()).count();
                if count > self.max_probes {
                    let count = Count::AtLeast(count);
                    return Err(Box::new(refusals::too_many_sites("*", count, self.max_probes)));
                }
            }
            found.extend(self.found(meant, function).into_iter().map(|found| (meant, found)));
        }
        let has_several = several || !query::is_plain(function);
        if let Some(error) = self.too_many(function, &found, boundary).filter(|_| has_several) {
            return Err(Box::new(error));
        }
        found.iter().for_each(|(meant, found)| remark(meant, found));
        if !found.is_empty() {
            meant.iter().for_each(|meant| meant.file.warn_of_missing());
        }
        let sites = found.iter().filter_map(|(meant, found)| self.sites(meant, found, boundary));
        let sites: Vec<FunctionSites> = match several {
            false => sites.collect(),
            true => with_pattern(function, sites),
        };
        if sites.is_empty() {
            let copies: u32 = found.iter().map(|(_, found)| found.known.dropped.copies).sum();
            if copies > 0 {
                let known: Vec<_> = found.iter().map(|(_, found)| &found.known).collect();
                return Err(Box::new(refusals::no_copies(function, copies, &known)));
            }
            return Err(Box::new(self.no_function(&files_of(&meant), function)));
        }
        Ok(sites)
    }

    fn line_sites(
        &self,
        module: &str,
        function: &str,
        line: &SourceLine,
    ) -> Result<Vec<FoundSite>, Box<Diagnostic>> {
        let meant = self.programs.meant(self.space, module)?;
        let mut search = Search::new(line);
        let mut placed: Vec<FoundSite> = Vec::new();
        let mut without: Option<&Arc<ProgramFile>> = None;
        for meant in &meant {
            let image = meant.file.image();
            let Some(info) = image.info() else {
                without = without.or(Some(&meant.file));
                continue;
            };
            let before = search.sites.len();
            let of_path: Vec<Symbol> = meant.file.meant(function).iter().map(|(symbol, _)| *symbol).collect();
            let searched = info.and_then(|info| match function {
                "" => search.anywhere(image, &info),
                function => search.image(image, &info, function, &of_path),
            });
            searched.map_err(|error| Box::new(error.diagnostic()))?;
            placed.extend(search.sites[before..].iter().cloned().map(|found| self.placed(meant, found)));
        }
        if !placed.is_empty() {
            return Ok(placed);
        }
        let files = files_of(&meant);
        Err(Box::new(match (&files[..], without) {
            ([_], Some(file)) => {
                let shown = if function.is_empty() { "the program" } else { function };
                programs::no_debug_information(file, shown, "lines")
            }
            _ if function.is_empty() => line_sites::no_code_on_line_of_file(line, &search.seen),
            _ if search.seen.bodies == 0 => self.no_function(&files, function),
            _ => {
                let image = format!("{}:{module}", self.space.provider());
                line_sites::no_code_on_line(&image, function, line, &search.seen)
            }
        }))
    }
}

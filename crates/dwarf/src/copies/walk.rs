//! dwarf/copies/walk.rs: a parallel walk over all units of a file.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::finder::{self, CopyFinder};
use super::found::{AllFindings, Findings, Function};
use super::mention;
use super::names::Names;
use super::scan::{self, Scan};
use crate::golang::GoQuery;
use crate::query::{self, Query};
use crate::sections::{Dwarf, Sections, Slice, headers, headers_of};
use crate::split::{NotRead, SplitFiles};
use crate::unit::Unit;
use kinst_debuginfo::{ElfFile, Error};

/// Finds the copies of the `wanted` names; with `call_sites`, also the place where each one is called.
pub fn find(image: &ElfFile, wanted: &[String], call_sites: bool) -> Result<Findings, Error> {
    let sections = Sections::load(image, &[])?;
    let dwarf = sections.dwarf();
    let names = Names::these(wanted);
    let headers = mention::retain(&dwarf, headers(image, &dwarf)?, wanted);
    let finder = CopyFinder { dwarf: &dwarf, call_sites };
    Ok(walk(&finder, &SplitFiles::of(image), &names, &headers, &|_| true))
}

/// Like [`find`], for all functions that a user's name matches.
pub fn find_meant(image: &ElfFile, name: &str, call_sites: bool) -> Result<Findings, Error> {
    if query::is_plain(name) && !image.is_go() {
        return find(image, &[name.to_owned()], call_sites);
    }
    let sections = Sections::load(image, &[])?;
    let dwarf = sections.dwarf();
    let names = Names::Meant(Query::new(name), GoQuery::new(name));
    let finder = CopyFinder { dwarf: &dwarf, call_sites };
    Ok(walk(&finder, &SplitFiles::of(image), &names, &headers(image, &dwarf)?, &|_| true))
}

/// Finds the copies of all functions. `walked` is called with the size in bytes of each finished unit; if it
/// returns `false`, the walk ends and its result is useless.
pub fn find_all(image: &ElfFile, walked: &(dyn Fn(u64) -> bool + Sync)) -> Result<AllFindings, Error> {
    let sections = Sections::load(image, &[])?;
    let dwarf = sections.dwarf();
    let names = Names::all();
    let headers = headers(image, &dwarf)?;
    let finder = CopyFinder { dwarf: &dwarf, call_sites: false };
    let split = SplitFiles::of(image);
    let Findings { functions, damaged, .. } = walk(&finder, &split, &names, &headers, walked);
    let names = names.into_names();
    let named = names.into_iter().zip(functions);
    let mut functions: Vec<(String, Function)> = named.filter(|(_, function)| function.inline).collect();
    functions.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(AllFindings { functions, damaged })
}

fn walk<'a>(
    finder: &CopyFinder<'_, 'a>,
    split: &SplitFiles<'_>,
    names: &Names<'_>,
    headers: &[gimli::UnitHeader<Slice<'a>>],
    walked: &(dyn Fn(u64) -> bool + Sync),
) -> Findings {
    let dwarf = finder.dwarf;
    let mut first: Vec<_> = headers
        .par_iter()
        .map(|header| {
            if !walked(0) {
                return Ok((Scan::default(), Some(Vec::new())));
            }
            let outcome = look(finder, split, names, *header);
            walked(header.length_including_self() as u64);
            outcome
        })
        .collect();
    let waiting = first.iter().flatten().any(|(_, found)| found.is_none());
    if waiting {
        add_paths(dwarf, headers, &mut first);
    }
    let shared = if waiting { shared_definitions(dwarf, names) } else { Vec::new() };
    let scans = first.iter().flatten().map(|(scan, _)| scan).filter(|_| waiting);
    let definitions = scan::definitions(scans.chain(&shared));
    let outcomes: Vec<_> = first
        .into_par_iter()
        .zip(headers)
        .map(|(result, header)| match result? {
            (scan, Some(found)) => Ok((scan, found)),
            (scan, None) => {
                let unit = Unit::new(dwarf, *header)?;
                let found = finder.in_unit(&unit, &scan, Some(&definitions))?;
                Ok((scan, found))
            }
        })
        .collect::<Vec<Result<_, NotRead>>>();
    let mut findings = Findings { functions: vec![Function::default(); names.len()], ..Findings::default() };
    for (outcome, header) in outcomes.into_iter().zip(headers) {
        match outcome {
            Ok((scan, found)) => findings.add(&scan, found),
            Err(NotRead::Missing(missing)) => {
                findings.damaged.push(format!("unit at {:#x}: {missing}", header.offset().0));
                *findings.missing.entry(missing).or_default() += 1;
            }
            Err(NotRead::Damaged(cause)) => {
                findings.damaged.push(format!("unit at {:#x}: {cause}", header.offset().0));
            }
        }
    }
    findings
}

/// The definitions and bodies of a unit, and its copies if the unit is finished.
type Looked = (Scan, Option<Vec<finder::Found>>);

/// Reads one unit. A unit whose copies all have their origin in it is finished at once; the others wait for
/// the definitions of all units.
fn look<'a>(
    finder: &CopyFinder<'_, 'a>,
    split: &SplitFiles<'_>,
    names: &Names<'_>,
    header: gimli::UnitHeader<Slice<'a>>,
) -> Result<Looked, NotRead> {
    let dwarf = finder.dwarf;
    let unit = Unit::new(dwarf, header)?;
    let Some(skeleton) = unit.skeleton() else {
        let scan = Scan::of_unit(dwarf, &unit, names)?;
        let found = match unit.has_foreign_origins {
            true => None,
            false => Some(finder.in_unit(&unit, &scan, None)?),
        };
        return Ok((scan, found));
    };
    split.read(dwarf, &skeleton, |dwarf, unit| {
        let scan = Scan::of_unit(dwarf, unit, names)?;
        let finder = CopyFinder { dwarf, call_sites: finder.call_sites };
        let found = finder.in_unit(unit, &scan, None)?;
        Ok((scan, Some(found)))
    })
}

/// Adds the files' paths to the definitions; other units look up the declaring lines by them.
fn add_paths<'a>(
    dwarf: &Dwarf<'a>,
    headers: &[gimli::UnitHeader<Slice<'a>>],
    outcomes: &mut [Result<Looked, NotRead>],
) {
    outcomes.par_iter_mut().zip(headers).for_each(|(outcome, header)| {
        if let Ok((scan, _)) = outcome
            && !scan.definitions.is_empty()
            && let Ok(unit) = Unit::new(dwarf, *header)
        {
            scan.add_paths(dwarf, &unit);
        }
    });
}

/// The definitions in the units of the alternate file; units that cannot be read are skipped.
fn shared_definitions(dwarf: &Dwarf<'_>, names: &Names<'_>) -> Vec<Scan> {
    let Some(alternate) = dwarf.sup() else { return Vec::new() };
    let headers: Vec<_> = headers_of(alternate).unwrap_or_default();
    let scan = |header: &gimli::UnitHeader<Slice<'_>>| {
        let unit = Unit::of_alternate(alternate, *header)?;
        let mut scan = Scan::of_unit(alternate, &unit, names)?;
        scan.add_paths(alternate, &unit);
        Ok::<_, gimli::Error>(scan)
    };
    headers.par_iter().filter_map(|header| scan(header).ok()).collect()
}

/// The names of all functions with an inline definition, for suggestions.
pub fn inline_names(image: &ElfFile) -> Result<BTreeSet<String>, Error> {
    let sections = Sections::load(image, &[])?;
    let dwarf = sections.dwarf();
    let headers = headers(image, &dwarf)?;
    let split = SplitFiles::of(image);
    let names = headers.par_iter().map(|header| {
        let Ok(unit) = Unit::new(&dwarf, *header) else { return BTreeSet::new() };
        match unit.skeleton() {
            None => scan::inline_names(&dwarf, &unit).unwrap_or_default(),
            Some(skeleton) => split.read(&dwarf, &skeleton, scan::inline_names).ok().unwrap_or_default(),
        }
    });
    let mut names = names.reduce(BTreeSet::new, |mut all, more| {
        all.extend(more);
        all
    });
    if let Some(alternate) = dwarf.sup() {
        for header in headers_of(alternate).unwrap_or_default() {
            let unit = Unit::of_alternate(alternate, header);
            names.extend(unit.and_then(|unit| scan::inline_names(alternate, &unit)).unwrap_or_default());
        }
    }
    Ok(names)
}

/// Whether the file can contain any of the names: each is in .debug_str, unless it is so short that the
/// compiler stores it inline.
pub fn may_know(image: &ElfFile, wanted: &[String]) -> bool {
    // Go has all names in .debug_info.
    if image.is_go() {
        return true;
    }
    let known = |image: &ElfFile| match image.debug_section(".debug_str") {
        Ok(strings) => mention::in_file(&strings, wanted),
        Err(_) => true,
    };
    known(image) || image.alternate().and_then(Result::ok).is_some_and(known)
}

impl Findings {
    fn add(&mut self, scan: &Scan, found: Vec<finder::Found>) {
        for definition in &scan.definitions {
            let Some(name) = definition.name else { continue };
            let function = &mut self.functions[name];
            function.defined = true;
            function.inline |= definition.inline;
        }
        for found in found {
            match found {
                finder::Found::Copy { name, copy } => {
                    self.functions[name].inline = true;
                    self.functions[name].defined = true;
                    self.functions[name].copies.push(copy);
                }
                finder::Found::SplitTail { name } => self.functions[name].split_tails += 1,
                finder::Found::WithoutAddress { name } => self.functions[name].without_address += 1,
            }
        }
    }
}

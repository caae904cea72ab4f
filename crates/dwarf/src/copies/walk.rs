//! dwarf/copies/walk.rs: a parallel walk over all units of a file.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::finder::{self, CopyFinder};
use super::found::{AllFindings, Findings, Function};
use super::mention;
use super::names::Names;
use super::scan::{self, Scan};
use crate::golang::GoQuery;
use crate::parts::Parts;
use crate::query::{self, Query};
use crate::sections::{Dwarf, Slice, headers};
use crate::split::{self, Missing, NotRead, Opened};
use crate::unit::Unit;
use kinst_debuginfo::{ElfFile, Error};

/// Finds the copies of the `wanted` names; with `call_sites`, also the place where each one is called.
pub fn find(image: &ElfFile, wanted: &[String], call_sites: bool) -> Result<Findings, Error> {
    let parts = Parts::load(image, &[])?;
    let dwarf = parts.dwarf();
    let names = Names::these(wanted);
    let headers = mention::retain(&dwarf, headers(image, &dwarf)?, wanted);
    let finder = CopyFinder { dwarf: &dwarf, call_sites };
    Ok(walk(&finder, &parts, &names, &headers, &|_| true))
}

/// Like [`find`], for all functions that a user's name matches.
pub fn find_meant(image: &ElfFile, name: &str, call_sites: bool) -> Result<Findings, Error> {
    if query::is_plain(name) && !image.is_go() {
        return find(image, &[name.to_owned()], call_sites);
    }
    let parts = Parts::load(image, &[])?;
    let dwarf = parts.dwarf();
    let names = Names::Meant(Query::new(name), GoQuery::new(name));
    let finder = CopyFinder { dwarf: &dwarf, call_sites };
    Ok(walk(&finder, &parts, &names, &headers(image, &dwarf)?, &|_| true))
}

/// Finds the copies of all functions. `walked` is called with the size in bytes of each finished unit; if it
/// returns `false`, the walk ends and its result is useless.
pub fn find_all(image: &ElfFile, walked: &(dyn Fn(u64) -> bool + Sync)) -> Result<AllFindings, Error> {
    let parts = Parts::load(image, &[])?;
    let dwarf = parts.dwarf();
    let names = Names::all();
    let headers = headers(image, &dwarf)?;
    let finder = CopyFinder { dwarf: &dwarf, call_sites: false };
    let Findings { functions, damaged, .. } = walk(&finder, &parts, &names, &headers, walked);
    let names = names.into_names();
    let named = names.into_iter().zip(functions);
    let mut functions: Vec<(String, Function)> = named.filter(|(_, function)| function.inline).collect();
    functions.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(AllFindings { functions, damaged })
}

fn walk<'a>(
    finder: &CopyFinder<'_, 'a>,
    parts: &Parts<'_>,
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
            let outcome = look(finder, parts, names, *header);
            walked(header.length_including_self() as u64);
            outcome
        })
        .collect();
    let waiting = first.iter().flatten().any(|(_, found)| found.is_none());
    if waiting {
        add_paths(dwarf, headers, &mut first);
    }
    let shared = if waiting { shared_definitions(parts, names) } else { Vec::new() };
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
    parts: &Parts<'_>,
    names: &Names<'_>,
    header: gimli::UnitHeader<Slice<'a>>,
) -> Result<Looked, NotRead> {
    let dwarf = finder.dwarf;
    let unit = Unit::new(dwarf, header)?;
    if unit.skeleton().is_some() {
        return look_in_split(finder, parts, names, header.offset().0);
    }
    let scan = Scan::of_unit(dwarf, &unit, names)?;
    let found = match unit.has_foreign_origins {
        true => None,
        false => Some(finder.in_unit(&unit, &scan, None)?),
    };
    Ok((scan, found))
}

/// Reads the unit that a skeleton unit stands for. Its copies have their origins in the same file.
fn look_in_split(
    finder: &CopyFinder<'_, '_>,
    parts: &Parts<'_>,
    names: &Names<'_>,
    skeleton: usize,
) -> Result<Looked, NotRead> {
    let number = parts.number(skeleton).ok_or(gimli::Error::MissingUnitDie)?;
    let Opened { dwarf, unit } = &parts.open(number)?;
    let mut scan = Scan::of_unit(dwarf, unit, names)?;
    let finder = CopyFinder { dwarf, call_sites: finder.call_sites };
    if !unit.has_foreign_origins {
        let found = finder.in_unit(unit, &scan, None)?;
        return Ok((scan, Some(found)));
    }
    scan.add_paths(dwarf, unit);
    let mut scans = Vec::new();
    for Opened { dwarf, unit: beside } in parts.beside(number)? {
        let mut scan = Scan::of_unit(&dwarf, &beside, names)?;
        scan.add_paths(&dwarf, &beside);
        scans.push(scan);
    }
    let definitions = scan::definitions(scans.iter().chain([&scan]));
    let found = finder.in_unit(unit, &scan, Some(&definitions))?;
    Ok((scan, Some(found)))
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
            && unit.skeleton().is_none()
        {
            scan.add_paths(dwarf, &unit);
        }
    });
}

/// The definitions in the units of the alternate file; units that cannot be read are skipped.
fn shared_definitions(parts: &Parts<'_>, names: &Names<'_>) -> Vec<Scan> {
    let scan = |Opened { dwarf, unit }: Opened<'_>| {
        let mut scan = Scan::of_unit(&dwarf, &unit, names)?;
        scan.add_paths(&dwarf, &unit);
        Ok::<_, gimli::Error>(scan)
    };
    let units = parts.alternates().into_par_iter();
    units.filter_map(|number| scan(parts.open_alternate(number)?).ok()).collect()
}

/// The names of all functions with an inline definition, for suggestions.
pub fn inline_names(image: &ElfFile) -> Result<BTreeSet<String>, Error> {
    let parts = Parts::load(image, &[])?;
    let of = |opened: Option<Opened<'_>>| {
        let names = opened.and_then(|opened| scan::inline_names(&opened.dwarf, &opened.unit).ok());
        names.unwrap_or_default()
    };
    let own = (0..parts.len()).into_par_iter().map(|number| of(parts.open(number).ok()));
    let shared = parts.alternates().into_par_iter().map(|number| of(parts.open_alternate(number)));
    Ok(own.chain(shared).reduce(BTreeSet::new, |mut all, more| {
        all.extend(more);
        all
    }))
}

/// The files with split debug information that are missing, and the number of units that each has.
pub fn missing(image: &ElfFile) -> BTreeMap<Missing, usize> {
    let mut missing = BTreeMap::new();
    if image.cached_section(".debug_abbrev").is_ok_and(|abbreviations| !split::is_mentioned(abbreviations)) {
        return missing;
    }
    let Ok(parts) = Parts::load(image, &[]) else { return missing };
    let all = (0..parts.len()).into_par_iter().filter_map(|number| parts.missing(number));
    for one in all.collect::<Vec<Missing>>() {
        *missing.entry(one).or_default() += 1;
    }
    missing
}

/// Whether the file can contain any of the names: each is in .debug_str, unless it is so short that the
/// compiler stores it inline, or the debug information is in other files.
pub fn may_know(image: &ElfFile, wanted: &[String]) -> bool {
    // Go has all names in .debug_info.
    if image.is_go() {
        return true;
    }
    let known = |image: &ElfFile| match image.debug_section(".debug_str") {
        Ok(strings) => mention::in_file(&strings, wanted),
        Err(_) => true,
    };
    // A skeleton unit has no names of functions.
    let is_split = |image: &ElfFile| match image.debug_section(".debug_abbrev") {
        Ok(abbreviations) => split::is_mentioned(&abbreviations),
        Err(_) => true,
    };
    known(image) || is_split(image) || image.alternate().and_then(Result::ok).is_some_and(known)
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

//! dwarf/: the reader of debug information, and the only user of gimli.

pub mod copies;
mod extent;
pub mod frames;
pub mod types;
mod unit;
pub mod variables;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};
use rayon::prelude::*;

use crate::debuginfo::{Error, Image};
use copies::finder::{self, CopyFinder};
use copies::mention;
use copies::names::Names;
use copies::scan::{self, Scan};
use unit::Unit;

pub use frames::info::DebugInfo;
pub use frames::lines::{Line, Lines, Statement};
pub use frames::{Body, Definition, Frame};
pub use variables::{Instruction, RunTime, Variables};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;

/// One DW_TAG_inlined_subroutine; addresses are those of the [`Image`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineCopy {
    /// Offset of the entry in .debug_info: the order of copies.
    pub die: u64,
    /// The address where it is entered, if that is given; otherwise where its code begins.
    pub entry: u64,
    /// Whether `entry` is where control enters: the debug information gives it, or its compiler would have given it if
    /// it were not where the code begins. Otherwise it is only the lowest address.
    pub entry_is_exact: bool,
    /// Sorted, disjoint, not empty; there are none for a copy whose instructions were all optimised away.
    pub ranges: Vec<Range<u64>>,
    /// The place of the call, if the walk was to find it.
    pub call: Option<CallSite>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    pub file: String,
    pub line: u64,
}

/// The facts about one wanted name in the debug information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Whether there is a definition, not only declarations.
    pub defined: bool,
    /// Whether a definition has been inlined, or could be.
    pub inline: bool,
    /// The copies in the order of the debug information.
    pub copies: Vec<InlineCopy>,
    /// Second halves of a partly inlined function (`f.part.0` back in `f`): not calls of their own.
    pub split_tails: usize,
    /// Copies without any address.
    pub without_address: usize,
}

/// The result of one walk.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The functions in the order of the wanted names.
    pub functions: Vec<Function>,
    pub units: usize,
    /// The parts that could not be read, one line for each unit.
    pub damaged: Vec<String>,
}

/// The result of a walk for all functions.
#[derive(Clone, Debug, Default)]
pub struct AllFindings {
    /// The functions that were inlined, or could be; by name.
    pub functions: Vec<(String, Function)>,
    pub damaged: Vec<String>,
}

/// Finds the copies of the `wanted` names. `call_sites`: also find where each one is called.
pub fn find(image: &Image, wanted: &[String], call_sites: bool) -> Result<Findings, Error> {
    let sections = Sections::load(image, &[])?;
    let dwarf = sections.dwarf();
    let names = Names::these(wanted);
    let headers = mention::retain(&dwarf, headers(image, &dwarf)?, wanted);
    let finder = CopyFinder { dwarf: &dwarf, call_sites };
    Ok(walk(&finder, &names, &headers, &|_| true))
}

/// Finds the copies of all functions. `walked` is called with the bytes of each unit that is done; if it returns
/// `false`, the walk ends and what it has found is of no use.
pub fn find_all(image: &Image, walked: &(dyn Fn(u64) -> bool + Sync)) -> Result<AllFindings, Error> {
    let sections = Sections::load(image, &[])?;
    let dwarf = sections.dwarf();
    let names = Names::all();
    let headers = headers(image, &dwarf)?;
    let finder = CopyFinder { dwarf: &dwarf, call_sites: false };
    let Findings { functions, damaged, .. } = walk(&finder, &names, &headers, walked);
    let names = names.into_names();
    let named = names.into_iter().zip(functions);
    let mut functions: Vec<(String, Function)> = named.filter(|(_, function)| function.inline).collect();
    functions.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(AllFindings { functions, damaged })
}

fn walk<'a>(
    finder: &CopyFinder<'_, 'a>,
    names: &Names<'_>,
    headers: &[gimli::UnitHeader<Slice<'a>>],
    walked: &(dyn Fn(u64) -> bool + Sync),
) -> Findings {
    let dwarf = finder.dwarf;
    // A unit whose copies all have their origin in it is finished at once; the others wait for all definitions.
    let first: Vec<_> = headers
        .par_iter()
        .map(|header| {
            if !walked(0) {
                return Ok((Scan::default(), Some(Vec::new())));
            }
            let unit = Unit::new(dwarf, *header)?;
            let scan = Scan::of_unit(dwarf, &unit, names)?;
            let found =
                if unit.has_foreign_origins { None } else { Some(finder.in_unit(&unit, &scan, None)?) };
            walked(header.length_including_self() as u64);
            Ok::<_, gimli::Error>((scan, found))
        })
        .collect();
    let waiting = first.iter().flatten().any(|(_, found)| found.is_none());
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
        .collect::<Vec<Result<_, gimli::Error>>>();
    let mut findings = Findings {
        functions: vec![Function::default(); names.len()],
        units: headers.len(),
        damaged: Vec::new(),
    };
    for (outcome, header) in outcomes.into_iter().zip(headers) {
        match outcome {
            Ok((scan, found)) => findings.add(&scan, found),
            Err(cause) => findings.damaged.push(format!("unit at {:#x}: {cause}", header.offset().0)),
        }
    }
    findings
}

/// The definitions in the units of the alternate file, except in those that cannot be read.
fn shared_definitions(dwarf: &Dwarf<'_>, names: &Names<'_>) -> Vec<Scan> {
    let Some(alternate) = dwarf.sup() else { return Vec::new() };
    let headers: Vec<_> = headers_of(alternate).unwrap_or_default();
    let scan = |header: &gimli::UnitHeader<Slice<'_>>| {
        let unit = Unit::of_alternate(alternate, *header)?;
        Scan::of_unit(alternate, &unit, names)
    };
    headers.par_iter().filter_map(|header| scan(header).ok()).collect()
}

/// The names of all functions that have an inline definition: for suggestions.
pub fn inline_names(image: &Image) -> Result<BTreeSet<String>, Error> {
    let sections = Sections::load(image, &[])?;
    let dwarf = sections.dwarf();
    let headers = headers(image, &dwarf)?;
    let names = headers.par_iter().map(|header| {
        Unit::new(&dwarf, *header).and_then(|unit| scan::inline_names(&dwarf, &unit)).unwrap_or_default()
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

/// Whether the file can have any of the names: each of them is in .debug_str, unless it is so short that the compiler
/// writes it in place.
pub fn may_know(image: &Image, wanted: &[String]) -> bool {
    let known = |image: &Image| match image.debug_section(".debug_str") {
        Ok(strings) => mention::in_file(&strings, wanted),
        Err(_) => true,
    };
    known(image) || image.alternate().and_then(Result::ok).is_some_and(known)
}

impl Findings {
    fn add(&mut self, scan: &Scan, found: Vec<finder::Found>) {
        for definition in &scan.definitions {
            let function = &mut self.functions[definition.name];
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

/// The sections of a file, and of the one that it shares a part of its debug information with.
struct Sections<'i> {
    own: DwarfSections<Cow<'i, [u8]>>,
    alternate: Option<DwarfSections<Cow<'i, [u8]>>>,
}

impl<'i> Sections<'i> {
    /// `more`: sections besides those that every query needs.
    fn load(image: &'i Image, more: &[SectionId]) -> Result<Sections<'i>, Error> {
        let alternate = match image.alternate() {
            Some(Ok(alternate)) => Some(load(alternate, &[])?),
            // The rest is useful without it; what is missing was reported when the file was searched for.
            Some(Err(_)) | None => None,
        };
        Ok(Sections { own: load(image, more)?, alternate })
    }

    fn dwarf(&self) -> Dwarf<'_> {
        self.own.borrow_with_sup(self.alternate.as_ref(), |section| EndianSlice::new(section, LittleEndian))
    }
}

fn load<'i>(image: &'i Image, more: &[SectionId]) -> Result<DwarfSections<Cow<'i, [u8]>>, Error> {
    // Locations, macros and indices are not needed to find copies, and unpacking or relocating them costs time.
    const USED: [SectionId; 9] = [
        SectionId::DebugAbbrev,
        SectionId::DebugAddr,
        SectionId::DebugInfo,
        SectionId::DebugLine,
        SectionId::DebugLineStr,
        SectionId::DebugStr,
        SectionId::DebugStrOffsets,
        SectionId::DebugRanges,
        SectionId::DebugRngLists,
    ];
    DwarfSections::load(|id| {
        if USED.contains(&id) || more.contains(&id) {
            image.debug_section(id.name())
        } else {
            Ok(Cow::Borrowed(&[][..]))
        }
    })
}

fn headers<'a>(image: &Image, dwarf: &Dwarf<'a>) -> Result<Vec<gimli::UnitHeader<Slice<'a>>>, Error> {
    headers_of(dwarf).map_err(|cause| Error::dwarf(image.path(), cause))
}

fn headers_of<'a>(dwarf: &Dwarf<'a>) -> gimli::Result<Vec<gimli::UnitHeader<Slice<'a>>>> {
    let mut headers = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        headers.push(header);
    }
    Ok(headers)
}

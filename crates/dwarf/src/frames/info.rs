//! dwarf/frames/info.rs: the debug information of a file, open for queries about many addresses.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use gimli::{DebugInfoOffset, SectionId};
use rayon::prelude::*;

use super::body::{Body, Definition};
use super::functions::{Functions, functions};
use crate::lines::{self, Lines};
use crate::sections::{Dwarf, Sections, headers, headers_of};
use crate::unit::{ALTERNATE, Unit};
use kinst_debuginfo::{ElfFile, Error};

/// The sections of an [`ElfFile`], loaded once; the needed parts of units are read on demand, and cached.
pub struct DebugInfo<'i> {
    image: &'i ElfFile,
    sections: Sections<'i>,
    /// The offsets of the units' headers in .debug_info, ascending.
    units: Vec<usize>,
    /// The offsets of the units' headers in the alternate file.
    alternate_units: Vec<usize>,
    places: OnceLock<Vec<Place>>,
    known: Mutex<HashMap<usize, Arc<KnownUnit>>>,
    pub(crate) definitions: Mutex<HashMap<u64, Arc<Definition>>>,
}

/// The parts of a unit that have been read.
#[derive(Default)]
pub(crate) struct KnownUnit {
    abbreviations: OnceLock<Arc<gimli::Abbreviations>>,
    pub functions: OnceLock<Functions>,
    pub bodies: Mutex<HashMap<u64, Arc<Body>>>,
    pub lines: OnceLock<Arc<Lines>>,
}

/// Addresses where a unit has code.
struct Place {
    range: Range<u64>,
    /// The highest end of this place and of all before it.
    reach: u64,
    unit: usize,
}

impl<'i> DebugInfo<'i> {
    /// Opens a file for frames and lines. It is an error if a section, or the header of a unit, is damaged.
    pub fn open(image: &'i ElfFile) -> Result<DebugInfo<'i>, Error> {
        DebugInfo::with(image, &[])
    }

    /// Opens a file together with sections that frames and lines do not need.
    pub fn with(image: &'i ElfFile, more: &[SectionId]) -> Result<DebugInfo<'i>, Error> {
        let sections = Sections::load(image, &[&[SectionId::DebugAranges], more].concat())?;
        let dwarf = sections.dwarf();
        let units = headers(image, &dwarf)?.iter().map(|header| header.offset().0).collect();
        let alternate_units =
            dwarf.sup().and_then(|alternate| headers_of(alternate).ok()).unwrap_or_default();
        let alternate_units = alternate_units.iter().map(|header| header.offset().0).collect();
        Ok(DebugInfo {
            image,
            sections,
            units,
            alternate_units,
            places: OnceLock::new(),
            known: Mutex::default(),
            definitions: Mutex::default(),
        })
    }

    pub(super) fn units(&self) -> &[usize] {
        &self.units
    }

    /// The file that was opened.
    pub fn image(&self) -> &'i ElfFile {
        self.image
    }

    /// The input of gimli, rebuilt by each call at almost no cost.
    pub(crate) fn dwarf(&self) -> Dwarf<'_> {
        self.sections.dwarf()
    }

    /// The unit that contains an entry; one in the alternate file is read with [`owner`]'s sections.
    pub(crate) fn unit_of<'d>(&self, dwarf: &Dwarf<'d>, die: u64) -> Result<Unit<'d>, Error> {
        let (units, at) = match die & ALTERNATE {
            0 => (&self.units, die),
            _ => (&self.alternate_units, die & !ALTERNATE),
        };
        let after = units.partition_point(|unit| *unit as u64 <= at);
        let unit = after.checked_sub(1).and_then(|last| units.get(last)).copied();
        let unit =
            unit.ok_or_else(|| Error::dwarf(self.image.path(), format!("no unit contains {die:#x}")))?;
        if die & ALTERNATE == 0 {
            return self.unit(dwarf, unit);
        }
        let dwarf = owner(dwarf, die);
        let header = dwarf.debug_info.header_from_offset(DebugInfoOffset(unit));
        header.and_then(|header| Unit::of_alternate(dwarf, header)).map_err(|cause| self.damaged(cause))
    }

    pub(crate) fn unit<'d>(&self, dwarf: &Dwarf<'d>, unit: usize) -> Result<Unit<'d>, Error> {
        let open = || {
            let header = dwarf.debug_info.header_from_offset(DebugInfoOffset(unit))?;
            let known = self.known(unit);
            let abbreviations = match known.abbreviations.get() {
                Some(abbreviations) => abbreviations,
                None => {
                    let read = Arc::new(header.abbreviations(&dwarf.debug_abbrev)?);
                    known.abbreviations.get_or_init(|| read)
                }
            };
            Unit::with_abbreviations(dwarf, header, abbreviations.clone())
        };
        open().map_err(|cause| self.damaged(cause))
    }

    /// The units with code at an address: one, unless the file is unusual.
    pub(crate) fn units_at(&self, address: u64) -> Vec<usize> {
        let places = self.places.get_or_init(|| self.read_places());
        let after = places.partition_point(|place| place.range.start <= address);
        let mut units: Vec<usize> = places[..after]
            .iter()
            .rev()
            .take_while(|place| place.reach > address)
            .filter(|place| place.range.end > address)
            .map(|place| place.unit)
            .collect();
        units.dedup();
        units
    }

    /// The code of the units compiled from a file, or from the files in a folder, whose path ends with `/`.
    pub fn code_from(&self, path: &str) -> Result<Vec<Range<u64>>, Error> {
        let places = self.places.get_or_init(|| self.read_places());
        let dwarf = self.dwarf();
        let mut is_from: HashMap<usize, bool> = HashMap::new();
        for unit in places.iter().map(|place| place.unit) {
            if let Entry::Vacant(entry) = is_from.entry(unit) {
                let file = self.unit(&dwarf, unit)?.path();
                entry.insert(file.is_some_and(|file| is_of(&file, path)));
            }
        }
        let from = places.iter().filter(|place| is_from[&place.unit]);
        Ok(from.map(|place| place.range.clone()).collect())
    }

    pub(crate) fn known(&self, unit: usize) -> Arc<KnownUnit> {
        lock(&self.known).entry(unit).or_default().clone()
    }

    pub(crate) fn damaged(&self, cause: gimli::Error) -> Error {
        Error::dwarf(self.image.path(), cause)
    }

    /// Reads .debug_aranges; for units that are not listed there (clang writes none), it reads the ranges of
    /// the unit.
    fn read_places(&self) -> Vec<Place> {
        let dwarf = self.dwarf();
        let mut listed = aranges(&dwarf).unwrap_or_default();
        let told: HashSet<usize> = listed.iter().map(|(_, unit)| *unit).collect();
        let silent: Vec<usize> = self.units.iter().copied().filter(|unit| !told.contains(unit)).collect();
        // A unit that cannot be read has no places.
        listed.par_extend(silent.into_par_iter().flat_map_iter(|unit| {
            let ranges = open(&dwarf, unit).and_then(|opened| own_ranges(&dwarf, &opened));
            ranges.unwrap_or_default().into_iter().map(move |range| (range, unit))
        }));
        listed.retain(|(range, _)| range.start < range.end && self.image.section_at(range.start).is_some());
        listed.sort_unstable_by_key(|(range, unit)| (range.start, range.end, *unit));
        let mut reach = 0;
        let place = |(range, unit): (Range<u64>, usize)| {
            reach = range.end.max(reach);
            Place { range, reach, unit }
        };
        listed.into_iter().map(place).collect()
    }
}

/// Whether a source file has this path, or is in the folder, whose path ends with `/`.
pub fn is_of(file: &str, path: &str) -> bool {
    if path.ends_with('/') { file.starts_with(path) } else { file == path }
}

/// The sections of the file that contains an entry.
pub(crate) fn owner<'w, 'd>(dwarf: &'w Dwarf<'d>, die: u64) -> &'w Dwarf<'d> {
    dwarf.sup().filter(|_| die & ALTERNATE != 0).unwrap_or(dwarf)
}

fn open<'d>(dwarf: &Dwarf<'d>, unit: usize) -> gimli::Result<Unit<'d>> {
    Unit::new(dwarf, dwarf.debug_info.header_from_offset(DebugInfoOffset(unit))?)
}

fn aranges(dwarf: &Dwarf<'_>) -> gimli::Result<Vec<(Range<u64>, usize)>> {
    let mut listed = Vec::new();
    let mut headers = dwarf.debug_aranges.headers();
    while let Some(header) = headers.next()? {
        let unit = header.debug_info_offset().0;
        let mut entries = header.entries();
        while let Some(entry) = entries.next()? {
            listed.push((entry.range().begin..entry.range().end, unit));
        }
    }
    Ok(listed)
}

/// The ranges of the unit's root, or of its functions if the root has none.
fn own_ranges<'d>(dwarf: &Dwarf<'d>, unit: &Unit<'d>) -> gimli::Result<Vec<Range<u64>>> {
    let mut ranges = dwarf.unit_ranges(&unit.inner)?;
    let mut own = Vec::new();
    while let Some(range) = ranges.next()? {
        own.push(range.begin..range.end);
    }
    if own.is_empty() {
        own = functions(dwarf, unit)?.into_iter().map(|(range, _)| range).collect();
    }
    Ok(own)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data under a lock only grows: it is intact even if a thread panicked.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl DebugInfo<'_> {
    /// The line table of the unit that has code at an address.
    pub fn lines_at(&self, address: u64) -> Result<Option<Arc<Lines>>, Error> {
        let Some(unit) = self.units_at(address).first().copied() else { return Ok(None) };
        self.lines_of(unit).map(Some)
    }

    pub(super) fn lines_of(&self, unit: usize) -> Result<Arc<Lines>, Error> {
        let known = self.known(unit);
        if let Some(lines) = known.lines.get() {
            return Ok(lines.clone());
        }
        let dwarf = self.dwarf();
        let opened = self.unit(&dwarf, unit)?;
        let mut lines = lines::read(&dwarf, &opened).map_err(|cause| self.damaged(cause))?;
        // Code discarded by the linker stays at or near 0.
        lines.retain(|start| self.image().section_at(start).is_some());
        Ok(known.lines.get_or_init(|| Arc::new(lines)).clone())
    }
}

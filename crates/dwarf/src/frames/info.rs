//! dwarf/frames/info.rs: the debug information of a file, open for queries about many addresses.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use gimli::SectionId;
use rayon::prelude::*;

use super::body::{Body, Definition};
use super::functions::{Functions, functions};
use crate::lines::{self, Lines};
use crate::parts::Parts;
use crate::sections::{Dwarf, Slice};
use crate::split::Opened;
use crate::unit::Unit;
use kinst_debuginfo::{ElfFile, Error};

/// The sections of an [`ElfFile`], loaded once; the needed parts of units are read on demand, and cached.
pub struct DebugInfo<'i> {
    parts: Parts<'i>,
    places: OnceLock<Vec<Place>>,
    known: Mutex<HashMap<usize, Arc<KnownUnit>>>,
    pub(crate) definitions: Mutex<HashMap<u64, Arc<Definition>>>,
}

/// The parts of a unit that have been read.
#[derive(Default)]
pub(crate) struct KnownUnit {
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
        let parts = Parts::load(image, &[&[SectionId::DebugAranges], more].concat())?;
        Ok(DebugInfo {
            parts,
            places: OnceLock::new(),
            known: Mutex::default(),
            definitions: Mutex::default(),
        })
    }

    /// The numbers of the units.
    pub(super) fn units(&self) -> Range<usize> {
        0..self.parts.len()
    }

    /// The file that was opened.
    pub fn image(&self) -> &'i ElfFile {
        self.parts.image()
    }

    /// The unit that contains an entry, with its sections.
    pub(crate) fn unit_of(&self, die: u64) -> Result<Opened<'_>, Error> {
        self.parts.containing(die)
    }

    /// The offset of a reference's target.
    pub(crate) fn target<'d>(
        &self,
        unit: &Unit<'d>,
        value: &gimli::AttributeValue<Slice<'d>>,
    ) -> Option<u64> {
        self.parts.target(unit, value)
    }

    /// Opens a unit by its number.
    pub(crate) fn unit(&self, unit: usize) -> Result<Opened<'_>, Error> {
        self.parts.open(unit).map_err(|error| error.error(self.image()))
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
        let mut is_from: HashMap<usize, bool> = HashMap::new();
        for unit in places.iter().map(|place| place.unit) {
            if let Entry::Vacant(entry) = is_from.entry(unit) {
                let file = self.unit(unit)?.unit.path();
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
        Error::dwarf(self.image().path(), cause)
    }

    /// Reads .debug_aranges; for units that are not listed there (clang writes none), it reads the ranges of
    /// the unit.
    fn read_places(&self) -> Vec<Place> {
        let dwarf = self.parts.dwarf();
        let listed = aranges(&dwarf).unwrap_or_default().into_iter();
        let numbered = |(range, header)| Some((range, self.parts.number(header)?));
        let mut listed: Vec<(Range<u64>, usize)> = listed.filter_map(numbered).collect();
        let told: HashSet<usize> = listed.iter().map(|(_, unit)| *unit).collect();
        let silent: Vec<usize> = self.units().filter(|unit| !told.contains(unit)).collect();
        // A unit that cannot be read has no places.
        listed.par_extend(silent.into_par_iter().flat_map_iter(|unit| {
            let ranges = self.own_ranges(&dwarf, unit);
            ranges.unwrap_or_default().into_iter().map(move |range| (range, unit))
        }));
        listed.retain(|(range, _)| range.start < range.end && self.image().section_at(range.start).is_some());
        listed.sort_unstable_by_key(|(range, unit)| (range.start, range.end, *unit));
        let mut reach = 0;
        let place = |(range, unit): (Range<u64>, usize)| {
            reach = range.end.max(reach);
            Place { range, reach, unit }
        };
        listed.into_iter().map(place).collect()
    }

    /// The ranges of the unit's root, or of its functions if the root has none. A skeleton has the ranges of its unit.
    fn own_ranges<'d>(&'d self, dwarf: &Dwarf<'d>, number: usize) -> gimli::Result<Vec<Range<u64>>> {
        let unit = self.parts.own(dwarf, number)?;
        let mut ranges = dwarf.unit_ranges(&unit.inner)?;
        let mut own = Vec::new();
        while let Some(range) = ranges.next()? {
            own.push(range.begin..range.end);
        }
        if own.is_empty()
            && let Ok(Opened { dwarf, unit }) = self.parts.open(number)
        {
            own = functions(&dwarf, &unit)?.into_iter().map(|(range, _)| range).collect();
        }
        Ok(own)
    }
}

/// Whether a source file has this path, or is in the folder, whose path ends with `/`.
pub fn is_of(file: &str, path: &str) -> bool {
    if path.ends_with('/') { file.starts_with(path) } else { file == path }
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
        // A skeleton unit has the table.
        let dwarf = self.parts.dwarf();
        let opened = self.parts.own(&dwarf, unit).map_err(|cause| self.damaged(cause))?;
        let mut lines = lines::read(&dwarf, &opened).map_err(|cause| self.damaged(cause))?;
        // Code discarded by the linker stays at or near 0.
        lines.retain(|start| self.image().section_at(start).is_some());
        Ok(known.lines.get_or_init(|| Arc::new(lines)).clone())
    }
}

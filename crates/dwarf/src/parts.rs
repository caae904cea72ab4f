//! dwarf/parts.rs: the debug information of a file and of the files that complete it, with one space of offsets.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gimli::{AttributeValue, DebugInfoOffset, SectionId, UnitHeader};

use super::sections::{Dwarf, Sections, Slice, headers, headers_of};
use super::split::{Missing, NotRead, Opened, SplitFile};
use super::type_units::{self, At, Table, TypeUnit, TypeUnits};
use super::unit::{ALTERNATE, PART, PART_SHIFT, TYPES, Unit};
use kinst_debuginfo::{ALTERNATE_HELP, ElfFile, Error};

/// A file, its alternate file, and the files with the rest of its skeleton units. An offset in one of them becomes one
/// in a common space: its high bits number the part. The file itself is part 0, and a skeleton's rest has the number of
/// the skeleton.
pub(crate) struct Parts<'i> {
    image: &'i ElfFile,
    sections: Sections<'i>,
    /// The units of the file, in its order.
    units: Vec<Own>,
    /// The offsets of the units' headers in the alternate file.
    alternate_units: Vec<usize>,
    types: TypeUnits,
}

/// A unit of the file, and the parts of it that have been read.
struct Own {
    header: usize,
    abbreviations: OnceLock<Arc<gimli::Abbreviations>>,
    split: OnceLock<Result<SplitFile, Missing>>,
}

impl<'i> Parts<'i> {
    /// `more`: sections in addition to those that every query needs. It is an error if a section, or the header of a
    /// unit, is damaged.
    pub(crate) fn load(image: &'i ElfFile, more: &[SectionId]) -> Result<Parts<'i>, Error> {
        Parts::of(image, Sections::load(image, more)?)
    }

    /// Takes the sections, which remain in memory with the image.
    pub(crate) fn cached(image: &'i ElfFile) -> Result<Parts<'i>, Error> {
        Parts::of(image, Sections::cached(image)?)
    }

    fn of(image: &'i ElfFile, sections: Sections<'i>) -> Result<Parts<'i>, Error> {
        let dwarf = sections.dwarf();
        let own = |header: UnitHeader<Slice<'_>>| Own {
            header: header.offset().0,
            abbreviations: OnceLock::new(),
            split: OnceLock::new(),
        };
        let units = headers(image, &dwarf)?.into_iter().map(own).collect();
        let alternate = dwarf.sup().and_then(|alternate| headers_of(alternate).ok()).unwrap_or_default();
        let alternate_units = alternate.iter().map(|header| header.offset().0).collect();
        Ok(Parts { image, sections, units, alternate_units, types: TypeUnits::default() })
    }

    pub(crate) fn image(&self) -> &'i ElfFile {
        self.image
    }

    /// The file's own sections, rebuilt by each call at almost no cost.
    pub(crate) fn dwarf(&self) -> Dwarf<'_> {
        self.sections.dwarf()
    }

    /// The number of units.
    pub(crate) fn len(&self) -> usize {
        self.units.len()
    }

    /// The number of the unit with a header at this offset of .debug_info.
    pub(crate) fn number(&self, header: usize) -> Option<usize> {
        self.units.binary_search_by_key(&header, |unit| unit.header).ok()
    }

    /// The unit in the file itself, which may be a skeleton.
    pub(crate) fn own<'d>(&self, dwarf: &Dwarf<'d>, number: usize) -> gimli::Result<Unit<'d>> {
        let own = self.units.get(number).ok_or(gimli::Error::NoEntryAtGivenOffset(number as u64))?;
        let header = dwarf.debug_info.header_from_offset(DebugInfoOffset(own.header))?;
        let abbreviations = match own.abbreviations.get() {
            Some(abbreviations) => abbreviations,
            None => {
                let read = Arc::new(header.abbreviations(&dwarf.debug_abbrev)?);
                own.abbreviations.get_or_init(|| read)
            }
        };
        Unit::with_abbreviations(dwarf, header, abbreviations.clone())
    }

    /// A unit of the file, or the rest of a skeleton unit. Where the rest is missing, a skeleton with entries stands for
    /// itself.
    pub(crate) fn open(&self, number: usize) -> Result<Opened<'_>, NotRead> {
        let dwarf = self.dwarf();
        let unit = self.own(&dwarf, number)?;
        match self.split(&dwarf, &unit, number) {
            None => Ok(Opened { dwarf, unit }),
            Some(Err(_)) if unit.first.is_some() => Ok(Opened { dwarf, unit }),
            Some(Err(error)) => Err(error),
            Some(Ok(split)) => {
                let skeleton = unit.skeleton().ok_or(gimli::Error::MissingUnitDie)?;
                Ok(split.open(&dwarf, &skeleton, part(number))?)
            }
        }
    }

    /// The file with the rest of a unit; `None` if it is not a skeleton unit.
    fn split<'p>(
        &'p self,
        dwarf: &Dwarf<'p>,
        unit: &Unit<'p>,
        number: usize,
    ) -> Option<Result<&'p SplitFile, NotRead>> {
        let skeleton = unit.skeleton()?;
        let own = self.units.get(number)?;
        let found = match own.split.get() {
            Some(found) => found,
            None => {
                // The first file of the table is the source: number 0 since version 5, 1 before.
                let of = unit.file_path(dwarf, 0).or_else(|| unit.file_path(dwarf, 1));
                let found = match SplitFile::find(self.image, dwarf, &skeleton, of) {
                    Ok(found) => Ok(found),
                    Err(NotRead::Missing(missing)) => Err(missing),
                    Err(damaged) => return Some(Err(damaged)),
                };
                own.split.get_or_init(|| found)
            }
        };
        Some(found.as_ref().map_err(|missing| NotRead::Missing(missing.clone())))
    }

    /// The unit that contains an offset of any part.
    pub(crate) fn containing(&self, place: u64) -> Result<Opened<'_>, Error> {
        let damaged = |cause| Error::dwarf(self.image.path(), cause);
        let none = || Error::dwarf(self.image.path(), format!("no unit contains {place:#x}"));
        let at = place & !PART;
        match place & PART {
            part if part != ALTERNATE && part & TYPES != 0 => self.type_unit(place).ok_or_else(none),
            0 => {
                let after = self.units.partition_point(|unit| unit.header as u64 <= at);
                let number = after.checked_sub(1).ok_or_else(none)?;
                let dwarf = self.dwarf();
                let unit = self.own(&dwarf, number).map_err(damaged)?;
                Ok(Opened { dwarf, unit })
            }
            ALTERNATE => {
                if let Some(Err(error)) = self.image.alternate() {
                    return Err(Error::Part {
                        path: self.image.path().to_owned(),
                        missing: error.to_string(),
                        help: ALTERNATE_HELP,
                    });
                }
                let after = self.alternate_units.partition_point(|unit| *unit as u64 <= at);
                let number = after.checked_sub(1).ok_or_else(none)?;
                self.open_alternate(number).ok_or_else(none)
            }
            part => {
                let number = usize::try_from((part >> PART_SHIFT).wrapping_sub(1)).map_err(|_| none())?;
                let opened = self.open(number).map_err(|error| error.error(self.image))?;
                match opened.unit.has(place) {
                    true => Ok(opened),
                    false => {
                        if let Some(opened) = self.type_unit(place) {
                            return Ok(opened);
                        }
                        let others = self.beside(number).map_err(damaged)?;
                        others.into_iter().find(|other| other.unit.has(place)).ok_or_else(none)
                    }
                }
            }
        }
    }

    /// The other units in the .dwo file of a skeleton's unit.
    pub(crate) fn beside(&self, number: usize) -> gimli::Result<Vec<Opened<'_>>> {
        let dwarf = self.dwarf();
        let unit = self.own(&dwarf, number)?;
        let mut beside = Vec::new();
        let (Some(Ok(split)), Some(skeleton)) = (self.split(&dwarf, &unit, number), unit.skeleton()) else {
            return Ok(beside);
        };
        let found = split.dwarf(&dwarf, &skeleton)?;
        for header in headers_of(&found)? {
            let abbreviations = Arc::new(header.abbreviations(&found.debug_abbrev)?);
            let unit = Unit::of_split(&found, header, abbreviations, &skeleton, part(number))?;
            if unit.inner.dwo_id != Some(skeleton.id) {
                beside.push(Opened { dwarf: split.dwarf(&dwarf, &skeleton)?, unit });
            }
        }
        Ok(beside)
    }

    /// The file that a unit needs and that cannot be used.
    pub(crate) fn missing(&self, number: usize) -> Option<Missing> {
        let dwarf = self.dwarf();
        let unit = self.own(&dwarf, number).ok()?;
        match self.split(&dwarf, &unit, number)? {
            Err(NotRead::Missing(missing)) => Some(missing),
            Ok(_) | Err(NotRead::Damaged(_)) => None,
        }
    }

    /// The offset of a reference's target in the space of all parts.
    pub(crate) fn target<'d>(&self, unit: &Unit<'d>, value: &AttributeValue<Slice<'d>>) -> Option<u64> {
        let AttributeValue::DebugTypesRef(signature) = *value else { return unit.target(value) };
        let part = unit.part() & !TYPES;
        if part == ALTERNATE {
            return None;
        }
        let owner = self.owner(part)?;
        let of_type = owner.table(&self.types).with(signature)?.clone();
        owner.open(part, &of_type)?.unit.described_type()
    }

    /// The file that has the type units for a part.
    fn owner(&self, part: u64) -> Option<Owner<'_>> {
        let dwarf = self.dwarf();
        let Some(number) = ((part >> PART_SHIFT) as usize).checked_sub(1) else {
            return Some(Owner { dwarf, file: 0, split: None });
        };
        let unit = self.own(&dwarf, number).ok()?;
        let split = self.split(&dwarf, &unit, number)?.ok()?;
        match split.is_package() {
            true => Some(Owner { dwarf, file: split.number(), split: Some(split) }),
            false => {
                let dwarf = split.dwarf(&dwarf, &unit.skeleton()?).ok()?;
                Some(Owner { dwarf, file: split.number(), split: None })
            }
        }
    }

    fn type_unit(&self, place: u64) -> Option<Opened<'_>> {
        let part = place & PART & !TYPES;
        let owner = self.owner(part)?;
        let table = owner.table(&self.types);
        let unit = table.containing(place & TYPES == 0, place & !PART)?.clone();
        owner.open(part, &unit)
    }

    /// The numbers of the units of the alternate file.
    pub(crate) fn alternates(&self) -> Range<usize> {
        0..self.alternate_units.len()
    }

    /// Opens a unit of the alternate file.
    pub(crate) fn open_alternate(&self, number: usize) -> Option<Opened<'_>> {
        let dwarf = self.sections.alternate()?;
        let at = DebugInfoOffset(*self.alternate_units.get(number)?);
        let header = dwarf.debug_info.header_from_offset(at).ok()?;
        let unit = Unit::of_alternate(&dwarf, header).ok()?;
        Some(Opened { dwarf, unit })
    }
}

/// A file with type units.
struct Owner<'p> {
    /// Its sections; those of the program for a package.
    dwarf: Dwarf<'p>,
    /// A number of the file.
    file: usize,
    /// The package.
    split: Option<&'p SplitFile>,
}

impl<'p> Owner<'p> {
    fn table(&self, types: &TypeUnits) -> Arc<Table> {
        types.table(self.file, || match self.split {
            Some(split) => split.type_units(&self.dwarf),
            None => Table::of(&self.dwarf),
        })
    }

    fn open(self, part: u64, unit: &TypeUnit) -> Option<Opened<'p>> {
        let (dwarf, base) = match unit.at {
            At::Info => (self.dwarf, part),
            At::Types => (self.dwarf, TYPES | part),
            At::Packaged(row) => {
                let base = (TYPES | part).wrapping_add(unit.range.start);
                (self.split?.type_unit(&self.dwarf, row)?, base)
            }
        };
        let header = type_units::header(unit, &dwarf)?;
        let unit = Unit::of_type(&dwarf, header, base).ok()?;
        Some(Opened { dwarf, unit })
    }
}

fn part(number: usize) -> u64 {
    (number as u64 + 1) << PART_SHIFT & !(ALTERNATE | TYPES)
}

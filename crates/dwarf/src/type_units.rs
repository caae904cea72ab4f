//! dwarf/type_units.rs: the units that have one type each, by signature and by place.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gimli::{DebugInfoOffset, DebugTypeSignature, DwarfPackage, SectionId, UnitHeader, UnitType};

use super::sections::{Dwarf, Slice, headers_of};

/// The type units of all files that were needed.
#[derive(Default)]
pub(crate) struct TypeUnits {
    /// By a number of the file.
    tables: Mutex<HashMap<usize, Arc<Table>>>,
}

/// The type units of a file.
#[derive(Default)]
pub(crate) struct Table {
    by_signature: HashMap<DebugTypeSignature, TypeUnit>,
    /// By place.
    units: Vec<TypeUnit>,
}

/// The place of a type unit.
#[derive(Clone, Debug)]
pub(crate) struct TypeUnit {
    pub at: At,
    /// Bytes in the section.
    pub range: Range<u64>,
}

/// The section of a type unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum At {
    Info,
    /// .debug_types, which versions before 5 have.
    Types,
    /// A section of a package, by the row of the index.
    Packaged(u32),
}

impl TypeUnits {
    /// The table of a file, which is made once.
    pub(crate) fn table(&self, file: usize, make: impl FnOnce() -> Table) -> Arc<Table> {
        let known = lock(&self.tables).get(&file).cloned();
        known.unwrap_or_else(|| {
            let table = Arc::new(make());
            Arc::clone(lock(&self.tables).entry(file).or_insert(table))
        })
    }
}

impl Table {
    /// The type units of a file that is not a package.
    pub(crate) fn of(dwarf: &Dwarf<'_>) -> Table {
        let mut table = Table::default();
        for header in headers_of(dwarf).unwrap_or_default() {
            table.add(At::Info, &header);
        }
        let mut units = dwarf.type_units();
        while let Ok(Some(header)) = units.next() {
            table.add(At::Types, &header);
        }
        table
    }

    /// The type units of a package.
    pub(crate) fn of_package(package: &DwarfPackage<Slice<'_>>, dwarf: &Dwarf<'_>) -> Table {
        let mut table = Table::default();
        for row in 1..=package.tu_index.unit_count() {
            let Ok(mut sections) = package.tu_index.sections(row) else { continue };
            let is_of_units = |id| matches!(id, SectionId::DebugInfo | SectionId::DebugTypes);
            let place = sections.find(|section| is_of_units(section.section.section_id()));
            let (Some(place), Ok(found)) = (place, package.tu_sections(row, dwarf)) else { continue };
            let start = u64::from(place.offset);
            let range = start..start.saturating_add(place.size.into());
            if let Some(signature) = first(&found).and_then(|header| signature_of(&header)) {
                let unit = TypeUnit { at: At::Packaged(row), range };
                table.by_signature.insert(signature, unit.clone());
                table.units.push(unit);
            }
        }
        table.units.sort_by_key(|unit| unit.range.start);
        table
    }

    fn add(&mut self, at: At, header: &UnitHeader<Slice<'_>>) {
        let Some(signature) = signature_of(header) else { return };
        let start = header.offset().0 as u64;
        let unit = TypeUnit { at, range: start..start.saturating_add(header.length_including_self() as u64) };
        self.by_signature.insert(signature, unit.clone());
        self.units.push(unit);
    }

    /// The unit with a signature.
    pub(crate) fn with(&self, signature: DebugTypeSignature) -> Option<&TypeUnit> {
        self.by_signature.get(&signature)
    }

    /// The unit at a place of .debug_info, or of the section that only has types.
    pub(crate) fn containing(&self, is_info: bool, place: u64) -> Option<&TypeUnit> {
        // The units of .debug_info are first.
        let info = self.units.partition_point(|unit| unit.at == At::Info);
        let units = if is_info { &self.units[..info] } else { &self.units[info..] };
        let after = units.partition_point(|unit| unit.range.start <= place);
        units.get(after.checked_sub(1)?).filter(|unit| unit.range.contains(&place))
    }
}

/// The header of a type unit in the sections that its table was made of.
pub(crate) fn header<'d>(unit: &TypeUnit, dwarf: &Dwarf<'d>) -> Option<UnitHeader<Slice<'d>>> {
    let at = usize::try_from(unit.range.start).ok()?;
    match unit.at {
        At::Info => dwarf.debug_info.header_from_offset(DebugInfoOffset(at)).ok(),
        At::Types => {
            let mut units = dwarf.type_units();
            std::iter::from_fn(|| units.next().ok().flatten()).find(|header| header.offset().0 == at)
        }
        At::Packaged(_) => first(dwarf),
    }
}

/// The only unit of the sections that a package has for one.
fn first<'d>(dwarf: &Dwarf<'d>) -> Option<UnitHeader<Slice<'d>>> {
    let of_types = || dwarf.type_units().next().ok().flatten();
    let of_info = headers_of(dwarf).unwrap_or_default();
    of_info.into_iter().find(|header| signature_of(header).is_some()).or_else(of_types)
}

fn signature_of(header: &UnitHeader<Slice<'_>>) -> Option<DebugTypeSignature> {
    match header.type_() {
        UnitType::Type { type_signature, .. } | UnitType::SplitType { type_signature, .. } => {
            Some(type_signature)
        }
        _ => None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data under a lock only grows.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

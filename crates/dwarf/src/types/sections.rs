//! dwarf/types/sections.rs: the sections of a file that contain types, and the state for queries.

use super::unit::Units;
use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};
use kinst_debuginfo::ElfFile;
use kinst_types::{TagKind, Type, TypeOrigin};

/// The sections of one file, which it owns.
pub struct Sections<'a>(DwarfSections<&'a [u8]>);

/// Finds a struct of the same name in another source: its handle replaces the entry of this file.
pub type Known<'a> = dyn Fn(TagKind, &str) -> Option<Type> + 'a;

impl<'a> Sections<'a> {
    /// Loads and relocates the sections; `None` if one of them is damaged.
    pub fn load(image: &'a ElfFile) -> Option<Sections<'a>> {
        // The lines and the addresses are not needed, but no unit opens without its file table and its first address.
        const USED: [SectionId; 7] = [
            SectionId::DebugAbbrev,
            SectionId::DebugAddr,
            SectionId::DebugInfo,
            SectionId::DebugLine,
            SectionId::DebugLineStr,
            SectionId::DebugStr,
            SectionId::DebugStrOffsets,
        ];
        let section = |id: SectionId| match USED.contains(&id) {
            true => image.cached_section(id.name()),
            false => Ok(&[][..]),
        };
        DwarfSections::load(section).ok().map(Sections)
    }

    /// The types of this file, with handles of this origin. The pointers of a program's file lead into a process.
    pub fn types<'s>(&'s self, origin: TypeOrigin, known: &'s Known<'s>) -> Types<'s> {
        let dwarf = self.0.borrow(|section| EndianSlice::new(section, LittleEndian));
        Types { units: Units::new(dwarf), origin, known }
    }
}

/// Queries about the types of one file.
pub struct Types<'a> {
    pub(super) units: Units<'a>,
    pub(super) origin: TypeOrigin,
    pub(super) known: &'a Known<'a>,
}

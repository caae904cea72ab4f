//! dwarf/types/sections.rs: the debug information of a file with types, and the state for queries.

use super::unit::Units;
use crate::parts::Parts;
use kinst_debuginfo::ElfFile;
use kinst_types::{TagKind, Type, TypeOrigin};

/// The sections of one file, and of those that complete it.
pub struct Sections<'a>(Parts<'a>);

/// Finds a struct of the same name in another source: its handle replaces the entry of this file.
pub type Known<'a> = dyn Fn(TagKind, &str) -> Option<Type> + 'a;

impl<'a> Sections<'a> {
    /// Loads and relocates the sections; `None` if one of them is damaged.
    pub fn load(image: &'a ElfFile) -> Option<Sections<'a>> {
        Parts::cached(image).ok().map(Sections)
    }

    /// The types of this file, with handles of this origin. The pointers of a program's file lead into a process.
    pub fn types<'s>(&'s self, origin: TypeOrigin, known: &'s Known<'s>) -> Types<'s> {
        Types { units: Units::new(&self.0), origin, known }
    }
}

/// Queries about the types of one file.
pub struct Types<'a> {
    pub(super) units: Units<'a>,
    pub(super) origin: TypeOrigin,
    pub(super) known: &'a Known<'a>,
}

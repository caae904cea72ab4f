//! dwarf/types/queries.rs: queries about the types of one file.

use super::graph;
use super::sections::Types;
use kinst_types::{Member, TagKind, Tagged, Type};

impl Types<'_> {
    /// The type of the variable at an address of the file.
    pub fn variable(&self, address: u64) -> Option<Type> {
        // DW_AT_location of a variable is the expression `DW_OP_addr address`, after its length.
        let mut needle = vec![9, gimli::constants::DW_OP_addr.0];
        needle.extend(address.to_le_bytes());
        let info = self.units.info();
        let places = memchr::memmem::find_iter(info, &needle);
        places.take(16).find_map(|place| {
            let unit = self.units.containing(place as u64)?;
            let entry = unit.entry_around(place as u64)?;
            (unit.tag(entry)? == gimli::constants::DW_TAG_variable).then_some(())?;
            self.type_of(&unit, entry)
        })
    }

    /// The type at an offset in .debug_info.
    pub fn at(&self, place: u64) -> Type {
        self.ty(place)
    }

    /// A struct, union or enum that is defined.
    pub fn tagged(&self, kind: TagKind, name: &str) -> Option<Type> {
        self.definition(name, |tag| graph::kind_of(tag) == Some(kind))
    }

    /// The definition of a struct, union or enum that another unit only declares.
    pub fn defined(&self, kind: TagKind, name: &str) -> Option<Tagged> {
        match self.tagged(kind, name)? {
            Type::Record(found) | Type::Enum(found) if found.bytes.is_some() => Some(found),
            _ => None,
        }
    }

    /// A base type or typedef.
    pub fn named(&self, name: &str) -> Option<Type> {
        use gimli::constants::{DW_TAG_base_type, DW_TAG_typedef};
        self.definition(name, |tag| tag == DW_TAG_base_type || tag == DW_TAG_typedef)
    }

    /// The parameters and result of the first function of this name (DW_TAG_subprogram).
    pub fn prototype(&self, name: &str) -> Option<kinst_types::Prototype> {
        let (unit, entry) = self.units.find(name, |tag| tag == gimli::constants::DW_TAG_subprogram)?;
        self.prototype_of(&unit, entry)
    }

    /// The members of a struct or union of this file; empty for a forward declaration.
    pub fn members(&self, record: &Tagged) -> Vec<Member> {
        self.members_at(record.id.index)
    }

    /// The parameters of the template or generic that a struct of this file is an instance of, each with its type.
    pub fn parameters(&self, record: &Tagged) -> Vec<(String, Type)> {
        self.parameters_at(record.id.index)
    }

    /// The virtual bases of a class of this file, whose places only the object knows.
    pub fn virtual_bases(&self, record: &Tagged) -> Vec<Type> {
        self.virtual_bases_at(record.id.index)
    }

    /// Names and values of an enum of this file.
    pub fn enumerators(&self, tagged: &Tagged) -> Vec<(String, i64)> {
        self.enumerators_at(tagged.id.index)
    }

    fn definition(&self, name: &str, is_wanted: impl Fn(gimli::DwTag) -> bool) -> Option<Type> {
        let (unit, entry) = self.units.find(name, is_wanted)?;
        Some(self.ty(unit.global(entry)))
    }
}

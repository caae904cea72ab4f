//! dwarf/copies/finder.rs: the inlined copies in the function bodies of a unit.

use gimli::{Abbreviation, EntriesRaw, UnitOffset, constants as dw};

use super::scan::{Body, Definition, Definitions, Scan};
use crate::dwarf::extent::{Extent, merge};
use crate::dwarf::unit::{Unit, file_index};
use crate::dwarf::{CallSite, Dwarf, InlineCopy, Slice};

pub struct CopyFinder<'d, 'a> {
    pub dwarf: &'d Dwarf<'a>,
    pub call_sites: bool,
}

/// `name` is a number of [`super::names::Names`].
pub enum Found {
    Copy { name: usize, copy: InlineCopy },
    SplitTail { name: usize },
    WithoutAddress { name: usize },
}

/// The attributes of a DW_TAG_inlined_subroutine.
#[derive(Default)]
struct Attributes<'a> {
    origin: Option<u64>,
    extent: Extent<'a>,
    call_file: u64,
    call_line: u64,
}

/// A function that the walk is in: the depth of its children, and what it is an instance of.
struct Frame {
    depth: usize,
    origin: Option<u64>,
}

impl<'a> CopyFinder<'_, 'a> {
    /// `definitions` are those of all units; `None` if the copies of this unit have their origin in it.
    pub fn in_unit(
        &self,
        unit: &Unit<'a>,
        scan: &Scan,
        definitions: Option<&Definitions>,
    ) -> gimli::Result<Vec<Found>> {
        let local: Definitions;
        let definitions = match definitions {
            Some(all) => all,
            None => {
                local = super::scan::definitions(std::iter::once(scan));
                &local
            }
        };
        let mut found = Vec::new();
        if !definitions.is_empty() {
            for body in &scan.bodies {
                self.in_body(unit, body, definitions, &mut found)?;
            }
        }
        Ok(found)
    }

    fn in_body(
        &self,
        unit: &Unit<'a>,
        body: &Body,
        definitions: &Definitions,
        found: &mut Vec<Found>,
    ) -> gimli::Result<()> {
        let mut entries = unit.entries(body.first_child)?;
        let mut depth = 1usize;
        let mut frames = vec![Frame { depth, origin: Some(body.origin) }];
        while depth > 0 && !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                depth -= 1;
                while frames.last().is_some_and(|frame| frame.depth > depth) {
                    frames.pop();
                }
                continue;
            };
            match abbreviation.tag() {
                dw::DW_TAG_inlined_subroutine => {
                    let attributes = self.read(unit, &mut entries, abbreviation)?;
                    let parent = frames.last().and_then(|frame| frame.origin);
                    let origin = attributes.origin;
                    if let Some(definition) = origin.and_then(|origin| definitions.get(&origin)) {
                        let parent =
                            parent.map(|parent| definitions.get(&parent).map_or(parent, |of| of.offset));
                        found.push(self.copy(unit, offset, definition, parent, &attributes)?);
                    }
                    if abbreviation.has_children() {
                        depth += 1;
                        frames.push(Frame { depth, origin });
                    }
                }
                dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block => {
                    entries.skip_attributes(abbreviation.attributes())?;
                    depth += usize::from(abbreviation.has_children());
                }
                // A function in a function (other languages than C) is a body of its own.
                _ => unit.skip_tree(&mut entries, abbreviation)?,
            }
        }
        Ok(())
    }

    fn read(
        &self,
        unit: &Unit<'a>,
        entries: &mut EntriesRaw<'_, Slice<'a>>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<Attributes<'a>> {
        let mut read = Attributes::default();
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            match attribute.name() {
                dw::DW_AT_abstract_origin => read.origin = unit.target(&attribute.value()),
                dw::DW_AT_call_file => read.call_file = file_index(&attribute),
                dw::DW_AT_call_line => read.call_line = attribute.udata_value().unwrap_or(0),
                _ => read.extent.read(&attribute),
            }
        }
        Ok(read)
    }

    fn copy(
        &self,
        unit: &Unit<'a>,
        offset: UnitOffset,
        definition: &Definition,
        parent: Option<u64>,
        attributes: &Attributes<'a>,
    ) -> gimli::Result<Found> {
        let name = definition.name;
        // gcc splits a function (f, f.part.0) and may inline both halves: the second is then "called" by the first, on
        // the line that declares f.
        if parent == Some(definition.offset) && attributes.call_line == definition.decl_line {
            return Ok(Found::SplitTail { name });
        }
        let listed = attributes.extent.ranges(self.dwarf, unit)?;
        let entry = attributes.extent.entry(self.dwarf, unit, &listed)?;
        let Some(entry) = entry else { return Ok(Found::WithoutAddress { name }) };
        let call = self.call_sites.then(|| CallSite {
            file: unit.file_path(self.dwarf, attributes.call_file).unwrap_or_else(|| "??".to_owned()),
            line: attributes.call_line,
        });
        let entry_is_exact = unit.tells_entries || attributes.extent.tells_entry();
        let copy =
            InlineCopy { die: unit.global(offset), entry, entry_is_exact, ranges: merge(listed), call };
        Ok(Found::Copy { name, copy })
    }
}

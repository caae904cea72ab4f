//! sites/dwarf/copies.rs: the inlined copies in the function bodies of a unit.

use std::ops::Range;

use gimli::{Abbreviation, AttributeValue, EntriesRaw, UnitOffset, constants as dw};

use super::scan::{Body, Definition, Definitions, Scan};
use super::unit::{Unit, skip_tree};
use super::{CallSite, Dwarf, InlineCopy, Slice};

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
    entry_pc: Option<AttributeValue<Slice<'a>>>,
    low_pc: Option<AttributeValue<Slice<'a>>>,
    high_pc: Option<AttributeValue<Slice<'a>>>,
    ranges: Option<AttributeValue<Slice<'a>>>,
    call_file: u64,
    call_line: u64,
}

/// A function that the walk is in: how deep its children are, and what it is an instance of.
struct Frame {
    depth: usize,
    origin: Option<u64>,
}

impl<'a> CopyFinder<'_, 'a> {
    /// `definitions` are those of all units; `None`: the copies of this unit have their origin in it.
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
                _ => {
                    if let Some(next) = skip_tree(&mut entries, abbreviation)? {
                        entries = unit.entries(next)?;
                    }
                }
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
                dw::DW_AT_entry_pc => read.entry_pc = Some(attribute.value()),
                dw::DW_AT_low_pc => read.low_pc = Some(attribute.value()),
                dw::DW_AT_high_pc => read.high_pc = Some(attribute.value()),
                dw::DW_AT_ranges => read.ranges = Some(attribute.value()),
                dw::DW_AT_call_file => {
                    read.call_file = match attribute.value() {
                        AttributeValue::FileIndex(index) => index,
                        _ => attribute.udata_value().unwrap_or(0),
                    }
                }
                dw::DW_AT_call_line => read.call_line = attribute.udata_value().unwrap_or(0),
                _ => {}
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
        let listed = self.ranges(unit, attributes)?;
        let low_pc = match attributes.low_pc {
            Some(value) => self.dwarf.attr_address(&unit.inner, value)?,
            None => None,
        };
        let base = low_pc.or(listed.first().map(|range| range.start));
        let entry = match attributes.entry_pc {
            Some(value) => match self.dwarf.attr_address(&unit.inner, value)? {
                Some(address) => Some(address),
                // Of class constant: from where the copy begins.
                None => value.udata_value().zip(base).map(|(distance, base)| base.wrapping_add(distance)),
            },
            None => base,
        };
        let Some(entry) = entry else { return Ok(Found::WithoutAddress { name }) };
        let call = self.call_sites.then(|| CallSite {
            file: unit.file_path(self.dwarf, attributes.call_file).unwrap_or_else(|| "??".to_owned()),
            line: attributes.call_line,
        });
        let copy = InlineCopy { die: unit.global(offset), entry, ranges: merge(listed), call };
        Ok(Found::Copy { name, copy })
    }

    /// The ranges in the order of the list, the empty ones too.
    fn ranges(&self, unit: &Unit<'a>, attributes: &Attributes<'a>) -> gimli::Result<Vec<Range<u64>>> {
        let mut listed = Vec::new();
        if let Some(value) = attributes.ranges {
            if let Some(mut ranges) = self.dwarf.attr_ranges(&unit.inner, value)? {
                while let Some(range) = ranges.next()? {
                    listed.push(range.begin..range.end);
                }
            }
        } else if let (Some(low), Some(high)) = (attributes.low_pc, attributes.high_pc)
            && let Some(start) = self.dwarf.attr_address(&unit.inner, low)?
        {
            let end = match self.dwarf.attr_address(&unit.inner, high)? {
                Some(end) => end,
                None => start.wrapping_add(high.udata_value().unwrap_or(0)),
            };
            listed.push(start..end);
        }
        Ok(listed)
    }
}

/// Sorted; ranges that touch become one; empty and reversed ones go.
fn merge(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::merge;

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merge(vec![8..12, 0..4, 4..8, 20..20, 16..18]), vec![0..12, 16..18]);
    }
}

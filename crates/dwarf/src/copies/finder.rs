//! dwarf/copies/finder.rs: the inlined copies in the function bodies of a unit.

use std::ops::Range;
use std::sync::Arc;

use gimli::{Abbreviation, EntriesRaw, UnitOffset, constants as dw};

use super::declared::Declared;
use super::found::{CallSite, InlineCopy};
use super::scan::{Body, Definition, Definitions, Scan};
use crate::entries::{Evidence, Markers, Unentered};
use crate::extent::{Extent, merge};
use crate::lines::{self, Lines};
use crate::recurring::recurring;
use crate::sections::{Dwarf, Slice};
use crate::unit::{Unit, file_index};

pub(crate) struct CopyFinder<'d, 'a> {
    pub dwarf: &'d Dwarf<'a>,
    pub call_sites: bool,
}

/// `name` is an id from [`super::names::Names`].
pub(crate) enum Found {
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
    call_column: u64,
}

/// A function that the walk is inside: the depth of its children, its origin, and its copy.
struct Frame {
    depth: usize,
    origin: Option<u64>,
    copy: Option<usize>,
}

/// A copy whose entries are determined together with those of the other copies in its body.
struct Candidate {
    die: u64,
    origin: u64,
    function: Option<Arc<str>>,
    /// `None`: the function is not wanted.
    name: Option<usize>,
    is_tail: bool,
    call: Option<CallSite>,
    /// The ranges of the copies inside it, if the compiler writes no markers.
    inner: Vec<Range<u64>>,
}

impl<'a> CopyFinder<'_, 'a> {
    /// `definitions` are from all units; `None` if the copies of this unit have their origin in it.
    pub(crate) fn in_unit(
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
        if definitions.values().all(|definition| definition.name.is_none()) {
            return Ok(found);
        }
        let declared = Declared::of(self.dwarf, unit, definitions);
        let markers = match unit.tells_entries {
            true => Markers::of_unit(self.dwarf, unit, &declared.of_inline(unit, definitions))?,
            false => Markers::default(),
        };
        let lines = if unit.tells_entries { None } else { Some(lines::read(self.dwarf, unit)?) };
        for body in &scan.bodies {
            let (candidates, unentered) = self.in_body(unit, body, definitions, &declared)?;
            let entries = markers.entries(&unentered);
            let all = candidates.into_iter().zip(unentered).zip(entries);
            found.extend(all.filter_map(|((candidate, unentered), (entries, evidence))| {
                candidate.entered(unentered, entries, evidence, &markers.starts, lines.as_ref())
            }));
        }
        Ok(found)
    }

    fn in_body(
        &self,
        unit: &Unit<'a>,
        body: &Body,
        definitions: &Definitions,
        declared: &Declared,
    ) -> gimli::Result<(Vec<Candidate>, Vec<Unentered>)> {
        let (mut candidates, mut unentered): (Vec<Candidate>, _) = (Vec::new(), Vec::new());
        let mut entries = unit.entries(body.first_child)?;
        let mut depth = 1usize;
        let mut frames = vec![Frame { depth, origin: Some(body.origin), copy: None }];
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
                    let (mut copy, around) = (None, frames.last());
                    let origin = attributes.origin;
                    if let Some(outer) = around.and_then(|frame| frame.copy).filter(|_| !unit.tells_entries) {
                        let ranges = attributes.extent.ranges(self.dwarf, unit)?;
                        candidates[outer].inner.extend(ranges);
                    }
                    if let Some(definition) = origin.and_then(|origin| definitions.get(&origin)) {
                        let around_origin = around.and_then(|frame| frame.origin);
                        let outer = around_origin
                            .map(|origin| definitions.get(&origin).map_or(origin, |of| of.offset));
                        copy = Some(candidates.len());
                        candidates.push(self.candidate(unit, offset, definition, outer, &attributes));
                        unentered.push(Unentered {
                            declared: declared.place(unit, definition),
                            parent: around.and_then(|frame| frame.copy),
                            ..attributes.extent.unentered(self.dwarf, unit)?
                        });
                    }
                    if abbreviation.has_children() {
                        let copy = copy.or(around.and_then(|frame| frame.copy));
                        depth += 1;
                        frames.push(Frame { depth, origin, copy });
                    }
                }
                dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block => {
                    entries.skip_attributes(abbreviation.attributes())?;
                    depth += usize::from(abbreviation.has_children());
                }
                // A nested function (in languages other than C) is a separate body.
                _ => unit.skip_tree(&mut entries, abbreviation)?,
            }
        }
        Ok((candidates, unentered))
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
                dw::DW_AT_call_column => read.call_column = attribute.udata_value().unwrap_or(0),
                _ => read.extent.read(&attribute),
            }
        }
        Ok(read)
    }

    /// `outer`: the definition of the function that the copy is in.
    fn candidate(
        &self,
        unit: &Unit<'a>,
        offset: UnitOffset,
        definition: &Definition,
        outer: Option<u64>,
        attributes: &Attributes<'a>,
    ) -> Candidate {
        let Attributes { call_file, call_line, call_column, .. } = *attributes;
        let call = || CallSite {
            file: unit.file_path(self.dwarf, call_file).unwrap_or_else(|| "??".to_owned()),
            line: call_line,
        };
        Candidate {
            die: unit.global(offset),
            origin: definition.offset,
            function: definition.function.clone(),
            name: definition.name,
            is_tail: outer == Some(definition.offset) && definition.is_at(call_line, call_column),
            call: self.call_sites.then(call),
            inner: Vec::new(),
        }
    }
}

impl Candidate {
    /// `rows`: the addresses where rows of the unit's line table begin; `lines`: the table, if there are no
    /// markers.
    fn entered(
        self,
        unentered: Unentered,
        entries: Vec<u64>,
        evidence: Evidence,
        rows: &Arc<[u64]>,
        lines: Option<&Lines>,
    ) -> Option<Found> {
        let Candidate { die, origin, function, name, is_tail, call, inner } = self;
        let name = name?;
        Some(match () {
            () if is_tail => Found::SplitTail { name },
            () => match unentered.entry {
                None => Found::WithoutAddress { name },
                Some(entry_pc) => {
                    let ranges = merge(unentered.listed);
                    let recurring = lines.map(|lines| recurring(lines, &ranges, &inner)).unwrap_or_default();
                    let copy = InlineCopy {
                        die,
                        origin,
                        function,
                        entry_pc,
                        entries,
                        evidence,
                        rows: rows.clone(),
                        recurring,
                        ranges,
                        call,
                    };
                    Found::Copy { name, copy }
                }
            },
        })
    }
}

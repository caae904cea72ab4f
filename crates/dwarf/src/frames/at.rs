//! dwarf/frames/at.rs: the function whose code is at an address, read with its copies.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{Abbreviation, EntriesRaw, constants as dw};

use super::body::{Body, Definition, Frame, Node};
use super::functions::functions;
use super::info::{DebugInfo, lock};
use super::room;
use crate::copies::found::CallSite;
use crate::entries::{Markers, Unentered, is_declaration};
use crate::extent::{Extent, merge};
use crate::lines::Lines;
use crate::sections::{Dwarf, Slice};
use crate::split::Opened;
use crate::unit::{Unit, file_index};
use kinst_debuginfo::Error;

impl DebugInfo<'_> {
    /// The function whose code is at an address; `None` outside the code that the debug information covers.
    pub fn body_at(&self, address: u64) -> Result<Option<Arc<Body>>, Error> {
        for unit in self.units_at(address) {
            let known = self.known(unit);
            let functions = match known.functions.get() {
                Some(functions) => functions,
                None => {
                    let Opened { dwarf, unit: opened } = self.unit(unit)?;
                    let mut read = functions(&dwarf, &opened).map_err(|cause| self.damaged(cause))?;
                    read.iter_mut()
                        .for_each(|(range, _)| range.start = room::start(self.image(), range.start));
                    known.functions.get_or_init(|| read)
                }
            };
            let after = functions.partition_point(|(range, _)| range.start <= address);
            // A function inside another's range (languages other than C) comes later.
            let function = functions[..after].iter().rev().find(|(range, _)| range.contains(&address));
            let Some((_, die)) = function else { continue };
            if let Some(body) = lock(&known.bodies).get(die) {
                return Ok(Some(body.clone()));
            }
            let body = Arc::new(self.read_body(unit, *die, &*self.lines_of(unit)?)?);
            return Ok(Some(lock(&known.bodies).entry(*die).or_insert(body).clone()));
        }
        Ok(None)
    }

    /// The frames at an address, the innermost first, ending with the function that has the code; empty
    /// outside all functions.
    pub fn frames_at(&self, address: u64) -> Result<Vec<Frame>, Error> {
        let body = self.body_at(address)?;
        Ok(body.map(|body| body.at(address).into_iter().cloned().collect()).unwrap_or_default())
    }

    /// The source definition of an entry's function, or of the function that it is an instance of.
    pub fn definition(&self, die: u64) -> Result<Arc<Definition>, Error> {
        if let Some(known) = lock(&self.definitions).get(&die) {
            return Ok(known.clone());
        }
        let read = Arc::new(self.read_definition(die)?);
        Ok(lock(&self.definitions).entry(die).or_insert(read).clone())
    }

    fn read_definition(&self, die: u64) -> Result<Definition, Error> {
        // The longest chain is an instance of a clone of a method that a class declares.
        const LONGEST: usize = 8;
        let mut definition = Definition::default();
        let mut next = Some(die);
        for _ in 0..LONGEST {
            let Some(die) = next.take() else { break };
            let Opened { dwarf, unit } = self.unit_of(die)?;
            let added = add_definition(&dwarf, &unit, die, &mut definition);
            next = added.map_err(|cause| self.damaged(cause))?;
        }
        Ok(definition)
    }

    /// `lines`: the unit's line table.
    pub(super) fn read_body(&self, unit: usize, die: u64, lines: &Lines) -> Result<Body, Error> {
        let Opened { dwarf, unit } = self.unit(unit)?;
        let mut reader = Reader { dwarf: &dwarf, unit: &unit, files: HashMap::new() };
        let mut copies = reader.copies(die).map_err(|cause| self.damaged(cause))?;
        for index in 0..copies.len() {
            // A function without a definition has no name, but its copies are still there.
            let definition = self.definition(copies[index].node.frame.origin).unwrap_or_default();
            let outer = copies[copies[index].node.parent].node.frame.origin;
            let number = |path: &str| {
                let inside = lines.number(unit.without_directory(path));
                inside.or_else(|| lines.number(path))
            };
            copies[index].define(&definition, outer, number);
        }
        if let Some(Copy { node, unentered, .. }) = copies.first_mut() {
            room::with_room(self.image(), unentered.entry, &mut node.frame.ranges);
        }
        let (nodes, unentered): (Vec<Node>, Vec<Unentered>) =
            copies.into_iter().map(|copy| (copy.node, copy.unentered)).unzip();
        let markers = match unit.tells_entries {
            true => Markers::of_lines(
                lines,
                &nodes[0].frame.ranges,
                &unentered.iter().filter_map(|copy| copy.declared).collect(),
            ),
            false => Markers::default(),
        };
        let entries = markers.entries(&unentered);
        let entered =
            |(node, (entries, _)): (Node, _)| Node { frame: Frame { entries, ..node.frame }, ..node };
        Ok(Body { nodes: nodes.into_iter().zip(entries).map(entered).collect() })
    }
}

/// A node of a body before its entries are determined.
struct Copy {
    node: Node,
    unentered: Unentered,
    call_column: u64,
}

impl Copy {
    /// `outer`: the origin of the enclosing function; `number` returns the index of a file, by path.
    fn define(&mut self, definition: &Definition, outer: u64, number: impl Fn(&str) -> Option<u64>) {
        let frame = &mut self.node.frame;
        frame.name.clone_from(&definition.name);
        let Some(call) = &frame.call else { return };
        let (declared, called) = ((definition.line, definition.column), (call.line, self.call_column));
        frame.is_tail = frame.origin == outer && is_declaration(declared, called);
        if definition.column != 0 && !definition.by_macro {
            let file = number(&definition.file);
            self.unentered.declared = file.map(|file| (file, definition.line, definition.column));
        }
    }
}

struct Reader<'r, 'd> {
    dwarf: &'r Dwarf<'d>,
    unit: &'r Unit<'d>,
    /// The files of calls, by index.
    files: HashMap<u64, String>,
}

impl<'d> Reader<'_, 'd> {
    /// The function and its copies, without names.
    fn copies(&mut self, die: u64) -> gimli::Result<Vec<Copy>> {
        let unit = self.unit;
        let mut entries = unit.entries(unit.local(die))?;
        let abbreviation = entries.read_abbreviation()?.ok_or(gimli::Error::NoEntryAtGivenOffset(die))?;
        let mut copies = vec![self.copy(die, None, &mut entries, abbreviation)?];
        let mut depth = usize::from(abbreviation.has_children());
        // The depth of a copy's children, and the copy.
        let mut around = vec![(depth, 0)];
        while depth > 0 && !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                depth -= 1;
                while around.len() > 1 && around.last().is_some_and(|(deep, _)| *deep > depth) {
                    around.pop();
                }
                continue;
            };
            match abbreviation.tag() {
                dw::DW_TAG_inlined_subroutine => {
                    let parent = around.last().map(|(_, copy)| *copy);
                    copies.push(self.copy(unit.global(offset), parent, &mut entries, abbreviation)?);
                    if abbreviation.has_children() {
                        depth += 1;
                        around.push((depth, copies.len() - 1));
                    }
                }
                dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block => {
                    entries.skip_attributes(abbreviation.attributes())?;
                    depth += usize::from(abbreviation.has_children());
                }
                _ => unit.skip_tree(&mut entries, abbreviation)?,
            }
        }
        Ok(copies)
    }

    fn copy(
        &mut self,
        die: u64,
        parent: Option<usize>,
        entries: &mut EntriesRaw<'_, Slice<'d>>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<Copy> {
        let mut extent = Extent::default();
        let (mut origin, mut file, mut line, mut call_column) = (None, 0, 0, 0);
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            match attribute.name() {
                dw::DW_AT_abstract_origin => origin = self.unit.target(&attribute.value()),
                dw::DW_AT_call_file => file = file_index(&attribute),
                dw::DW_AT_call_line => line = attribute.udata_value().unwrap_or(0),
                dw::DW_AT_call_column => call_column = attribute.udata_value().unwrap_or(0),
                _ => extent.read(&attribute),
            }
        }
        let unentered = Unentered { parent, ..extent.unentered(self.dwarf, self.unit)? };
        let inlined = abbreviation.tag() == dw::DW_TAG_inlined_subroutine;
        let frame = Frame {
            die,
            origin: origin.unwrap_or(die),
            name: String::new(),
            call: inlined.then(|| CallSite { file: self.file(file), line }),
            is_tail: false,
            entries: Vec::new(),
            ranges: merge(unentered.listed.clone()),
        };
        Ok(Copy { node: Node { frame, parent: parent.unwrap_or(0) }, unentered, call_column })
    }

    fn file(&mut self, index: u64) -> String {
        let path = || self.unit.file_path(self.dwarf, index).unwrap_or_else(|| "??".to_owned());
        self.files.entry(index).or_insert_with(path).clone()
    }
}

/// Adds the facts in the entry; returns the entry with the rest.
fn add_definition<'d>(
    dwarf: &Dwarf<'d>,
    unit: &Unit<'d>,
    die: u64,
    definition: &mut Definition,
) -> gimli::Result<Option<u64>> {
    let mut entries = unit.entries(unit.local(die))?;
    let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(None) };
    let (mut next, mut is_inlined) = (None, false);
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec)?;
        match attribute.name() {
            dw::DW_AT_name if definition.name.is_empty() => {
                definition.name = dwarf
                    .attr_string(&unit.inner, attribute.value())
                    .map(|name| name.to_string_lossy().into_owned())
                    .unwrap_or_default();
            }
            dw::DW_AT_decl_file if definition.file.is_empty() => {
                definition.file = unit.file_path(dwarf, file_index(&attribute)).unwrap_or_default();
            }
            dw::DW_AT_decl_line if definition.line == 0 => {
                definition.line = attribute.udata_value().unwrap_or(0);
            }
            dw::DW_AT_decl_column if definition.column == 0 => {
                definition.column = attribute.udata_value().unwrap_or(0);
            }
            dw::DW_AT_abstract_origin | dw::DW_AT_specification => next = unit.target(&attribute.value()),
            dw::DW_AT_inline => is_inlined = true,
            _ => {}
        }
    }
    if is_inlined && abbreviation.has_children() && unit.tells_entries && definition.column != 0 {
        let place = (definition.line, definition.column);
        definition.by_macro |= unit.declares_first_at(entries.next_offset(), place)?;
    }
    Ok(next)
}

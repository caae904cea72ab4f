//! dwarf/frames/: the functions that an instruction belongs to: inlined ones from the inside out, and the one that has the code.

mod all;
pub(super) mod info;
pub(super) mod lines;
mod room;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use gimli::{Abbreviation, EntriesRaw, constants as dw};

use super::copies::scan::for_each_function;
use super::extent::{Extent, merge};
use super::unit::{Unit, file_index};
use super::{CallSite, Dwarf, Slice};
use crate::debuginfo::Error;
use info::{DebugInfo, lock, owner};

/// One function at an address: an inlined copy, or the function that has the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Offset in .debug_info of the copy's entry, or of the function's.
    pub die: u64,
    /// The origin's offset: the function that it is an instance of, or `die` for a function of its own.
    pub origin: u64,
    /// Empty if the debug information has none.
    pub name: String,
    /// The call in the frame outside; `None` for the function that has the code.
    pub call: Option<CallSite>,
    /// `None` if it has no address.
    pub entry: Option<u64>,
    /// Sorted, disjoint, not empty.
    pub ranges: Vec<Range<u64>>,
}

/// The definition of a function in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Definition {
    pub name: String,
    /// The file of the definition, as in [`CallSite`].
    pub file: String,
    pub line: u64,
}

/// A function that has code, with all copies in it.
#[derive(Debug)]
pub struct Body {
    /// Each parent before its children; the first one is the function.
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    frame: Frame,
    parent: usize,
}

/// The code of a unit by function: a range, and the function's entry. Sorted.
pub(crate) type Functions = Vec<(Range<u64>, u64)>;

impl Frame {
    pub fn contains(&self, address: u64) -> bool {
        self.ranges.iter().any(|range| range.contains(&address))
    }
}

impl Body {
    /// A function and its copies, each with the index of the one that it is in, which comes before it; `None` if that is
    /// not so, or there is nothing.
    pub fn of(nodes: Vec<(Frame, usize)>) -> Option<Body> {
        let follows = |(index, (_, parent)): (usize, &(Frame, usize))| *parent < index.max(1);
        let sound = !nodes.is_empty() && nodes.iter().enumerate().all(follows);
        let nodes = nodes.into_iter().map(|(frame, parent)| Node { frame, parent });
        sound.then(|| Body { nodes: nodes.collect() })
    }

    /// The inverse of [`Body::of`].
    pub fn nodes(&self) -> impl Iterator<Item = (&Frame, usize)> {
        self.nodes.iter().map(|node| (&node.frame, node.parent))
    }

    pub fn function(&self) -> &Frame {
        &self.nodes[0].frame
    }

    /// The address itself, or that of the first instruction which the debug information describes, where the room for a
    /// call of ftrace precedes that.
    pub fn described(&self, address: u64) -> u64 {
        let Frame { entry, ranges, .. } = self.function();
        let in_room = |entry: &u64| {
            ranges.iter().any(|range| range.contains(entry) && (range.start..*entry).contains(&address))
        };
        entry.filter(in_room).unwrap_or(address)
    }

    /// The function first, then its copies in the order of the debug information.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.nodes.iter().map(|node| &node.frame)
    }

    /// The frames at an address of the function, the innermost first.
    pub fn at(&self, address: u64) -> Vec<&Frame> {
        let mut inner = 0;
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            if node.parent == inner && node.frame.contains(address) {
                inner = index;
            }
        }
        self.outwards(inner)
    }

    /// The frame of this entry and those around it, even of a copy that has no instructions. Empty if it is none of
    /// these.
    pub fn around(&self, die: u64) -> Vec<&Frame> {
        let index = self.nodes.iter().position(|node| node.frame.die == die);
        index.map(|index| self.outwards(index)).unwrap_or_default()
    }

    /// The frames around each copy of a function that an address is of: those that begin there, else the one that it is
    /// in, else the one that ends there. The innermost frame first, without the copy's.
    pub fn copies_at(&self, address: u64, function: &str) -> Vec<Vec<&Frame>> {
        let inside: Vec<u64> = self.at(address).into_iter().map(|frame| frame.die).collect();
        let begins = |frame: &Frame| frame.entry == Some(address);
        let is_in = |frame: &Frame| inside.contains(&frame.die);
        let ends = |frame: &Frame| frame.ranges.iter().any(|range| range.end == address);
        let rules: [&dyn Fn(&Frame) -> bool; 3] = [&begins, &is_in, &ends];
        let copies = |rule: &dyn Fn(&Frame) -> bool| -> Vec<Vec<&Frame>> {
            let named = |node: &&Node| node.frame.name == function && node.frame.call.is_some();
            let nodes = self.nodes.iter().filter(named).filter(|node| rule(&node.frame));
            nodes.map(|node| self.outwards(node.parent)).collect()
        };
        rules.into_iter().map(copies).find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn outwards(&self, inner: usize) -> Vec<&Frame> {
        let mut index = inner;
        let mut frames = vec![&self.nodes[index].frame];
        while index != 0 {
            index = self.nodes[index].parent;
            frames.push(&self.nodes[index].frame);
        }
        frames
    }
}

impl DebugInfo<'_> {
    /// The function that has the code at an address; `None` outside the code that the debug information covers.
    pub fn body_at(&self, address: u64) -> Result<Option<Arc<Body>>, Error> {
        for unit in self.units_at(address) {
            let known = self.known(unit);
            let functions = match known.functions.get() {
                Some(functions) => functions,
                None => {
                    let dwarf = self.dwarf();
                    let opened = self.unit(&dwarf, unit)?;
                    let mut read = functions(&dwarf, &opened).map_err(|cause| self.damaged(cause))?;
                    read.iter_mut()
                        .for_each(|(range, _)| range.start = room::start(self.image(), range.start));
                    known.functions.get_or_init(|| read)
                }
            };
            let after = functions.partition_point(|(range, _)| range.start <= address);
            // A function inside a function's range (other languages than C) is the later one.
            let function = functions[..after].iter().rev().find(|(range, _)| range.contains(&address));
            let Some((_, die)) = function else { continue };
            if let Some(body) = lock(&known.bodies).get(die) {
                return Ok(Some(body.clone()));
            }
            let body = Arc::new(self.read_body(unit, *die)?);
            return Ok(Some(lock(&known.bodies).entry(*die).or_insert(body).clone()));
        }
        Ok(None)
    }

    /// The frames at an address, the innermost first, the function that has the code last; empty outside all functions.
    pub fn frames_at(&self, address: u64) -> Result<Vec<Frame>, Error> {
        let body = self.body_at(address)?;
        Ok(body.map(|body| body.at(address).into_iter().cloned().collect()).unwrap_or_default())
    }

    /// The source definition of the function that an entry is, or is an instance of.
    pub fn definition(&self, die: u64) -> Result<Arc<Definition>, Error> {
        if let Some(known) = lock(&self.definitions).get(&die) {
            return Ok(known.clone());
        }
        let dwarf = self.dwarf();
        let read = Arc::new(self.read_definition(&dwarf, die)?);
        Ok(lock(&self.definitions).entry(die).or_insert(read).clone())
    }

    fn read_definition(&self, dwarf: &Dwarf<'_>, die: u64) -> Result<Definition, Error> {
        // The longest chain is an instance of a clone of a method that a class declares.
        const LONGEST: usize = 8;
        let mut definition = Definition::default();
        let mut next = Some(die);
        for _ in 0..LONGEST {
            let Some(die) = next.take() else { break };
            let unit = self.unit_of(dwarf, die)?;
            let added = add_definition(owner(dwarf, die), &unit, die, &mut definition);
            next = added.map_err(|cause| self.damaged(cause))?;
        }
        Ok(definition)
    }

    pub(super) fn read_body(&self, unit: usize, die: u64) -> Result<Body, Error> {
        let dwarf = self.dwarf();
        let unit = self.unit(&dwarf, unit)?;
        let mut reader = Reader { dwarf: &dwarf, unit: &unit, files: HashMap::new() };
        let mut nodes = reader.nodes(die).map_err(|cause| self.damaged(cause))?;
        if let Some(Node { frame, .. }) = nodes.first_mut() {
            room::with_room(self.image(), frame.entry, &mut frame.ranges);
        }
        for node in &mut nodes {
            // Without its definition, a function has no name, but its copies are still there.
            let definition = self.definition(node.frame.origin);
            node.frame.name = definition.map(|definition| definition.name.clone()).unwrap_or_default();
        }
        Ok(Body { nodes })
    }
}

struct Reader<'r, 'd> {
    dwarf: &'r Dwarf<'d>,
    unit: &'r Unit<'d>,
    /// The files of calls, by number.
    files: HashMap<u64, String>,
}

impl<'d> Reader<'_, 'd> {
    /// The function's node and those of its copies, without their names.
    fn nodes(&mut self, die: u64) -> gimli::Result<Vec<Node>> {
        let unit = self.unit;
        let mut entries = unit.entries(unit.local(die))?;
        let abbreviation = entries.read_abbreviation()?.ok_or(gimli::Error::NoEntryAtGivenOffset(die))?;
        let mut nodes = vec![Node { frame: self.frame(die, &mut entries, abbreviation)?, parent: 0 }];
        let mut depth = usize::from(abbreviation.has_children());
        // The depth of a node's children, and the node.
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
                    let frame = self.frame(unit.global(offset), &mut entries, abbreviation)?;
                    let parent = around.last().map_or(0, |(_, node)| *node);
                    nodes.push(Node { frame, parent });
                    if abbreviation.has_children() {
                        depth += 1;
                        around.push((depth, nodes.len() - 1));
                    }
                }
                dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block => {
                    entries.skip_attributes(abbreviation.attributes())?;
                    depth += usize::from(abbreviation.has_children());
                }
                _ => unit.skip_tree(&mut entries, abbreviation)?,
            }
        }
        Ok(nodes)
    }

    fn frame(
        &mut self,
        die: u64,
        entries: &mut EntriesRaw<'_, Slice<'d>>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<Frame> {
        let mut extent = Extent::default();
        let (mut origin, mut file, mut line) = (None, 0, 0);
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            match attribute.name() {
                dw::DW_AT_abstract_origin => origin = self.unit.target(&attribute.value()),
                dw::DW_AT_call_file => file = file_index(&attribute),
                dw::DW_AT_call_line => line = attribute.udata_value().unwrap_or(0),
                _ => extent.read(&attribute),
            }
        }
        let listed = extent.ranges(self.dwarf, self.unit)?;
        let inlined = abbreviation.tag() == dw::DW_TAG_inlined_subroutine;
        Ok(Frame {
            die,
            origin: origin.unwrap_or(die),
            name: String::new(),
            call: inlined.then(|| CallSite { file: self.file(file), line }),
            entry: extent.entry(self.dwarf, self.unit, &listed)?,
            ranges: merge(listed),
        })
    }

    fn file(&mut self, index: u64) -> String {
        let path = || self.unit.file_path(self.dwarf, index).unwrap_or_else(|| "??".to_owned());
        self.files.entry(index).or_insert_with(path).clone()
    }
}

/// Adds the facts in the entry; returns the entry that has the rest.
fn add_definition<'d>(
    dwarf: &Dwarf<'d>,
    unit: &Unit<'d>,
    die: u64,
    definition: &mut Definition,
) -> gimli::Result<Option<u64>> {
    let mut entries = unit.entries(unit.local(die))?;
    let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(None) };
    let mut next = None;
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
            dw::DW_AT_abstract_origin | dw::DW_AT_specification => next = unit.target(&attribute.value()),
            _ => {}
        }
    }
    Ok(next)
}

/// The functions of a unit that have code.
pub(crate) fn functions<'d>(dwarf: &Dwarf<'d>, unit: &Unit<'d>) -> gimli::Result<Functions> {
    let mut functions = Functions::new();
    let mut entries = Vec::new();
    for_each_function(dwarf, unit, |function| {
        if !function.declaration && !function.inline {
            entries.push(function.offset);
        }
    })?;
    for die in entries {
        let mut entry = unit.entries(unit.local(die))?;
        let Some(abbreviation) = entry.read_abbreviation()? else { continue };
        let mut extent = Extent::default();
        for spec in abbreviation.attributes() {
            extent.read(&entry.read_attribute(*spec)?);
        }
        let ranges = merge(extent.ranges(dwarf, unit)?);
        functions.extend(ranges.into_iter().map(|range| (range, die)));
    }
    functions.sort_by_key(|(range, die)| (range.start, *die));
    Ok(functions)
}

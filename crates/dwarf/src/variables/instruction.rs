//! dwarf/variables/instruction.rs: the variables in scope at one instruction.

use super::described::{Described, RunTime};
use super::listed::{Listed, Place};
use super::scope::{self, Missing, NoScope, Variable};
use super::term::Term;
use super::unwind::Unwind;
use crate::extent::Extent;
use crate::frames::info::DebugInfo;
use crate::frames::{Body, Frame};
use crate::naming::is_name_of;
use crate::sections::Dwarf;
use crate::split::Opened;
use crate::unit::{Unit, after_children};
use gimli::{AttributeValue, SectionId, constants as dw};
use kinst_debuginfo::{ElfFile, Error};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

/// The debug information of a file, open for queries about the variables at many of its instructions.
pub struct Variables<'i> {
    info: DebugInfo<'i>,
    /// The file with the code: a separate file with debug information lacks .eh_frame.
    binary: Option<&'i ElfFile>,
    unwind: OnceLock<Result<Unwind<'i>, Error>>,
}

/// An instruction whose variables are looked up; addresses are those of the [`ElfFile`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction<'q> {
    /// Address of its first byte.
    pub address: u64,
    /// The function symbol that contains it.
    pub symbol: Range<u64>,
    /// The function whose copy is meant; `None` for the innermost copy.
    pub copy: Option<&'q str>,
}

/// The longest chain of entries, each an instance of the next one.
const LONGEST: usize = 8;

impl<'i> Variables<'i> {
    /// Opens a file with its location lists. Errors are those of [`DebugInfo::open`].
    pub fn open(image: &'i ElfFile) -> Result<Variables<'i>, Error> {
        let info = DebugInfo::with(image, &[SectionId::DebugLoc, SectionId::DebugLocLists])?;
        Ok(Variables { info, binary: None, unwind: OnceLock::new() })
    }

    /// Adds the file that has the code.
    pub fn with_binary(self, binary: Option<&'i ElfFile>) -> Variables<'i> {
        Variables { binary, ..self }
    }

    /// The same file, for queries about frames and lines.
    pub fn info(&self) -> &DebugInfo<'i> {
        &self.info
    }

    /// The frames from the copy that is meant outwards; never empty.
    pub fn at(
        &self,
        instruction: &Instruction<'_>,
        run_time: &RunTime<'_>,
    ) -> Result<Vec<scope::Frame>, NoScope> {
        let damaged = |cause: Error| match cause {
            Error::Part { .. } => NoScope::DebugInformation(cause.to_string()),
            cause => NoScope::Damaged(cause.to_string()),
        };
        let body = self.info.body_at(instruction.address).map_err(damaged)?;
        let body = body.ok_or_else(|| NoScope::Function(String::new()))?;
        let instruction =
            &Instruction { address: body.described(instruction.address), ..instruction.clone() };
        let frames = meant(&body, instruction)?;
        let Opened { dwarf, unit } = self.info.unit_of(body.function().die).map_err(damaged)?;
        let place = Place {
            dwarf: &dwarf,
            unit: &unit,
            info: &self.info,
            cfa: &|address| self.cfa(address),
            function: body.function().die,
            address: instruction.address,
            symbol: instruction.symbol.clone(),
            run_time,
            base: OnceCell::new(),
        };
        let mut inner = None;
        let mut scopes = Vec::new();
        for frame in frames {
            let entered = frame.call.is_some() && frame.entries.contains(&instruction.address);
            let read = Reader { dwarf: &dwarf, unit: &unit, info: &self.info, place: &place, entered };
            let scope = read.frame(frame, inner).map_err(|cause| NoScope::Damaged(cause.to_string()))?;
            scopes.push(scope);
            inner = Some(frame.die);
        }
        Ok(scopes)
    }

    fn cfa(&self, address: u64) -> Result<Term, Missing> {
        let unwind = self.unwind.get_or_init(|| Unwind::read(self.info.image(), self.binary));
        unwind.as_ref().map_err(|cause| Missing::Damaged(cause.to_string()))?.cfa(address)
    }
}

/// The frames from the copy that is meant outwards.
fn meant<'b>(body: &'b Body, instruction: &Instruction<'_>) -> Result<Vec<&'b Frame>, NoScope> {
    let around = body.at(instruction.address);
    let Some(function) = instruction.copy else { return Ok(around) };
    let named = |frame: &&Frame| is_name_of(&frame.name, function);
    // A copy that begins here comes first: its entry is probed here. A copy without instructions contains
    // nothing, and control has left it at the first instruction after it.
    let copies = || body.frames().skip(1).filter(named);
    let begun = copies().find(|frame| frame.entries.contains(&instruction.address));
    let inside = || around.iter().copied().find(named);
    let left = || copies().find(|frame| frame.ranges.iter().any(|range| range.end == instruction.address));
    let copy = begun.or_else(inside).or_else(left);
    let copy = copy.ok_or_else(|| NoScope::Copy { function: function.to_owned() })?;
    Ok(body.around(copy.die))
}

struct Reader<'r, 'd> {
    dwarf: &'r Dwarf<'d>,
    unit: &'r Unit<'d>,
    info: &'d DebugInfo<'d>,
    place: &'r Place<'r, 'd>,
    /// Whether the frame is a copy that begins at the instruction.
    entered: bool,
}

impl<'d> Reader<'_, 'd> {
    /// A reader for another unit.
    fn of<'s>(&'s self, opened: &'s Opened<'d>) -> Reader<'s, 'd> {
        let Opened { dwarf, unit } = opened;
        Reader { dwarf, unit, info: self.info, place: self.place, entered: self.entered }
    }

    /// `inner`: the entry of the frame inside this one; the blocks around it are in scope at any address.
    fn frame(&self, frame: &Frame, inner: Option<u64>) -> gimli::Result<scope::Frame> {
        let (own, abstracts) = (self.entries(frame.die, inner)?, self.of_origin(frame)?);
        let mut seen = HashSet::new();
        let mut own: Vec<(Described<'d>, usize)> = own
            .into_iter()
            .map(|(described, depth)| {
                let whole = self.completed(described);
                seen.extend(whole.origin);
                (whole, depth)
            })
            .filter(|(described, _)| !described.declaration)
            .collect();
        // The innermost block first; within one block, the later declaration.
        own.reverse();
        own.sort_by_key(|(_, depth)| std::cmp::Reverse(*depth));
        let (mut parameters, locals): (Vec<_>, Vec<_>) =
            own.into_iter().map(|(described, _)| described).partition(|described| described.parameter);
        parameters.sort_by_key(|parameter| parameter.die);
        let results = locals.iter().chain(&abstracts).filter(|described| described.is_result);
        let result = results.min_by_key(|described| described.die).and_then(|result| result.ty);
        let mut gone = Vec::new();
        let mut declared = Vec::new();
        for described in abstracts {
            let known = parameters.iter().position(|own| own.origin == Some(described.die));
            match (described.parameter, known) {
                (true, Some(index)) => declared.push(parameters.swap_remove(index)),
                (true, None) => declared.push(described),
                (false, _) if seen.contains(&described.die) || described.declaration => {}
                (false, _) => gone.push(described),
            }
        }
        // Parameters of a clone that its origin lacks, and all parameters without an origin.
        parameters.sort_by_key(|parameter| parameter.die);
        declared.extend(parameters);
        let function = self.described(frame.die)?;
        let is_nocall = function.is_nocall;
        let returns = self.completed(function).ty.or(result);
        let variables =
            |list: Vec<Described<'d>>| list.into_iter().map(|described| self.variable(described)).collect();
        Ok(scope::Frame {
            function: frame.name.clone(),
            parameters: variables(declared),
            locals: variables(locals),
            gone: variables(gone),
            returns,
            is_nocall,
            received: None,
        })
    }

    fn variable(&self, described: Described<'d>) -> Variable {
        let Listed { location, live } = self.place.locate(&described, self.entered);
        Variable { name: described.name.unwrap_or_default(), ty: described.ty, location, live }
    }

    /// The variables that the abstract instance of the frame's function declares.
    fn of_origin(&self, frame: &Frame) -> gimli::Result<Vec<Described<'d>>> {
        if frame.origin == frame.die {
            return Ok(Vec::new());
        }
        let Ok(opened) = self.info.unit_of(frame.origin) else { return Ok(Vec::new()) };
        let reader = self.of(&opened);
        let read = reader.walk(frame.origin, |_, _| Ok(true))?;
        Ok(read.into_iter().map(|(described, _)| described).collect())
    }

    /// The variables of a frame's entry and of the blocks in it that contain the instruction, with the
    /// block's depth.
    fn entries(&self, die: u64, inner: Option<u64>) -> gimli::Result<Vec<(Described<'d>, usize)>> {
        self.walk(die, |extent, entries| {
            let listed = extent.ranges(self.dwarf, self.unit)?;
            let around = listed.iter().any(|range| range.contains(&self.place.address));
            Ok(around || inner.is_some_and(|inner| entries.contains(&inner)))
        })
    }

    /// `enters`: whether to visit a block with these addresses and these entries in it.
    fn walk(
        &self,
        die: u64,
        enters: impl Fn(&Extent<'d>, Range<u64>) -> gimli::Result<bool>,
    ) -> gimli::Result<Vec<(Described<'d>, usize)>> {
        let unit = self.unit;
        let mut found = Vec::new();
        let mut entries = unit.entries(unit.local(die))?;
        let Some(root) = entries.read_abbreviation()? else { return Ok(found) };
        entries.skip_attributes(root.attributes())?;
        let mut depth = usize::from(root.has_children());
        while depth > 0 && !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                depth -= 1;
                continue;
            };
            match abbreviation.tag() {
                tag @ (dw::DW_TAG_formal_parameter | dw::DW_TAG_variable) => {
                    let mut described = self.described(unit.global(offset))?;
                    // A parameter belongs to the function, not to a block in it.
                    described.parameter =
                        tag == dw::DW_TAG_formal_parameter && depth == 1 && !described.is_result;
                    found.push((described, depth));
                    unit.skip_tree(&mut entries, abbreviation)?;
                }
                dw::DW_TAG_lexical_block if abbreviation.has_children() => {
                    let (mut extent, mut sibling) = (Extent::default(), None);
                    for spec in abbreviation.attributes() {
                        let attribute = entries.read_attribute(*spec)?;
                        if attribute.name() == dw::DW_AT_sibling {
                            sibling = Some(attribute.value());
                        }
                        extent.read(&attribute);
                    }
                    let first = entries.next_offset();
                    let next = after_children(&mut entries, sibling)?;
                    if enters(&extent, unit.global(first)..unit.global(next))? {
                        entries = unit.entries(first)?;
                        depth += 1;
                    } else {
                        entries = unit.entries(next)?;
                    }
                }
                _ => unit.skip_tree(&mut entries, abbreviation)?,
            }
        }
        Ok(found)
    }

    /// The facts in one entry.
    fn described(&self, die: u64) -> gimli::Result<Described<'d>> {
        let unit = self.unit;
        let mut entries = unit.entries(unit.local(die))?;
        let mut described = Described { die, of: die, ..Described::default() };
        let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(described) };
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            match attribute.name() {
                dw::DW_AT_name => {
                    let name = self.dwarf.attr_string(&unit.inner, attribute.value());
                    described.name = name.ok().map(|name| name.to_string_lossy().into_owned());
                }
                dw::DW_AT_type => described.ty = self.info.target(unit, &attribute.value()),
                dw::DW_AT_location => described.location = Some(attribute.value()),
                dw::DW_AT_const_value => described.value = Some(attribute.value()),
                dw::DW_AT_declaration => {
                    described.declaration = attribute.value() == AttributeValue::Flag(true)
                }
                dw::DW_AT_abstract_origin | dw::DW_AT_specification => {
                    described.origin = unit.target(&attribute.value());
                }
                dw::DW_AT_variable_parameter => {
                    described.is_result = unit.is_go && attribute.value() == AttributeValue::Flag(true);
                }
                dw::DW_AT_calling_convention => {
                    let value = attribute.value();
                    described.is_nocall = value == AttributeValue::CallingConvention(dw::DW_CC_nocall);
                }
                _ => {}
            }
        }
        Ok(described)
    }

    /// Adds the facts in the entries that it is an instance of. Entries that cannot be read are skipped.
    fn completed(&self, mut described: Described<'d>) -> Described<'d> {
        let mut next = described.origin;
        for _ in 0..LONGEST {
            let Some(die) = next else { break };
            let Ok(opened) = self.info.unit_of(die) else { break };
            let reader = self.of(&opened);
            let Ok(of) = reader.described(die) else { break };
            described.name = described.name.or(of.name);
            described.ty = described.ty.or(of.ty);
            described.is_result |= of.is_result;
            described.parameter &= !of.is_result;
            if described.location.is_none() && described.value.is_none() {
                (described.location, described.value) = (of.location, of.value);
                described.of = die;
            }
            next = of.origin;
        }
        described
    }
}

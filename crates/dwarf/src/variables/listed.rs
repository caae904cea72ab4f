//! dwarf/variables/listed.rs: a variable's location at an instruction: an expression, a list of them, or a constant.

use std::cell::OnceCell;
use std::ops::Range;

use gimli::{AttributeValue, DebugAddrIndex, Expression, Operation, RawLocListEntry, constants as dw};

use super::described::{Described, RunTime};
use super::location::{self, Surroundings};
use super::scope::Missing;
use super::term::{Location, Register, Term};
use crate::extent::merge;
use crate::frames::info::DebugInfo;
use crate::sections::{Dwarf, Slice};
use crate::split::Opened;
use crate::unit::Unit;

/// The most entries of one list: a Debian kernel has lists with some hundreds.
const MOST_ENTRIES: usize = 1 << 14;

/// The section with one copy per CPU.
const PER_CPU: &str = ".data..percpu";

/// The location of a variable at the instruction, and the ranges where it can be read, in bytes from the
/// symbol.
pub(crate) struct Listed {
    pub location: Result<Location, Missing>,
    pub live: Vec<Range<u64>>,
}

/// An instruction, and the context that locations may need.
pub(crate) struct Place<'p, 'd> {
    pub dwarf: &'p Dwarf<'d>,
    pub unit: &'p Unit<'d>,
    pub info: &'d DebugInfo<'d>,
    /// The canonical frame address at an instruction.
    pub cfa: &'p dyn Fn(u64) -> Result<Term, Missing>,
    /// The entry of the function that contains the instruction.
    pub function: u64,
    pub address: u64,
    pub symbol: Range<u64>,
    pub run_time: &'p RunTime<'p>,
    /// The frame base, once it has been needed.
    pub base: OnceCell<Result<Term, Missing>>,
}

impl<'d> Place<'_, 'd> {
    /// Locates a variable. `entered`: it belongs to a copy that begins at the instruction.
    pub(crate) fn locate(&self, described: &Described<'d>, entered: bool) -> Listed {
        let nowhere = |missing| Listed { location: Err(missing), live: Vec::new() };
        let Ok(opened) = self.info.unit_of(described.of) else {
            return nowhere(Missing::OptimisedOut);
        };
        if let Some(value) = &described.value {
            return Listed { location: constant(value), live: Vec::new() };
        }
        match &described.location {
            None => nowhere(Missing::OptimisedOut),
            Some(AttributeValue::Exprloc(expression)) => Listed {
                location: self.compile(*expression, &opened, described.ty).map_err(|missing| match missing {
                    // The variable has no location anywhere, not only none here.
                    Missing::NowhereHere => Missing::OptimisedOut,
                    missing => missing,
                }),
                live: Vec::new(),
            },
            Some(list) => match self.of_list(list, &opened, described.ty, entered) {
                Ok(listed) => listed,
                Err(cause) => nowhere(Missing::Damaged(cause.to_string())),
            },
        }
    }

    fn compile(
        &self,
        expression: Expression<Slice<'d>>,
        opened: &Opened<'d>,
        ty: Option<u64>,
    ) -> Result<Location, Missing> {
        let encoding = opened.unit.inner.encoding();
        let around = Within { place: self, dwarf: &opened.dwarf, unit: &opened.unit };
        match location::compile(expression, encoding, None, &around) {
            Err(Missing::Pieces) => {
                let bytes = ty.and_then(|ty| self.bytes_of(ty));
                location::compile(expression, encoding, bytes, &around)
            }
            compiled => compiled,
        }
    }

    /// The size of a type, which may be that of the type that it names.
    fn bytes_of(&self, ty: u64) -> Option<u64> {
        const LONGEST: usize = 16;
        let mut next = ty;
        for _ in 0..LONGEST {
            let Opened { unit, .. } = self.info.unit_of(next).ok()?;
            let mut entries = unit.entries(unit.local(next)).ok()?;
            let mut of = None;
            for spec in entries.read_abbreviation().ok()??.attributes() {
                let attribute = entries.read_attribute(*spec).ok()?;
                match attribute.name() {
                    dw::DW_AT_byte_size => return attribute.udata_value(),
                    dw::DW_AT_type | dw::DW_AT_signature => of = self.info.target(&unit, &attribute.value()),
                    _ => {}
                }
            }
            next = of?;
        }
        None
    }

    fn of_list(
        &self,
        list: &AttributeValue<Slice<'d>>,
        opened: &Opened<'d>,
        ty: Option<u64>,
        entered: bool,
    ) -> gimli::Result<Listed> {
        let Some(mut entries) = opened.dwarf.attr_locations(&opened.unit.inner, *list)? else {
            return Ok(Listed { location: Err(Missing::OptimisedOut), live: Vec::new() });
        };
        let (mut here, mut at_once, mut live, mut some) = (None, None, Vec::new(), false);
        for _ in 0..MOST_ENTRIES {
            let Some(raw) = entries.next_raw()? else { break };
            let empty = begins_and_ends(&raw);
            let Some(entry) = entries.convert_raw(empty.clone().unwrap_or(raw))? else { continue };
            let location = self.compile(entry.data, opened, ty);
            some |= location != Err(Missing::NowhereHere);
            if empty.is_some() {
                // It exists between two statements that share the instruction: an argument of a copy at its
                // entry. The registers do not change between them.
                if entry.range.begin == self.address && entered {
                    at_once = Some(location);
                }
                continue;
            }
            if location.is_ok() {
                live.push(entry.range.begin..entry.range.end);
            }
            if (entry.range.begin..entry.range.end).contains(&self.address) {
                here = Some(location);
            }
        }
        let missing = if some { Missing::NotCovered } else { Missing::OptimisedOut };
        let location = here.or(at_once).unwrap_or(Err(missing));
        Ok(Listed { location, live: self.offsets(live) })
    }

    /// The parts of the ranges in the function, in bytes from its start.
    fn offsets(&self, ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
        let (start, end) = (self.symbol.start, self.symbol.end);
        let inside = |range: Range<u64>| {
            range.start.clamp(start, end).saturating_sub(start)
                ..range.end.clamp(start, end).saturating_sub(start)
        };
        merge(ranges.into_iter().map(inside).collect())
    }

    /// The function's DW_AT_frame_base.
    fn read_base(&self) -> Result<Term, Missing> {
        let damaged = |cause: gimli::Error| Missing::Damaged(cause.to_string());
        let mut entries = self.unit.entries(self.unit.local(self.function)).map_err(damaged)?;
        let Some(abbreviation) = entries.read_abbreviation().map_err(damaged)? else {
            return Err(Missing::Frame);
        };
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec).map_err(damaged)?;
            if attribute.name() != dw::DW_AT_frame_base {
                continue;
            }
            return match attribute.value() {
                // A register is the frame base only after the function has set it, at its entry not yet.
                AttributeValue::Exprloc(expression)
                    if self.address == self.symbol.start && !self.is_cfa(expression) =>
                {
                    Err(Missing::NotCovered)
                }
                AttributeValue::Exprloc(expression) => {
                    location::value(expression, self.unit.inner.encoding(), &self.based())
                }
                list => self.base_of_list(&list),
            };
        }
        Err(Missing::Frame)
    }

    fn based(&self) -> Based<'_, '_, 'd> {
        Based(Within { place: self, dwarf: self.dwarf, unit: self.unit })
    }

    fn is_cfa(&self, expression: Expression<Slice<'d>>) -> bool {
        let mut operations = expression.operations(self.unit.inner.encoding());
        matches!(operations.next(), Ok(Some(Operation::CallFrameCFA)))
    }

    fn base_of_list(&self, list: &AttributeValue<Slice<'d>>) -> Result<Term, Missing> {
        let damaged = |cause: gimli::Error| Missing::Damaged(cause.to_string());
        let entries = self.dwarf.attr_locations(&self.unit.inner, *list).map_err(damaged)?;
        let mut entries = entries.ok_or(Missing::Frame)?;
        for _ in 0..MOST_ENTRIES {
            let Some(entry) = entries.next().map_err(damaged)? else { break };
            if (entry.range.begin..entry.range.end).contains(&self.address) {
                return location::value(entry.data, self.unit.inner.encoding(), &self.based());
            }
        }
        Err(Missing::Frame)
    }
}

impl Place<'_, '_> {
    fn frame_base(&self) -> Result<Term, Missing> {
        self.base.get_or_init(|| self.read_base()).clone()
    }

    fn register(&self, number: u16) -> Option<Register> {
        Register::new(self.info.image().machine()?, number)
    }

    fn address(&self, linked: u64) -> Result<Term, Missing> {
        let section = self.info.image().section_at(linked);
        if section.is_some_and(|section| section.name == PER_CPU) {
            // Older kernels count them from 0, without adding a load address.
            let counted = linked < 1 << 47 && !self.info.image().is_relocatable();
            let address = if counted { Some(linked) } else { (self.run_time)(linked) };
            return address.map(Term::PerCpu).ok_or(Missing::Address);
        }
        (self.run_time)(linked).map(Term::Address).ok_or(Missing::Address)
    }
}

/// The context of an expression: the instruction, and the unit that has the expression.
struct Within<'w, 'p, 'd> {
    place: &'w Place<'p, 'd>,
    dwarf: &'w Dwarf<'d>,
    unit: &'w Unit<'d>,
}

impl Surroundings for Within<'_, '_, '_> {
    fn register(&self, number: u16) -> Option<Register> {
        self.place.register(number)
    }

    fn frame_base(&self) -> Result<Term, Missing> {
        self.place.frame_base()
    }

    fn cfa(&self) -> Result<Term, Missing> {
        (self.place.cfa)(self.place.address)
    }

    fn address(&self, linked: u64) -> Result<Term, Missing> {
        self.place.address(linked)
    }

    fn indexed(&self, index: DebugAddrIndex) -> Result<u64, Missing> {
        self.dwarf.address(&self.unit.inner, index).map_err(|cause| Missing::Damaged(cause.to_string()))
    }
}

/// The context of the frame base, which cannot refer to itself.
struct Based<'b, 'p, 'd>(Within<'b, 'p, 'd>);

impl Surroundings for Based<'_, '_, '_> {
    fn register(&self, number: u16) -> Option<Register> {
        self.0.register(number)
    }

    fn frame_base(&self) -> Result<Term, Missing> {
        Err(Missing::Frame)
    }

    fn cfa(&self) -> Result<Term, Missing> {
        self.0.cfa()
    }

    fn address(&self, linked: u64) -> Result<Term, Missing> {
        self.0.address(linked)
    }

    fn indexed(&self, index: DebugAddrIndex) -> Result<u64, Missing> {
        self.0.indexed(index)
    }
}

/// The entry, extended to one byte if it is empty.
fn begins_and_ends<'d>(raw: &RawLocListEntry<Slice<'d>>) -> Option<RawLocListEntry<Slice<'d>>> {
    match raw {
        RawLocListEntry::OffsetPair { begin, end, data } if begin == end => {
            Some(RawLocListEntry::OffsetPair { begin: *begin, end: end.checked_add(1)?, data: *data })
        }
        RawLocListEntry::StartLength { begin, length: 0, data } => {
            Some(RawLocListEntry::StartLength { begin: *begin, length: 1, data: *data })
        }
        RawLocListEntry::StartEnd { begin, end, data } if begin == end => {
            Some(RawLocListEntry::StartEnd { begin: *begin, end: end.checked_add(1)?, data: *data })
        }
        _ => None,
    }
}

/// The value of a DW_AT_const_value.
fn constant(value: &AttributeValue<Slice<'_>>) -> Result<Location, Missing> {
    let number = match value {
        AttributeValue::Sdata(value) => *value as u64,
        AttributeValue::Block(block) => {
            let mut bytes = [0; 8];
            let Some(low) = bytes.get_mut(..block.len()) else {
                return Err(Missing::Operation(format!("a constant of {} bytes", block.len())));
            };
            low.copy_from_slice(block.slice());
            u64::from_le_bytes(bytes)
        }
        value => match value.udata_value() {
            Some(value) => value,
            None => return Err(Missing::Operation("a constant that is not a number".to_owned())),
        },
    };
    Ok(Location::Value(Term::Constant(number)))
}

//! dwarf/variables/unwind.rs: the canonical frame address at an instruction, from .debug_frame or .eh_frame.

use std::borrow::Cow;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, DebugFrameOffset, EhFrame, EhFrameOffset, Encoding, Format,
    LittleEndian, SectionId, UnwindContext, UnwindSection,
};

use super::location::{self, Surroundings};
use super::scope::Missing;
use super::term::{Binary, Register, Term};
use crate::debuginfo::{Error, Image};
use crate::dwarf::Slice;

/// The unwind information of a file: kernels have .debug_frame, programs .eh_frame.
pub struct Unwind<'i> {
    bytes: Cow<'i, [u8]>,
    debug: bool,
    bases: BaseAddresses,
    /// Start, end, and offset of each function's entry; sorted.
    entries: Vec<(u64, u64, usize)>,
}

impl<'i> Unwind<'i> {
    pub fn read(image: &'i Image) -> Result<Unwind<'i>, Error> {
        let debug = image.debug_section(SectionId::DebugFrame.name())?;
        let (bytes, debug) = match debug.is_empty() {
            true => (image.debug_section(SectionId::EhFrame.name())?, false),
            false => (debug, true),
        };
        let address = |name: &str| image.section(name).map_or(0, |section| section.address);
        let bases = BaseAddresses::default()
            .set_eh_frame(address(SectionId::EhFrame.name()))
            .set_text(address(".text"));
        let mut unwind = Unwind { bytes, debug, bases, entries: Vec::new() };
        // Entries that cannot be read are missing; the rest is good.
        let mut entries = if debug {
            list(&unwind.debug_frame(), &unwind.bases)
        } else {
            list(&unwind.eh_frame(), &unwind.bases)
        };
        entries.sort_unstable();
        unwind.entries = entries;
        Ok(unwind)
    }

    /// The canonical frame address in terms of the registers at the instruction.
    pub fn cfa(&self, address: u64) -> Result<Term, Missing> {
        let after = self.entries.partition_point(|(start, _, _)| *start <= address);
        let entry = self.entries[..after].iter().rev().find(|(_, end, _)| *end > address);
        let (_, _, place) = entry.ok_or(Missing::Frame)?;
        match self.debug {
            true => row(&self.debug_frame(), &self.bases, DebugFrameOffset(*place), address),
            false => row(&self.eh_frame(), &self.bases, EhFrameOffset(*place), address),
        }
    }

    fn debug_frame(&self) -> DebugFrame<Slice<'_>> {
        let mut section = DebugFrame::new(&self.bytes, LittleEndian);
        section.set_address_size(8);
        section
    }

    fn eh_frame(&self) -> EhFrame<Slice<'_>> {
        let mut section = EhFrame::new(&self.bytes, LittleEndian);
        section.set_address_size(8);
        section
    }
}

fn list<'s, S>(section: &S, bases: &BaseAddresses) -> Vec<(u64, u64, usize)>
where
    S: UnwindSection<Slice<'s>>,
    S::Offset: gimli::UnwindOffset,
{
    let mut entries = Vec::new();
    let mut all = section.entries(bases);
    while let Ok(Some(entry)) = all.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(fde) = partial.parse(S::cie_from_offset) else { continue };
        if fde.initial_address() < fde.end_address() {
            entries.push((fde.initial_address(), fde.end_address(), fde.offset()));
        }
    }
    entries
}

fn row<'s, S>(section: &S, bases: &BaseAddresses, place: S::Offset, address: u64) -> Result<Term, Missing>
where
    S: UnwindSection<Slice<'s>>,
    S::Offset: gimli::UnwindOffset,
{
    let damaged = |cause: gimli::Error| Missing::Damaged(cause.to_string());
    let fde = section.fde_from_offset(bases, place, S::cie_from_offset).map_err(damaged)?;
    let mut context = UnwindContext::new();
    let row = fde.unwind_info_for_address(section, bases, &mut context, address).map_err(damaged)?;
    match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            let register = Register::new(register.0).ok_or(Missing::Register(register.0))?;
            Ok(Term::binary(Binary::Add, Term::Register(register), Term::Constant(*offset as u64)))
        }
        CfaRule::Expression(expression) => {
            let expression = expression.get(section).map_err(damaged)?;
            let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };
            location::value(expression, encoding, &Frameless)
        }
    }
}

/// The surroundings of the frame address itself, which cannot depend on the frame.
struct Frameless;

impl Surroundings for Frameless {
    fn frame_base(&self) -> Result<Term, Missing> {
        Err(Missing::Frame)
    }

    fn cfa(&self) -> Result<Term, Missing> {
        Err(Missing::Frame)
    }

    fn address(&self, _: u64) -> Result<Term, Missing> {
        Err(Missing::Frame)
    }
}

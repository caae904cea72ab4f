//! dwarf/cfi.rs: call frame information, from .debug_frame or .eh_frame: the rules that recover a caller's registers.

use std::borrow::Cow;
use std::ops::Range;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, DebugFrameOffset, EhFrame, EhFrameOffset, Encoding,
    Expression, LittleEndian, Pointer, RegisterRule, SectionId, UnwindContext, UnwindExpression,
    UnwindSection, Vendor,
};

use super::sections::Slice;
use kinst_debuginfo::{ElfFile, Error};

/// The call frame information of a file, from one of its two sections.
pub(super) struct CallFrames<'i> {
    bytes: Cow<'i, [u8]>,
    debug: bool,
    bases: BaseAddresses,
    /// Selects the operations specific to the machine.
    vendor: Vendor,
    /// Start, end and entry offset of each function; sorted.
    entries: Vec<(u64, u64, usize)>,
}

/// The rules at one instruction.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub cfa: CfaRule<usize>,
    /// The registers with an explicit rule.
    pub registers: Vec<(gimli::Register, RegisterRule<usize>)>,
    /// The register of the return address.
    pub return_address: gimli::Register,
    pub encoding: Encoding,
    /// Whether this is the code that a signal handler returns to.
    pub signal: bool,
}

impl<'i> CallFrames<'i> {
    /// Opens a kernel's: .debug_frame, or .eh_frame if there is none.
    pub(crate) fn of_kernel(image: &'i ElfFile) -> Result<CallFrames<'i>, Error> {
        let debug = image.debug_section(SectionId::DebugFrame.name())?;
        Ok(match debug.is_empty() {
            true => CallFrames::new(image.debug_section(SectionId::EhFrame.name())?, false, image),
            false => CallFrames::new(debug, true, image),
        })
    }

    /// Opens a program's: .eh_frame, or .debug_frame if there is none.
    pub(crate) fn of_program(image: &'i ElfFile) -> Result<CallFrames<'i>, Error> {
        let loaded = image.debug_section(SectionId::EhFrame.name())?;
        Ok(match loaded.is_empty() {
            true => CallFrames::new(image.debug_section(SectionId::DebugFrame.name())?, true, image),
            false => CallFrames::new(loaded, false, image),
        })
    }

    fn new(bytes: Cow<'i, [u8]>, debug: bool, image: &ElfFile) -> CallFrames<'i> {
        let address = |name: &str| image.section(name).map_or(0, |section| section.address);
        let bases = BaseAddresses::default()
            .set_eh_frame(address(SectionId::EhFrame.name()))
            .set_text(address(".text"))
            .set_got(address(".got"));
        let signs = image.machine().is_some_and(|machine| machine.facts().signs_addresses);
        let vendor = if signs { Vendor::AArch64 } else { Vendor::Default };
        CallFrames::of(bytes, debug, bases, vendor)
    }

    #[cfg(test)]
    pub(crate) fn read(bytes: Cow<'i, [u8]>, debug: bool, bases: BaseAddresses) -> CallFrames<'i> {
        CallFrames::of(bytes, debug, bases, Vendor::Default)
    }

    fn of(bytes: Cow<'i, [u8]>, debug: bool, bases: BaseAddresses, vendor: Vendor) -> CallFrames<'i> {
        let mut frames = CallFrames { bytes, debug, bases, vendor, entries: Vec::new() };
        let mut entries = match debug {
            true => list(&frames.debug_frame(), &frames.bases),
            false => list(&frames.eh_frame(), &frames.bases),
        };
        entries.sort_unstable();
        frames.entries = entries;
        frames
    }

    /// Returns the functions with data for their language's exceptions, by address, and the addresses of these data: code
    /// of theirs is entered when one is thrown.
    pub(crate) fn with_handlers(&self) -> Vec<(Range<u64>, Option<u64>)> {
        let section = self.eh_frame();
        let mut found = Vec::new();
        for (start, end, place) in self.entries.iter().filter(|_| !self.debug) {
            let fde = section.fde_from_offset(&self.bases, EhFrameOffset(*place), EhFrame::cie_from_offset);
            if let Some(lsda) = fde.ok().and_then(|fde| fde.lsda()) {
                let at = match lsda {
                    Pointer::Direct(at) => Some(at),
                    Pointer::Indirect(_) => None,
                };
                found.push((*start..*end, at));
            }
        }
        found
    }

    /// Converts to a value that does not borrow the file.
    pub(crate) fn into_owned(self) -> CallFrames<'static> {
        let CallFrames { bytes, debug, bases, vendor, entries } = self;
        CallFrames { bytes: Cow::Owned(bytes.into_owned()), debug, bases, vendor, entries }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The rules at an address; `None` if nothing describes it.
    pub(crate) fn rules(&self, address: u64) -> gimli::Result<Option<Rules>> {
        let after = self.entries.partition_point(|(start, _, _)| *start <= address);
        let entry = self.entries[..after].iter().rev().find(|(_, end, _)| *end > address);
        let Some((_, _, place)) = entry else { return Ok(None) };
        let found = match self.debug {
            true => row(&self.debug_frame(), &self.bases, DebugFrameOffset(*place), address),
            false => row(&self.eh_frame(), &self.bases, EhFrameOffset(*place), address),
        };
        found.map(Some)
    }

    pub(crate) fn expression(&self, at: &UnwindExpression<usize>) -> gimli::Result<Expression<Slice<'_>>> {
        match self.debug {
            true => at.get(&self.debug_frame()),
            false => at.get(&self.eh_frame()),
        }
    }

    fn debug_frame(&self) -> DebugFrame<Slice<'_>> {
        let mut section = DebugFrame::new(&self.bytes, LittleEndian);
        section.set_address_size(8);
        section.set_vendor(self.vendor);
        section
    }

    fn eh_frame(&self) -> EhFrame<Slice<'_>> {
        let mut section = EhFrame::new(&self.bytes, LittleEndian);
        section.set_address_size(8);
        section.set_vendor(self.vendor);
        section
    }
}

/// Lists the entries; those that cannot be read are skipped.
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

fn row<'s, S>(section: &S, bases: &BaseAddresses, place: S::Offset, address: u64) -> gimli::Result<Rules>
where
    S: UnwindSection<Slice<'s>>,
    S::Offset: gimli::UnwindOffset,
{
    let fde = section.fde_from_offset(bases, place, S::cie_from_offset)?;
    let mut context = UnwindContext::new();
    let row = fde.unwind_info_for_address(section, bases, &mut context, address)?;
    Ok(Rules {
        cfa: row.cfa().clone(),
        registers: row.registers().cloned().collect(),
        return_address: fde.cie().return_address_register(),
        encoding: fde.cie().encoding(),
        signal: fde.is_signal_trampoline(),
    })
}

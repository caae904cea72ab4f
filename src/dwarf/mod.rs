//! dwarf/: the reader of debug information, and the only user of gimli.

mod callers;
mod cfi;
pub mod copies;
mod entries;
mod extent;
pub mod frames;
mod lines;
mod mangled;
pub mod query;
mod recurring;
mod split;
pub mod types;
mod unit;
pub mod variables;

use std::borrow::Cow;

use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};

use crate::debuginfo::{Error, Image};

pub use callers::{Caller, Callers, Memory, Registers};
pub use copies::walk::{find, find_all, find_meant, inline_names, may_know};
pub use copies::{AllFindings, CallSite, Findings, Function, InlineCopy};
pub use entries::Evidence;
pub use extent::merge;
pub use frames::info::DebugInfo;
pub(crate) use frames::info::is_of;
pub use frames::{Body, Definition, Frame};
pub use lines::{Line, Lines, Row, Sequence, Statement};
pub use mangled::demangled;
pub use recurring::Recurring;
pub use split::Missing;
pub use variables::{Instruction, RunTime, Variables};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;

/// The sections of a file, and of the one that it shares a part of its debug information with.
struct Sections<'i> {
    own: DwarfSections<Cow<'i, [u8]>>,
    alternate: Option<DwarfSections<Cow<'i, [u8]>>>,
}

impl<'i> Sections<'i> {
    /// `more`: sections besides those that every query needs.
    fn load(image: &'i Image, more: &[SectionId]) -> Result<Sections<'i>, Error> {
        let alternate = match image.alternate() {
            Some(Ok(alternate)) => Some(load(alternate, &[])?),
            // The rest is useful without it; what is missing was reported when the file was searched for.
            Some(Err(_)) | None => None,
        };
        Ok(Sections { own: load(image, more)?, alternate })
    }

    fn dwarf(&self) -> Dwarf<'_> {
        self.own.borrow_with_sup(self.alternate.as_ref(), |section| EndianSlice::new(section, LittleEndian))
    }
}

fn load<'i>(image: &'i Image, more: &[SectionId]) -> Result<DwarfSections<Cow<'i, [u8]>>, Error> {
    // Locations, macros and indices are not needed to find copies, and unpacking or relocating them costs time.
    const USED: [SectionId; 9] = [
        SectionId::DebugAbbrev,
        SectionId::DebugAddr,
        SectionId::DebugInfo,
        SectionId::DebugLine,
        SectionId::DebugLineStr,
        SectionId::DebugStr,
        SectionId::DebugStrOffsets,
        SectionId::DebugRanges,
        SectionId::DebugRngLists,
    ];
    DwarfSections::load(|id| {
        if USED.contains(&id) || more.contains(&id) {
            image.debug_section(id.name())
        } else {
            Ok(Cow::Borrowed(&[][..]))
        }
    })
}

fn headers<'a>(image: &Image, dwarf: &Dwarf<'a>) -> Result<Vec<gimli::UnitHeader<Slice<'a>>>, Error> {
    headers_of(dwarf).map_err(|cause| Error::dwarf(image.path(), cause))
}

fn headers_of<'a>(dwarf: &Dwarf<'a>) -> gimli::Result<Vec<gimli::UnitHeader<Slice<'a>>>> {
    let mut headers = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        headers.push(header);
    }
    Ok(headers)
}

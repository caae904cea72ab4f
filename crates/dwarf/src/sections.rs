//! dwarf/sections.rs: the sections of a file with debug information, and the headers of its units.

use std::borrow::Cow;

use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};

use kinst_debuginfo::{ElfFile, Error};

pub(super) type Slice<'a> = EndianSlice<'a, LittleEndian>;
pub(super) type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;

/// The sections of a file, and of the file that shares a part of its debug information.
pub(super) struct Sections<'i> {
    own: DwarfSections<Cow<'i, [u8]>>,
    alternate: Option<DwarfSections<Cow<'i, [u8]>>>,
}

impl<'i> Sections<'i> {
    /// `more`: sections in addition to those that every query needs.
    pub(super) fn load(image: &'i ElfFile, more: &[SectionId]) -> Result<Sections<'i>, Error> {
        let alternate = match image.alternate() {
            Some(Ok(alternate)) => Some(load(alternate, &[])?),
            // The rest is useful without it; the missing file was reported during the search.
            Some(Err(_)) | None => None,
        };
        Ok(Sections { own: load(image, more)?, alternate })
    }

    /// The sections that types need, which remain in memory with the image.
    pub(super) fn cached(image: &'i ElfFile) -> Result<Sections<'i>, Error> {
        let load = |image: &'i ElfFile| {
            let section = |id: SectionId| match TYPES.contains(&id) {
                true => image.cached_section(id.name()).map(Cow::Borrowed),
                false => Ok(Cow::Borrowed(&[][..])),
            };
            DwarfSections::load(section)
        };
        let alternate = image.alternate().and_then(Result::ok).map(load).transpose()?;
        Ok(Sections { own: load(image)?, alternate })
    }

    pub(super) fn alternate(&self) -> Option<Dwarf<'_>> {
        let alternate = self.alternate.as_ref()?;
        Some(alternate.borrow(|section| EndianSlice::new(section, LittleEndian)))
    }

    pub(super) fn dwarf(&self) -> Dwarf<'_> {
        self.own.borrow_with_sup(self.alternate.as_ref(), |section| EndianSlice::new(section, LittleEndian))
    }
}

/// The sections that types need. The lines and addresses are not needed, but no unit opens without its file table and
/// its first address.
const TYPES: [SectionId; 8] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugTypes,
];

pub(super) fn load<'i>(
    image: &'i ElfFile,
    more: &[SectionId],
) -> Result<DwarfSections<Cow<'i, [u8]>>, Error> {
    // Locations, macros and indices are not needed to find copies, and unpacking or relocating them costs time.
    const RANGES: [SectionId; 2] = [SectionId::DebugRanges, SectionId::DebugRngLists];
    DwarfSections::load(|id| {
        if TYPES.contains(&id) || RANGES.contains(&id) || more.contains(&id) {
            image.debug_section(id.name())
        } else {
            Ok(Cow::Borrowed(&[][..]))
        }
    })
}

pub(super) fn headers<'a>(
    image: &ElfFile,
    dwarf: &Dwarf<'a>,
) -> Result<Vec<gimli::UnitHeader<Slice<'a>>>, Error> {
    headers_of(dwarf).map_err(|cause| Error::dwarf(image.path(), cause))
}

pub(super) fn headers_of<'a>(dwarf: &Dwarf<'a>) -> gimli::Result<Vec<gimli::UnitHeader<Slice<'a>>>> {
    let mut headers = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        headers.push(header);
    }
    Ok(headers)
}

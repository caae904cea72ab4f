//! sites/cache/layout.rs: the section layout of a file, cached for use without the file.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::code::tables::is_bound;
use crate::flow::marks::is_needed;
use kinst_debuginfo::{BuildId, ElfFile, Section};

/// Records of a file.
pub(super) struct Layout {
    pub names: String,
    pub sections: Vec<SectionRecord>,
    pub bounds: Vec<BoundRecord>,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct SectionRecord {
    address: u64,
    size: u64,
    name_at: u32,
    name_len: u16,
    executable: u16,
}

/// A symbol needed to locate the kernel's tables or to follow the control flow of its functions.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct BoundRecord {
    address: u64,
    name_at: u32,
    name_len: u32,
}

impl Layout {
    /// Returns `None` if the names are longer than any that a compiler generates.
    pub(super) fn of(image: &ElfFile) -> Option<Layout> {
        let mut layout = Layout { names: String::new(), sections: Vec::new(), bounds: Vec::new() };
        for section in image.sections() {
            layout.sections.push(SectionRecord {
                address: section.address,
                size: section.size,
                name_at: u32::try_from(layout.names.len()).ok()?,
                name_len: u16::try_from(section.name.len()).ok()?,
                executable: section.executable.into(),
            });
            layout.names.push_str(&section.name);
        }
        for (name, address) in image.addresses_of(|name| is_bound(name) || is_needed(name)) {
            let name = str::from_utf8(name).unwrap_or_default();
            layout.bounds.push(BoundRecord {
                address,
                name_at: u32::try_from(layout.names.len()).ok()?,
                name_len: u32::try_from(name.len()).ok()?,
            });
            layout.names.push_str(name);
        }
        Some(layout)
    }
}

/// The inverse of [`Layout::of`]; a name outside the table becomes empty.
pub(super) fn image(
    id: BuildId,
    relocatable: bool,
    sections: &[SectionRecord],
    bounds: &[BoundRecord],
    names: &[u8],
) -> ElfFile {
    let name = |at: u32, len: u32| {
        let bytes = names.get(at as usize..(at as usize).saturating_add(len as usize));
        bytes.and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
    };
    let section = |record: &SectionRecord| {
        let range = record.address..record.address.saturating_add(record.size);
        Section::placed(name(record.name_at, record.name_len.into()), range, record.executable != 0)
    };
    let bound = |record: &BoundRecord| (name(record.name_at, record.name_len).to_owned(), record.address);
    let (sections, bounds) = (sections.iter().map(section), bounds.iter().map(bound));
    ElfFile::layout_of(id, relocatable, sections.collect(), bounds.collect())
}

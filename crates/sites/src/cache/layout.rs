//! sites/cache/layout.rs: where a file has its sections and tables, as it is kept for when the file is not there.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::code::tables::is_bound;
use crate::flow::marks::is_needed;
use kinst_debuginfo::{BuildId, ElfFile, Section};

/// The records of a file.
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

/// A symbol without which the kernel's tables cannot be found, or the flow of its functions not be read.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct BoundRecord {
    address: u64,
    name_at: u32,
    name_len: u32,
}

impl Layout {
    /// `None` if the names are longer than any that a compiler makes.
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

/// The inverse of [`Layout::of`]; a name that is not in the table is empty.
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

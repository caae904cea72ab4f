//! debuginfo/section.rs: the loaded sections of a file, and the addresses assigned to those of a relocatable one.

use object::{Object, ObjectSection, SectionFlags, elf};
use std::ops::Range;

/// A loaded section. In a relocatable file (a module), sections have no addresses; they are assigned here,
/// one after the other, so that an address determines section and offset.
#[derive(Clone, Debug)]
pub struct Section {
    /// Name in the file: `.text`; empty if it is damaged.
    pub name: String,
    /// Address of the first byte, assigned here in a relocatable file.
    pub address: u64,
    /// Bytes in memory.
    pub size: u64,
    /// Whether it has instructions (SHF_EXECINSTR).
    pub executable: bool,
    /// The bytes in the file; `None` if only the size is recorded, as in files with only debug information.
    pub(super) file: Option<Range<usize>>,
}

impl Section {
    /// A section of a file that is not available.
    pub fn placed(name: &str, range: Range<u64>, executable: bool) -> Section {
        let size = range.end.saturating_sub(range.start);
        Section { name: name.to_owned(), address: range.start, size, executable, file: None }
    }

    /// Addresses of the section.
    pub fn range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.size)
    }
}

/// The address of a relocatable file's first section: not 0, which relocations against discarded sections
/// yield.
const FIRST_BASE: u64 = 0x1_0000;

/// The gap between two sections, so that the end of one is not the start of the next.
const GAP: u64 = 0x1000;

/// No section is this large: such a size is damaged.
const TOO_LARGE: u64 = 1 << 36;

/// The loaded sections by address, and the addresses of all sections by index in the file.
pub(super) fn lay_out(file: &object::File<'_>, relocatable: bool) -> (Vec<Section>, Vec<u64>) {
    let mut sections = Vec::new();
    let mut bases = Vec::new();
    let mut next = FIRST_BASE;
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        if !sh_flags.contains(elf::SHF_ALLOC) {
            continue;
        }
        let mut address = section.address();
        if relocatable {
            if section.size() >= TOO_LARGE {
                continue;
            }
            let align = section.align().clamp(1, GAP).next_power_of_two();
            address = next.next_multiple_of(align);
            next = address + section.size() + GAP;
        }
        let index = section.index().0;
        if bases.len() <= index {
            bases.resize(index + 1, 0);
        }
        bases[index] = address;
        sections.push(Section {
            name: section.name().unwrap_or_default().to_owned(),
            address,
            size: section.size(),
            executable: sh_flags.contains(elf::SHF_EXECINSTR),
            file: section
                .file_range()
                .map(|(start, size)| start as usize..(start.saturating_add(size)) as usize),
        });
    }
    sections.sort_by_key(|section| section.address);
    (sections, bases)
}

//! debuginfo/relative.rs: the words of a position-independent kernel that it relocates itself at boot.

use std::ops::Range;

use object::elf;

use super::elf_file::ElfFile;

impl ElfFile {
    /// The addresses that R_AARCH64_RELATIVE puts into a range: place and value. The linker leaves these
    /// places empty.
    pub fn relative_addresses(&self, within: Range<u64>) -> Vec<(u64, u64)> {
        let Some(section) = self.section(".rela.dyn") else { return Vec::new() };
        let bytes = self.code_at(section.address).unwrap_or_default();
        // Elf64_Rela: place, kind, value.
        let entries = bytes.chunks_exact(24).filter_map(|entry| {
            let field = |at: usize| Some(u64::from_le_bytes(entry.get(at..at + 8)?.try_into().ok()?));
            let kind = u64::from(elf::R_AARCH64_RELATIVE.0);
            (field(8)? == kind && within.contains(&field(0)?)).then_some((field(0)?, field(16)?))
        });
        entries.collect()
    }
}

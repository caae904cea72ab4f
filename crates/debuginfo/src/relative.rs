//! debuginfo/relative.rs: the words of a position-independent kernel or program that are relocated when it starts.

use std::ops::Range;

use object::elf;

use super::elf_file::ElfFile;
use kinst_base::machine::Machine;

impl ElfFile {
    /// The addresses that R_AARCH64_RELATIVE or R_X86_64_RELATIVE puts into a range: place and value. The linker leaves
    /// these places empty.
    pub fn relative_addresses(&self, within: Range<u64>) -> Vec<(u64, u64)> {
        // Go's linker has the second name.
        let Some(section) = self.section(".rela.dyn").or_else(|| self.section(".rela")) else {
            return Vec::new();
        };
        let relative = match self.machine() {
            Some(Machine::X86_64) => elf::R_X86_64_RELATIVE,
            _ => elf::R_AARCH64_RELATIVE,
        };
        let bytes = self.code_at(section.address).unwrap_or_default();
        // Elf64_Rela: place, kind, value.
        let entries = bytes.chunks_exact(24).filter_map(|entry| {
            let field = |at: usize| Some(u64::from_le_bytes(entry.get(at..at + 8)?.try_into().ok()?));
            let kind = u64::from(relative.0);
            (field(8)? == kind && within.contains(&field(0)?)).then_some((field(0)?, field(16)?))
        });
        entries.collect()
    }
}

//! debuginfo/stubs.rs: the stubs through which a program calls the functions of libraries.

use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

use super::elf_file::ElfFile;

impl ElfFile {
    /// The stubs through which a program calls the functions of libraries: address and name.
    pub fn stubs(&self) -> Vec<(u64, Vec<u8>)> {
        let Ok(file) = self.file() else { return Vec::new() };
        let Some(table) = file.dynamic_symbol_table() else { return Vec::new() };
        let mut slots: Vec<(u64, &[u8])> = Vec::new();
        for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
            if let RelocationTarget::Symbol(index) = relocation.target()
                && let Ok(symbol) = table.symbol_by_index(index)
            {
                slots.push((address, symbol.name_bytes().unwrap_or_default()));
            }
        }
        slots.sort_unstable();
        let mut stubs = Vec::new();
        for name in [".plt", ".plt.sec", ".plt.got"] {
            let Some(section) = self.section(name) else { continue };
            let Some(code) = self.code_at(section.address) else { continue };
            for (stub, bytes) in (section.address..).step_by(8).zip(code.chunks_exact(8)) {
                // jmp *slot(%rip), possibly after endbr64 or bnd.
                let Some(at) = bytes.windows(2).position(|two| two == [0xff, 0x25]) else { continue };
                let field = (stub - section.address) as usize + at + 2;
                let Some(Ok(distance)) = code.get(field..field + 4).map(<[u8; 4]>::try_from) else {
                    continue;
                };
                let slot = (section.address + field as u64 + 4)
                    .wrapping_add_signed(i64::from(i32::from_le_bytes(distance)));
                if let Ok(index) = slots.binary_search_by_key(&slot, |(address, _)| *address) {
                    stubs.push((stub, slots[index].1.to_vec()));
                }
            }
        }
        stubs
    }
}

//! sites/target/program.rs: the functions of a user program or library, and their callers, by place in its file.

use std::cell::OnceCell;
use std::path::Path;

use crate::symtab::{Role, Symbols};
use kinst_debuginfo::{Bytes, ElfFile};
use kinst_dwarf::{Caller, Callers, Memory, Registers, demangled};

/// An ELF file of user space. A file without a symbol table has the names that it exports.
pub struct Program {
    image: ElfFile,
    symbols: Symbols,
    /// Read for the first stack; `None` if it cannot be.
    callers: OnceCell<Option<Callers>>,
}

/// A place in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFunction {
    /// As the source has it: names of Rust and C++ are demangled.
    pub name: String,
    /// Bytes from the function's start.
    pub offset: u64,
}

impl Program {
    /// Returns `None` if the file cannot be read as ELF.
    pub fn open(path: &Path) -> Option<Program> {
        Program::of_image(ElfFile::open(path).ok()?)
    }

    /// A file that is in memory alone: the code that the kernel maps into each process.
    pub fn of_bytes(name: &str, bytes: Vec<u8>) -> Option<Program> {
        Program::of_image(ElfFile::parse(Path::new(name), Bytes::Owned(bytes)).ok()?)
    }

    fn of_image(image: ElfFile) -> Option<Program> {
        let symbols = Symbols::of_image(&image, Role::Program).ok()?;
        Some(Program { image, symbols, callers: OnceCell::new() })
    }

    /// The ELF file that it was made from.
    pub fn image(&self) -> &ElfFile {
        &self.image
    }

    /// The address, as the file has it, of a byte of the file.
    pub fn address_of(&self, file_offset: u64) -> Option<u64> {
        self.image.address_of(file_offset)
    }

    /// The memory that it takes.
    pub fn bytes(&self) -> usize {
        self.symbols.bytes()
    }

    /// The function that contains this byte of the file.
    pub fn symbolize(&self, file_offset: u64) -> Option<InFunction> {
        let address = self.address_of(file_offset)?;
        let symbol = self.symbols.containing(address)?;
        Some(InFunction { name: demangled(self.symbols.name(symbol)), offset: address - symbol.address })
    }

    /// The caller of the function that contains this byte of the file: by its call frame information, or by the frame
    /// pointer if the file has none at all.
    pub(super) fn caller(
        &self,
        file_offset: u64,
        registers: &Registers,
        memory: &Memory<'_>,
    ) -> Option<Caller> {
        let callers = self.callers.get_or_init(|| Callers::read(&self.image).ok()).as_ref()?;
        if callers.is_empty() {
            let registers = registers.by_frame_pointer(memory)?;
            return Some(Caller::Found { registers, interrupted: false });
        }
        callers.at(self.image.address_of(file_offset)?, registers, memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks up a function of this very program.
    #[test]
    fn our_own_functions() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let path = std::env::current_exe().unwrap();
        let program = Program::open(&path).unwrap();
        let address = Program::open as *const () as u64;
        let found = maps.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
            let offset = u64::from_str_radix(words.nth(1)?, 16).ok()?;
            (start..end).contains(&address).then(|| program.symbolize(address - start + offset))?
        });
        let found = found.unwrap();
        assert!(found.name.contains("Program") && found.name.contains("open"), "{}", found.name);
        assert_eq!(found.offset, 0);
    }
}

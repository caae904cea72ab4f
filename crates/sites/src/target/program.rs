//! sites/target/program.rs: the functions of a user program or library, and their callers, by file offset.

use std::cell::OnceCell;
use std::path::Path;

use crate::programs::golang::{self, GoProgram};
use crate::symtab::{Role, Symbols};
use kinst_debuginfo::{Bytes, ElfFile};
use kinst_dwarf::{Caller, Callers, Memory, Registers, demangled};

/// An ELF file of user space. Without a symbol table, it has the names that it exports.
pub struct Program {
    image: ElfFile,
    symbols: Symbols,
    /// Read for the first stack; `None` if it cannot be read.
    callers: OnceCell<Option<Callers>>,
}

/// A position in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFunction {
    /// Name in the source: Rust and C++ names are demangled.
    pub name: String,
    /// Bytes from the function's start.
    pub offset: u64,
}

impl Program {
    /// Returns `None` if the file cannot be read as ELF.
    pub fn open(path: &Path) -> Option<Program> {
        Program::of_image(ElfFile::open(path).ok()?)
    }

    /// Makes a program from a file that exists only in memory: the code that the kernel maps into each process.
    pub fn of_bytes(name: &str, bytes: Vec<u8>) -> Option<Program> {
        Program::of_image(ElfFile::parse(Path::new(name), Bytes::Owned(bytes)).ok()?)
    }

    fn of_image(image: ElfFile) -> Option<Program> {
        let symbols = Symbols::of_image(&image, Role::Program).ok()?;
        let symbols = match image.is_go() {
            true => golang::functions(&image, symbols).0,
            false => symbols,
        };
        Some(Program { image, symbols, callers: OnceCell::new() })
    }

    /// Returns the ELF file.
    pub fn image(&self) -> &ElfFile {
        &self.image
    }

    /// Returns the address in the file's layout of a file offset.
    pub fn address_of(&self, file_offset: u64) -> Option<u64> {
        self.image.address_of(file_offset)
    }

    /// Returns its memory use in bytes.
    pub fn bytes(&self) -> usize {
        self.symbols.bytes()
    }

    /// Returns the function that contains this file offset.
    pub fn symbolize(&self, file_offset: u64) -> Option<InFunction> {
        let address = self.address_of(file_offset)?;
        let symbol = self.symbols.containing(address)?;
        Some(InFunction { name: demangled(self.symbols.name(symbol)), offset: address - symbol.address })
    }

    /// Returns the caller of the function that contains this file offset, according to its call frame
    /// information, or to the frame pointer if the file has no such information.
    pub(super) fn caller(
        &self,
        file_offset: u64,
        registers: &Registers,
        memory: &Memory<'_>,
    ) -> Option<Caller> {
        let callers = self.callers.get_or_init(|| Callers::read(&self.image).ok()).as_ref()?;
        if callers.is_empty() {
            // Go has the sizes of frames in another table.
            let of_go = self.image.is_go().then(|| GoProgram::open(&self.image).ok()).flatten();
            let address = self.image.address_of(file_offset)?;
            if let Some(caller) = of_go.and_then(|program| program.caller(address, registers, memory)) {
                return Some(caller);
            }
            let registers = registers.by_frame_pointer(memory)?;
            return Some(Caller::Found { registers, interrupted: false });
        }
        callers.at(self.image.address_of(file_offset)?, registers, memory)
    }

    /// Returns the function that a signal interrupted, if the code at an offset returns from its handler.
    pub(super) fn interrupted(
        &self,
        file_offset: u64,
        registers: &Registers,
        memory: &Memory<'_>,
    ) -> Option<Caller> {
        let code = self.image.code_at(self.image.address_of(file_offset)?)?;
        let registers = registers.interrupted(code, memory)?;
        Some(Caller::Found { registers, interrupted: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks up a function of this program.
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

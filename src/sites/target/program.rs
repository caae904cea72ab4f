//! sites/target/program.rs: the functions of a user program or library, by place in its file.

use std::path::Path;

use crate::debuginfo::Image;
use crate::sites::symtab::{Role, Symbols};

/// An ELF file of user space. A file without a symbol table has the names that it exports.
pub struct Program {
    image: Image,
    symbols: Symbols,
}

/// A place in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFunction {
    pub name: String,
    /// Bytes from the function's start.
    pub offset: u64,
}

impl Program {
    /// Returns `None` if the file cannot be read as ELF.
    pub fn open(path: &Path) -> Option<Program> {
        let image = Image::open(path).ok()?;
        let symbols = Symbols::of_image(&image, Role::Program).ok()?;
        Some(Program { image, symbols })
    }

    /// The function that contains this byte of the file.
    pub fn symbolize(&self, file_offset: u64) -> Option<InFunction> {
        let address = self.image.address_of(file_offset)?;
        let symbol = self.symbols.containing(address)?;
        Some(InFunction { name: self.symbols.name(symbol).to_owned(), offset: address - symbol.address })
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

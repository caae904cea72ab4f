//! debuginfo/semaphores.rs: an object file with the semaphores of static probes.

use super::error::Error;
use kinst_base::machine::Machine;
use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use std::path::Path;

/// The section of <sys/sdt.h> for semaphores.
const SECTION: &[u8] = b".probes";
/// A counter of 16 bits.
const BYTES: u64 = 2;

/// Returns a relocatable file that defines variables with these names, each a semaphore that the kernel increments.
/// `path` is for messages.
pub fn semaphores(names: &[String], machine: Machine, path: &Path) -> Result<Vec<u8>, Error> {
    let architecture = match machine {
        Machine::X86_64 => Architecture::X86_64,
        Machine::Aarch64 => Architecture::Aarch64,
    };
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    // Linkers make the stack executable for a file that does not say that it needs none.
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    object.section_id(StandardSection::Text);
    let section = object.add_section(Vec::new(), SECTION.to_vec(), SectionKind::Data);
    for name in names {
        let value = object.append_section_data(section, &[0; BYTES as usize], BYTES);
        object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value,
            size: BYTES,
            kind: SymbolKind::Data,
            // Each program and library has its own.
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    object.write().map_err(|cause| Error::elf(path, cause.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

    #[test]
    fn hidden_counters_in_their_section() {
        for machine in [Machine::X86_64, Machine::Aarch64] {
            let names = ["a_b_semaphore".to_owned(), "a_c_semaphore".to_owned()];
            let bytes = semaphores(&names, machine, Path::new("probes.o")).unwrap();
            let file = object::File::parse(&*bytes).unwrap();
            let section = file.section_by_name(".probes").unwrap();
            assert_eq!((section.size(), section.align()), (4, 2));
            let symbols: Vec<_> = file.symbols().filter(|symbol| symbol.is_definition()).collect();
            let found: Vec<_> =
                symbols.iter().map(|symbol| (symbol.name().unwrap(), symbol.address())).collect();
            assert_eq!(found, [("a_b_semaphore", 0), ("a_c_semaphore", 2)]);
            assert!(symbols.iter().all(|symbol| symbol.scope() == SymbolScope::Linkage));
        }
    }
}

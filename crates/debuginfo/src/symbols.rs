//! debuginfo/symbols.rs: the symbols of a file, also those of a packed symbol table (MiniDebugInfo).

use std::path::Path;

use object::{Object, ObjectSymbol, SymbolKind};

use super::elf_file::{CodeSymbol, ElfFile, FoundSymbol};
use super::error::Error;
use super::unpack::{self, Bytes};

/// The section with a packed ELF file, which has the symbols that the file itself lacks.
const MINI: &str = ".gnu_debugdata";

impl ElfFile {
    /// The symbols of executable sections, in the order of the file; names that are not UTF-8 are left out.
    pub fn for_each_code_symbol(&self, mut visit: impl FnMut(CodeSymbol<'_>)) -> Result<(), Error> {
        let file = self.file()?;
        let is_stripped = file.symbols().next().is_none();
        let exported = is_stripped.then(|| file.dynamic_symbols());
        for symbol in file.symbols().chain(exported.into_iter().flatten()) {
            let function = match symbol.kind() {
                SymbolKind::Text => true,
                SymbolKind::Unknown => false,
                _ => continue,
            };
            let Some(index) = symbol.section_index() else { continue };
            let base = self.bases.get(index.0).copied().unwrap_or(0);
            let address =
                if self.relocatable { base.wrapping_add(symbol.address()) } else { symbol.address() };
            let (Some(section), Ok(name)) = (self.section_at(address), symbol.name()) else { continue };
            if section.executable && !name.is_empty() {
                visit(CodeSymbol {
                    name,
                    address,
                    size: symbol.size(),
                    function,
                    global: symbol.is_global(),
                });
            }
        }
        // A stripped file may have its other symbols in a packed one.
        if is_stripped && let Some(Ok(mini)) = self.mini() {
            mini.for_each_code_symbol(visit)?;
        }
        Ok(())
    }

    /// The function or variable of this name; a global one takes precedence over local ones. A file whose symbols were
    /// removed has those that it exports.
    pub fn symbol(&self, name: &str) -> Option<FoundSymbol> {
        let file = self.file().ok()?;
        let exported = file.symbols().next().is_none().then(|| file.dynamic_symbols());
        let named = file.symbols().chain(exported.into_iter().flatten()).filter(|symbol| {
            matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data | SymbolKind::Unknown)
                && symbol.name_bytes().is_ok_and(|bytes| bytes == name.as_bytes())
                && symbol.section_index().is_some()
        });
        let symbol = named.min_by_key(|symbol| !symbol.is_global())?;
        let base = symbol.section_index().and_then(|index| self.bases.get(index.0)).copied().unwrap_or(0);
        let address = if self.relocatable { base.wrapping_add(symbol.address()) } else { symbol.address() };
        Some(FoundSymbol { address, size: symbol.size(), function: symbol.kind() == SymbolKind::Text })
    }

    /// The addresses of several symbols, in order; global symbols take precedence over local ones.
    pub fn addresses<const N: usize>(&self, names: [&str; N]) -> [Option<u64>; N] {
        let mut found = [None; N];
        for (name, address) in &self.named {
            if let Some(at) = names.iter().position(|wanted| wanted == name) {
                found[at].get_or_insert(*address);
            }
        }
        let Ok(file) = self.file() else { return found };
        for symbol in file.symbols() {
            let Ok(name) = symbol.name_bytes() else { continue };
            let Some(at) = names.iter().position(|wanted| wanted.as_bytes() == name) else { continue };
            let Some(index) = symbol.section_index() else { continue };
            if found[at].is_none() || symbol.is_global() {
                let base = if self.relocatable { self.bases.get(index.0).copied().unwrap_or(0) } else { 0 };
                found[at] = Some(base.wrapping_add(symbol.address()));
            }
        }
        found
    }

    /// The addresses of symbols of any kind with one of the names.
    pub fn addresses_of(&self, wanted: impl Fn(&[u8]) -> bool) -> Vec<(&[u8], u64)> {
        let named = self.named.iter().map(|(name, address)| (name.as_bytes(), *address));
        let mut found: Vec<(&[u8], u64)> = named.filter(|(name, _)| wanted(name)).collect();
        let Ok(file) = self.file() else { return found };
        for symbol in file.symbols() {
            let (Some(index), Ok(name)) = (symbol.section_index(), symbol.name_bytes()) else { continue };
            if wanted(name) {
                let base = if self.relocatable { self.bases.get(index.0).copied().unwrap_or(0) } else { 0 };
                found.push((name, base.wrapping_add(symbol.address())));
            }
        }
        found
    }

    /// The file with symbols that is packed into a section of this one (MiniDebugInfo), or why it cannot be used. `None`
    /// if there is none.
    pub fn mini(&self) -> Option<Result<&ElfFile, &Error>> {
        let unpacked = self.mini.get_or_init(|| {
            let packed = self.debug_section(MINI).ok().filter(|packed| !packed.is_empty())?;
            Some(unpacked(self.path(), &packed).map(Box::new))
        });
        unpacked.as_ref().map(|unpacked| unpacked.as_ref().map(|file| &**file))
    }
}

fn unpacked(path: &Path, packed: &[u8]) -> Result<ElfFile, Error> {
    let damaged = |cause: String| Error::elf(path, format!("{MINI}: {cause}"));
    let bytes = unpack::mini(packed).map_err(|cause| damaged(cause.to_string()))?;
    let file = ElfFile::parse(path, Bytes::Owned(bytes)).map_err(|error| match error {
        Error::Elf { cause, .. } => damaged(cause),
        error => error,
    })?;
    // It has symbols only, and no such section itself.
    let _ = file.mini.set(None);
    Ok(file)
}

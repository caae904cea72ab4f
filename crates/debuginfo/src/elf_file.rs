//! debuginfo/elf_file.rs: one ELF file: sections, symbols, debug sections ready to read.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use object::{
    Object, ObjectKind, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationKind, RelocationTarget,
    SectionFlags, SymbolKind, elf,
};

use super::buildid::BuildId;
use super::error::Error;
use super::reloc;
use super::reloc_arm64::Kind;
use super::section::{Section, lay_out};
use super::unpack::{self, Bytes};
use kinst_base::machine::Machine;

/// A symbol of an executable section.
#[derive(Clone, Copy, Debug)]
pub struct CodeSymbol<'a> {
    /// Name as in the symbol table, never empty.
    pub name: &'a str,
    /// Address in the file; for a symbol of /proc/kallsyms, its run-time address.
    pub address: u64,
    /// st_size in bytes; 0 if unknown.
    pub size: u64,
    /// STT_FUNC; otherwise a label in assembly text.
    pub function: bool,
    /// Any binding but STB_LOCAL.
    pub global: bool,
}

/// A function or variable, looked up by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundSymbol {
    /// Address in the file, as in [`Section`].
    pub address: u64,
    /// st_size in bytes; 0 if unknown.
    pub size: u64,
    /// STT_FUNC; otherwise a variable or a label.
    pub function: bool,
}

/// The address of a section, and its bytes.
pub type Loaded<'a> = (u64, Cow<'a, [u8]>);

/// The target of a call or jump of a relocatable file, once it is linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// In this file.
    Address(u64),
    /// A function in another file.
    Import(String),
}

/// An ELF file, mapped or unpacked.
pub struct ElfFile {
    path: PathBuf,
    bytes: Bytes,
    sections: Vec<Section>,
    /// The addresses assigned to the sections, by section index; 0 for sections that are not loaded.
    bases: Vec<u64>,
    relocatable: bool,
    build_id: Option<BuildId>,
    machine: Option<Machine>,
    pub(super) alternate: OnceLock<Option<Result<Box<ElfFile>, Error>>>,
    /// The bytes of [`ElfFile::cached_section`], by section index of the file.
    cached_sections: Vec<OnceLock<Vec<u8>>>,
    /// Symbols by name, for a layout without its file.
    named: Vec<(String, u64)>,
}

/// `None` for a machine whose code cannot be decoded.
fn machine_of(architecture: object::Architecture) -> Option<Machine> {
    match architecture {
        object::Architecture::X86_64 => Some(Machine::X86_64),
        object::Architecture::Aarch64 => Some(Machine::Aarch64),
        _ => None,
    }
}

impl ElfFile {
    /// Maps a file, or unpacks it if it is compressed. Errors are those of [`ElfFile::parse`], and of reading.
    pub fn open(path: &Path) -> Result<ElfFile, Error> {
        ElfFile::parse(path, unpack::read(path)?)
    }

    /// Opens a file through another path than its own, such as a link of /proc.
    pub fn open_through(link: &Path, path: &Path) -> Result<ElfFile, Error> {
        ElfFile::parse(path, unpack::read(link)?)
    }

    /// Parses the bytes of a file; `path` is for messages and for files beside it. Anything but little-endian
    /// ELF is an error.
    pub fn parse(path: &Path, bytes: Bytes) -> Result<ElfFile, Error> {
        let file = object::File::parse(&bytes[..]).map_err(|cause| Error::elf(path, cause))?;
        if !file.is_little_endian() {
            return Err(Error::Machine {
                path: path.to_owned(),
                machine: format!("big-endian {:?}", file.architecture()),
            });
        }
        let relocatable = file.kind() == ObjectKind::Relocatable;
        let (sections, bases) = lay_out(&file, relocatable);
        let build_id = file.build_id().ok().flatten().map(BuildId::new);
        let machine = machine_of(file.architecture());
        let (alternate, named) = (OnceLock::new(), Vec::new());
        // ELF reserves section index 0.
        let cached_sections = (0..=file.sections().count()).map(|_| OnceLock::new()).collect();
        let path = path.to_owned();
        Ok(ElfFile {
            path,
            sections,
            bases,
            relocatable,
            build_id,
            machine,
            bytes,
            alternate,
            cached_sections,
            named,
        })
    }

    /// The layout of a file that is not available: its sections and `named` symbols, without bytes.
    pub fn layout_of(
        id: BuildId,
        relocatable: bool,
        mut sections: Vec<Section>,
        named: Vec<(String, u64)>,
    ) -> ElfFile {
        sections.sort_by_key(|section| section.address);
        let path = PathBuf::from(id.to_string());
        let (build_id, bytes, alternate) = (Some(id), Bytes::Owned(Vec::new()), OnceLock::new());
        let (bases, cached_sections, machine) = (Vec::new(), Vec::new(), None);
        ElfFile {
            path,
            sections,
            bases,
            relocatable,
            build_id,
            machine,
            bytes,
            alternate,
            cached_sections,
            named,
        }
    }

    /// The path that it was opened by; the build id if the file is not available.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The GNU build id; `None` if the file has none.
    pub fn build_id(&self) -> Option<&BuildId> {
        self.build_id.as_ref()
    }

    /// Whether it is a module or an object file, whose addresses are assigned here.
    pub fn is_relocatable(&self) -> bool {
        self.relocatable
    }

    /// The kind of machine that its code is for; `None` if that is not supported.
    pub fn machine(&self) -> Option<Machine> {
        self.machine
    }

    /// The loaded sections, in order of address.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The loaded section with a name; of several, the one with the lowest address.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The loaded section that contains an address.
    pub fn section_at(&self, address: u64) -> Option<&Section> {
        let after = self.sections.partition_point(|section| section.address <= address);
        self.sections[..after].iter().rev().take(4).find(|section| section.range().contains(&address))
    }

    /// The bytes from `address` to the end of its section, as they are in the file.
    pub fn code_at(&self, address: u64) -> Option<&[u8]> {
        let section = self.section_at(address)?;
        let bytes = self.bytes.get(section.file.clone()?)?;
        bytes.get((address - section.address) as usize..)
    }

    /// The address of a byte of the file, if the byte is loaded.
    pub fn address_of(&self, file_offset: u64) -> Option<u64> {
        self.sections.iter().find_map(|section| {
            let file = section.file.clone()?;
            let inside = (file.start as u64..file.end as u64).contains(&file_offset);
            inside.then(|| section.address + (file_offset - file.start as u64))
        })
    }

    /// The position in the file of the byte at an address; `None` if the file does not have it.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let section = self.section_at(address)?;
        let file = section.file.clone()?;
        let at = file.start as u64 + (address - section.address);
        (at < file.end as u64).then_some(at)
    }

    /// Whether it is of a 32-bit machine.
    pub fn is_32_bit(&self) -> bool {
        self.file().is_ok_and(|file| !file.is_64())
    }

    /// Whether the file contains the bytes of instructions; a file with only debug information does not.
    pub fn has_code(&self) -> bool {
        self.sections.iter().any(|section| section.executable && section.file.is_some())
    }

    /// Whether the file has a section .debug_info.
    pub fn has_dwarf(&self) -> bool {
        self.file().is_ok_and(|file| file.section_by_name(".debug_info").is_some())
    }

    /// Whether it is a program of Go, or the file with the debug information of one.
    pub fn is_go(&self) -> bool {
        self.section(".note.go.buildid").is_some() || self.section(".go.buildinfo").is_some()
    }

    /// Drops this process's pages of the file; they are read again on demand.
    pub fn give_back(&self) {
        self.bytes.give_back();
    }

    /// The number of bytes of .debug_info, before relocation.
    pub fn debug_info_size(&self) -> u64 {
        let file = self.file().ok();
        file.and_then(|file| Some(file.section_by_name(".debug_info")?.size())).unwrap_or(0)
    }

    /// The symbols of executable sections, in the order of the file; names that are not UTF-8 are left out.
    pub fn for_each_code_symbol(&self, mut visit: impl FnMut(CodeSymbol<'_>)) -> Result<(), Error> {
        let file = self.file()?;
        let exported = file.symbols().next().is_none().then(|| file.dynamic_symbols());
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

    /// A debug section or another data section, uncompressed and (in a relocatable file) relocated; empty if
    /// absent.
    pub fn debug_section(&self, name: &str) -> Result<Cow<'_, [u8]>, Error> {
        let file = self.file()?;
        let Some(section) = file.section_by_name(name) else { return Ok(Cow::Borrowed(&[])) };
        let packed =
            section.compressed_data().map_err(|cause| Error::elf(&self.path, format!("{name}: {cause}")))?;
        let data =
            unpack::section(&packed).map_err(|cause| Error::elf(&self.path, format!("{name}: {cause}")))?;
        // The relocations of a linked file (vmlinux retains them) are already applied.
        if !self.relocatable {
            return Ok(data);
        }
        reloc::apply(&file, &section, &self.bases, data)
            .map_err(|cause| Error::elf(&self.path, format!("{name}: {cause}")))
    }

    /// The same for repeated queries: uncompressed or relocated data stays in memory with the image.
    pub fn cached_section(&self, name: &str) -> Result<&[u8], Error> {
        let index = self.file()?.section_by_name(name).map_or(0, |section| section.index().0);
        let cached = &self.cached_sections[index];
        if let Some(bytes) = cached.get() {
            return Ok(bytes);
        }
        Ok(match self.debug_section(name)? {
            Cow::Borrowed(bytes) => bytes,
            Cow::Owned(bytes) => cached.get_or_init(|| bytes),
        })
    }

    /// A loaded section by name, or all executable ones: address and bytes, linked to the section addresses
    /// of `layout` (this file, or the one with its debug information). `import` returns the addresses of
    /// functions in other files.
    pub fn loaded(
        &self,
        name: Option<&str>,
        layout: &ElfFile,
        import: impl Fn(&[u8]) -> u64,
    ) -> Result<Vec<Loaded<'_>>, Error> {
        let file = self.file()?;
        let own = std::ptr::eq(self, layout) || !self.relocatable;
        let mut bases = self.bases.clone();
        if !own {
            for section in file.sections() {
                let named = section.name().ok().and_then(|name| layout.section(name));
                if let (Some(base), Some(named)) = (bases.get_mut(section.index().0), named) {
                    *base = named.address;
                }
            }
        }
        let mut loaded = Vec::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let wanted = match name {
                Some(name) => section.name() == Ok(name),
                None => sh_flags.contains(elf::SHF_EXECINSTR),
            };
            if !wanted || !sh_flags.contains(elf::SHF_ALLOC) {
                continue;
            }
            let Some(data) = section.file_range().and_then(|(start, size)| {
                self.bytes.get(start as usize..usize::try_from(start.checked_add(size)?).ok()?)
            }) else {
                continue;
            };
            let address = bases.get(section.index().0).copied().unwrap_or(0);
            let data = Cow::Borrowed(data);
            let data =
                if self.relocatable { reloc::link(&file, &section, &bases, data, &import) } else { data };
            loaded.push((address, data));
        }
        Ok(loaded)
    }

    /// The targets of calls and jumps in a relocatable file, by the address of the field that holds them; sorted.
    pub fn references(&self) -> Vec<(u64, Reference)> {
        let Ok(file) = self.file() else { return Vec::new() };
        let mut references = Vec::new();
        for section in file.sections().filter(|_| self.relocatable) {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let base = self.bases.get(section.index().0).copied().unwrap_or(0);
            if !sh_flags.contains(elf::SHF_EXECINSTR) {
                continue;
            }
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                let by_kind = self.machine.is_some_and(|machine| machine.facts().relocates_instructions);
                let insn = Kind::of(relocation.flags()).filter(|_| by_kind);
                let relative =
                    matches!(relocation.kind(), RelocationKind::Relative | RelocationKind::PltRelative)
                        && relocation.size() == 32
                        && !by_kind;
                let Ok(symbol) = file.symbol_by_index(index) else { continue };
                let target = match symbol.section_index() {
                    Some(section) => {
                        let base = self.bases.get(section.0).copied().unwrap_or(0);
                        // Relative to the end of the field, or to the instruction.
                        let distance = relocation.addend().wrapping_add(if insn.is_some() { 0 } else { 4 });
                        Reference::Address(base.wrapping_add(symbol.address()).wrapping_add_signed(distance))
                    }
                    None => Reference::Import(symbol.name().unwrap_or_default().to_owned()),
                };
                if relative || insn.is_some_and(Kind::is_branch) {
                    references.push((base.wrapping_add(offset), target));
                }
            }
        }
        references.sort_by_key(|(field, _)| *field);
        references
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

    /// The file name and the CRC of `.gnu_debuglink`.
    pub fn debug_link(&self) -> Option<(String, u32)> {
        let file = self.file().ok()?;
        let (name, crc) = file.gnu_debuglink().ok().flatten()?;
        Some((String::from_utf8(name.to_vec()).ok()?, crc))
    }

    /// The file name and the build id of `.gnu_debugaltlink`.
    pub(super) fn alternate_link(&self) -> Option<(String, BuildId)> {
        let file = self.file().ok()?;
        let (name, id) = file.gnu_debugaltlink().ok().flatten()?;
        Some((String::from_utf8(name.to_vec()).ok()?, BuildId::new(id)))
    }

    /// The CRC to compare with a debug link's.
    pub fn crc(&self) -> u32 {
        let mut crc = flate2::Crc::new();
        crc.update(&self.bytes);
        crc.sum()
    }

    fn file(&self) -> Result<object::File<'_>, Error> {
        object::File::parse(&self.bytes[..]).map_err(|cause| Error::elf(&self.path, cause))
    }
}

//! debuginfo/elf_file.rs: one ELF file: sections, symbols, debug sections ready to read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use object::{
    Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationKind, RelocationTarget, SectionFlags, elf,
};

use super::buildid::BuildId;
use super::error::Error;
use super::home::Home;
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

/// A file that completes another one, or why it cannot be used.
pub type Companion = Arc<Result<ElfFile, Error>>;

/// The bytes of a section.
enum Cached {
    InFile(Range<usize>),
    /// Unpacked, relocated, or joined from several sections.
    Owned(Vec<u8>),
}

/// An ELF file, mapped or unpacked.
pub struct ElfFile {
    path: PathBuf,
    pub(super) bytes: Bytes,
    sections: Vec<Section>,
    /// The addresses assigned to the sections, by section index; 0 for sections that are not loaded.
    pub(super) bases: Vec<u64>,
    pub(super) relocatable: bool,
    build_id: Option<BuildId>,
    machine: Option<Machine>,
    pub(super) alternate: OnceLock<Option<Result<Box<ElfFile>, Error>>>,
    pub(super) mini: OnceLock<Option<Result<Box<ElfFile>, Error>>>,
    /// The bytes of [`ElfFile::cached_section`], by the sections' names.
    cached_sections: OnceLock<HashMap<String, OnceLock<Cached>>>,
    /// Files with parts of its debug information, by the path that names them.
    pub(super) companions: Mutex<HashMap<PathBuf, Companion>>,
    pub(super) home: Home,
    /// Symbols by name, for a layout without its file.
    pub(super) named: Vec<(String, u64)>,
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
            cached_sections: OnceLock::new(),
            companions: Mutex::default(),
            mini: OnceLock::new(),
            home: Home::default(),
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
        let (bases, machine) = (Vec::new(), None);
        ElfFile {
            path,
            sections,
            bases,
            relocatable,
            build_id,
            machine,
            bytes,
            alternate,
            cached_sections: OnceLock::new(),
            companions: Mutex::default(),
            mini: OnceLock::new(),
            home: Home::default(),
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

    /// A debug section or another data section, uncompressed and (in a relocatable file) relocated; empty if
    /// absent.
    pub fn debug_section(&self, name: &str) -> Result<Cow<'_, [u8]>, Error> {
        let file = self.file()?;
        let Some(section) = file.section_by_name(name) else { return Ok(Cow::Borrowed(&[])) };
        let data = self.unpacked(&section, name)?;
        // The relocations of a linked file (vmlinux retains them) are already applied.
        if !self.relocatable {
            return Ok(data);
        }
        reloc::apply(&file, &section, &self.bases, data)
            .map_err(|cause| Error::elf(&self.path, format!("{name}: {cause}")))
    }

    /// The same for repeated queries: uncompressed or relocated data stays in memory with the image. A .dwo file may
    /// have several sections of one name, which count as one.
    pub fn cached_section(&self, name: &str) -> Result<&[u8], Error> {
        let cached = match self.cached_sections.get() {
            Some(cached) => cached,
            None => {
                let file = self.file()?;
                let names = file.sections().filter_map(|section| section.name().ok().map(str::to_owned));
                let cached = names.map(|name| (name, OnceLock::new())).collect();
                self.cached_sections.get_or_init(|| cached)
            }
        };
        let Some(section) = cached.get(name) else { return Ok(&[]) };
        let cached = match section.get() {
            Some(cached) => cached,
            None => {
                let read = self.read_section(name)?;
                section.get_or_init(|| read)
            }
        };
        Ok(match cached {
            Cached::InFile(range) => self.bytes.get(range.clone()).unwrap_or_default(),
            Cached::Owned(bytes) => bytes,
        })
    }

    fn read_section(&self, name: &str) -> Result<Cached, Error> {
        let file = self.file()?;
        let named = || file.sections().filter(|section| section.name() == Ok(name));
        if name.ends_with(".dwo") && named().nth(1).is_some() {
            let mut joined = Vec::new();
            for section in named() {
                joined.extend_from_slice(&self.unpacked(&section, name)?);
            }
            return Ok(Cached::Owned(joined));
        }
        Ok(match self.debug_section(name)? {
            Cow::Owned(bytes) => Cached::Owned(bytes),
            Cow::Borrowed(bytes) => {
                let place = named().find_map(|section| section.file_range());
                let start = place.and_then(|(start, _)| usize::try_from(start).ok()).unwrap_or(0);
                Cached::InFile(start..start.saturating_add(bytes.len()))
            }
        })
    }

    fn unpacked<'f>(&self, section: &object::Section<'f, '_>, name: &str) -> Result<Cow<'f, [u8]>, Error> {
        let damaged = |cause: String| Error::elf(&self.path, format!("{name}: {cause}"));
        let packed = section.compressed_data().map_err(|cause| damaged(cause.to_string()))?;
        unpack::section(&packed).map_err(damaged)
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

    pub(super) fn file(&self) -> Result<object::File<'_>, Error> {
        object::File::parse(&self.bytes[..]).map_err(|cause| Error::elf(&self.path, cause))
    }
}

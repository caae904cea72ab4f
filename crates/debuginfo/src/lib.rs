//! debuginfo/: finds, opens and checks a kernel's ELF files: build ids, separate debug files, compressed modules.

pub mod bootable;
mod buildid;
mod companions;
pub mod debuginfod;
mod dynamic;
mod elf_file;
mod error;
mod home;
mod lz4;
mod relative;
mod reloc;
mod reloc_arm64;
mod root;
mod search;
mod section;
mod semaphores;
mod stubs;
mod symbols;
mod tree;
mod unpack;

pub use buildid::BuildId;
pub use dynamic::Dynamic;
pub use elf_file::{CodeSymbol, Companion, ElfFile, FoundSymbol, Loaded, Reference};
pub use error::{ALTERNATE_HELP, Error};
pub use home::Home;
pub use root::{ModuleFile, OWN_MODULE, Root, Stamp};
pub use search::{
    Searched, debug_file_of, module_binary, module_debug, module_places, vmlinux_debug, vmlinux_places,
};
pub use section::Section;
pub use semaphores::semaphores;
pub use tree::{Dir, File, Tree};
pub use unpack::{Bytes, read as read_file, read_shown};

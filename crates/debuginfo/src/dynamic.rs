//! debuginfo/dynamic.rs: the libraries that a program or a library names, and its own folders in which they are.

use super::elf_file::ElfFile;

/// Tags of entries in the section `.dynamic`.
const NEEDED: u64 = 1;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

/// The names in the section `.dynamic` of a 64-bit file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dynamic {
    /// Libraries that the file needs, such as `libc.so.6`.
    pub needed: Vec<String>,
    /// Folders in which the dynamic linker searches first; `$ORIGIN` in them is the folder of the file.
    pub folders: Vec<String>,
}

impl Dynamic {
    /// Reads the names from a file; there are none if it has no such section.
    pub fn of(file: &ElfFile) -> Dynamic {
        let section = |name| file.debug_section(name).unwrap_or_default();
        Dynamic::parse(&section(".dynamic"), &section(".dynstr"))
    }

    fn parse(entries: &[u8], strings: &[u8]) -> Dynamic {
        let mut found = Dynamic::default();
        for entry in entries.chunks_exact(16) {
            let (tag, value) = entry.split_at(8);
            match word(tag) {
                NEEDED => found.needed.extend(text(strings, word(value))),
                RPATH | RUNPATH => {
                    let folders = text(strings, word(value)).unwrap_or_default();
                    found.folders.extend(folders.split(':').map(str::to_owned));
                }
                _ => {}
            }
        }
        found
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn text(strings: &[u8], at: u64) -> Option<String> {
    let rest = strings.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries_and_folders() {
        let strings = b"\0libm.so.6\0$ORIGIN/../lib:/opt/lib\0cut";
        let entries: Vec<u8> =
            [NEEDED, 1, RUNPATH, 11, NEEDED, 35, NEEDED, 1 << 40, 7, 1, 0].map(u64::to_le_bytes).concat();
        let found = Dynamic::parse(&entries, strings);
        assert_eq!(found.needed, ["libm.so.6"]);
        assert_eq!(found.folders, ["$ORIGIN/../lib", "/opt/lib"]);
    }

    #[test]
    fn the_libraries_of_this_program() {
        let file = ElfFile::open(&std::env::current_exe().unwrap()).unwrap();
        assert!(Dynamic::of(&file).needed.iter().any(|name| name.starts_with("libc.so")));
    }
}

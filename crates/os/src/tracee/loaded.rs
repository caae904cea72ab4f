//! os/tracee/loaded.rs: the program in the memory of a process, before it runs.

use super::ptrace::Tracee;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// Types of the auxiliary vector, as of linux/auxvec.h.
const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const AT_BASE: u64 = 7;
const AT_ENTRY: u64 = 9;

const PT_DYNAMIC: u32 = 2;
const DT_NULL: u64 = 0;
const DT_DEBUG: u64 = 21;

/// Offsets in the header of an ELF file: the machine, and the entry point.
const E_MACHINE: usize = 18;
const E_ENTRY: usize = 24;
const EI_CLASS: usize = 4;
const CLASS_64: u8 = 2;

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

/// The size of a program header, and of an entry of the dynamic section.
const PROGRAM_HEADER: usize = 56;
const DYNAMIC: usize = 16;

/// Most entries that are read of a table of the process.
const MOST: usize = 4096;

/// The addresses of a program after its exec.
#[derive(Debug)]
pub(super) struct Loaded {
    pid: u32,
    /// The first instruction of the program itself.
    pub(super) entry: u64,
    /// The distance from the addresses of its file to those in memory.
    pub(super) bias: u64,
    /// The same of the dynamic linker; `None` for a static program.
    pub(super) linker: Option<u64>,
    /// The address of its dynamic section.
    dynamic: Option<u64>,
    memory: File,
}

impl Loaded {
    /// Reads the addresses; `None` if the program is not of 64 bits, or is for another machine.
    pub(super) fn of(tracee: &Tracee) -> io::Result<Option<Loaded>> {
        let pid = tracee.pid();
        let mut header = [0; E_ENTRY + 8];
        File::open(executable(pid))?.read_exact_at(&mut header, 0)?;
        let machine = u16::from_le_bytes([header[E_MACHINE], header[E_MACHINE + 1]]);
        if header[EI_CLASS] != CLASS_64 || machine != MACHINE {
            return Ok(None);
        }
        let auxv = std::fs::read(format!("/proc/{pid}/auxv"))?;
        let value =
            |wanted| auxv.chunks_exact(16).find(|pair| word(pair, 0) == wanted).map(|pair| word(pair, 8));
        let entry = value(AT_ENTRY).unwrap_or(0);
        let bias = entry.wrapping_sub(word(&header, E_ENTRY));
        let memory = File::open(format!("/proc/{pid}/mem"))?;
        let mut loaded = Loaded {
            pid,
            entry,
            bias,
            linker: value(AT_BASE).filter(|base| *base != 0),
            dynamic: None,
            memory,
        };
        let headers = (value(AT_PHDR).unwrap_or(0), value(AT_PHNUM).unwrap_or(0));
        loaded.dynamic = loaded.dynamic_section(headers)?;
        Ok(Some(loaded))
    }

    /// A name of the program's file that can be opened.
    pub(super) fn program(&self) -> PathBuf {
        executable(self.pid)
    }

    /// The path of the program's file.
    pub(super) fn name(&self) -> PathBuf {
        name(self.pid)
    }

    /// The path of the dynamic linker's file.
    pub(super) fn linker_file(&self) -> io::Result<Option<PathBuf>> {
        let Some(base) = self.linker else { return Ok(None) };
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.pid))?;
        Ok(maps.lines().find_map(|line| file_at(line, base)))
    }

    /// Whether the program has a place at which its linker publishes the list of libraries.
    pub(super) fn is_debuggable(&self) -> io::Result<bool> {
        Ok(self.debug()?.is_some())
    }

    /// Whether the linker has completed the list of libraries: `r_state` is `RT_CONSISTENT`.
    pub(super) fn is_mapped(&self) -> io::Result<bool> {
        // struct r_debug: the version, the first library, the address of r_brk, the state.
        let mut debug = [0; 28];
        match self.debug()? {
            Some(address) if address != 0 => self.memory.read_exact_at(&mut debug, address)?,
            _ => return Ok(false),
        }
        Ok(word(&debug, 0) as u32 != 0 && word(&debug, 8) != 0 && debug[24..] == [0; 4])
    }

    /// The value of DT_DEBUG: 0 until the linker writes it; `None` if there is no such entry.
    fn debug(&self) -> io::Result<Option<u64>> {
        let Some(dynamic) = self.dynamic else { return Ok(None) };
        let mut entry = [0; DYNAMIC];
        for index in 0..MOST {
            self.memory.read_exact_at(&mut entry, dynamic.wrapping_add((index * DYNAMIC) as u64))?;
            match word(&entry, 0) {
                DT_DEBUG => return Ok(Some(word(&entry, 8))),
                DT_NULL => break,
                _ => {}
            }
        }
        Ok(None)
    }

    fn dynamic_section(&self, (table, count): (u64, u64)) -> io::Result<Option<u64>> {
        let mut header = [0; PROGRAM_HEADER];
        for index in 0..MOST.min(count as usize) {
            self.memory.read_exact_at(&mut header, table.wrapping_add((index * PROGRAM_HEADER) as u64))?;
            if word(&header, 0) as u32 == PT_DYNAMIC {
                return Ok(Some(word(&header, 16).wrapping_add(self.bias)));
            }
        }
        Ok(None)
    }
}

/// The path of the file that a process executes.
pub(super) fn name(pid: u32) -> PathBuf {
    std::fs::read_link(executable(pid)).unwrap_or_else(|_| executable(pid))
}

fn executable(pid: u32) -> PathBuf {
    format!("/proc/{pid}/exe").into()
}

/// The file of a line of /proc/PID/maps, if the mapping begins at an address.
fn file_at(line: &str, address: u64) -> Option<PathBuf> {
    let (start, rest) = line.split_once('-')?;
    let at = rest.find('/')?;
    (u64::from_str_radix(start, 16) == Ok(address)).then(|| rest[at..].into())
}

/// The 8 bytes at an offset as a number; 0 outside of the slice.
fn word(bytes: &[u8], at: usize) -> u64 {
    let field = bytes.get(at..at + 8).and_then(|field| field.try_into().ok());
    field.map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_is_found_by_its_first_mapping() {
        let line = "7f0a1000-7f0a2000 r--p 00000000 fe:00 123   /usr/lib/ld with blanks.so";
        assert_eq!(file_at(line, 0x7f0a_1000), Some("/usr/lib/ld with blanks.so".into()));
        assert_eq!(file_at(line, 0x7f0a_2000), None);
        assert_eq!(file_at("7f0a1000-7f0a2000 r-xp 00000000 00:00 0 [vdso]", 0x7f0a_1000), None);
        assert_eq!(file_at("", 0), None);
    }

    #[test]
    fn a_word_outside_is_zero() {
        assert_eq!(word(&[1, 0, 0, 0, 0, 0, 0, 0, 9], 0), 1);
        assert_eq!(word(&[1; 8], 1), 0);
    }
}

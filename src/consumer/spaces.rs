//! consumer/spaces.rs: the address spaces of processes: their mappings, and the mapped files.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::recent::Recent;
use kinst_os::maps;
use kinst_sites::Program;
use kinst_sites::listing::frames::SourceFrames;
use kinst_sites::listing::programs::ProgramSource;
use kinst_sites::user_stack::Code;

/// The address spaces of recently looked-up processes, in caches of bounded size.
pub(super) struct Spaces {
    processes: RefCell<Recent<u64, Space>>,
    files: RefCell<Recent<FileId, Opened>>,
}

/// A file that is mapped into processes.
pub(super) struct File {
    pub program: Rc<Program>,
    /// `None` if it has no debug information.
    source: OnceCell<Option<ProgramSource>>,
    /// The functions by address in the file, and by whether lines are included.
    frames: RefCell<Recent<(u64, bool), SourceFrames>>,
}

impl File {
    fn new(program: Program) -> File {
        File { program: Rc::new(program), source: OnceCell::new(), frames: RefCell::new(Recent::new(FRAMES)) }
    }

    /// Returns the functions at an address of the file according to its debug information, the innermost first.
    pub(super) fn frames(&self, address: u64, lines: bool) -> SourceFrames {
        let Some(source) = self.source.get_or_init(|| ProgramSource::of(&self.program)) else {
            return Rc::default();
        };
        self.frames.borrow_mut().get_or_make((address, lines), || source.at(address, lines).into()).clone()
    }
}

/// The mapping at an address.
pub(super) struct Mapped {
    /// The path of the file, or a name in brackets; empty for an anonymous mapping.
    pub path: Rc<str>,
    /// The start of the mapping.
    pub base: u64,
    /// The file offset of the address.
    pub offset: u64,
    /// `None` if the file cannot be read, or is not an ELF program.
    pub file: Option<Rc<File>>,
    /// Whether `file` is certainly the mapped file, and not another one with its name.
    same: bool,
    /// Whether it is executable.
    code: bool,
}

/// The mappings of a process at the last reading.
#[derive(Debug)]
struct Space {
    mappings: Vec<Mapping>,
    looked: Instant,
    /// Whether they have been read again for an address outside all of them.
    missed: bool,
}

/// A file by device and inode, so that different files with the same path differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FileId {
    device: Rc<str>,
    inode: u64,
    path: Rc<str>,
}

#[derive(Clone)]
struct Opened {
    file: Option<Rc<File>>,
    same: bool,
}

#[derive(Clone, Debug)]
struct Mapping {
    range: Range<u64>,
    offset: u64,
    file: FileId,
    /// Whether the file was removed or replaced.
    deleted: bool,
    /// Whether it is executable.
    code: bool,
}

/// The limits of the caches, each for one of two generations: twice 32 MB for programs.
const MAPPINGS: usize = 1 << 15;
const PROGRAMS: usize = 32 << 20;
const FRAMES: usize = 1 << 13;

/// The age at which mappings are read again: a process maps libraries while it runs, and loses all mappings at its end.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The code that the kernel maps into each process; it is the same in all 64-bit processes.
const KERNEL_CODE: &str = "[vdso]";
/// A limit on the size of that mapping.
const MOST_KERNEL_CODE: u64 = 1 << 20;

impl Default for Spaces {
    fn default() -> Spaces {
        Spaces::new(None)
    }
}

impl Spaces {
    /// `most`: the number of processes whose mappings are cached.
    pub(super) fn new(most: Option<usize>) -> Spaces {
        let processes = match most {
            Some(most) => Recent::new(most.div_ceil(2)),
            None => Recent::weighed(MAPPINGS, |space: &Space| space.mappings.len() + 1),
        };
        // An unreadable file takes some memory too.
        let weight = |opened: &Opened| opened.file.as_ref().map_or(0, |file| file.program.bytes()) + 4096;
        Spaces { processes: RefCell::new(processes), files: RefCell::new(Recent::weighed(PROGRAMS, weight)) }
    }

    /// Reads the mappings of a process. Returns the number of files that it has mapped as code. The number is 0 if its
    /// program is not yet, or no longer, in memory; the cached mappings stay then.
    pub(super) fn look(&self, pid: u64) -> usize {
        // In a PID namespace, this pid belongs to another process.
        let maps = match kinst_os::pid_namespace() {
            None => std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default(),
            Some(_) => String::new(),
        };
        let mappings = parse_maps(&maps);
        let mut processes = self.processes.borrow_mut();
        let looked = Instant::now();
        // [stack] and the like, and the program's headers, are mapped before its code.
        let files =
            mappings.iter().filter(|mapping| mapping.code && mapping.file.path.starts_with('/')).count();
        let before = match files {
            0 => processes.get(&pid).map(|space| std::mem::take(&mut space.mappings)),
            _ => None,
        };
        processes.insert(pid, Space { mappings: before.unwrap_or(mappings), looked, missed: false });
        files
    }

    pub(super) fn at(&self, pid: u64, address: u64) -> Option<Mapped> {
        self.refresh(pid, address);
        let found = self.processes.borrow_mut().get(&pid)?.mapping(address)?.clone();
        let opened = self.open(pid, &found);
        Some(Mapped {
            path: found.file.path,
            base: found.range.start,
            offset: found.offset.wrapping_add(address - found.range.start),
            file: opened.file,
            same: opened.same,
            code: found.code,
        })
    }

    /// Returns the code at an address, for a walk over a stack.
    pub(super) fn code_at(&self, pid: u64, address: u64) -> Code {
        match self.at(pid, address) {
            Some(Mapped { file: Some(file), same: true, offset, code: true, .. }) => {
                Code::File(Rc::clone(&file.program), offset)
            }
            Some(Mapped { file: None, same: true, code: true, .. }) => Code::Undescribed,
            Some(Mapped { code: true, .. }) => Code::Unreadable,
            _ => Code::Nowhere,
        }
    }

    /// Opens the mapped file. It stays open, as it may be removed before the next use.
    fn open(&self, pid: u64, mapping: &Mapping) -> Opened {
        let mut files = self.files.borrow_mut();
        files.get_or_make(mapping.file.clone(), || open(pid, mapping)).clone()
    }

    /// Reads the mappings again if they are old, and once for an address outside all of them.
    fn refresh(&self, pid: u64, address: u64) {
        let (stale, missed) = match self.processes.borrow_mut().get(&pid) {
            None => (true, false),
            Some(space) => {
                let there = space.mapping(address).is_some();
                (space.looked.elapsed() > LOOK_AGAIN, !there && !space.missed)
            }
        };
        if stale || missed {
            self.look(pid);
        }
        if missed && let Some(space) = self.processes.borrow_mut().get(&pid) {
            space.missed = !stale;
        }
    }
}

impl Space {
    /// Finds the mapping of an address; mappings are sorted by address.
    fn mapping(&self, address: u64) -> Option<&Mapping> {
        let after = self.mappings.partition_point(|mapping| mapping.range.start <= address);
        self.mappings[..after].last().filter(|mapping| mapping.range.contains(&address))
    }
}

/// Opens the file of a mapping. A file with another inode is the last resort: on some file systems, stat shows another
/// inode than the mapping.
fn open(pid: u64, mapping: &Mapping) -> Opened {
    let Mapping { range, file: FileId { inode, path, .. }, deleted, .. } = mapping;
    let shared = |program: Program| Rc::new(File::new(program));
    if **path == *KERNEL_CODE {
        return Opened { file: kernel_code(range.end - range.start).map(shared), same: true };
    }
    if !path.starts_with('/') {
        return Opened { file: None, same: true };
    }
    if let Some(place) = maps::opens(pid, range, path, *inode) {
        return Opened { file: Program::open(&place).map(shared), same: true };
    }
    let named = [PathBuf::from(format!("/proc/{pid}/root{path}")), PathBuf::from(&**path)];
    let other = named.iter().filter(|_| !deleted).find_map(|place| Program::open(place));
    Opened { file: other.map(shared), same: false }
}

/// Returns our own copy of the vDSO, if it has the size of the one in the other process.
fn kernel_code(size: u64) -> Option<Program> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let own = parse_maps(&maps).into_iter().find(|mapping| &*mapping.file.path == KERNEL_CODE)?;
    if own.range.end - own.range.start != size || size > MOST_KERNEL_CODE {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    std::fs::File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, own.range.start).ok()?;
    Program::of_bytes(KERNEL_CODE, bytes)
}

/// Parses /proc/PID/maps.
fn parse_maps(text: &str) -> Vec<Mapping> {
    let mapping = |found: maps::Mapping| Mapping {
        range: found.range,
        offset: found.offset,
        file: FileId { device: found.device.into(), inode: found.inode, path: found.path.into() },
        deleted: found.deleted,
        code: found.code,
    };
    maps::parse(text).into_iter().map(mapping).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that was replaced while it runs is still the one that runs.
    #[test]
    fn the_file_of_a_mapping_is_that_which_is_mapped() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let own = std::env::current_exe().unwrap();
        let mappings = parse_maps(&maps);
        let code = mappings.iter().find(|found| found.code && *own == *found.file.path).unwrap();
        let pid = std::process::id().into();
        assert!(open(pid, code).file.is_some());
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, "not ELF").unwrap();
        let file = FileId { path: other.to_str().unwrap().into(), ..code.file.clone() };
        let gone = Mapping { file, deleted: true, range: code.range.clone(), ..*code };
        // The link of the mapping needs privileges that not every test has.
        let link = format!("/proc/self/map_files/{:x}-{:x}", code.range.start, code.range.end);
        assert_eq!(open(pid, &gone).file.is_some(), std::fs::File::open(link).is_ok());
    }

    #[test]
    fn the_mapping_of_an_address() {
        let maps = "55d0c0000000-55d0c0010000 r-xp 00002000 08:01 131 /usr/bin/cat\n\
                    7f0000002000-7f0000003000 rwxp 00000000 00:00 0 \n";
        let space = Space { mappings: parse_maps(maps), looked: Instant::now(), missed: false };
        assert_eq!(space.mapping(0x55d0_c000_ffff).unwrap().file.inode, 131);
        assert!(space.mapping(0x55d0_c001_0000).is_none() && space.mapping(0).is_none());
        assert!(space.mapping(0x7f00_0000_2fff).is_some_and(|mapping| mapping.file.path.is_empty()));
    }

    #[test]
    fn what_is_at_an_address_of_this_process() {
        let spaces = Spaces::default();
        let pid = u64::from(std::process::id());
        assert!(spaces.look(pid) > 1);
        let own = what_is_at_an_address_of_this_process as *const () as u64;
        assert!(matches!(spaces.code_at(pid, own), Code::File(..)));
        let heap = Box::new(0u8);
        assert!(matches!(spaces.code_at(pid, &raw const *heap as u64), Code::Nowhere));
        assert!(matches!(spaces.code_at(pid, 1), Code::Nowhere));
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        if let Some(vdso) = parse_maps(&maps).iter().find(|mapping| &*mapping.file.path == KERNEL_CODE) {
            assert!(matches!(spaces.code_at(pid, vdso.range.start + 0x800), Code::File(..)));
        }
    }
}

//! consumer/symbols.rs: names of addresses, for stacks, %a and sym().

use crate::probe::Probe;
use crate::sites::listing::about::Answers;
use crate::sites::{InFunction, Kernel, Program};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// A kernel function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSymbol {
    pub module: String,
    pub name: String,
    /// Its first address.
    pub start: u64,
}

/// A place in a user process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPlace {
    /// The file's last component.
    pub object: String,
    /// The start of the mapping.
    pub base: u64,
    /// The function, if the file has a symbol for it.
    pub function: Option<InFunction>,
}

pub trait Symbols {
    fn kernel(&self, address: u64) -> Option<KernelSymbol>;
    fn user(&self, pid: u64, address: u64) -> Option<UserPlace>;
    /// The inlined functions around a copy that a probe is at, the innermost first, without the function that has the
    /// code. Empty if nothing is known of them.
    fn around(&self, _probe: &Probe, _copy: &str) -> Vec<String> {
        Vec::new()
    }
    /// Reads the mappings of a process, as it may end before its addresses are looked up. Returns the number of
    /// files that it has mapped as code; 0 if its program is not in memory yet, or no longer.
    fn look(&self, _pid: u64) -> usize {
        1
    }
}

/// The symbols of the running system. Nothing is read before the first lookup.
pub struct System<'k> {
    kernel: &'k Kernel,
    answers: RefCell<Answers<'k>>,
    /// The inlined functions around copies, by the probe's number and the copy's function.
    around: RefCell<HashMap<(u32, String), Vec<String>>>,
    /// A cache: a trace shows the same addresses again and again.
    known: RefCell<HashMap<u64, Option<KernelSymbol>>>,
    processes: RefCell<HashMap<u64, Space>>,
    /// By path; `None` if the file cannot be read.
    files: RefCell<HashMap<String, Option<Program>>>,
}

/// The mappings of a process when they were last read.
#[derive(Debug)]
struct Space {
    mappings: Vec<Mapping>,
    looked: Instant,
    /// Whether they were read again for an address that was not in them.
    missed: bool,
}

/// The age at which mappings are read again: a process maps libraries while it runs, and at its end they are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl<'k> System<'k> {
    pub fn new(kernel: &'k Kernel) -> System<'k> {
        let (known, processes, files, around) = Default::default();
        let answers = RefCell::new(Answers::new(kernel));
        System { kernel, answers, around, known, processes, files }
    }
}

impl Symbols for System<'_> {
    fn kernel(&self, address: u64) -> Option<KernelSymbol> {
        let find = || {
            let found = self.kernel.symbolize(address)?;
            let start = address.wrapping_sub(found.offset);
            Some(KernelSymbol { module: found.module, name: found.function, start })
        };
        self.known.borrow_mut().entry(address).or_insert_with(find).clone()
    }

    fn user(&self, pid: u64, address: u64) -> Option<UserPlace> {
        self.refresh(pid, address);
        let processes = self.processes.borrow();
        let mappings = &processes.get(&pid)?.mappings;
        let found = mappings.iter().find(|mapping| mapping.range.contains(&address))?;
        let offset = found.offset.wrapping_add(address - found.range.start);
        let mut files = self.files.borrow_mut();
        let program = files.entry(found.path.clone()).or_insert_with(|| {
            let inside = format!("/proc/{pid}/root{}", found.path);
            Program::open(Path::new(&inside)).or_else(|| Program::open(Path::new(&found.path)))
        });
        let function = program.as_ref().and_then(|program| program.symbolize(offset));
        let object = found.path.rsplit('/').next().unwrap_or(&found.path).to_owned();
        Some(UserPlace { object, base: found.range.start, function })
    }

    fn around(&self, probe: &Probe, copy: &str) -> Vec<String> {
        let find = || self.answers.borrow_mut().around(probe, copy);
        self.around.borrow_mut().entry((probe.id, copy.to_owned())).or_insert_with(find).clone()
    }

    fn look(&self, pid: u64) -> usize {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
        let mappings = parse_maps(&maps.unwrap_or_default());
        let mut processes = self.processes.borrow_mut();
        let looked = Instant::now();
        let space =
            processes.entry(pid).or_insert_with(|| Space { mappings: Vec::new(), looked, missed: false });
        (space.looked, space.missed) = (looked, false);
        // [stack] and the like, and the program's headers, are mapped before its code.
        let files = mappings.iter().filter(|mapping| mapping.code && mapping.path.starts_with('/')).count();
        if files > 0 {
            space.mappings = mappings;
        }
        files
    }
}

impl System<'_> {
    /// Reads the mappings again if they are old, and once more for an address that is not in them.
    fn refresh(&self, pid: u64, address: u64) {
        let (stale, missed) = match self.processes.borrow().get(&pid) {
            None => (true, false),
            Some(space) => {
                let there = space.mappings.iter().any(|mapping| mapping.range.contains(&address));
                (space.looked.elapsed() > LOOK_AGAIN, !there && !space.missed)
            }
        };
        if stale || missed {
            self.look(pid);
        }
        if missed && let Some(space) = self.processes.borrow_mut().get_mut(&pid) {
            space.missed = !stale;
        }
    }
}

#[derive(Debug)]
struct Mapping {
    range: std::ops::Range<u64>,
    offset: u64,
    path: String,
    /// Whether it is executable.
    code: bool,
}

fn parse_maps(text: &str) -> Vec<Mapping> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
            let code = words.next()?.contains('x');
            let offset = u64::from_str_radix(words.next()?, 16).ok()?;
            let path = words.nth(2)?.to_owned();
            Some(Mapping { range, offset, path, code })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_addresses() {
        let maps = "55d0c0000000-55d0c0010000 r-xp 00002000 08:01 131 /usr/bin/cat\n7f0000000000-7f0000001000 rw-p 00000000 00:00 0\nbroken\n";
        let found = parse_maps(maps);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), found[0].offset, found[0].code), ("/usr/bin/cat", 0x2000, true));
    }
}

//! consumer/symbols.rs: addresses → names, for stacks, %a and sym().

use crate::sites::Kernel;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

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
    /// Within the file.
    pub offset: u64,
}

pub trait Symbols {
    fn kernel(&self, address: u64) -> Option<KernelSymbol>;
    fn user(&self, pid: u64, address: u64) -> Option<UserPlace>;
}

/// Those of the running system. Nothing is read before the first question.
pub struct System {
    kernel: Arc<Kernel>,
    /// A trace shows the same addresses again and again.
    known: RefCell<HashMap<u64, Option<KernelSymbol>>>,
    processes: RefCell<HashMap<u64, Vec<Mapping>>>,
}

impl System {
    pub fn new(kernel: Arc<Kernel>) -> System {
        System { kernel, known: RefCell::default(), processes: RefCell::default() }
    }
}

impl Symbols for System {
    fn kernel(&self, address: u64) -> Option<KernelSymbol> {
        let find = || {
            let found = self.kernel.symbolize(address)?;
            let start = address.wrapping_sub(found.offset);
            Some(KernelSymbol { module: found.module, name: found.function, start })
        };
        self.known.borrow_mut().entry(address).or_insert_with(find).clone()
    }

    fn user(&self, pid: u64, address: u64) -> Option<UserPlace> {
        let mut processes = self.processes.borrow_mut();
        let mappings = processes.entry(pid).or_insert_with(|| {
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
            parse_maps(&maps.unwrap_or_default())
        });
        let found = mappings.iter().find(|mapping| mapping.range.contains(&address))?;
        let offset = found.offset.wrapping_add(address - found.range.start);
        Some(UserPlace { object: found.object.clone(), offset })
    }
}

#[derive(Debug)]
struct Mapping {
    range: std::ops::Range<u64>,
    offset: u64,
    object: String,
}

fn parse_maps(text: &str) -> Vec<Mapping> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
            let offset = u64::from_str_radix(words.nth(1)?, 16).ok()?;
            let path = words.nth(2)?;
            let object = path.rsplit('/').next().unwrap_or(path).to_owned();
            Some(Mapping { range, offset, object })
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
        assert_eq!((found[0].object.as_str(), found[0].offset), ("cat", 0x2000));
    }
}

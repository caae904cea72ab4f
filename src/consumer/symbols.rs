//! consumer/symbols.rs: addresses → names, for stacks, %a and sym().

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

/// A kernel function or object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    pub module: &'a str,
    pub name: &'a str,
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
    fn kernel(&self, address: u64) -> Option<KernelSymbol<'_>>;
    fn user(&self, pid: u64, address: u64) -> Option<UserPlace>;
}

/// Those of the running system. Nothing is read before the first question.
#[derive(Debug, Default)]
pub struct System {
    kernel: OnceCell<Kernel>,
    processes: RefCell<HashMap<u64, Vec<Mapping>>>,
}

impl Symbols for System {
    fn kernel(&self, address: u64) -> Option<KernelSymbol<'_>> {
        let read = || Kernel::parse(&std::fs::read_to_string("/proc/kallsyms").unwrap_or_default());
        self.kernel.get_or_init(read).find(address)
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

/// kallsyms, sorted by address.
#[derive(Debug)]
struct Kernel {
    text: String,
    symbols: Vec<Symbol>,
}

/// Names are kept as places in the text: there are some two hundred thousand.
#[derive(Debug)]
struct Symbol {
    start: u64,
    name: (u32, u32),
    /// Empty: the kernel proper.
    module: (u32, u32),
}

impl Kernel {
    fn parse(text: &str) -> Kernel {
        let place = |part: &str| {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            (start as u32, (start + part.len()) as u32)
        };
        let mut symbols: Vec<Symbol> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split_ascii_whitespace();
                let start = u64::from_str_radix(words.next()?, 16).ok()?;
                let kind = words.next()?;
                let name = words.next()?;
                // Absolute symbols are numbers (per-CPU offsets), and zeros are addresses kept from us.
                if start == 0 || matches!(kind, "A" | "a") || name.starts_with("__pfx_") {
                    return None;
                }
                let module = words.next().map_or("", |module| module.trim_matches(['[', ']']));
                let module = if module.is_empty() { (0, 0) } else { place(module) };
                Some(Symbol { start, name: place(name), module })
            })
            .collect();
        symbols.sort_by_key(|symbol| symbol.start);
        Kernel { text: text.to_owned(), symbols }
    }

    fn find(&self, address: u64) -> Option<KernelSymbol<'_>> {
        // User addresses are below every symbol, so they find nothing.
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        let start = self.symbols.get(after.checked_sub(1)?)?.start;
        let first = self.symbols.partition_point(|symbol| symbol.start < start);
        // Of several names for one address, the one with the fewest underscores in front.
        let best = self.symbols[first..after].iter().min_by_key(|symbol| {
            let name = self.part(symbol.name);
            name.len() - name.trim_start_matches('_').len()
        })?;
        let module = self.part(best.module);
        Some(KernelSymbol {
            module: if module.is_empty() { "vmlinux" } else { module },
            name: self.part(best.name),
            start,
        })
    }

    fn part(&self, (start, end): (u32, u32)) -> &str {
        self.text.get(start as usize..end as usize).unwrap_or("")
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

    const KALLSYMS: &str = "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\nffffffff81000000 T startup_64\nffffffff81000100 t __do_sys_x\nffffffff81000100 T do_sys_x\nffffffffc0001000 t nf_hook\t[nf_tables]\n";

    #[test]
    fn kernel_addresses() {
        let kernel = Kernel::parse(KALLSYMS);
        let name = |address| kernel.find(address).map(|found| (found.module, found.name, found.start));
        assert_eq!(name(0x4000), None);
        assert_eq!(name(0xffffffff810000ff), Some(("vmlinux", "startup_64", 0xffffffff81000000)));
        assert_eq!(name(0xffffffff81000104), Some(("vmlinux", "do_sys_x", 0xffffffff81000100)));
        assert_eq!(name(0xffffffffc0001008), Some(("nf_tables", "nf_hook", 0xffffffffc0001000)));
    }

    #[test]
    fn user_addresses() {
        let maps = "55d0c0000000-55d0c0010000 r-xp 00002000 08:01 131 /usr/bin/cat\n7f0000000000-7f0000001000 rw-p 00000000 00:00 0\nbroken\n";
        let found = parse_maps(maps);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].object.as_str(), found[0].offset), ("cat", 0x2000));
    }
}

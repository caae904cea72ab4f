//! sites/target/loaded.rs: modules of the running kernel over time, to name an address by its module at that time.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use super::data::AllSymbols;
use super::kernel::Kernel;
use super::symbolized::Symbolized;
use crate::symtab::Symbols;

/// The loaded modules, and modules that have been unloaded since the list was first read.
#[derive(Debug, Default)]
pub struct Loaded {
    /// In the order of loading.
    spans: Vec<Span>,
    /// Modules loaded after this time are not in the list as last read; 0 if it was not read, or the time is unknown.
    looked: u64,
}

/// A module from loading to unloading. Times are nanoseconds of the records' clock.
#[derive(Debug)]
struct Span {
    name: String,
    base: u64,
    /// The last time at which it was not loaded yet.
    since: u64,
    /// The first time at which it was known to be unloaded.
    until: Option<u64>,
    /// Whether its symbols were read when it was live: during loading, they are incomplete.
    is_whole: bool,
    /// Whether its symbols are to be read.
    is_due: bool,
    symbols: Named,
}

/// The symbols of a loaded module.
#[derive(Debug, Default)]
struct Named {
    code: Symbols,
    data: AllSymbols,
}

/// Number of unloaded modules to remember.
const GONE: usize = 64;

impl Kernel {
    /// Returns the modules that were loaded when the symbols of the running kernel were read.
    pub fn loaded(&self) -> Loaded {
        Loaded::of(self.all_symbols())
    }
}

impl Loaded {
    /// Makes the list of modules whose symbols have been read.
    pub(super) fn of(symbols: &AllSymbols) -> Loaded {
        let mut loaded = Loaded::default();
        loaded.update(symbols.modules(), 0..0, || symbols.text());
        loaded
    }

    /// Whether the list has been read, and shows addresses.
    pub fn is_known(&self) -> bool {
        !self.spans.is_empty()
    }

    /// Reads the list of modules, and the symbols of new ones, unless that was done within `interval`.
    pub fn look(&mut self, clock: fn() -> u64, interval: Duration) {
        let began = clock();
        if u128::from(began.saturating_sub(self.looked)) < interval.as_nanos() {
            return;
        }
        let list = std::fs::read_to_string("/proc/modules").unwrap_or_default();
        self.update(&list, began..clock(), || std::fs::read_to_string("/proc/kallsyms").unwrap_or_default());
    }

    /// Reads them unless that was done after `time`, which is in the past: then every module of that time is
    /// in the list.
    pub fn look_for(&mut self, time: u64, clock: fn() -> u64) {
        if self.looked <= time {
            self.look(clock, Duration::ZERO);
        }
    }

    /// Merges a list that was read during `read`.
    fn update<T: AsRef<str>>(&mut self, list: &str, read: Range<u64>, kallsyms: impl FnOnce() -> T) {
        let mut new: HashMap<(String, u64), bool> = list.lines().filter_map(parse).collect();
        for span in self.spans.iter_mut().filter(|span| span.until.is_none()) {
            match new.remove(&(span.name.clone(), span.base)) {
                Some(is_live) => {
                    span.is_due = is_live && !span.is_whole;
                    span.is_whole |= is_live;
                }
                None => span.until = Some(read.end),
            }
        }
        let since = std::mem::replace(&mut self.looked, read.start);
        for ((name, base), is_live) in new {
            let symbols = Named::default();
            self.spans.push(Span {
                name,
                base,
                since,
                until: None,
                is_whole: is_live,
                is_due: true,
                symbols,
            });
        }
        if self.spans.iter().any(|span| span.is_due) {
            self.read(kallsyms().as_ref());
        }
        let mut too_many = self.spans.iter().filter(|span| span.until.is_some()).count().saturating_sub(GONE);
        self.spans.retain(|span| {
            let drop = too_many > 0 && span.until.is_some();
            too_many -= usize::from(drop);
            !drop
        });
    }

    /// Reads the symbols of the modules that are due. A module that was unloaded in the meantime retains the
    /// symbols read before.
    fn read(&mut self, kallsyms: &str) {
        let due = self.spans.iter().filter(|span| span.is_due).map(|span| span.name.clone());
        let mut lines = lines_of(kallsyms, due);
        let mut code = Symbols::of_kallsyms(&lines.values().map(String::as_str).collect::<String>(), false);
        for span in self.spans.iter_mut().filter(|span| span.is_due) {
            span.is_due = false;
            let lines = lines.remove(&span.name).unwrap_or_default();
            if !lines.is_empty() {
                let code = code.remove(&span.name).unwrap_or_default();
                span.symbols = Named { code, data: AllSymbols::new(lines) };
            }
        }
    }

    /// Names an address of a module: by the module that was there at a time or, without a time, by the last one.
    pub fn symbolize(&self, address: u64, time: Option<u64>) -> Option<Symbolized> {
        let was_there = |span: &&Span| {
            time.is_none_or(|time| span.since <= time && span.until.is_none_or(|until| time <= until))
        };
        self.spans.iter().rev().filter(was_there).find_map(|span| span.symbolize(address))
    }
}

impl Span {
    fn symbolize(&self, address: u64) -> Option<Symbolized> {
        let Named { code, data } = &self.symbols;
        let in_code = code.containing(address).map(|symbol| Symbolized {
            module: self.name.clone(),
            function: code.name(symbol).to_owned(),
            offset: address - symbol.address,
        });
        in_code.or_else(|| data.variable(address))
    }
}

/// Parses `xfs 2113536 0 - Live 0xffffffffc0a00000`: the name, the address of the text, and whether it is live.
fn parse(line: &str) -> Option<((String, u64), bool)> {
    let mut words = line.split_ascii_whitespace();
    let (name, state, address) = (words.next()?, words.nth(3)?, words.next()?);
    let address = u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?;
    (address != 0).then(|| ((name.to_owned(), address), state == "Live"))
}

/// Returns the lines of kallsyms for some modules.
fn lines_of(text: &str, modules: impl Iterator<Item = String>) -> HashMap<String, String> {
    let mut lines: HashMap<String, String> = modules.map(|name| (name, String::new())).collect();
    for line in text.lines() {
        let module = line.strip_suffix(']').and_then(|line| line.rsplit_once('['));
        if let Some(lines) = module.and_then(|(_, module)| lines.get_mut(module)) {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    lines
}

impl Kernel {
    /// Names an address of the kernel proper.
    pub fn symbolize_proper(&self, address: u64) -> Option<Symbolized> {
        self.symbolize(address).filter(|found| found.module == kinst_base::image::KERNEL_PROPER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0xffff_ffff_c000_0000;

    fn list(modules: &[(&str, u64)]) -> String {
        modules.iter().map(|(name, base)| format!("{name} 4096 0 - Live {base:#x} (OE)\n")).collect()
    }

    fn kallsyms(modules: &[(&str, u64)]) -> String {
        let of = |(name, base): &(&str, u64)| {
            format!(
                "{base:x} t {name}_open\t[{name}]\n{:x} t {name}_close\t[{name}]\n{:x} d {name}_state\t[{name}]\n",
                base + 0x100,
                base + 0x8000
            )
        };
        format!("ffffffff81000000 T _text\n{}", modules.iter().map(of).collect::<String>())
    }

    fn look(loaded: &mut Loaded, modules: &[(&str, u64)], now: u64) {
        loaded.update(&list(modules), now..now, || kallsyms(modules));
    }

    fn nothing() -> String {
        panic!("nothing is new");
    }

    fn named(loaded: &Loaded, address: u64, time: Option<u64>) -> Option<String> {
        let found = loaded.symbolize(address, time)?;
        Some(format!("{}`{}+{:#x}", found.module, found.function, found.offset))
    }

    #[test]
    fn an_address_is_named_by_what_was_there() {
        let mut loaded = Loaded::default();
        let other = ("other", BASE + 0x10_0000);
        look(&mut loaded, &[("one", BASE), other], 100);
        assert_eq!(named(&loaded, BASE + 4, Some(50)).unwrap(), "one`one_open+0x4");
        assert_eq!(named(&loaded, BASE + 0x8000, Some(50)).unwrap(), "one`one_state+0x0");
        look(&mut loaded, &[other], 200);
        assert_eq!(named(&loaded, BASE + 4, Some(150)).unwrap(), "one`one_open+0x4");
        assert_eq!(named(&loaded, BASE + 4, Some(250)), None);
        // Another module has its range now.
        look(&mut loaded, &[other, ("two", BASE)], 300);
        assert_eq!(named(&loaded, BASE + 0x110, Some(150)).unwrap(), "one`one_close+0x10");
        assert_eq!(named(&loaded, BASE + 0x110, Some(350)).unwrap(), "two`two_close+0x10");
        assert_eq!(named(&loaded, BASE + 0x110, None).unwrap(), "two`two_close+0x10");
        look(&mut loaded, &[other], 400);
        assert_eq!(named(&loaded, BASE + 0x110, None).unwrap(), "two`two_close+0x10");
        assert_eq!(named(&loaded, other.1, Some(1)).unwrap(), "other`other_open+0x0");
    }

    #[test]
    fn what_came_and_went_while_the_list_was_read_was_there() {
        let mut loaded = Loaded::default();
        loaded.update(&list(&[("stays", 1 << 63)]), 100..110, || kallsyms(&[]));
        loaded.update(&list(&[("one", BASE)]), 200..210, || kallsyms(&[("one", BASE)]));
        assert!(
            named(&loaded, BASE + 4, Some(105)).is_some(),
            "it came after the list was made, and before that was seen"
        );
        loaded.update(&list(&[]), 300..310, || kallsyms(&[]));
        assert!(named(&loaded, BASE + 4, Some(305)).is_some(), "it went after the list was asked for");
        assert!(named(&loaded, BASE + 4, Some(311)).is_none());
    }

    #[test]
    fn the_list_is_read_again_for_what_came_after_it_was_read() {
        let mut loaded = Loaded { looked: 100, ..Loaded::default() };
        loaded.look_for(99, || panic!("it was there"));
        loaded.look_for(100, || 101);
        assert_eq!(loaded.looked, 101);
        loaded.look_for(100, || panic!("it was there"));
    }

    #[test]
    fn only_the_last_that_have_gone_are_remembered() {
        let mut loaded = Loaded::default();
        for time in 0..1000 {
            let base = BASE + (time % 300) * 0x10_0000;
            look(&mut loaded, &[("stays", 1 << 63), ("comes", base)], time * 10);
        }
        assert_eq!(loaded.spans.len(), GONE + 2);
        assert!(named(&loaded, 1 << 63, Some(5)).is_some());
    }

    #[test]
    fn a_module_is_read_again_when_it_is_live() {
        let mut loaded = Loaded::default();
        let coming = list(&[("one", BASE)]).replace("Live", "Loading");
        loaded.update(&coming, 1..1, || "ffffffff81000000 T _text\n".to_owned());
        assert_eq!(named(&loaded, BASE + 4, Some(1)), None);
        loaded.update(&coming, 2..2, nothing);
        look(&mut loaded, &[("one", BASE)], 3);
        assert_eq!(named(&loaded, BASE + 4, Some(1)).unwrap(), "one`one_open+0x4");
        loaded.update(&list(&[("one", BASE)]), 4..4, nothing);
        // Its symbols existed during loading, and it is unloaded before they are read again.
        let gone = || kallsyms(&[]);
        let two = list(&[("two", BASE)]);
        loaded.update(&two.replace("Live", "Loading"), 5..5, || kallsyms(&[("two", BASE)]));
        loaded.update(&two, 6..6, gone);
        assert_eq!(named(&loaded, BASE + 4, Some(6)).unwrap(), "two`two_open+0x4");
    }

    #[test]
    fn symbols_are_read_only_for_new_modules() {
        let mut loaded = Loaded::default();
        look(&mut loaded, &[("one", BASE), ("two", 1 << 63)], 1);
        loaded.update(&list(&[("one", BASE)]), 2..2, nothing);
        loaded.update("one 4096 0 - Live 0x0000000000000000\nbroken\n", 3..3, || -> String {
            panic!("addresses are hidden")
        });
        assert!(loaded.is_known());
    }
}

//! The code whose calls are compared, by the kernel's file: code that is built with the hooks, or all code.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use super::calls::Pair;

/// The hooks of xtask/kernels/counted.
const HOOKS: [&str; 2] = ["__cyg_profile_func_enter", "__cyg_profile_func_exit"];

/// All callers together.
pub(super) const ALL: &str = "*";

#[derive(Default)]
pub(super) struct Instrumented {
    /// The functions by address, clones and parts with their full names.
    symbols: BTreeMap<u64, String>,
    /// The functions whose code calls the hooks, by address.
    calling: BTreeSet<u64>,
    names: BTreeSet<String>,
    /// The number of functions with a full name.
    alike: HashMap<String, usize>,
    /// The split functions: the first half may be inlined, and the second is a function (`f.part.0`).
    split: BTreeSet<String>,
    /// How often code passes a function's address on, as it does to the hooks, plus twice the number of its symbols.
    places: HashMap<String, usize>,
}

impl Instrumented {
    /// A kernel with the hooks.
    pub(super) fn of(vmlinux: &Path) -> Result<Instrumented> {
        Instrumented::read(vmlinux, true)
    }

    /// A kernel without hooks, all of whose functions are compared.
    pub(super) fn all_of(vmlinux: &Path) -> Result<Instrumented> {
        Instrumented::read(vmlinux, false)
    }

    fn read(vmlinux: &Path, has_hooks: bool) -> Result<Instrumented> {
        let file = fs::read(vmlinux).with_context(|| format!("cannot read {}", vmlinux.display()))?;
        let file = object::File::parse(&*file)?;
        let texts = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
        let symbols: Vec<(u64, &str)> =
            texts.map(|symbol| Ok((symbol.address(), symbol.name()?))).collect::<Result<_>>()?;
        if !has_hooks {
            let starts: Vec<u64> = symbols.iter().map(|(address, _)| *address).collect();
            return Ok(Instrumented::with(symbols.into_iter(), starts));
        }
        let is_hook = |(_, name): &&(u64, &str)| HOOKS.contains(name);
        let hooks: BTreeSet<u64> = symbols.iter().filter(is_hook).map(|(address, _)| *address).collect();
        if hooks.len() != HOOKS.len() {
            bail!("the kernel has no hooks");
        }
        let (mut calls, mut passes) = (Vec::new(), Vec::new());
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            let code = section.data()?;
            calls.extend(calls_of(&hooks, section.address(), code));
            passes.extend(passed(code));
        }
        let mut all = Instrumented::with(symbols.into_iter(), calls);
        for address in passes {
            if let Some(name) = all.symbols.get(&address) {
                *all.places.entry(base(name).to_owned()).or_default() += 1;
            }
        }
        Ok(all)
    }

    /// Functions, and the addresses of calls of the hooks.
    pub(super) fn with<'a>(
        symbols: impl Iterator<Item = (u64, &'a str)>,
        calls: impl IntoIterator<Item = u64>,
    ) -> Instrumented {
        let mut all = Instrumented::default();
        for (address, name) in symbols {
            *all.places.entry(base(name).to_owned()).or_default() += 2;
            if name.contains(".part.") {
                all.split.insert(base(name).to_owned());
            }
            if all.symbols.insert(address, name.to_owned()).is_none() {
                *all.alike.entry(name.to_owned()).or_default() += 1;
            }
        }
        for call in calls {
            if let Some((address, name)) = all.symbols.range(..=call).next_back() {
                all.calling.insert(*address);
                all.names.insert(base(name).to_owned());
            }
        }
        all
    }

    /// The function that begins at an address.
    pub(super) fn function(&self, address: u64) -> Option<&str> {
        self.symbols.get(&address).map(|name| base(name))
    }

    /// The function whose code contains an address, if it is built with the hooks. A part of one need not call them.
    pub(super) fn caller(&self, address: u64) -> Option<&str> {
        let (start, name) = self.symbols.range(..=address).next_back()?;
        let is_part = base(name) != name && self.names.contains(base(name));
        (is_part || self.calling.contains(start)).then(|| base(name))
    }

    /// An address as an offset in a function with a unique name.
    pub(super) fn place(&self, address: u64) -> Option<String> {
        let (start, name) = self.symbols.range(..=address).next_back()?;
        (self.alike.get(name) == Some(&1)).then(|| format!("{name}:{}", address - start))
    }

    /// A function and its caller. A split function begins in one caller and ends in another, so all of its callers
    /// are one.
    pub(super) fn pair(&self, function: &str, caller: &str) -> Pair {
        let (function, caller) = (base(function), base(caller));
        let caller = if self.split.contains(function) { ALL } else { caller };
        (function.to_owned(), caller.to_owned())
    }

    /// The approximate number of places of the probes on a function.
    pub(super) fn places(&self, function: &str) -> usize {
        self.places.get(function).copied().unwrap_or(0)
    }
}

/// The name without the suffix of a clone or part, or of kinst's numbering of namesakes (`f#2`).
fn base(symbol: &str) -> &str {
    symbol.split_once(['.', '#']).map_or(symbol, |(base, _)| base)
}

/// The addresses that code puts into the register of a first argument (`mov $address,%rdi`).
fn passed(code: &[u8]) -> impl Iterator<Item = u64> {
    const MOV: [u8; 3] = [0x48, 0xc7, 0xc7];
    let address = |bytes: &[u8]| bytes.try_into().ok().map(i32::from_le_bytes).map(i64::from);
    code.windows(7)
        .filter(|bytes| bytes.starts_with(&MOV))
        .filter_map(move |bytes| address(&bytes[3..]).map(i64::cast_unsigned))
}

/// The addresses of the calls of certain functions.
fn calls_of(targets: &BTreeSet<u64>, start: u64, code: &[u8]) -> Vec<u64> {
    const CALL: u8 = 0xe8;
    let call = |(at, bytes): (usize, &[u8])| {
        let distance = i32::from_le_bytes(bytes[1..].try_into().ok()?);
        let address = start + at as u64;
        let target = address.wrapping_add(5).wrapping_add_signed(distance.into());
        (bytes[0] == CALL && targets.contains(&target)).then_some(address)
    };
    code.windows(5).enumerate().filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_both_directions() {
        let code = [0x90, 0xe8, 0xfa, 0xff, 0xff, 0xff, 0xe8, 0x10, 0, 0, 0, 0xe8, 0, 0, 0, 0];
        assert_eq!(calls_of(&BTreeSet::from([0x1000, 0x101b]), 0x1000, &code), [0x1001, 0x1006]);
    }

    #[test]
    fn what_is_passed_is_an_address_of_the_upper_half() {
        let code = [0x90, 0x48, 0xc7, 0xc7, 0x10, 0, 0, 0x81, 0xe8];
        assert_eq!(passed(&code).collect::<Vec<_>>(), [0xffff_ffff_8100_0010]);
    }
}

//! sites/callers.rs: the functions that inlined copies are in, each whole: with the parts that the compiler put elsewhere.

use std::borrow::Cow;
use std::ops::Range;

use super::exits::{self, Exit};
use super::flow::{Flow, Marks, Part, Undecodable};
use super::symtab::{Symbol, Symbols};

/// The code of one module, for [`Flow`]s of its functions. Shared by threads.
pub struct Callers<'a> {
    pub(super) symbols: &'a Symbols,
    /// Executable sections, by address.
    pub(super) code: Vec<(u64, Cow<'a, [u8]>)>,
    pub(super) marks: Marks,
}

/// What a compiler puts between the name of a function and its number for the part that is rarely executed.
const COLD: &str = ".cold";

impl<'a> Callers<'a> {
    pub fn new(symbols: &'a Symbols, mut code: Vec<(u64, Cow<'a, [u8]>)>, marks: Marks) -> Callers<'a> {
        code.sort_by_key(|(address, _)| *address);
        Callers { symbols, code, marks }
    }

    /// The function that an address belongs to: of `f.cold` that is `f`. Copies with one caller have one flow.
    pub fn caller(&self, address: u64) -> Option<&'a Symbol> {
        let symbol = self.symbols.containing(address)?;
        let name = self.symbols.name(symbol);
        let Some((name, _)) = name.split_once(COLD) else { return Some(symbol) };
        let namesakes = self.symbols.named(name);
        match &namesakes[..] {
            [one] => Some(one),
            _ => Some(namesakes.into_iter().find(|parent| self.goes_to(parent, symbol)).unwrap_or(symbol)),
        }
    }

    /// How control flows in the caller.
    pub fn flow(&self, caller: &Symbol) -> Result<Flow, Undecodable> {
        let entry = self.part(caller).ok_or(Undecodable::NoCode)?;
        Flow::of(entry, &self.marks, |address| {
            let target = self.symbols.containing(address)?;
            let (parent, _) = self.symbols.name(target).split_once(COLD)?;
            let is_ours = self.symbols.names_at(caller.address).any(|name| name == parent);
            is_ours.then(|| self.part(target))?
        })
    }

    /// The last resort, for a copy in a caller that has no flow; see [`exits::last_instructions`].
    pub fn last_instructions(&self, entry: u64, ranges: &[Range<u64>]) -> (Vec<Exit>, usize) {
        exits::last_instructions(entry, ranges, |range| self.bytes(range.start))
    }

    fn goes_to(&self, from: &Symbol, to: &Symbol) -> bool {
        let mut found = false;
        let within = to.address..to.address.saturating_add(to.size);
        if let Some(part) = self.part(from) {
            let _ = Flow::of(part, &self.marks, |address| {
                found |= within.contains(&address);
                None
            });
        }
        found
    }

    fn part(&self, symbol: &Symbol) -> Option<Part<'_>> {
        let code = self.bytes(symbol.address)?.get(..usize::try_from(symbol.size).ok()?)?;
        Some(Part { address: symbol.address, code })
    }

    /// The bytes from an address to the end of its section.
    fn bytes(&self, address: u64) -> Option<&[u8]> {
        let after = self.code.partition_point(|(start, _)| *start <= address);
        let (start, code) = self.code[..after].last()?;
        code.get(usize::try_from(address - start).ok()?..)
    }
}

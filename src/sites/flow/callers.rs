//! sites/flow/callers.rs: the functions that contain inlined copies, with the parts that the compiler put elsewhere.

use std::ops::Range;

use rayon::prelude::*;

use super::exits;
use super::points::Point;
use super::{Flow, Marks, Part, Undecodable};
use crate::dwarf::InlineCopy;
use crate::sites::code::decode::{self, Control};
use crate::sites::symtab::{Symbol, Symbols};

/// The code of one module, for [`Flow`]s of its functions. Shared by threads.
pub struct Callers<'a> {
    symbols: &'a Symbols,
    /// Executable sections, by address.
    code: Vec<(u64, &'a [u8])>,
    marks: &'a Marks,
}

/// The points where one copy is entered and left, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The first instruction of the copy.
    pub entry: u64,
    /// The points that stand in for the entry, if no probe can be put there.
    pub stand_ins: Vec<Point>,
    /// The points where it is left, by address, each once.
    pub sites: Vec<Point>,
    /// The number of exits on which no probe can be put.
    pub lost: u32,
    /// Why the caller's control flow is not known; the sites are then the last instructions of the copy's ranges.
    pub unread: Option<Undecodable>,
    /// The number of those ranges that do not end with an instruction.
    pub missing: usize,
}

/// The suffix that a compiler puts between the name of a function and the number of its rarely executed part.
const COLD: &str = ".cold";

impl Left {
    /// The points where the copy is entered: usually just its entry.
    pub fn entered(&self) -> impl Iterator<Item = Point> {
        let itself = self.stand_ins.is_empty().then_some(Point::At(self.entry));
        itself.into_iter().chain(self.stand_ins.iter().copied())
    }
}

impl<'a> Callers<'a> {
    /// `code`: executable sections, by address.
    pub fn new(symbols: &'a Symbols, code: Vec<(u64, &'a [u8])>, marks: &'a Marks) -> Callers<'a> {
        Callers { symbols, code, marks }
    }

    /// The function that an address belongs to; for `f.cold`, this is `f`. Copies with one caller share one flow graph.
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

    /// Whether there is code for the symbol.
    pub fn has_code(&self, symbol: &Symbol) -> bool {
        self.part(symbol).is_some()
    }

    /// The control flow graph of the caller.
    pub fn flow(&self, caller: &Symbol) -> Result<Flow, Undecodable> {
        let entry = self.part(caller).ok_or(Undecodable::NoCode)?;
        Flow::of(entry, self.marks, |address| {
            let target = self.symbols.containing(address)?;
            let (parent, _) = self.symbols.name(target).split_once(COLD)?;
            let is_ours = self.symbols.names_at(caller.address).any(|name| name == parent);
            is_ours.then(|| self.part(target))?
        })
    }

    /// Computes where each of the copies is entered and left, on all cores: a caller is read once for all copies in it.
    pub fn left(&self, copies: &[&InlineCopy]) -> Vec<Left> {
        let mut by_caller: Vec<(u64, usize)> = (0..copies.len())
            .into_par_iter()
            .map(|index| (self.caller(copies[index].entry).map_or(0, |caller| caller.address), index))
            .collect();
        by_caller.par_sort_unstable();
        let groups: Vec<&[(u64, usize)]> = by_caller.chunk_by(|a, b| a.0 == b.0).collect();
        let answers: Vec<Vec<Left>> =
            groups.par_iter().map(|group| self.left_in_caller(copies, group)).collect();
        let mut left = vec![Left::default(); copies.len()];
        for (group, answers) in groups.into_iter().zip(answers) {
            for ((_, index), answer) in group.iter().zip(answers) {
                left[*index] = answer;
            }
        }
        left
    }

    fn left_in_caller(&self, copies: &[&InlineCopy], group: &[(u64, usize)]) -> Vec<Left> {
        let caller = group.first().and_then(|(_, first)| self.caller(copies[*first].entry));
        let mut flow = caller.map_or(Err(Undecodable::NoCode), |caller| self.flow(caller));
        let answers = group.iter().map(|(_, index)| {
            let InlineCopy { mut entry, entry_is_exact, ref ranges, .. } = *copies[*index];
            let known = match &mut flow {
                Ok(flow) => {
                    if !entry_is_exact {
                        entry = flow.entered(entry, ranges);
                    }
                    let exits = flow.exits(entry, ranges).map(|exits| (flow.stand_ins(entry), exits));
                    exits.ok_or(Undecodable::Entry(entry))
                }
                Err(error) => Err(*error),
            };
            match known {
                Ok((stand_ins, exits)) => {
                    Left { entry, stand_ins, sites: exits.sites, lost: exits.lost, ..Left::default() }
                }
                Err(error) => {
                    let (sites, missing) = self.last_instructions(entry, ranges);
                    Left { entry, sites, unread: Some(error), missing, ..Left::default() }
                }
            }
        });
        answers.collect()
    }

    /// The last resort, for a copy in a caller that has no flow graph; see [`exits::last_instructions`].
    pub fn last_instructions(&self, entry: u64, ranges: &[Range<u64>]) -> (Vec<Point>, usize) {
        exits::last_instructions(self.marks.machine, entry, ranges, |range| self.bytes(range.start))
    }

    /// The contents of the module's tables.
    pub fn marks(&self) -> &Marks {
        self.marks
    }

    /// The successors of the instruction at an address, in order, with the next instruction first.
    pub fn ways(&self, address: u64) -> Vec<u64> {
        let Some(step) = self.step(address) else { return Vec::new() };
        let mut ways = decode::ways(&step);
        let marked = |marks: &[(u64, u64)]| {
            let first = marks.partition_point(|mark| mark.0 < address);
            marks[first..].iter().take_while(|mark| mark.0 == address).map(|mark| mark.1).collect::<Vec<_>>()
        };
        let labels = marked(&self.marks.jump_labels);
        if !labels.is_empty() {
            ways.push(address + u64::from(step.len));
        }
        ways.extend(labels);
        ways.extend(marked(&self.marks.switches));
        ways.sort_unstable();
        ways.dedup();
        ways
    }

    /// Whether the instruction does nothing but decide where control goes.
    pub(in crate::sites) fn is_branch(&self, address: u64) -> bool {
        self.step(address).is_some_and(|step| matches!(step.control, Control::Jump(_) | Control::Branch(_)))
    }

    fn step(&self, address: u64) -> Option<decode::Step> {
        decode::step(self.marks.machine, self.bytes(address)?, address)
    }

    /// The static keys from which control comes to an instruction.
    pub(in crate::sites) fn keys_to(&self, address: u64) -> Vec<u64> {
        let labels = self.marks.jump_labels.iter();
        let leads = |(key, to): &&(u64, u64)| {
            *to == address || *key < address && address - *key <= 5 && self.ways(*key).contains(&address)
        };
        labels.filter(leads).map(|(key, _)| *key).collect()
    }

    fn goes_to(&self, from: &Symbol, to: &Symbol) -> bool {
        let mut found = false;
        let within = to.address..to.address.saturating_add(to.size);
        if let Some(part) = self.part(from) {
            let _ = Flow::of(part, self.marks, |address| {
                found |= within.contains(&address);
                None
            });
        }
        found
    }

    fn part(&self, symbol: &Symbol) -> Option<Part<'a>> {
        let code = self.bytes(symbol.address)?.get(..usize::try_from(symbol.size).ok()?)?;
        Some(Part { address: symbol.address, code })
    }

    /// The bytes from an address to the end of its section.
    fn bytes(&self, address: u64) -> Option<&'a [u8]> {
        let after = self.code.partition_point(|(start, _)| *start <= address);
        let (start, code) = self.code[..after].last()?;
        code.get(usize::try_from(address - start).ok()?..)
    }
}

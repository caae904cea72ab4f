//! sites/index/resolve.rs: the copies of functions become addresses to probe, those of one caller together.

use std::collections::HashSet;

use rayon::prelude::*;

use super::super::decode;
use super::super::dwarf::{Function, InlineCopy};
use super::super::kernel::Kernel;
use super::super::naming::NoSite;

/// What one module knows of one inlined function. Addresses are those of [`Kernel::symbols`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// There is a definition that was inlined, or could be.
    pub inline: bool,
    /// In the order of the debug information.
    pub entries: Vec<u64>,
    pub exits: Vec<Exit>,
    pub dropped: Dropped,
}

/// Where a copy is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// With this instruction.
    At(u64),
    /// On the way between two instructions.
    Edge { from: u64, to: u64 },
}

/// Copies and boundaries that are no sites, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    pub copies: u32,
    pub freed: u32,
    pub dead: u32,
    pub split_tails: u32,
    pub without_address: u32,
    pub duplicates: u32,
    pub undecodable: u32,
}

/// A copy that can be entered: of which function, its place there, and the function that contains it.
struct Live {
    function: usize,
    copy: usize,
    caller: u64,
}

/// One answer for each of `functions`.
pub fn resolve(kernel: &Kernel, module: usize, functions: &[Function]) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::with_capacity(functions.len());
    let mut live: Vec<Live> = Vec::new();
    for (at, function) in functions.iter().enumerate() {
        known.push(entries(kernel, module, at, function, &mut live));
    }
    live.sort_unstable_by_key(|live| (live.caller, live.function, live.copy));
    let callers: Vec<&[Live]> = live.chunk_by(|a, b| a.caller == b.caller).collect();
    let mut left: Vec<(usize, usize, Option<Vec<Exit>>)> = callers
        .into_par_iter()
        .flat_map_iter(|copies| {
            copies.iter().map(|live| {
                let exits = exits(kernel, module, &functions[live.function].copies[live.copy]);
                (live.function, live.copy, exits)
            })
        })
        .collect();
    left.par_sort_unstable_by_key(|(function, copy, _)| (*function, *copy));
    for copies in left.chunk_by(|a, b| a.0 == b.0) {
        let known = &mut known[copies[0].0];
        let mut seen = HashSet::new();
        for (_, _, exits) in copies {
            match exits {
                Some(exits) => known.exits.extend(exits.iter().filter(|exit| seen.insert(**exit))),
                None => known.dropped.undecodable += 1,
            }
        }
    }
    known
}

fn entries(kernel: &Kernel, module: usize, at: usize, function: &Function, live: &mut Vec<Live>) -> Known {
    let mut known = Known { inline: function.inline, ..Known::default() };
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    known.dropped.split_tails = count(function.split_tails);
    known.dropped.without_address = count(function.without_address);
    known.dropped.copies = count(function.copies.len() + function.without_address);
    let mut seen = HashSet::new();
    for (place, copy) in function.copies.iter().enumerate() {
        match kernel.caller(module, copy.entry) {
            // A copy that cannot be entered is not left either.
            Err(NoSite::Freed) => known.dropped.freed += 1,
            Err(NoSite::Dead) => known.dropped.dead += 1,
            Ok(caller) => {
                if seen.insert(copy.entry) {
                    known.entries.push(copy.entry);
                } else {
                    known.dropped.duplicates += 1;
                }
                live.push(Live { function: at, copy: place, caller: caller.address });
            }
        }
    }
    known
}

/// At the last instruction of each range; an empty copy is left where it is entered.
fn exits(kernel: &Kernel, module: usize, copy: &InlineCopy) -> Option<Vec<Exit>> {
    if copy.ranges.is_empty() {
        return Some(vec![Exit::At(copy.entry)]);
    }
    let mut exits = Vec::new();
    for range in &copy.ranges {
        let code = kernel.code(module, range.start, range.end - range.start);
        exits.push(Exit::At(code.and_then(|code| decode::last_instruction(code, range))?));
    }
    exits.retain(|exit| match exit {
        Exit::At(address) | Exit::Edge { from: address, .. } => kernel.caller(module, *address).is_ok(),
    });
    Some(exits)
}

impl Dropped {
    /// `2 of 7 copies in code that is freed after boot, …`; empty if all became sites.
    pub fn reasons(&self) -> String {
        let reasons = [
            (self.freed, "in code that is freed after boot"),
            (self.dead, "in code that was not linked in"),
            (self.without_address, "without an address"),
            (self.split_tails, "the second half of a split function"),
            (self.duplicates, "at the address of another copy"),
            (self.undecodable, "with a range that is not made of whole instructions"),
        ];
        let reasons: Vec<String> = reasons
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, reason)| format!("{count} {reason}"))
            .collect();
        reasons.join(", ")
    }
}

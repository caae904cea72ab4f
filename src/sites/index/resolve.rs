//! sites/index/resolve.rs: the copies of functions become addresses to probe, those of one caller together.

use std::collections::HashSet;

use super::super::callers::Left;
use super::super::dwarf::{Function, InlineCopy};
use super::super::flow::Undecodable;
use super::super::kernel::Kernel;
use super::super::naming::NoSite;
use super::super::points::Point;

/// What one module knows of one inlined function. Addresses are those of [`Kernel::symbols`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// There is a definition that was inlined, or could be.
    pub inline: bool,
    /// In the order of the debug information.
    pub entries: Vec<Point>,
    pub exits: Vec<Point>,
    pub dropped: Dropped,
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
    /// Ranges that do not end with an instruction, of copies whose caller cannot be read.
    pub undecodable: u32,
    /// Copies whose caller's control flow is not known, and why not in the first case.
    pub unread: u32,
    pub why_unread: Option<Undecodable>,
    /// Ways out that no probe can be put on.
    pub lost: u32,
}

/// One answer for each of `functions`.
pub fn resolve(kernel: &Kernel, module: usize, functions: &[Function]) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::with_capacity(functions.len());
    let mut live: Vec<(usize, &InlineCopy)> = Vec::new();
    for (at, function) in functions.iter().enumerate() {
        known.push(counted(kernel, module, function, |copy| live.push((at, copy))));
    }
    let copies: Vec<&InlineCopy> = live.iter().map(|(_, copy)| *copy).collect();
    let callers = if copies.is_empty() { None } else { kernel.callers(module) };
    let left = match callers {
        Some(callers) => callers.left(&copies),
        None => copies.iter().map(|copy| unread(copy)).collect(),
    };
    let mut seen = (HashSet::new(), HashSet::new());
    let mut last = 0;
    for ((at, _), left) in live.into_iter().zip(left) {
        if last != at {
            seen = Default::default();
            last = at;
        }
        known[at].enter(&left, &mut seen.0);
        known[at].leave(kernel, module, left, &mut seen.1);
    }
    known
}

/// Of a copy in a module whose code is not known.
fn unread(copy: &InlineCopy) -> Left {
    let entered = vec![Point::At(copy.entry)];
    Left { entry: copy.entry, entered, unread: Some(Undecodable::NoCode), ..Left::default() }
}

/// All but the sites; `live` gets the copies that are there.
fn counted<'f>(
    kernel: &Kernel,
    module: usize,
    function: &'f Function,
    mut live: impl FnMut(&'f InlineCopy),
) -> Known {
    let mut known = Known { inline: function.inline, ..Known::default() };
    known.dropped.split_tails = count(function.split_tails);
    known.dropped.without_address = count(function.without_address);
    known.dropped.copies = count(function.copies.len() + function.without_address);
    for copy in &function.copies {
        match kernel.caller(module, copy.entry) {
            // A copy that cannot be entered is not left either.
            Err(NoSite::Freed) => known.dropped.freed += 1,
            Err(NoSite::Dead) => known.dropped.dead += 1,
            Ok(_) => live(copy),
        }
    }
    known
}

impl Known {
    /// Adds where a copy is entered, unless another one is entered there.
    fn enter(&mut self, left: &Left, seen: &mut HashSet<Point>) {
        let before = self.entries.len();
        self.entries.extend(left.entered.iter().filter(|point| seen.insert(**point)));
        self.dropped.duplicates += u32::from(self.entries.len() == before);
    }

    /// Adds where a copy is left, unless another one is left there.
    fn leave(&mut self, kernel: &Kernel, module: usize, left: Left, seen: &mut HashSet<Point>) {
        self.dropped.undecodable += count(left.missing);
        self.dropped.lost += left.lost;
        if let Some(reason) = left.unread {
            self.dropped.unread += 1;
            self.dropped.why_unread.get_or_insert(reason);
        }
        for exit in left.sites {
            if seen.insert(exit) && kernel.caller(module, exit.address()).is_ok() {
                self.exits.push(exit);
            }
        }
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
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

    /// What is to be told with -v, a line each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(why) = self.why_unread {
            let copies = self.unread;
            remarks.push(format!(
                "{copies} inlined copies are left at the ends of their ranges, which is not exact: {why}"
            ));
        }
        if self.lost > 0 {
            remarks.push(format!("{} ways out by a fault cannot be traced", self.lost));
        }
        let reasons = self.reasons();
        if !reasons.is_empty() {
            remarks.push(format!("{} inlined copies; left out: {reasons}", self.copies));
        }
        remarks
    }
}

//! sites/copies/resolve.rs: the addresses to probe for copies of functions, found for all copies of one caller together.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use rayon::prelude::*;

use crate::dwarf::{Function, InlineCopy};
use crate::sites::flow::Undecodable;
use crate::sites::flow::callers::{Callers, Left};
use crate::sites::flow::points::Point;
use crate::sites::kept::known::Known;
use crate::sites::target::naming::NoSite;
use crate::sites::target::{Kernel, ModuleId};

/// Returns one answer for each of `functions`.
pub fn resolve(kernel: &Kernel, module: ModuleId, functions: &[Function]) -> Vec<Known> {
    let (mut known, live): (Vec<Known>, Vec<Vec<&InlineCopy>>) =
        functions.par_iter().map(|function| counted(kernel, module, function)).unzip();
    let copies: Vec<&InlineCopy> = live.iter().flatten().copied().collect();
    let callers = if copies.is_empty() { None } else { kernel.callers(module) };
    let mut left = match &callers {
        Some(callers) => callers.left(&copies),
        None => copies.iter().map(|copy| unread(copy)).collect(),
    };
    if let Some(callers) = &callers {
        together(callers, &live, &mut left);
    }
    let mut rest = &left[..];
    let parts: Vec<&[Left]> = live.iter().filter_map(|live| rest.split_off(..live.len())).collect();
    known.par_iter_mut().zip(parts).for_each(|(known, left)| known.add(kernel, module, left));
    known
}

/// Merges the copies of one function of which calls begin at one instruction, where a probe can fire only once: they are
/// one copy, which is left when the last of them is left. The first of them becomes that copy; the others have no points.
fn together(callers: &Callers<'_>, live: &[Vec<&InlineCopy>], left: &mut [Left]) {
    let (mut at, mut firsts, mut merged) = (0, Vec::new(), Vec::new());
    for copies in live {
        for indices in groups(copies, &left[at..]).into_iter().filter(|indices| indices.len() > 1) {
            let entries: BTreeSet<u64> = indices
                .iter()
                .flat_map(|index| entries(copies[*index], &left[at + index]))
                .copied()
                .collect();
            let ranges = union(indices.iter().flat_map(|index| &copies[*index].ranges));
            let first = copies[indices[0]].clone();
            let evidence = first.evidence.known();
            merged.push(InlineCopy { entries: entries.into_iter().collect(), evidence, ranges, ..first });
            let doubt = indices.iter().find_map(|index| left[at + index].doubt);
            firsts.push((at + indices[0], doubt));
            for index in &indices[1..] {
                let other = &mut left[at + index];
                (other.entries, other.sites, other.lost, other.missing) = (Vec::new(), Vec::new(), 0, 0);
                other.doubt = None;
            }
        }
        at += copies.len();
    }
    let answers = callers.left(&Vec::from_iter(&merged));
    for ((first, doubt), answer) in firsts.into_iter().zip(answers) {
        left[first] = Left { doubt, ..answer };
    }
}

/// The instructions where calls of a copy begin.
fn entries<'a>(copy: &'a InlineCopy, left: &'a Left) -> &'a [u64] {
    if copy.entries.len() < 2 { std::slice::from_ref(&left.entry) } else { &copy.entries }
}

/// The copies of a function by their numbers, in groups of which calls begin at the same instructions.
fn groups(copies: &[&InlineCopy], left: &[Left]) -> Vec<Vec<usize>> {
    let mut group_at: HashMap<u64, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, (copy, left)) in copies.iter().zip(left).enumerate() {
        let entries = entries(copy, left);
        let met: BTreeSet<usize> = entries.iter().filter_map(|entry| group_at.get(entry).copied()).collect();
        let mut met = met.into_iter();
        let group = met.next().unwrap_or(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        // A copy can join groups that had nothing in common before.
        for other in met {
            let moved = std::mem::take(&mut groups[other]);
            groups[group].extend(moved);
            group_at.values_mut().filter(|at| **at == other).for_each(|at| *at = group);
        }
        groups[group].push(index);
        group_at.extend(entries.iter().map(|entry| (*entry, group)));
    }
    groups
}

/// The union of the ranges, sorted and disjoint.
fn union<'r>(ranges: impl Iterator<Item = &'r Range<u64>>) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.cloned().collect();
    sorted.sort_unstable_by_key(|range| (range.start, range.end));
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match all.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

/// The exits of a copy in a module whose code is not known.
fn unread(copy: &InlineCopy) -> Left {
    let entries = vec![Point::At(copy.entry())];
    Left { entry: copy.entry(), entries, unread: Some(Undecodable::NoCode), ..Left::default() }
}

/// Everything but the sites, and the copies that are in the code.
fn counted<'f>(kernel: &Kernel, module: ModuleId, function: &'f Function) -> (Known, Vec<&'f InlineCopy>) {
    let mut known = Known { inline: function.inline, ..Known::default() };
    known.dropped.split_tails = count(function.split_tails);
    known.dropped.without_address = count(function.without_address);
    known.dropped.copies = count(function.copies.len() + function.without_address);
    let mut live = Vec::new();
    for copy in &function.copies {
        match kernel.caller(module, copy.entry()) {
            // A copy that cannot be entered is not left either.
            Err(NoSite::Freed) => known.dropped.freed += 1,
            Err(NoSite::Dead) => known.dropped.dead += 1,
            Ok(_) => live.push(copy),
        }
    }
    (known, live)
}

impl Known {
    /// Adds the sites of the copies.
    fn add(&mut self, kernel: &Kernel, module: ModuleId, copies: &[Left]) {
        let (mut entered, mut left) = (HashSet::new(), HashSet::new());
        for copy in copies {
            self.enter(copy, &mut entered);
            self.leave(kernel, module, copy, &mut left);
        }
    }

    /// Adds the points where a copy is entered, unless another one is entered there.
    fn enter(&mut self, left: &Left, seen: &mut HashSet<Point>) {
        let before = self.entries.len();
        self.entries.extend(left.entries.iter().copied().filter(|point| seen.insert(*point)));
        self.dropped.duplicates += u32::from(self.entries.len() == before);
    }

    /// Adds the points where a copy is left, unless another one is left there.
    fn leave(&mut self, kernel: &Kernel, module: ModuleId, left: &Left, seen: &mut HashSet<Point>) {
        self.dropped.undecodable += count(left.missing);
        self.dropped.lost += left.lost;
        if let Some(reason) = left.unread {
            self.dropped.unread += 1;
            self.dropped.why_unread.get_or_insert(reason);
        }
        if let Some(doubt) = left.doubt {
            self.dropped.doubtful += 1;
            self.dropped.why_doubtful.get_or_insert(doubt);
        }
        for exit in left.sites.iter().copied() {
            if !seen.insert(exit) {
                self.dropped.shared += 1;
            } else if kernel.caller(module, exit.address()).is_ok() {
                self.exits.push(exit);
            }
        }
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

//! The comparison of both numbers, pair by pair, and the rules that leave pairs out.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use super::calls::{Calls, Pair};
use super::places::Left;

struct Difference {
    function: String,
    /// The reason to leave it out, if it has one.
    left: Option<Left>,
}

#[derive(Default)]
pub(super) struct Comparison {
    functions: BTreeSet<String>,
    pairs: usize,
    calls: u64,
    differences: Vec<Difference>,
    /// The number of pairs that were left out, and how many of them are equal.
    left: BTreeMap<Left, [usize; 2]>,
    /// The number of places that were counted in callers built without the hooks.
    without: usize,
}

/// The functions with a pair that differs.
pub(super) fn differing<'a>(names: &[&'a str], ours: &Calls, theirs: &Calls) -> Vec<&'a str> {
    let pairs: BTreeSet<&Pair> = ours.counts.keys().chain(theirs.counts.keys()).collect();
    let differ = pairs.into_iter().filter(|pair| ours.counts.get(pair) != theirs.counts.get(pair));
    let functions: BTreeSet<&str> = differ.map(|pair| &*pair.0).collect();
    names.iter().copied().filter(|name| functions.contains(name)).collect()
}

impl Comparison {
    /// Compares the counts of these functions, prints and counts the differences.
    pub(super) fn add(
        &mut self,
        names: &[&str],
        ours: &Calls,
        theirs: &Calls,
        left: &BTreeMap<Pair, Left>,
    ) -> usize {
        let before = self.differences.len();
        self.without += ours.without;
        if ours.unnamed > 0 {
            println!(
                "{} refused places are unknown: dtrace names the places of a few functions only",
                ours.unnamed
            );
        }
        let names: BTreeSet<&str> = names.iter().copied().collect();
        let all: BTreeSet<&Pair> = ours.counts.keys().chain(theirs.counts.keys()).collect();
        for pair in all.into_iter().filter(|pair| names.contains(&*pair.0)) {
            let of = |calls: &Calls| calls.counts.get(pair).copied().unwrap_or_default();
            let (left, ours, theirs) = (left.get(pair).copied(), of(ours), of(theirs));
            if let Some(left) = left {
                let [all, equal] = self.left.entry(left).or_default();
                *all += 1;
                *equal += usize::from(ours == theirs);
            } else {
                self.pairs += 1;
                self.calls += theirs.enters;
                if pair.0 != pair.1 {
                    self.functions.insert(pair.0.clone());
                }
            }
            if ours != theirs {
                let why = left.map_or(String::new(), |left| format!(", {}", word(left)));
                println!(
                    "{} in {}: {} entries and {} returns, {} and {} by the kernel{why}",
                    pair.0, pair.1, ours.enters, ours.exits, theirs.enters, theirs.exits
                );
                self.differences.push(Difference { function: pair.0.clone(), left });
            }
        }
        self.differences.len() - before
    }

    /// Prints a summary. Success means that enough was compared and nothing differs.
    pub(super) fn report(&self, least: usize) -> ExitCode {
        for (left, [all, equal]) in &self.left {
            println!("{all} pairs left out, {equal} of them equal: {}", word(*left));
        }
        println!("{} places left out: the caller is built without the hooks", self.without);
        let counted = |difference: &&Difference| difference.left.is_none();
        let differ: Vec<&Difference> = self.differences.iter().filter(counted).collect();
        let functions: BTreeSet<&str> = differ.iter().map(|difference| &*difference.function).collect();
        println!(
            "{} inlined functions in {} pairs of a function and a caller, {} calls: {} pairs differ, of {} functions",
            self.functions.len(),
            self.pairs,
            self.calls,
            differ.len(),
            functions.len()
        );
        if differ.is_empty() && self.functions.len() >= least { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn word(left: Left) -> &'static str {
    match left {
        Left::Shared => "copies share a way out, by what -v says",
        Left::Refused => "a place was refused",
        Left::Inexact => "a copy is not exact, by what kinst says",
    }
}

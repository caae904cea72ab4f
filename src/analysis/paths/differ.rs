//! analysis/paths/differ.rs: --differ: the first branch at which calls diverge from the others.

use super::lines::{self, Decided, Decision, Line};
use super::program::Group;
use super::ways::Way;
use std::collections::{HashMap, HashSet};

/// Calls that diverge from the others at one branch.
pub(crate) struct Parting {
    pub calls: u64,
    /// The line, with their decision at the branch.
    pub line: Line,
    pub decided: Decided,
    /// The other calls at the same branch: the number that took each exit, and the values.
    pub others: Vec<(u64, Decided)>,
    /// Whether only the order of execution differs: other calls took each of the branches too.
    pub by_order: bool,
}

/// The result of the comparison.
pub(crate) struct Comparison {
    pub failed: u64,
    pub others: u64,
    /// The branches at which calls diverge, by number of calls, highest first.
    pub partings: Vec<Parting>,
    /// Calls whose whole path equals that of others.
    pub same: u64,
    /// Calls that ended in a tail call: their return values are unknown.
    pub unknown: u64,
}

/// A decision on a path, with its line.
struct At {
    line: usize,
    branch: usize,
    key: Decision,
}

/// Compares the paths of calls for which the predicate is true with the paths of the others.
pub(crate) fn compare(ways: &[Way], groups: &[Group]) -> Comparison {
    let all: Vec<(u64, u64, Vec<Line>, Vec<At>)> = ways
        .iter()
        .filter(|way| !way.goes_on())
        .map(|way| {
            let lines = lines::lines(way, groups);
            let decisions = decisions(&lines);
            (way.failed, way.calls - way.failed, lines, decisions)
        })
        .collect();
    let keys = |decisions: &[At]| decisions.iter().map(|at| at.key).collect::<Vec<_>>();
    let good: Vec<Vec<Decision>> = all.iter().filter(|way| way.1 > 0).map(|way| keys(&way.3)).collect();
    let taken: HashSet<Decision> = good.iter().flatten().copied().collect();
    let mut found: HashMap<Decision, Parting> = HashMap::new();
    let mut same = 0;
    for (failed, _, lines, decisions) in all.iter().filter(|way| way.0 > 0) {
        let alone = decisions.iter().find(|at| !taken.contains(&at.key));
        let at = alone.or_else(|| decisions.get(common(&keys(decisions), &good)));
        let Some(at) = at.filter(|_| !good.is_empty()) else {
            same += failed;
            continue;
        };
        let line = &lines[at.line];
        let decided = &line.branches[at.branch];
        match found.get_mut(&at.key) {
            Some(parting) => {
                parting.calls += failed;
                parting.decided.join(decided);
            }
            None => {
                let others = others(&all, at.key);
                let (line, decided, by_order) = (line.clone(), decided.clone(), alone.is_none());
                found.insert(at.key, Parting { calls: *failed, line, decided, others, by_order });
            }
        }
    }
    let mut partings: Vec<Parting> = found.into_values().collect();
    partings.sort_by_key(|parting| (std::cmp::Reverse(parting.calls), parting.decided.key));
    Comparison {
        failed: all.iter().map(|way| way.0).sum(),
        others: all.iter().map(|way| way.1).sum(),
        partings,
        same,
        unknown: ways.iter().filter(|way| way.goes_on()).map(|way| way.calls).sum(),
    }
}

/// The length of the longest prefix that a path shares with one of the others.
fn common(way: &[Decision], others: &[Vec<Decision>]) -> usize {
    let both = |other: &Vec<Decision>| way.iter().zip(other).take_while(|(one, other)| one == other).count();
    others.iter().map(both).max().unwrap_or(0)
}

fn decisions(lines: &[Line]) -> Vec<At> {
    let each = lines.iter().enumerate().flat_map(|(line, of)| {
        of.branches.iter().enumerate().map(move |(branch, decided)| At { line, branch, key: decided.key })
    });
    each.collect()
}

/// Returns the decisions of other calls at the same branch.
fn others(all: &[(u64, u64, Vec<Line>, Vec<At>)], key: Decision) -> Vec<(u64, Decided)> {
    let mut others: Vec<(u64, Decided)> = Vec::new();
    for (_, calls, lines, decisions) in all.iter().filter(|way| way.1 > 0) {
        let mut counted = HashSet::new();
        for at in decisions.iter().filter(|at| at.key.of == key.of && at.key.insn == key.insn) {
            let decided = &lines[at.line].branches[at.branch];
            let calls = if counted.insert(at.key) { *calls } else { 0 };
            match others.iter_mut().find(|(_, other)| other.key == at.key) {
                Some((number, other)) => {
                    *number += calls;
                    other.join(decided);
                }
                None => others.push((calls, decided.clone())),
            }
        }
    }
    others
}

impl Decided {
    fn join(&mut self, other: &Decided) {
        self.values.iter_mut().zip(&other.values).for_each(|(mine, theirs)| mine.seen.join(&theirs.seen));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::paths::gathered::Seen;
    use crate::analysis::paths::ways::Of;

    fn key(insn: usize, to: usize) -> Decision {
        Decision { of: Of { group: 0, member: 0 }, insn: (0, insn), to: Some((0, to)) }
    }

    #[test]
    fn the_longest_common_beginning() {
        let way = [key(1, 2), key(3, 4), key(5, 6)];
        assert_eq!(common(&way, &[]), 0);
        assert_eq!(common(&way, &[vec![key(1, 2)], vec![key(1, 2), key(3, 9)]]), 1);
        assert_eq!(common(&way, &[vec![key(1, 2), key(3, 4), key(5, 6), key(7, 8)]]), 3);
        assert!(Seen::default().values.is_empty());
    }
}

//! sites/copies/together.rs: copies of one function that share an entry, and the conditions that copies begin with.

use std::collections::BTreeSet;

use foldhash::HashMap;

use crate::flow::callers::{Callers, Conditions, Left};
use crate::flow::doubts::Doubt;
use kinst_dwarf::{InlineCopy, merge};

/// Merges copies of one function whose calls begin at the same instruction, because a probe fires there only
/// once. They become one copy, which is exited when the last of them is. The first one becomes that copy; the
/// others have no points.
///
/// `live`: the copies of each function, in the order of `left`.
pub fn together(callers: &Callers<'_>, live: &[Vec<&InlineCopy>], left: &mut [Left]) {
    let (mut at, mut firsts, mut merged) = (0, Vec::new(), Vec::new());
    for copies in live {
        for indices in groups(copies, &left[at..]).into_iter().filter(|indices| indices.len() > 1) {
            let entries: BTreeSet<u64> = indices
                .iter()
                .flat_map(|index| entries(copies[*index], &left[at + index]))
                .copied()
                .collect();
            let ranges = merge(indices.iter().flat_map(|index| copies[*index].ranges.clone()).collect());
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

/// Doubts copies whose calls begin at the same instruction if control reaches it on several paths: each may
/// be a separate call. If it has a single predecessor, both calls begin there.
pub fn doubt_shared(live: &[Vec<&InlineCopy>], left: &mut [Left]) {
    for (copies, left) in of_each(live, left) {
        for indices in groups(copies, left).into_iter().filter(|indices| indices.len() > 1) {
            let Some(joined) = indices.iter().find_map(|index| left[*index].joined) else { continue };
            indices.iter().for_each(|index| {
                left[*index].doubt.get_or_insert(Doubt::Shared(joined));
            });
        }
    }
}

/// Returns the copies of each function with their results.
fn of_each<'l, 'c>(
    live: &'l [Vec<&'c InlineCopy>],
    left: &'l mut [Left],
) -> impl Iterator<Item = (&'l [&'c InlineCopy], &'l mut [Left])> {
    let mut rest = left;
    live.iter().map_while(move |copies| Some((&copies[..], rest.split_off_mut(..copies.len())?)))
}

/// Returns the instructions where calls of a copy begin.
fn entries<'a>(copy: &'a InlineCopy, left: &'a Left) -> &'a [u64] {
    if copy.entries.len() < 2 { std::slice::from_ref(&left.entry) } else { &copy.entries }
}

/// Groups a function's copies, by index, if their calls begin at common instructions.
fn groups(copies: &[&InlineCopy], left: &[Left]) -> Vec<Vec<usize>> {
    let mut group_at: HashMap<u64, usize> = HashMap::default();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, (copy, left)) in copies.iter().zip(left).enumerate() {
        let entries = entries(copy, left);
        let met: BTreeSet<usize> = entries.iter().filter_map(|entry| group_at.get(entry).copied()).collect();
        let mut met = met.into_iter();
        let group = met.next().unwrap_or(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        // A copy can connect groups that were disjoint before.
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

/// Doubts copies whose first condition may belong to the caller: they begin with two conditions of one
/// statement. If most copies of a function do so, both belong to the function, unless the caller ignores the
/// result.
pub fn doubt_conditions(live: &[Vec<&InlineCopy>], left: &mut [Left]) {
    /// This many copies show how many conditions a function has.
    const ENOUGH: usize = 4;
    for (_, left) in of_each(live, left) {
        let count = |is: fn(&Conditions) -> bool| left.iter().filter(|left| is(&left.conditions)).count();
        let ones = count(|conditions| *conditions == Conditions::One);
        let twos = count(|conditions| matches!(conditions, Conditions::Two { .. }));
        let has_two = twos >= ENOUGH && twos > 2 * ones;
        for left in left.iter_mut().filter(|left| left.doubt.is_none()) {
            if let Conditions::Two { at, joins } = left.conditions
                && (joins || !has_two)
            {
                left.doubt = Some(Doubt::Combined(at));
            }
        }
    }
}

//! sites/flow/routes.rs: chooses where to probe in a function, and derives a call's path from the hits.
//!
//! Each branch has a witness on each of its edges, because the values on which it depends are of interest.
//! Between two witnesses control passes only arcs without one, so these must not leave a choice: where they
//! would, a block outside a spanning tree gets a witness too (Ball and Larus 1994). Code that cannot have a
//! probe may still leave a choice; then a piece of the path is unknown. Arcs are those of the counting graph
//! in counts.rs.

use std::collections::HashMap;
use std::ops::Range;

use super::counts::{AROUND, Counts, Room, Way, What, beginning, end, root};
use super::graph::Flow;
use super::points::{Over, Point};

/// The witnesses of a function or copy, and the arcs between them.
#[derive(Debug)]
pub struct Routes {
    ways: Vec<Way>,
    /// The arcs with witnesses, with the point of each.
    witnesses: HashMap<u32, Point>,
    /// The arcs without, by the node where each begins.
    free: Vec<Vec<u32>>,
    /// Whether each block is selected.
    chosen: Vec<bool>,
}

/// A part of a call's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The block with this index in the flow graph was executed.
    Block(u32),
    /// An edge of a branch was taken.
    Edge {
        /// Index of the source block.
        from: u32,
        /// Index of the target block.
        to: u32,
        /// Index of its event in the list of hits.
        event: usize,
    },
    /// Several paths lead from the previous step to the next one.
    Unknown,
}

/// A hit of a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The witness's arc, as in [`Routes::witnesses`].
    pub way: u32,
    /// Its index in the list of hits.
    pub event: usize,
}

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// At this instruction, which was executed.
    After(u64),
    /// Before this instruction.
    Before(u64),
    /// On an edge from this instruction.
    Over(u64),
}

/// Maximum length of a piece without a witness, in arcs.
const FAR: usize = 4096;

impl Flow {
    /// Chooses the witnesses in the blocks with instructions of `ranges`, or in all blocks; `room` and
    /// `leads` are those of [`Flow::counts`]. `entries` has the instructions where calls begin.
    pub fn routes(
        &self,
        ranges: Option<&[Range<u64>]>,
        entries: &[u64],
        room: impl Fn(u64) -> Room,
        leads: impl Fn(u64, u64) -> Option<bool>,
    ) -> Routes {
        let (Counts { mut ways, nodes, own }, costs) = self.placed(ranges, room, leads);
        let mut witnesses = HashMap::new();
        for (number, way) in (0..).zip(&ways) {
            if let (What::Edge { from, .. }, [point]) = (way.what, &way.points[..])
                && let Point::Edge { over, .. } = *point
                && over == Over::default()
                && point.address() == self.bounds(from).1
            {
                witnesses.insert(number, *point);
            }
        }
        // The end of a call needs no witness: its return is one.
        let entered: Vec<u32> = entries.iter().filter_map(|entry| self.block_over(*entry)).collect();
        for way in &mut ways {
            let may = matches!(way.what, What::Block(block) if !entered.contains(&block) && !self.next(block).is_empty());
            if !may && !matches!(way.what, What::Edge { .. }) {
                way.points.clear();
            }
            if let What::Leave(_) = way.what {
                way.to = nodes as u32;
            }
        }
        let mut dearest: Vec<u32> =
            (0..ways.len() as u32).filter(|way| !witnesses.contains_key(way)).collect();
        let is_block = |way: &Way| matches!(way.what, What::Block(_)) && !way.points.is_empty();
        dearest.sort_by(|one, other| {
            let cost = |way: u32| match is_block(&ways[way as usize]) {
                true => costs[way as usize],
                false => f64::INFINITY,
            };
            cost(*other).total_cmp(&cost(*one))
        });
        let mut trees: Vec<u32> = (0..=nodes as u32).collect();
        for number in dearest {
            let way = &ways[number as usize];
            // Control enters where the call begins.
            if way.from == AROUND {
                continue;
            }
            let [one, other] = [way.from, way.to].map(|node| root(&mut trees, node));
            if one == other && is_block(way) {
                witnesses.insert(number, way.points[0]);
            }
            trees[one as usize] = other;
        }
        let mut free = vec![Vec::new(); nodes + 1];
        for (number, way) in (0..).zip(&ways) {
            if way.from != AROUND && !witnesses.contains_key(&number) {
                free[way.from as usize].push(number);
            }
        }
        Routes { ways, witnesses, free, chosen: own.iter().map(Option::is_some).collect() }
    }

    /// Derives the path of a call from the hits, in order; `None` if they do not form a path, because some
    /// are missing.
    pub fn way(&self, routes: &Routes, entry: u64, passed: &[Passed], left: Left) -> Option<Vec<Step>> {
        let mut node = beginning(self.block_over(entry)?);
        let mut steps = Vec::new();
        for passed in passed {
            let way = routes.ways.get(passed.way as usize)?;
            routes.go(node, &|to| to == way.from, &mut steps)?;
            steps.push(match way.what {
                What::Edge { from, to } => Step::Edge { from, to, event: passed.event },
                What::Block(block) => Step::Block(block),
                What::Enter(_) | What::Leave(_) => return None,
            });
            node = way.to;
        }
        let (Left::After(address) | Left::Before(address) | Left::Over(address)) = left;
        let block = self.block_over(address)?;
        let ends = routes.chosen[block as usize];
        let begins = self.bounds(block).0 == address;
        match left {
            Left::After(_) | Left::Over(_) if ends => routes.go(node, &|to| to == end(block), &mut steps)?,
            Left::Before(_) if ends && begins => routes.go(node, &|to| to == beginning(block), &mut steps)?,
            Left::Before(_) if ends => routes.go(node, &|to| to == end(block), &mut steps)?,
            _ => routes.go(node, &|to| to as usize + 1 == routes.free.len(), &mut steps)?,
        }
        Some(steps)
    }
}

impl Routes {
    /// Returns the arcs with witnesses, by index.
    pub fn witnesses(&self) -> impl Iterator<Item = (u32, What, Point)> {
        let mut all: Vec<_> =
            self.witnesses.iter().map(|(way, point)| (*way, self.ways[*way as usize].what, *point)).collect();
        all.sort_unstable_by_key(|(way, ..)| *way);
        all.into_iter()
    }

    /// Returns the number of selected blocks.
    pub fn blocks(&self) -> usize {
        self.chosen.iter().filter(|chosen| **chosen).count()
    }

    /// Returns the blocks with several successors.
    pub fn forks(&self) -> impl Iterator<Item = u32> {
        let mut edges: Vec<u32> = self.ways.iter().filter_map(|way| edge(way.what)).collect();
        edges.sort_unstable();
        edges
            .chunk_by(|one, other| one == other)
            .filter(|same| same.len() > 1)
            .map(|same| same[0])
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Follows arcs without witnesses to a node; `None` if they do not lead there.
    fn go(&self, from: u32, is_end: &dyn Fn(u32) -> bool, steps: &mut Vec<Step>) -> Option<()> {
        let mut found: Option<Vec<u32>> = None;
        // Enumerates simple paths depth first. A second path makes the route ambiguous, and so does a cycle
        // on the only one.
        let mut path: Vec<(u32, u32, usize)> = vec![(from, u32::MAX, 0)];
        let (mut choice, mut tried) = (false, 0);
        let mut on = vec![from];
        while let Some((node, _, next)) = path.last_mut() {
            let (node, tries) = (*node, *next);
            *next += 1;
            tried += 1;
            if tries == 0 && is_end(node) {
                choice = found.is_some();
                found.get_or_insert_with(|| path.iter().skip(1).map(|(_, way, _)| *way).collect());
            }
            if choice || tried > FAR {
                choice = true;
                break;
            }
            let way = self.free[node as usize].get(tries).copied();
            match way.map(|way| (way, self.ways[way as usize].to)) {
                Some((_, to)) if on.contains(&to) => {}
                Some((way, to)) => {
                    on.push(to);
                    path.push((to, way, 0));
                }
                None => {
                    path.pop();
                    on.pop();
                }
            }
        }
        let found = found?;
        if choice || self.may_turn(from, &found) {
            steps.push(Step::Unknown);
            return Some(());
        }
        steps.extend(found.iter().filter_map(|way| match self.ways[*way as usize].what {
            What::Block(block) => Some(Step::Block(block)),
            _ => None,
        }));
        Some(())
    }

    /// Whether control may have taken a cycle without witnesses from a node of the route.
    fn may_turn(&self, from: u32, route: &[u32]) -> bool {
        let nodes = route.iter().map(|way| self.ways[*way as usize].to).chain([from]);
        // Without a fork, the route is the only path.
        let forks: Vec<u32> = nodes.filter(|node| self.free[*node as usize].len() > 1).collect();
        forks.iter().any(|fork| {
            let (mut seen, mut next) = (vec![false; self.free.len()], vec![*fork]);
            while let Some(node) = next.pop() {
                for way in &self.free[node as usize] {
                    let to = self.ways[*way as usize].to;
                    if to == *fork {
                        return true;
                    }
                    if !std::mem::replace(&mut seen[to as usize], true) {
                        next.push(to);
                    }
                }
            }
            false
        })
    }
}

/// Returns the source block of an edge.
fn edge(what: What) -> Option<u32> {
    match what {
        What::Edge { from, .. } => Some(from),
        _ => None,
    }
}

//! sites/flow/counts.rs: chooses where to count in a function, and derives the counts of all blocks and edges.
//!
//! Control that reaches a node also leaves it. In the counting graph, a block is an arc too, from the node
//! where paths join to the node where they part; one more node represents the code's surroundings. Arcs are
//! the `ways` of this file. Only the arcs outside a spanning tree have to be counted (Knuth 1968); the tree
//! gets the arcs that are executed most or cannot have a probe.

use std::collections::HashMap;
use std::ops::Range;

use super::block::{Block, Ending, NONE};
use super::graph::{Flow, Order};
use super::points::{Over, Point};

/// The arcs to count, and the graph from which the others are derived.
#[derive(Debug)]
pub struct Counts {
    pub(super) ways: Vec<Way>,
    /// Number of nodes: the surroundings, then the beginning and the end of each block.
    pub(super) nodes: usize,
    /// Index of each block's arc; `None` if the block is not selected.
    pub(super) own: Vec<Option<u32>>,
}

/// Something that is executed: an arc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The block with this index in the flow graph.
    Block(u32),
    /// From one block to another.
    Edge {
        /// Index of the source block.
        from: u32,
        /// Index of the target block.
        to: u32,
    },
    /// From outside the selected code to this block.
    Enter(u32),
    /// From this block to outside.
    Leave(u32),
}

#[derive(Debug)]
pub(super) struct Way {
    pub what: What,
    pub from: u32,
    pub to: u32,
    /// Points that together fire each time; empty if it cannot be counted.
    pub points: Vec<Point>,
    /// Whether it is counted.
    pub(super) counted: bool,
}

/// The execution counts of all arcs.
#[derive(Debug)]
pub struct Solved {
    /// Parallel to the arcs; `None` if it cannot be derived.
    counts: Vec<Option<u64>>,
    /// The maximum difference between inflow and outflow of a node: caused by control that was in between
    /// when counting began or ended, or by calls that did not return.
    pub imbalance: u64,
}

/// Whether an instruction can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It can have a probe.
    Free,
    /// It can have a probe that costs about ten times as much.
    Dear,
    /// It cannot have a probe.
    None,
    /// It is padding: unless a branch leads to it, it only aligns the next instruction.
    Padding,
}

impl Room {
    /// Whether the instruction can have a probe.
    pub fn has_space(self) -> bool {
        matches!(self, Room::Free | Room::Dear)
    }

    /// Returns the cost of a probe, relative to the usual one.
    fn cost(self) -> f64 {
        const DEAR: f64 = 10.0;
        if self == Room::Dear { DEAR } else { 1.0 }
    }
}

/// The cost of an edge as a share of its branch's: below one half, since both are hit together.
const EDGE: f64 = 0.45;

pub(super) const AROUND: u32 = 0;

pub(super) fn beginning(block: u32) -> u32 {
    1 + 2 * block
}

pub(super) fn end(block: u32) -> u32 {
    2 + 2 * block
}

impl Flow {
    /// Chooses where to count in the blocks with instructions of `ranges`, or in all blocks. `room` says
    /// whether an instruction can be counted; `leads` says whether a branch goes to an address in memory, or
    /// `None` if that is unknown.
    pub fn counts(
        &self,
        ranges: Option<&[Range<u64>]>,
        room: impl Fn(u64) -> Room,
        leads: impl Fn(u64, u64) -> Option<bool>,
    ) -> Counts {
        let (mut counts, costs) = self.placed(ranges, room, leads);
        counts.span(&costs);
        counts
    }

    /// Returns all arcs that can be counted, with their costs; nothing is chosen yet.
    pub(super) fn placed(
        &self,
        ranges: Option<&[Range<u64>]>,
        room: impl Fn(u64) -> Room,
        leads: impl Fn(u64, u64) -> Option<bool>,
    ) -> (Counts, Vec<f64>) {
        let order = self.order();
        let mut chosen = self.chosen(ranges);
        for (block, chosen) in chosen.iter_mut().enumerate().filter(|(block, _)| !order.reached[*block]) {
            let Block { first, end, .. } = self.blocks[block];
            *chosen &= (first..end).any(|insn| room(self.address[insn as usize]) != Room::Padding);
        }
        let room = |insn: u32| match room(self.address[insn as usize]) {
            _ if self.is_patched(insn) => Room::None,
            room => room,
        };
        let mut counts = Counts {
            ways: Vec::with_capacity(3 * self.blocks.len()),
            nodes: 1 + 2 * self.blocks.len(),
            own: vec![None; self.blocks.len()],
        };
        let often = self.often(&order);
        let mut costs = Vec::with_capacity(3 * self.blocks.len());
        for block in (0..self.blocks.len() as u32).filter(|block| chosen[*block as usize]) {
            counts.own[block as usize] = Some(counts.ways.len() as u32);
            let mut add = |what, from, to, points: Vec<Point>, often: f64| {
                let cost =
                    |point: &Point| self.insn_at(point.address()).map_or(1.0, |insn| room(insn).cost());
                let cost = points.iter().map(cost).reduce(f64::max);
                costs.push(cost.map_or(f64::INFINITY, |cost| often * cost));
                counts.ways.push(Way { what, from, to, points, counted: false });
            };
            let mine = often[block as usize];
            add(What::Block(block), beginning(block), end(block), self.within(block, &room), mine);
            let from_outside = |from: &u32| !chosen[*from as usize];
            if self.blocks[block as usize].is_root || self.previous(block).iter().any(from_outside) {
                add(What::Enter(block), AROUND, beginning(block), Vec::new(), 0.0);
            }
            let (inside, outside): (Vec<u32>, Vec<u32>) =
                self.next(block).iter().partition(|to| chosen[**to as usize]);
            for to in &inside {
                // All edges of a branch are counted at one place, and then its block needs no other.
                let Some(points) = self.edge(block, *to, &room, &leads) else { continue };
                add(What::Edge { from: block, to: *to }, end(block), beginning(*to), points, EDGE * mine);
            }
            let leaves = self.blocks[block as usize].outside.is_some() || self.may_not_return(block);
            if !outside.is_empty() || inside.is_empty() || leaves {
                add(What::Leave(block), end(block), AROUND, Vec::new(), 0.0);
            }
        }
        (counts, costs)
    }

    /// Returns the block of an instruction.
    pub fn block_at(&self, address: u64) -> Option<u32> {
        self.insn_at(address).map(|insn| self.block[insn as usize])
    }

    /// Returns the block of the instruction that begins at or before an address.
    pub fn block_over(&self, address: u64) -> Option<u32> {
        let part = self.parts.iter().find(|part| part.holds(address))?;
        let insn = part.places[..=(address - part.address) as usize].iter().rfind(|insn| **insn != NONE)?;
        Some(self.block[*insn as usize])
    }

    /// Returns the addresses of a block's first and last instructions.
    pub fn bounds(&self, block: u32) -> (u64, u64) {
        let block = &self.blocks[block as usize];
        (self.address[block.first as usize], self.address[block.end as usize - 1])
    }

    /// Returns the addresses of a block's instructions.
    pub fn addresses(&self, block: u32) -> &[u64] {
        let Block { first, end, .. } = self.blocks[block as usize];
        &self.address[first as usize..end as usize]
    }

    /// Whether a block ends with a branch, not with a fault.
    pub fn decides(&self, block: u32) -> bool {
        self.blocks[block as usize].ending == Ending::Plain
    }

    /// Returns the start of each part of the function's code; the first part has its entry.
    pub fn parts(&self) -> impl Iterator<Item = u64> {
        self.parts.iter().map(|part| part.address)
    }

    fn chosen(&self, ranges: Option<&[Range<u64>]>) -> Vec<bool> {
        let Some(ranges) = ranges else { return vec![true; self.blocks.len()] };
        let mut chosen = vec![false; self.blocks.len()];
        for insn in ranges.iter().flat_map(|range| self.insns_in(range)) {
            chosen[self.block[insn as usize] as usize] = true;
        }
        chosen
    }

    /// Returns where a block is counted: at one of the cheapest instructions, preferably where a jump fits within the
    /// block.
    fn within(&self, block: u32, room: &impl Fn(u32) -> Room) -> Vec<Point> {
        const JUMP: u64 = 5;
        let block = &self.blocks[block as usize];
        let last = self.address[block.end as usize - 1];
        let fits = |insn: u32| self.address[insn as usize] + JUMP <= last;
        let insns = (block.first..block.end).filter(|insn| room(*insn).has_space());
        let best = insns.min_by_key(|insn| (room(*insn) == Room::Dear, !fits(*insn)));
        best.map(|insn| vec![Point::At(self.address[insn as usize])]).unwrap_or_default()
    }

    /// Returns the points on an edge; `None` if it cannot be taken because the kernel has replaced the branch.
    fn edge(
        &self,
        from: u32,
        to: u32,
        room: &impl Fn(u32) -> Room,
        leads: &impl Fn(u64, u64) -> Option<bool>,
    ) -> Option<Vec<Point>> {
        let block = &self.blocks[from as usize];
        let last = block.end - 1;
        let (branch, target) =
            (self.address[last as usize], self.address[self.blocks[to as usize].first as usize]);
        // With a single edge, the block itself is counted.
        if self.next(from).len() + usize::from(block.outside.is_some()) < 2 || block.ending != Ending::Plain {
            return Some(Vec::new());
        }
        let points = match self.is_key(last) {
            true => self.over_key(last, target).unwrap_or_default(),
            false => match leads(branch, target) {
                Some(true) => vec![Point::Edge { from: branch, over: Over::default(), to: target }],
                Some(false) => return None,
                None => Vec::new(),
            },
        };
        let has_space =
            |point: &Point| self.insn_at(point.address()).is_some_and(|insn| room(insn).has_space());
        let all = points.iter().all(has_space);
        Some(if all { points } else { Vec::new() })
    }

    /// Estimates how often each block executes in a call: the edges of a branch are equally likely, except
    /// those to code that the compiler considered unlikely, and a loop has eight rounds.
    pub(super) fn often(&self, order: &Order) -> Vec<f64> {
        const ROUNDS: f64 = 8.0;
        const UNLIKELY: f64 = 1.0 / 64.0;
        let mut often = vec![0.0; self.blocks.len()];
        order.roots.iter().for_each(|root| often[*root as usize] = UNLIKELY);
        often[self.entry as usize] = 1.0;
        for block in &order.blocks {
            let likely = |to: &u32| if self.is_unlikely(*block, *to) { UNLIKELY } else { 1.0 };
            let shares: f64 = self.next(*block).iter().map(likely).sum();
            let mine = often[*block as usize];
            for to in self.next(*block).iter().filter(|to| !self.dominates(**to, *block)) {
                often[*to as usize] += mine * likely(to) / shares;
            }
        }
        let depth = self.depths();
        let deep = |(often, depth): (&f64, i32)| often * ROUNDS.powi(depth.min(8));
        often.iter().zip(depth).map(deep).collect()
    }

    fn is_unlikely(&self, from: u32, to: u32) -> bool {
        let [from, to] = [from, to].map(|block| &self.blocks[block as usize]);
        let [one, other] = [from, to].map(|block| self.address[block.first as usize]);
        to.ending == Ending::Trap || !self.is_one_symbol(one, other)
    }

    /// Returns the number of loops around each block.
    fn depths(&self) -> Vec<i32> {
        let mut depths = vec![0; self.blocks.len()];
        let mut seen = vec![u32::MAX; self.blocks.len()];
        for head in 0..self.blocks.len() as u32 {
            let backwards = |from: &&u32| self.dominates(head, **from);
            let mut found: Vec<u32> = self.previous(head).iter().filter(backwards).copied().collect();
            if found.is_empty() {
                continue;
            }
            seen[head as usize] = head;
            depths[head as usize] += 1;
            while let Some(block) = found.pop() {
                if std::mem::replace(&mut seen[block as usize], head) != head {
                    depths[block as usize] += 1;
                    found.extend(self.previous(block).iter().filter(|from| self.dominates(head, **from)));
                }
            }
        }
        depths
    }
}

impl Counts {
    /// Marks the arcs outside a spanning tree of maximum cost as counted.
    fn span(&mut self, costs: &[f64]) {
        let mut dearest: Vec<usize> = (0..self.ways.len()).collect();
        dearest.sort_by(|one, other| costs[*other].total_cmp(&costs[*one]));
        let mut trees: Vec<u32> = (0..self.nodes as u32).collect();
        for way in dearest {
            let Way { from, to, ref points, .. } = self.ways[way];
            let [one, other] = [from, to].map(|node| root(&mut trees, node));
            self.ways[way].counted = one == other && !points.is_empty();
            trees[one as usize] = other;
        }
    }

    /// Returns the selected blocks.
    pub fn looked_at(&self) -> impl Iterator<Item = u32> {
        self.own.iter().enumerate().filter(|(_, own)| own.is_some()).map(|(block, _)| block as u32)
    }

    /// Returns the number of selected blocks.
    pub fn blocks(&self) -> usize {
        self.own.iter().flatten().count()
    }

    /// Returns the counted arcs, each with the points that together fire each time, by their indices for
    /// [`Counts::solve`].
    pub fn counted(&self) -> impl Iterator<Item = (usize, &[Point])> {
        let counted = self.ways.iter().enumerate().filter(|(_, way)| way.counted);
        counted.map(|(number, way)| (number, &way.points[..]))
    }

    /// Returns the index of a block's arc; `None` if the block is not selected.
    pub fn own(&self, block: u32) -> Option<usize> {
        self.own.get(block as usize).copied().flatten().map(|way| way as usize)
    }

    /// Whether the block is selected.
    pub fn looks_at(&self, block: u32) -> bool {
        self.own(block).is_some()
    }

    /// Returns all countable blocks, with the indices of their arcs, for a verification run.
    pub fn countable(&self) -> impl Iterator<Item = (usize, &[Point])> {
        let blocks =
            self.own.iter().flatten().map(|way| (*way as usize, &self.ways[*way as usize].points[..]));
        blocks.filter(|(_, points)| !points.is_empty())
    }

    /// Returns all arcs, by index.
    pub fn ways(&self) -> impl Iterator<Item = What> {
        self.ways.iter().map(|way| way.what)
    }

    /// Derives all counts from the known ones, by index.
    pub fn solve(&self, known: &HashMap<usize, u64>) -> Solved {
        let known = |way: usize| known.get(&way).map(|count| i128::from(*count));
        let mut counts: Vec<Option<i128>> = (0..self.ways.len()).map(known).collect();
        // The arcs at each node, and how many of them are still unknown.
        let mut at: Vec<Vec<u32>> = vec![Vec::new(); self.nodes];
        for (number, way) in self.ways.iter().enumerate() {
            at[way.from as usize].push(number as u32);
            at[way.to as usize].push(number as u32);
        }
        let mut open: Vec<usize> = at
            .iter()
            .map(|ways| ways.iter().filter(|way| counts[**way as usize].is_none()).count())
            .collect();
        let mut ready: Vec<u32> = (0..self.nodes as u32).filter(|node| open[*node as usize] == 1).collect();
        while let Some(node) = ready.pop() {
            let ways = &at[node as usize];
            let Some(way) = ways.iter().copied().find(|way| counts[*way as usize].is_none()) else {
                continue;
            };
            let Way { from, to, .. } = self.ways[way as usize];
            // The missing inflow or outflow is the count of the unknown arc.
            let missing = self.balance(node, ways, &counts);
            counts[way as usize] = Some(if from == node { missing } else { -missing });
            for node in [from, to] {
                open[node as usize] -= 1;
                if open[node as usize] == 1 {
                    ready.push(node);
                }
            }
        }
        let imbalance = (0..self.nodes as u32).filter(|node| open[*node as usize] == 0);
        let imbalance = imbalance.map(|node| self.balance(node, &at[node as usize], &counts).unsigned_abs());
        // A negative count means that control was already inside when counting began.
        let below = counts.iter().flatten().filter(|count| **count < 0).map(|count| count.unsigned_abs());
        let imbalance = imbalance.chain(below).max().unwrap_or(0);
        Solved {
            counts: counts.iter().map(|count| count.map(|count| u64::try_from(count).unwrap_or(0))).collect(),
            imbalance: u64::try_from(imbalance).unwrap_or(u64::MAX),
        }
    }

    /// Returns the known inflow of a node minus its known outflow.
    fn balance(&self, node: u32, ways: &[u32], counts: &[Option<i128>]) -> i128 {
        let signed = |way: &u32| {
            let count = counts[*way as usize].unwrap_or(0);
            let Way { to, .. } = self.ways[*way as usize];
            if to == node { count } else { -count }
        };
        ways.iter().map(signed).sum()
    }

    /// Returns how often a block was executed.
    pub fn block(&self, solved: &Solved, block: u32) -> Option<u64> {
        solved.counts[self.own(block)?]
    }

    /// Returns how often control came from outside, to a block or to any, if all of that is known.
    pub fn entered(&self, solved: &Solved, only: Option<u32>) -> Option<u64> {
        let ways = self.ways.iter().zip(&solved.counts);
        let counts = |what: What| matches!(what, What::Enter(block) if only.is_none_or(|only| only == block));
        ways.filter(|(way, _)| counts(way.what)).map(|(_, count)| *count).sum()
    }

    /// Whether a block itself is counted.
    pub fn is_counted(&self, block: u32) -> bool {
        self.own(block).is_some_and(|way| self.ways[way].counted)
    }

    /// Returns how often control went from the end of a block to each successor.
    pub fn edges(&self, solved: &Solved, block: u32) -> Vec<(u32, Option<u64>)> {
        let ways = self.ways.iter().zip(&solved.counts);
        let mine = ways.filter_map(|(way, count)| match way.what {
            What::Edge { from, to } if from == block => Some((to, *count)),
            _ => None,
        });
        mine.collect()
    }

    /// Returns how often control went from the end of a block to outside, if it can be derived; `None` if no
    /// edge leads there.
    pub fn left(&self, solved: &Solved, block: u32) -> Option<Option<u64>> {
        let way = self.ways.iter().position(|way| way.what == What::Leave(block))?;
        Some(solved.counts[way])
    }
}

impl Solved {
    /// Returns the count of an arc, by its index in [`Counts::ways`].
    pub fn of(&self, way: usize) -> Option<u64> {
        self.counts.get(way).copied().flatten()
    }
}

/// Returns the representative of all nodes connected with this one.
pub(super) fn root(trees: &mut [u32], mut node: u32) -> u32 {
    while trees[node as usize] != node {
        let above = trees[node as usize];
        trees[node as usize] = trees[above as usize];
        node = above;
    }
    node
}

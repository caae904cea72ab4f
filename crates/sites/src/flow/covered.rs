//! sites/flow/covered.rs: which blocks and edges were executed at all, from places that are watched until they are reached once.
//!
//! A block is watched at one of its instructions, and most edges follow: control that has come into a place has left it. An edge
//! is watched itself where neither of its ends says whether it was taken.

use std::collections::HashMap;

use super::counts::{AROUND, Counts, What};
use super::points::Point;

impl Counts {
    /// What is to be watched: a place for each, by the number of what it is for.
    pub fn watched(&self) -> Vec<(usize, Point)> {
        let mut ways = [vec![0; self.nodes], vec![0; self.nodes]];
        let is_block = |what: What| matches!(what, What::Block(_));
        let mut own = vec![false; self.nodes];
        for way in &self.ways {
            ways[0][way.from as usize] += 1;
            ways[1][way.to as usize] += 1;
            for node in [way.from, way.to] {
                own[node as usize] |= is_block(way.what) && !way.points.is_empty();
            }
        }
        let alone = |side: usize, node: u32| ways[side][node as usize] == 1 && own[node as usize];
        let place = |points: &[Point]| match points {
            [Point::Edge { over, .. }] if !over.keys().is_empty() => None,
            [point] => Some(*point),
            _ => None,
        };
        let all = self.ways.iter().enumerate();
        let wanted = all.filter(|(_, way)| is_block(way.what) || !alone(0, way.from) && !alone(1, way.to));
        wanted.filter_map(|(number, way)| Some((number, place(&way.points)?))).collect()
    }

    /// Whether each was executed, by number; `None`: it does not follow. `reached` has what was watched.
    pub fn covered(&self, reached: &HashMap<usize, bool>) -> Vec<Option<bool>> {
        let mut states: Vec<Option<bool>> =
            (0..self.ways.len()).map(|way| reached.get(&way).copied()).collect();
        let mut at: Vec<[Vec<u32>; 2]> = vec![Default::default(); self.nodes];
        for (number, way) in self.ways.iter().enumerate() {
            at[way.to as usize][0].push(number as u32);
            at[way.from as usize][1].push(number as u32);
        }
        let mut open: Vec<u32> = (0..self.nodes as u32).collect();
        while let Some(node) = open.pop() {
            if node == AROUND {
                continue;
            }
            let [into, out] = &at[node as usize];
            for (one, other) in [(into, out), (out, into)] {
                for way in follows(&states, one, other) {
                    let is_taken = one.iter().any(|one| states[*one as usize] == Some(true));
                    states[way as usize] = Some(is_taken);
                    let way = &self.ways[way as usize];
                    open.extend([way.from, way.to]);
                }
            }
        }
        states
    }

    /// What the states say of a block.
    pub fn is_covered(&self, states: &[Option<bool>], block: u32) -> Option<bool> {
        let way = (*self.own.get(block as usize)?)?;
        states.get(way as usize).copied().flatten()
    }
}

/// What follows of the ways on one side of a place from those on the other: nothing passes it, or something does, and there is only one
/// way for that.
fn follows(states: &[Option<bool>], one: &[u32], other: &[u32]) -> Vec<u32> {
    let state = |way: &u32| states[*way as usize];
    let unknown = || other.iter().copied().filter(|way| state(way).is_none());
    if one.iter().all(|way| state(way) == Some(false)) {
        return unknown().collect();
    }
    let possible = other.iter().filter(|way| state(way) != Some(false)).count();
    if possible == 1 && one.iter().any(|way| state(way) == Some(true)) {
        return unknown().collect();
    }
    Vec::new()
}

//! sites/flow/covered.rs: which blocks and edges were executed, from places watched until their first hit.
//!
//! A block is watched at one of its instructions, and most edges follow: control that reaches a node also
//! leaves it. An edge is watched separately if neither of its ends says whether it was taken.

use std::collections::HashMap;

use super::counts::{AROUND, Counts, Room, Way, What, beginning, end};
use super::points::{Over, Point};

impl Counts {
    /// Returns the arcs of code in which the targets of some jumps are unknown: each instruction is a block, and control
    /// may come from anywhere. `after` has the possible next instructions, or `None` if there may be others. An edge to an
    /// instruction that cannot have a probe is watched at its branch.
    pub fn of_each<'a>(
        insns: &[u64],
        room: impl Fn(u64) -> Room,
        after: impl Fn(u64) -> Option<&'a [u64]>,
    ) -> Counts {
        let numbers: HashMap<u64, u32> = insns.iter().copied().zip(0..).collect();
        let (mut ways, mut own) = (Vec::with_capacity(3 * insns.len()), vec![None; insns.len()]);
        let mut add = |what, from, to, points| {
            if let What::Block(block) = what {
                own[block as usize] = Some(ways.len() as u32);
            }
            ways.push(Way { what, from, to, points, counted: false });
        };
        for (number, address) in (0..).zip(insns.iter().copied()) {
            let has_space = room(address).has_space();
            let here = if has_space { vec![Point::At(address)] } else { Vec::new() };
            add(What::Block(number), beginning(number), end(number), here);
            add(What::Enter(number), AROUND, beginning(number), Vec::new());
            let next = after(address).unwrap_or_default();
            let known: Vec<u32> = next.iter().filter_map(|to| numbers.get(to).copied()).collect();
            if known.is_empty() || known.len() < next.len() {
                add(What::Leave(number), end(number), AROUND, Vec::new());
            }
            for to in &known {
                let target = insns[*to as usize];
                let is_watched = known.len() == 2 && has_space && !room(target).has_space();
                let edge = || Point::Edge { from: address, over: Over::default(), to: target };
                let points = if is_watched { vec![edge()] } else { Vec::new() };
                add(What::Edge { from: number, to: *to }, end(number), beginning(*to), points);
            }
        }
        Counts { ways, nodes: 1 + 2 * insns.len(), own }
    }

    /// Returns the places to watch, one for each arc, by the arc's index.
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

    /// Returns for each arc whether it was executed; `None` if that cannot be derived. `reached` has the
    /// watched ones.
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

    /// Returns the state of a block.
    pub fn is_covered(&self, states: &[Option<bool>], block: u32) -> Option<bool> {
        let way = (*self.own.get(block as usize)?)?;
        states.get(way as usize).copied().flatten()
    }
}

/// Returns the arcs on one side of a node that follow from those on the other: nothing passes the node, or
/// something does and only one arc is possible.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `jne` at 0x10 over a jump at 0x12 that cannot have a probe, to a return at 0x17.
    #[test]
    fn an_instruction_without_a_probe_follows_from_its_neighbours() {
        let room = |address| if address == 0x12 { Room::None } else { Room::Free };
        let after = |address| -> Option<&'static [u64]> {
            match address {
                0x10 => Some(&[0x12, 0x17]),
                0x12 => Some(&[0x17]),
                _ => None,
            }
        };
        let counts = Counts::of_each(&[0x10, 0x12, 0x17], room, after);
        let watched = counts.watched();
        let points: Vec<Point> = watched.iter().map(|(_, point)| *point).collect();
        let edge = Point::Edge { from: 0x10, over: Over::default(), to: 0x12 };
        assert_eq!(points, [Point::At(0x10), edge, Point::At(0x17)]);
        let jump = |states: [bool; 3]| {
            let reached = watched.iter().map(|(way, _)| *way).zip(states).collect();
            counts.is_covered(&counts.covered(&reached), 1)
        };
        assert_eq!(jump([true, true, true]), Some(true));
        assert_eq!(jump([false, false, false]), Some(false));
        // A jump with an unknown target may have led to it.
        assert_eq!(jump([true, false, true]), None);
        assert_eq!(jump([false, false, true]), None);
    }
}

//! sites/flow/points.rs: probe points in a function, and substitutes for instructions that cannot have a probe.

use super::block::Ending;
use super::graph::Flow;

/// A place in a function's control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    /// Fires whenever the instruction is executed.
    At(u64),
    /// Fires when control goes from one instruction to the other, over the static keys between them.
    Edge {
        /// Address of the source instruction.
        from: u64,
        /// Static keys between the two.
        over: Over,
        /// Address of the target instruction.
        to: u64,
    },
}

/// The static keys on one edge, in the order of control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Over {
    keys: [u64; Over::MOST],
    count: u8,
}

impl Over {
    /// The maximum number that the kernel module accepts.
    pub const MOST: usize = 2;

    /// Returns `None` if there are too many.
    pub fn new(keys: &[u64]) -> Option<Over> {
        let mut over = Over { count: keys.len() as u8, ..Over::default() };
        over.keys.get_mut(..keys.len())?.copy_from_slice(keys);
        Some(over)
    }

    /// Returns the addresses of the keys.
    pub fn keys(&self) -> &[u64] {
        &self.keys[..usize::from(self.count)]
    }

    /// Prepends a key.
    fn behind(&self, key: u64) -> Option<Over> {
        let keys: Vec<u64> = std::iter::once(key).chain(self.keys().iter().copied()).collect();
        Over::new(&keys)
    }
}

impl Point {
    /// Returns the instruction that has the probe.
    pub fn address(self) -> u64 {
        match self {
            Point::At(address) | Point::Edge { from: address, .. } => address,
        }
    }
}

/// How far to search: static keys may follow each other.
const FAR: u32 = 4;

impl Flow {
    /// Returns points that together fire once whenever control reaches an instruction that the kernel
    /// rewrites: a static key or a static call cannot have a probe. Empty if the instruction can, or if there
    /// are no such points.
    pub fn stand_ins(&self, address: u64) -> Vec<Point> {
        let Some(insn) = self.insn_at(address).filter(|insn| self.is_patched(*insn)) else {
            return Vec::new();
        };
        let mut points = self.around(insn, FAR).unwrap_or_default();
        points.sort_unstable();
        points.dedup();
        points
    }

    /// Returns the points for an instruction: the instruction itself, or its substitutes.
    pub fn reached(&self, address: u64) -> Vec<Point> {
        let points = self.stand_ins(address);
        if points.is_empty() { vec![Point::At(address)] } else { points }
    }

    fn around(&self, insn: u32, far: u32) -> Option<Vec<Point>> {
        if !self.is_patched(insn) {
            return Some(vec![Point::At(self.address[insn as usize])]);
        }
        // A static key changes no state, so its targets serve as well.
        if let Some(points) = self.behind(insn, far) {
            return Some(points);
        }
        let block = &self.blocks[self.block[insn as usize] as usize];
        match (block.first..insn).rev().find(|before| !self.is_patched(*before)) {
            Some(before) => Some(vec![Point::At(self.address[before as usize])]),
            None => self.before(block.first, Over::default(), self.address[block.first as usize], far),
        }
    }

    /// Returns the points after a static key, if nothing else leads there.
    fn behind(&self, key: u32, far: u32) -> Option<Vec<Point>> {
        let number = self.block[key as usize];
        let block = &self.blocks[number as usize];
        let lone = |to: &u32| {
            let next = &self.blocks[*to as usize];
            !next.is_root && self.previous(*to) == [number]
        };
        if far == 0 || !self.is_key(key) || block.outside.is_some() || !self.next(number).iter().all(lone) {
            return None;
        }
        let mut points = Vec::new();
        for next in self.next(number) {
            let first = self.blocks[*next as usize].first;
            match self.is_patched(first) {
                false => points.push(Point::At(self.address[first as usize])),
                true => points.extend(self.behind(first, far - 1)?),
            }
        }
        Some(points)
    }

    /// Returns the edges over a static key to an address, from the instructions that lead to the key.
    pub(crate) fn over_key(&self, key: u32, to: u64) -> Option<Vec<Point>> {
        self.is_key(key)
            .then(|| self.before(key, Over::default().behind(self.address[key as usize])?, to, FAR))?
    }

    /// Returns the edges from all predecessors of an instruction to an address that it leads to over static keys.
    fn before(&self, insn: u32, over: Over, to: u64, far: u32) -> Option<Vec<Point>> {
        let number = self.block[insn as usize];
        let block = &self.blocks[number as usize];
        if block.first < insn {
            let from = insn - 1;
            let edge = Point::Edge { from: self.address[from as usize], over, to };
            return (!self.is_patched(from)).then(|| vec![edge]);
        }
        if block.is_root || far == 0 {
            return None;
        }
        let mut points = Vec::new();
        for previous in self.previous(number) {
            let previous = &self.blocks[*previous as usize];
            let last = previous.end - 1;
            let from = self.address[last as usize];
            if !self.is_one_symbol(from, self.address[insn as usize]) {
                return None;
            }
            if self.is_key(last) {
                points.extend(self.before(last, over.behind(from)?, to, far - 1)?);
            } else if self.is_patched(last) || previous.ending == Ending::Fault && previous.end != insn {
                return None;
            } else {
                points.push(Point::Edge { from, over, to });
            }
        }
        Some(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_the_order_of_control() {
        let over = Over::default().behind(2).and_then(|over| over.behind(1)).unwrap();
        assert_eq!(over.keys(), [1, 2]);
        assert_eq!(over.behind(0), None);
        assert_eq!(Over::new(&[1, 2, 3]), None);
    }
}

//! tests/model/functions.rs: random functions, and walks through them.

use std::collections::BTreeSet;

use kinst::sites::flow::Marks;
use kinst::sites::flow::points::Point;

use crate::numbers::Random;

pub(crate) const BASE: u64 = 0x1000;

/// The instructions of a function, by index, and their successors.
pub(crate) struct Model {
    pub code: Vec<u8>,
    pub address: Vec<u64>,
    pub next: Vec<Vec<usize>>,
    /// Static keys and their jump targets.
    pub keys: Vec<(usize, usize)>,
}

/// Makes a function. Jumps and branches have four-byte displacements, so that addresses are known before targets.
pub(crate) fn function(random: &mut Random, with_keys: bool) -> Model {
    let count = 3 + random.below(28);
    let kinds: Vec<usize> = (0..count).map(|_| random.below(10)).collect();
    let mut address = Vec::new();
    let mut at = BASE;
    for (index, kind) in kinds.iter().enumerate() {
        address.push(at);
        at += match kind {
            _ if index + 1 == count => 1,
            0..=3 => 1,
            4 => 5,
            5 | 6 => 5,
            7 | 8 => 6,
            _ => 1,
        };
    }
    let mut model = Model { code: Vec::new(), address, next: Vec::new(), keys: Vec::new() };
    for (index, kind) in kinds.into_iter().enumerate() {
        let to = random.below(count);
        let distance = |len: u64| {
            ((model.address[to] - BASE) as i32 - (model.address[index] - BASE + len) as i32).to_le_bytes()
        };
        match kind {
            _ if index + 1 == count => {
                model.code.push(0xc3);
                model.next.push(Vec::new());
            }
            0..=3 => {
                model.code.push(0x90);
                model.next.push(vec![index + 1]);
            }
            4 if with_keys => {
                model.code.extend([0x0f, 0x1f, 0x44, 0, 0]);
                model.keys.push((index, to));
                let mut next = vec![index + 1];
                if to != index + 1 {
                    next.push(to);
                }
                model.next.push(next);
            }
            4 => {
                model.code.extend([0xe8, 0, 0, 1, 0]);
                model.next.push(vec![index + 1]);
            }
            5 | 6 => {
                let distance = distance(5);
                model.code.push(0xe9);
                model.code.extend(distance);
                model.next.push(vec![to]);
            }
            7 | 8 => {
                let distance = distance(6);
                model.code.extend([0x0f, 0x85]);
                model.code.extend(distance);
                let mut next = vec![index + 1];
                if to != index + 1 {
                    next.push(to);
                }
                model.next.push(next);
            }
            _ => {
                model.code.push(0xc3);
                model.next.push(Vec::new());
            }
        }
    }
    model
}

impl Model {
    /// Returns the instructions reachable from `from` without executing `not`.
    pub(crate) fn reached(&self, from: usize, not: Option<usize>) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(insn) = open.pop() {
            if Some(insn) != not && seen.insert(insn) {
                open.extend(&self.next[insn]);
            }
        }
        seen
    }

    /// Returns the table of the static keys.
    pub(crate) fn marks(&self) -> Marks {
        let jump_labels: Vec<(u64, u64)> =
            self.keys.iter().map(|(key, to)| (self.address[*key], self.address[*to])).collect();
        let patched = jump_labels.iter().map(|(key, _)| (*key, *key + 1)).collect();
        Marks { jump_labels, patched, ..Marks::default() }
    }
}

/// Whether the point fires at the end of this path.
pub(crate) fn fires(point: Point, path: &[u64]) -> bool {
    match point {
        Point::At(address) => path.last() == Some(&address),
        Point::Edge { from, over, to } => path.ends_with(&[&[from], over.keys(), &[to]].concat()),
    }
}

//! tests/model/exits_model.rs: the exits of a copy, compared with their definition on random functions.

use std::collections::BTreeSet;
use std::ops::Range;

use kinst::sites::flow::points::{Over, Point};
use kinst::sites::flow::{Flow, Marks, Part};

use crate::functions::{BASE, Model, fires, function};
use crate::numbers::Random;

impl Model {
    /// Computes the exits directly from the definition.
    fn exits(&self, entry: usize, set: &BTreeSet<usize>) -> BTreeSet<Point> {
        let all = self.reached(0, None);
        let around = self.reached(0, Some(entry));
        let mut copy: BTreeSet<usize> =
            set.iter().copied().filter(|insn| all.contains(insn) && !around.contains(insn)).collect();
        copy.insert(entry);
        // Whether some path executes an instruction of the copy without passing the entry again.
        let live = |insn: usize| {
            copy.contains(&insn)
                || self.next[insn]
                    .iter()
                    .any(|next| self.reached(*next, Some(entry)).iter().any(|later| copy.contains(later)))
        };
        let live: BTreeSet<usize> = all.iter().copied().filter(|insn| live(*insn)).collect();
        let mut inside = BTreeSet::new();
        let mut open = vec![entry];
        while let Some(insn) = open.pop() {
            if live.contains(&insn) && inside.insert(insn) {
                open.extend(self.next[insn].iter().filter(|next| **next != entry));
            }
        }
        let leaves =
            |from: usize, to: usize| inside.contains(&from) && (!inside.contains(&to) || to == entry);
        let mut exits = BTreeSet::new();
        for from in &inside {
            let from = *from;
            if self.next[from].is_empty() {
                exits.insert(Point::At(self.address[from]));
            }
            for to in self.next[from].iter().copied().filter(|to| leaves(from, *to)) {
                let into: Vec<usize> =
                    all.iter().copied().filter(|other| self.next[*other].contains(&to)).collect();
                let pure = to != 0 && to != entry && into.iter().all(|other| leaves(*other, to));
                // If the target has a probe because of a branch, that probe counts all edges to it.
                let branch = into.iter().any(|other| self.next[*other].len() > 1);
                exits.insert(if pure && branch {
                    Point::At(self.address[to])
                } else if self.next[from].len() == 1 {
                    Point::At(self.address[from])
                } else {
                    edge(self.address[from], self.address[to])
                });
            }
        }
        exits
    }

    /// Returns the entry of a copy's instructions, which may not have the smallest address: it is the first of the
    /// instructions that dominate the most others.
    fn entered(&self, set: &BTreeSet<usize>) -> Option<usize> {
        let all = self.reached(0, None);
        let reached: Vec<usize> = set.iter().copied().filter(|insn| all.contains(insn)).collect();
        let dominated = |above: usize| {
            let around = if above == 0 { BTreeSet::new() } else { self.reached(0, Some(above)) };
            reached.iter().filter(|insn| !around.contains(insn)).count()
        };
        reached.iter().copied().max_by_key(|insn| (dominated(*insn), std::cmp::Reverse(*insn)))
    }

    /// Walks at random, and counts executions of the instruction, entries and exits. `None` if the walk did not finish.
    fn walk(
        &self,
        random: &mut Random,
        entry: u64,
        entered: &BTreeSet<Point>,
        exits: &BTreeSet<Point>,
    ) -> Option<[usize; 3]> {
        let mut counts = [0; 3];
        let mut path: Vec<u64> = Vec::new();
        let mut at = 0;
        for _ in 0..400 {
            path.push(self.address[at]);
            counts[0] += usize::from(self.address[at] == entry);
            counts[1] += entered.iter().filter(|point| fires(**point, &path)).count();
            counts[2] += exits.iter().filter(|point| fires(**point, &path)).count();
            if self.next[at].is_empty() {
                return Some(counts);
            }
            at = self.next[at][random.below(self.next[at].len())];
        }
        None
    }
}

fn edge(from: u64, to: u64) -> Point {
    Point::Edge { from, over: Over::default(), to }
}

#[test]
fn random_functions() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut copies, mut walks, mut edges) = (0, 0, 0);
    for _ in 0..4000 {
        let model = function(&mut random, false);
        let count = model.address.len();
        let mut flow =
            Flow::of(Part { address: BASE, code: &model.code }, &Marks::default(), |_| None).expect("a flow");
        let reachable: Vec<usize> = model.reached(0, None).into_iter().collect();
        for _ in 0..4 {
            let entry = reachable[random.below(reachable.len())];
            let ends: Vec<u64> =
                model.address.iter().copied().skip(1).chain([BASE + model.code.len() as u64]).collect();
            let mut ranges: Vec<Range<u64>> = Vec::new();
            let mut set = BTreeSet::new();
            let mut at = if random.below(3) == 0 { 0 } else { entry };
            while at < count && ranges.len() < 3 {
                let last = (at + random.below(5)).min(count - 1);
                ranges.push(model.address[at]..ends[last]);
                set.extend(at..=last);
                at = last + 2 + random.below(6);
            }
            if ranges.is_empty() {
                continue;
            }
            let padding: BTreeSet<usize> = set.iter().copied().filter(|_| random.below(4) == 0).collect();
            let fills = |address| padding.iter().any(|insn| model.address[*insn] == address);
            let begins = flow.entered(ranges[0].start, &ranges, fills);
            let wanted =
                model.entered(&(&set - &padding)).map_or(ranges[0].start, |insn| model.address[insn]);
            assert_eq!(begins, wanted, "ranges {ranges:x?} of {:x?}, code {:x?}", model.next, model.code);
            let found = flow.exits(&[model.address[entry]], &ranges, None).expect("an instruction");
            let wanted = model.exits(entry, &set);
            let sites: BTreeSet<Point> = found.sites.iter().copied().collect();
            assert_eq!(sites.len(), found.sites.len(), "each once");
            assert_eq!(
                sites, wanted,
                "entry {entry} of {:x?}, ranges {ranges:x?}, code {:x?}",
                model.next, model.code
            );
            copies += 1;
            edges += sites.iter().filter(|exit| matches!(exit, Point::Edge { .. })).count();
            for _ in 0..3 {
                let at = model.address[entry];
                let entered = BTreeSet::from([Point::At(at)]);
                if let Some([_, entered, left]) = model.walk(&mut random, at, &entered, &sites) {
                    assert_eq!(entered, left, "entry {entry} of {:x?}, ranges {ranges:x?}", model.next);
                    walks += u32::from(entered > 0);
                }
            }
        }
    }
    assert!(
        copies > 10_000 && walks > 5_000 && edges > 1_000,
        "{copies} copies, {walks} walks, {edges} edges"
    );
}

/// A static key cannot be probed: other points substitute for it, and the counts are the same.
#[test]
fn random_functions_with_static_keys() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut points, mut on_keys, mut walks, mut over_keys) = (0, 0, 0, 0);
    for _ in 0..4000 {
        let model = function(&mut random, true);
        let marks = model.marks();
        let mut flow = Flow::of(Part { address: BASE, code: &model.code }, &marks, |_| None).expect("a flow");
        let reachable: Vec<usize> = model.reached(0, None).into_iter().collect();
        for _ in 0..4 {
            let entry = reachable[random.below(reachable.len())];
            let last = (entry + random.below(8)).min(model.address.len() - 2).max(entry);
            let end = model.address.get(last + 1).copied().unwrap_or(BASE + model.code.len() as u64);
            let range = model.address[entry]..end;
            let sites = flow
                .exits(&[model.address[entry]], std::slice::from_ref(&range), None)
                .expect("an instruction")
                .sites;
            let entered: BTreeSet<Point> = flow.reached(model.address[entry]).into_iter().collect();
            let exits: BTreeSet<Point> = sites.into_iter().collect();
            let is_key = |point: &&Point| marks.jump_labels.iter().any(|(key, _)| *key == point.address());
            points += entered.len() + exits.len();
            on_keys += entered.iter().chain(&exits).filter(is_key).count();
            let leads_over =
                |point: &&Point| matches!(point, Point::Edge { over, .. } if !over.keys().is_empty());
            over_keys += entered.iter().chain(&exits).filter(leads_over).count();
            for _ in 0..3 {
                if let Some(counts) = model.walk(&mut random, model.address[entry], &entered, &exits) {
                    let [hits, entries, left] = counts;
                    assert_eq!(
                        [hits, hits],
                        [entries, left],
                        "entry {entry} of {:x?}, range {range:x?}, entered {entered:x?}, left {exits:x?}",
                        model.next
                    );
                    walks += u32::from(hits > 0);
                }
            }
        }
    }
    // Some keys follow each other, and some are at the beginning of a function.
    assert!(on_keys * 20 < points, "{on_keys} of {points}");
    assert!(walks > 5_000 && over_keys > 1_000, "{walks} walks, {over_keys} over keys");
}

/// Returns the exits of a copy that begins at the start of the code and has its first `len` bytes.
fn left(code: &[u8], marks: &Marks, len: u64) -> Vec<Point> {
    let mut flow = Flow::of(Part { address: BASE, code }, marks, |_| None).expect("a flow");
    flow.exits(&[BASE], std::slice::from_ref(&(BASE..BASE + len)), None).expect("an instruction").sites
}

#[test]
fn a_static_key_goes_both_ways() {
    // nop; the key's nop, to 8; nop; ret; 8: nop; ret
    let code = [0x90, 0x0f, 0x1f, 0x44, 0, 0, 0x90, 0xc3, 0x90, 0xc3];
    let key = Marks {
        jump_labels: vec![(BASE + 1, BASE + 8)],
        patched: vec![(BASE + 1, BASE + 2)],
        ..Marks::default()
    };
    assert_eq!(left(&code, &key, 6), [Point::At(BASE + 6), Point::At(BASE + 8)]);
    // Without the table it has one successor, and the nop can be probed.
    assert_eq!(left(&code, &Marks::default(), 6), [Point::At(BASE + 1)]);
}

#[test]
fn a_fault_goes_to_its_fixup() {
    // mov (%rdi),%eax; nop; ret; 4: nop; ret
    let code = [0x8b, 0x07, 0x90, 0xc3, 0x90, 0xc3];
    let fault = Marks { faults: vec![(BASE, BASE + 4)], ..Marks::default() };
    assert_eq!(left(&code, &fault, 2), [Point::At(BASE + 2), Point::At(BASE + 4)]);
    // The fixup belongs to the copy.
    let mut flow = Flow::of(Part { address: BASE, code: &code }, &fault, |_| None).expect("a flow");
    let ranges = [BASE..BASE + 2, BASE + 4..BASE + 5];
    assert_eq!(
        flow.exits(&[BASE], &ranges, None).expect("exits").sites,
        [Point::At(BASE + 2), Point::At(BASE + 4)]
    );
}

#[test]
fn control_comes_back_from_a_warning() {
    // nop; ud2; nop; ret
    let code = [0x90, 0x0f, 0x0b, 0x90, 0xc3];
    let warning = Marks { warnings: vec![BASE + 1], patched: vec![(BASE + 1, BASE + 2)], ..Marks::default() };
    assert_eq!(left(&code, &warning, 3), [Point::At(BASE + 3)]);
    assert_eq!(left(&code, &Marks::default(), 3), [], "a path that ends here does not leave");
}

#[test]
fn behind_a_call_that_does_not_return_is_nothing() {
    // jne 7; call; 7: ret
    let code = [0x75, 5, 0xe8, 0, 0, 1, 0, 0xc3];
    let endless = Marks { endless: vec![BASE + 7 + 0x1_0000], ..Marks::default() };
    assert_eq!(left(&code, &endless, 7), [Point::At(BASE + 2), Point::At(BASE + 7)]);
    // If it returns, both paths meet at the ret.
    assert_eq!(left(&code, &Marks::default(), 7), [Point::At(BASE + 7)]);
}

#[test]
fn a_branch_into_the_cold_part_and_back() {
    // jne cold; 6: nop; ret — cold: nop; jmp 6
    let near = [0x0f, 0x85, 0xfa, 0x0f, 0, 0, 0x90, 0xc3];
    let cold = [0x90, 0xe9, 0, 0xf0, 0xff, 0xff];
    let part = Part { address: BASE + 0x1000, code: &cold };
    let mut flow = Flow::of(Part { address: BASE, code: &near }, &Marks::default(), |address| {
        (address == part.address).then_some(part)
    })
    .expect("a flow");
    let ranges = [BASE..BASE + 6, BASE + 0x1000..BASE + 0x1006];
    let sites = flow.exits(&[BASE], &ranges, None).expect("exits").sites;
    assert_eq!(sites, [Point::At(BASE + 6)], "both paths meet after the copy");
    // Without the cold part, the branch leaves the function.
    let mut alone =
        Flow::of(Part { address: BASE, code: &near }, &Marks::default(), |_| None).expect("a flow");
    let sites = alone.exits(&[BASE], &ranges[..1], None).expect("exits").sites;
    assert_eq!(sites, [Point::At(BASE + 6), edge(BASE, BASE + 0x1000)]);
}

#[test]
fn what_cannot_be_read() {
    use kinst::sites::flow::Undecodable;
    let of = |code: &[u8]| {
        Flow::of(Part { address: BASE, code }, &Marks::default(), |_| None).map(|flow| flow.len()).err()
    };
    assert_eq!(of(&[]), Some(Undecodable::NoCode));
    assert_eq!(of(&[0x90, 0x06]), Some(Undecodable::Bytes(BASE + 1)));
    assert_eq!(of(&[0xeb, 0xff]), Some(Undecodable::Inside(BASE, BASE + 1)));
    assert_eq!(of(&[0xff, 0xe0]), Some(Undecodable::Indirect(BASE)));
    assert_eq!(of(&[0xff, 0x25, 0, 0, 0, 0]), None, "through a pointer: another function");
    assert_eq!(of(&[0x66]), Some(Undecodable::Bytes(BASE)), "cut off");
}

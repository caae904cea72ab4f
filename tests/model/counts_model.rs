//! tests/model/counts_model.rs: derived counts, compared with random walks through random functions.

use std::collections::{BTreeSet, HashMap};

use kinst::sites::flow::counts::{Counts, Room, What};
use kinst::sites::flow::points::Point;
use kinst::sites::flow::{Flow, Part};

use crate::functions::{BASE, Model, fires, function};
use crate::numbers::Random;

/// The paths of some calls, from the first instruction to one that leaves. Paths that do not end are omitted.
fn calls(model: &Model, random: &mut Random) -> Vec<Vec<u64>> {
    let mut paths = Vec::new();
    for _ in 0..12 {
        let (mut at, mut path) = (0, Vec::new());
        for _ in 0..400 {
            path.push(model.address[at]);
            if model.next[at].is_empty() {
                paths.push(path);
                break;
            }
            at = model.next[at][random.below(model.next[at].len())];
        }
    }
    paths
}

/// How often a point fires on the paths.
fn fired(point: Point, paths: &[Vec<u64>]) -> u64 {
    let on = |path: &Vec<u64>| (1..=path.len()).filter(|end| fires(point, &path[..*end])).count() as u64;
    paths.iter().map(on).sum()
}

fn known(counts: &Counts, paths: &[Vec<u64>]) -> HashMap<usize, u64> {
    let sum = |points: &[Point]| points.iter().map(|point| fired(*point, paths)).sum();
    counts.counted().map(|(way, points)| (way, sum(points))).collect()
}

/// The block of a point, if it is in the function.
fn place(flow: &Flow, what: What) -> Option<Point> {
    match what {
        What::Block(block) => Some(Point::At(flow.bounds(block).0)),
        What::Edge { from, to } => {
            let (from, to) = (flow.bounds(from).1, flow.bounds(to).0);
            Some(Point::Edge { from, over: Default::default(), to })
        }
        What::Enter(_) | What::Leave(_) => None,
    }
}

/// Whether the block of a point is reachable.
fn is_reached(model: &Model, flow: &Flow, reached: &BTreeSet<usize>, point: Point) -> bool {
    let block = flow.block_at(point.address()).expect("the point is in a block");
    reached.contains(&model.address.binary_search(&flow.bounds(block).0).expect("an instruction"))
}

#[test]
fn what_is_not_counted_follows() {
    let mut random = Random(0x6a09_e667_f3bc_c908);
    let (mut ways, mut followed, mut unknown, mut probes, mut blocks) = (0, 0, 0, 0, 0);
    for round in 0..6000 {
        let with_keys = round % 2 == 0;
        let model = function(&mut random, with_keys);
        let marks = model.marks();
        let flow = Flow::of(Part { address: BASE, code: &model.code }, &marks, |_| None).expect("a flow");
        // In every third round, a third of the instructions cannot be probed.
        let full: Vec<u64> =
            model.address.iter().copied().filter(|_| round % 3 == 0 && random.one_in(3)).collect();
        let room = |address: u64| if full.contains(&address) { Room::None } else { Room::Free };
        let half = BASE..BASE + model.code.len() as u64 / 2;
        let part = (round % 5 == 0).then_some(std::slice::from_ref(&half));
        let counts = flow.counts(part, room, |_, _| Some(true));
        let paths = calls(&model, &mut random);
        let known = known(&counts, &paths);
        let solved = counts.solve(&known);
        assert_eq!(solved.imbalance, 0, "of {:x?}", model.next);
        let reached = model.reached(0, None);
        for (way, what) in counts.ways().enumerate() {
            let Some(point) = place(&flow, what).filter(|point| is_reached(&model, &flow, &reached, *point))
            else {
                continue;
            };
            ways += 1;
            match solved.of(way) {
                Some(count) => {
                    assert_eq!(count, fired(point, &paths), "{what:?} of {:x?}, {full:x?}", model.next);
                    followed += usize::from(!known.contains_key(&way));
                }
                None => {
                    unknown += 1;
                    assert!(with_keys || !full.is_empty(), "{what:?} of {:x?}", model.next);
                }
            }
        }
        if part.is_none() && full.is_empty() && !with_keys {
            probes += known.len();
            blocks += counts.blocks();
        }
    }
    assert!(ways > 50_000 && followed * 3 > ways && unknown * 20 < ways, "{ways} {followed} {unknown}");
    // These functions are more complex than compiled ones.
    assert!(probes * 10 < blocks * 8, "{probes} probes for {blocks} blocks");
}

#[test]
fn what_is_not_watched_follows() {
    let mut random = Random(0xbb67_ae85_84ca_a73b);
    let (mut ways, mut unknown, mut executed, mut watched, mut blocks) = (0, 0, 0, 0, 0);
    for round in 0..6000 {
        let model = function(&mut random, round % 2 == 0);
        let marks = model.marks();
        let flow = Flow::of(Part { address: BASE, code: &model.code }, &marks, |_| None).expect("a flow");
        let full: Vec<u64> =
            model.address.iter().copied().filter(|_| round % 3 == 0 && random.one_in(3)).collect();
        let room = |address: u64| if full.contains(&address) { Room::None } else { Room::Free };
        let counts = flow.counts(None, room, |_, _| Some(true));
        let mut paths = calls(&model, &mut random);
        // Only a few, so that some blocks are not executed.
        paths.truncate(random.below(3));
        let found: HashMap<usize, bool> =
            counts.watched().into_iter().map(|(way, point)| (way, fired(point, &paths) > 0)).collect();
        let states = counts.covered(&found);
        let reached = model.reached(0, None);
        for (way, what) in counts.ways().enumerate() {
            let Some(point) = place(&flow, what).filter(|point| is_reached(&model, &flow, &reached, *point))
            else {
                continue;
            };
            ways += 1;
            let was = fired(point, &paths) > 0;
            executed += usize::from(was);
            match states[way] {
                Some(state) => assert_eq!(state, was, "{what:?} of {:x?}, {full:x?}", model.next),
                None => {
                    unknown += 1;
                    assert!(round % 2 == 0 || !full.is_empty(), "{what:?} of {:x?}", model.next);
                }
            }
        }
        watched += found.len();
        blocks += counts.blocks();
    }
    assert!(executed * 10 > ways && executed * 2 < ways, "{executed} of {ways}");
    assert!(ways > 50_000 && unknown * 20 < ways, "{ways} {unknown}");
    assert!(watched < blocks * 2, "{watched} for {blocks} blocks");
}

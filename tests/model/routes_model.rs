//! tests/model/routes_model.rs: the paths of calls, derived from their witnesses, compared with random walks through
//! random functions.

use kinst::sites::flow::counts::Room;
use kinst::sites::flow::points::Point;
use kinst::sites::flow::routes::{Left, Passed, Routes, Step};
use kinst::sites::flow::{Flow, Part};

use crate::functions::{BASE, Model, fires, function};
use crate::numbers::Random;

/// The path of a call, from the first instruction to one that leaves, if it ends.
fn call(model: &Model, random: &mut Random) -> Option<Vec<u64>> {
    let (mut at, mut path) = (0, Vec::new());
    for _ in 0..400 {
        path.push(model.address[at]);
        if model.next[at].is_empty() {
            return Some(path);
        }
        at = model.next[at][random.below(model.next[at].len())];
    }
    None
}

/// The witnesses that fire on a path, in their order.
fn passed(routes: &Routes, path: &[u64]) -> Vec<Passed> {
    let mut all = Vec::new();
    for end in 1..=path.len() {
        // An edge fires before its target is executed.
        let mut now: Vec<(bool, u32)> = routes
            .witnesses()
            .filter(|(_, _, point)| fires(*point, &path[..end]))
            .map(|(way, _, point)| (matches!(point, Point::At(_)), way))
            .collect();
        now.sort_unstable();
        all.extend(now.into_iter().map(|(_, way)| way));
    }
    all.into_iter().enumerate().map(|(event, way)| Passed { way, event }).collect()
}

/// The blocks of a path.
fn blocks(flow: &Flow, path: &[u64]) -> Vec<u32> {
    path.iter().filter_map(|at| flow.block_at(*at).filter(|block| flow.bounds(*block).0 == *at)).collect()
}

#[test]
fn the_way_of_a_call_follows_from_its_witnesses() {
    let mut random = Random(0xbb67_ae85_84ca_a73b);
    let (mut whole, mut parts, mut broken) = (0, 0, 0);
    for round in 0..6000 {
        let with_keys = round % 2 == 0;
        let model = function(&mut random, with_keys);
        let marks = model.marks();
        let flow = Flow::of(Part { address: BASE, code: &model.code }, &marks, |_| None).expect("a flow");
        let full: Vec<u64> =
            model.address.iter().copied().filter(|_| round % 3 == 0 && random.one_in(3)).collect();
        let room = |address: u64| if full.contains(&address) { Room::None } else { Room::Free };
        let routes = flow.routes(None, &[BASE], room, |_, _| Some(true));
        for _ in 0..6 {
            let Some(path) = call(&model, &mut random) else { continue };
            let (passed, end) = (passed(&routes, &path), *path.last().unwrap());
            let way = flow.way(&routes, BASE, &passed, Left::After(end)).unwrap_or_else(|| {
                panic!("no path for {path:x?}, {passed:?} of {:x?}, {full:x?}", model.next)
            });
            let followed: Vec<u32> = way
                .iter()
                .filter_map(|step| match step {
                    Step::Block(block) => Some(*block),
                    _ => None,
                })
                .collect();
            let unknown = way.contains(&Step::Unknown);
            if unknown {
                assert!(with_keys || !full.is_empty(), "{path:x?} of {:x?}", model.next);
                // The known part is right.
                let mut blocks = blocks(&flow, &path).into_iter();
                assert!(followed.iter().all(|known| blocks.any(|block| block == *known)), "{path:x?}");
                parts += 1;
                continue;
            }
            assert_eq!(
                followed,
                blocks(&flow, &path),
                "{path:x?}, {passed:?} of {:x?}, {full:x?}",
                model.next
            );
            whole += 1;
            // Without one of its witnesses it is not a path, or is visibly another one.
            if let Some(lost) = (!passed.is_empty()).then(|| random.below(passed.len())) {
                let mut fewer = passed.clone();
                fewer.remove(lost);
                let other = flow.way(&routes, BASE, &fewer, Left::After(end));
                assert_ne!(other, Some(way));
                broken += usize::from(other.is_none());
            }
        }
    }
    assert!(whole > 10_000 && parts * 10 < whole && broken * 3 > whole, "{whole} {parts} {broken}");
}

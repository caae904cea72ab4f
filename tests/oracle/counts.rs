//! tests/oracle/counts.rs: the probes needed to count all blocks in the functions of whole kernels.

use std::collections::BTreeMap;

use kinst::image::ModuleId;
use kinst::sites::Kernel;
use kinst::sites::flow::counts::Room;

use crate::needs;

/// Little more than half of a function's blocks are probed. All other counts follow, except next to rewritten
/// instructions.
#[test]
fn about_half_of_the_blocks_are_counted() {
    for (name, path) in needs::kernels() {
        let kernel = Kernel::sysroot(&path, None).expect("a sysroot");
        let callers = kernel.callers(ModuleId::PROPER).expect("code");
        let symbols = kernel.symbols(ModuleId::PROPER).expect("symbols");
        let (mut functions, mut blocks, mut probes, mut share) = (0, 0, 0, 0.0);
        let mut unread: BTreeMap<String, usize> = BTreeMap::new();
        for (name, symbol) in symbols.iter().step_by(7) {
            if name.contains(".cold") || symbol.gone() || !callers.has_code(symbol) {
                continue;
            }
            match callers.flow(symbol) {
                Ok(flow) => {
                    let counts = flow.counts(None, |_| Room::Free, |_, _| Some(true));
                    let mut places: Vec<u32> = counts
                        .counted()
                        .flat_map(|(_, points)| points)
                        .filter_map(|point| flow.block_at(point.address()))
                        .collect();
                    places.sort_unstable();
                    places.dedup();
                    let counted = places.len();
                    functions += 1;
                    blocks += counts.blocks();
                    probes += counted;
                    share += counted as f64 / counts.blocks().max(1) as f64;
                }
                Err(error) => {
                    *unread.entry(format!("{error:?}").split('(').next().unwrap().to_owned()).or_default() +=
                        1
                }
            }
        }
        println!(
            "{name}: {functions} functions, {probes} probes for {blocks} blocks, {:.1} % of all, {:.1} % of a function's; without a graph: {unread:?}",
            100.0 * probes as f64 / blocks as f64,
            100.0 * share / functions as f64,
        );
        assert!(functions > 5000 && unread.values().sum::<usize>() < 10, "{functions}, {unread:?}");
        assert!(
            probes * 100 < blocks * 50 && share < f64::from(functions) * 0.65,
            "{probes} of {blocks}, {share}"
        );
    }
}

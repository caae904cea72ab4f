//! tests/outside/regressions.rs: regressions found by the fuzzers, each with an input in fuzz/regressions/TARGET/.

#[allow(unreachable_pub)]
#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

use std::panic;
use std::path::Path;

#[test]
fn what_was_found_stays_mended() {
    let regressions = std::env::var_os("KINST_FUZZ_INPUTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/regressions"),
        std::path::PathBuf::from,
    );
    let (mut replayed, mut failed) = (0, Vec::new());
    for (name, target) in fuzz::TARGETS {
        let Ok(inputs) = std::fs::read_dir(regressions.join(name)) else { continue };
        for input in inputs {
            let path = input.unwrap().path();
            let data = std::fs::read(&path).unwrap();
            replayed += 1;
            if panic::catch_unwind(|| target(&data)).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(replayed > 0 && failed.is_empty(), "{failed:?} of {replayed}");
}

//! tests/outside/regressions.rs: regressions found by the fuzzers, each with an input in fuzz/regressions/TARGET/.

#[allow(unreachable_pub)]
#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

use std::panic;
use std::path::Path;

use crate::numbers::Random;

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

/// Debug information in other files, packed or not, each changed at a few places. `KINST_DAMAGED` is another number of
/// inputs.
#[test]
fn damaged_files_of_split_programs() {
    assert!(fuzz::files() > 6, "gcc makes at least these");
    let inputs = std::env::var("KINST_DAMAGED").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let mut random = Random(1);
    let mut next = || random.next() as u8;
    for number in 0..inputs {
        // Two bytes that choose the file and the section, and one to eight edits; some inputs truncate the file.
        let len = 2 + 3 * (1 + usize::from(next()) % 8) + if number % 16 == 0 { 2 } else { 0 };
        let data: Vec<u8> = (0..len).map(|_| next()).collect();
        let done = panic::catch_unwind(|| fuzz::split_files(&data));
        assert!(done.is_ok(), "input {number}: {data:?}");
    }
}

//! fuzz/src/lcov.rs: lcov files: data that was read and written is the same when it is read again.

use kinst::analysis::coverage::rewrite::rewrite;

pub fn lcov(data: &[u8]) {
    if let Ok(once) = rewrite(&String::from_utf8_lossy(data)) {
        assert_eq!(rewrite(&once).as_ref(), Ok(&once));
    }
}

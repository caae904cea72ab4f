//! fuzz/src/lcov.rs: files of lcov: what has been read is written so that it is read again as the same.

use kinst::analysis::coverage::rewrite::rewrite;

pub fn lcov(data: &[u8]) {
    if let Ok(once) = rewrite(&String::from_utf8_lossy(data)) {
        assert_eq!(rewrite(&once).as_ref(), Ok(&once));
    }
}

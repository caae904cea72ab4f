//! fuzz/fuzz_targets/index.rs: an index on disk with a right checksum and wrong contents.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::index(data));

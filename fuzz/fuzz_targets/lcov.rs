//! fuzz/fuzz_targets/lcov.rs: files of lcov.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::lcov(data));

//! fuzz/fuzz_targets/lcov.rs: lcov files.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::lcov(data));

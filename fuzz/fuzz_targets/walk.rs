//! fuzz/fuzz_targets/walk.rs: the copies of a function, in damaged debug information.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::walk(data));

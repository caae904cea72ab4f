//! fuzz/fuzz_targets/frames.rs: the functions at an address, in damaged debug information.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::frames(data));

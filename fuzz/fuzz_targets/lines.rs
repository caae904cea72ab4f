//! fuzz/fuzz_targets/lines.rs: the source line of an address, in damaged debug information.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::lines(data));

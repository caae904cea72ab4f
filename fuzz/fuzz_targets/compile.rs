//! fuzz/fuzz_targets/compile.rs: arbitrary text, compiled.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::compile(data));

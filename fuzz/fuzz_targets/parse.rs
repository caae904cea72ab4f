//! fuzz/fuzz_targets/parse.rs: arbitrary text, parsed.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::parse(data));

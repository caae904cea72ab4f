//! fuzz/fuzz_targets/stapsdt.rs: the notes of static probes in programs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::stapsdt(data));

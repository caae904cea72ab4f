//! fuzz/fuzz_targets/pclntab.rs: the table of functions of a Go program.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::pclntab(data));

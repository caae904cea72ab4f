//! fuzz/fuzz_targets/program.rs: programs from a grammar, compiled.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::program(data));

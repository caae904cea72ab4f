//! fuzz/fuzz_targets/uprobes.rs: the instruction that gets a probe in a program.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::uprobes(data));

//! fuzz/fuzz_targets/notes.rs: the notes of drivers' static probes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::notes(data));

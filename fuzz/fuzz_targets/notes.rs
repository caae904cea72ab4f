//! fuzz/fuzz_targets/notes.rs: the notes of drivers' probes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::notes(data));

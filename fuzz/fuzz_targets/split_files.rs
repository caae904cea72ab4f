//! fuzz/fuzz_targets/split_files.rs: debug information in other files than the program.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::split_files(data));

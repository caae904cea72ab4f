//! fuzz/fuzz_targets/options.rs: settings, pragmas, command lines.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::options(data));

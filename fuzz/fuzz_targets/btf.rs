//! fuzz/fuzz_targets/btf.rs: types of a kernel.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::btf(data));

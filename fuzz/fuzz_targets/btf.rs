//! fuzz/fuzz_targets/btf.rs: a kernel's types.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::btf(data));

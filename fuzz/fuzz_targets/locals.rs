//! fuzz/fuzz_targets/locals.rs: variables of the kernel's code.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::locals(data));

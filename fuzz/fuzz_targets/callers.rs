//! fuzz/fuzz_targets/callers.rs: the caller's registers at an address, in damaged call frame information.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::callers(data));

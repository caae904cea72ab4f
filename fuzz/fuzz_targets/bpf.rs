//! fuzz/fuzz_targets/bpf.rs: any words as an object of DIF, translated to BPF.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::bpf(data));

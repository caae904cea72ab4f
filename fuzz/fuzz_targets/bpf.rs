//! fuzz/fuzz_targets/bpf.rs: arbitrary words as a DIFO, translated to BPF.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kinst_fuzz::bpf(data));

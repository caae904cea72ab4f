//! tests/dif/: the bytecode: wire format, verifier and interpreter, also compared with the kernel module's.

#[path = "../support/here.rs"]
mod here;
#[path = "../support/numbers.rs"]
mod numbers;
#[path = "../support/snapshot.rs"]
mod snapshot;

mod bpf;
mod bpf_load;
mod differential;
mod listing;
mod machine;
mod model;
mod program;
mod random;
mod wire;

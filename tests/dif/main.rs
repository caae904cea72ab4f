//! dif/: the bytecode: wire form, verifier and interpreter, alone and against the kernel module's.

mod differential;
mod listing;
mod machine;
mod model;
mod program;
mod random;
mod wire;

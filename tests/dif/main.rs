//! dif/: the bytecode: wire form, verifier and interpreter, alone and against the kernel module's.

mod machine;
mod program;
mod random;
mod wire;

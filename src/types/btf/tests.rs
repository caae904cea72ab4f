//! types/btf/tests.rs: real and damaged files.

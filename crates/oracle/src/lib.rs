//! oracle/: a second opinion on DIF for tests: a verifier and an interpreter that no product code uses.

pub mod interp;
pub mod verify;

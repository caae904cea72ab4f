//! oracle/: a second opinion on DIF, for the tests: a verifier and an interpreter, which no product code uses.

pub mod interp;
pub mod verify;

//! oracle/verify/: verification of an image, with the same checks in the same order as in the kernel's verifier.
//!
//! The kernel does not rely on it. It is a second opinion: an invalid image is refused here first, with a
//! named reason, and the two verifiers are tested against each other.

mod clauses;
mod image;
mod insns;
mod refusal;
mod subroutine;
mod variables;

pub use image::{Limits, ProgramError, verify, verify_program};
pub use refusal::Refusal;
pub use subroutine::{SubrRule, subr_rule};

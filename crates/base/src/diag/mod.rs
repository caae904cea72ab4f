//! base/diag/: diagnostics: the error, its place, and what to do next.
//!
//! Every stage has its own error enum; each variant turns into one [`Diagnostic`].

pub mod advice;
pub mod color;
mod diagnostic;
pub mod render;
pub mod suggest;
mod tag;
pub mod tags;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use tag::Tag;

//! knowledge/: the types and symbols of a kernel, from all available sources.

pub(super) mod files;
mod lookup;
pub(super) mod symbols;

pub use files::{Files, Installed};
pub use lookup::Knowledge;
pub use symbols::Located;

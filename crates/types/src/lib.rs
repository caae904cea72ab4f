//! types/: Type, layout, trait TypeSource.

pub mod btf;
pub mod declared;
pub mod intrinsic;
mod layout;
mod source;
mod tag;
#[cfg(test)]
mod tests;
mod ty;

pub use layout::{Layout, has_size, promote};
pub use source::{KernelTypes, Member, Prototype, Symbol, TypeSource};
pub use tag::TagKind;
pub use ty::{Int, Tagged, Type, TypeId, TypeOrigin};

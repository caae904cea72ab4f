//! sites/image/: an image with sites (the kernel proper, a module, or another file): its names, instructions, source.

mod handle;
pub(super) mod info;
pub(super) mod naming;
mod text;

pub(crate) use handle::{Image, Images};

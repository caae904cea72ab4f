//! sites/image/handle.rs: one image of a set that is searched together, and what the set has to know of each.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use kinst_base::diag::Diagnostic;
use kinst_base::image::ImageId;
use kinst_debuginfo::{ElfFile, Reference};

use crate::cache::image::ImageIndex;
use crate::cache::source::Source;
use crate::code::tables::Tables;
use crate::flow::callers::Callers;
use crate::symtab::Symbols;

/// A set of images: a kernel with its modules. All that differs between sets of different kinds is here; what is
/// asked of one image is [`Image`].
pub trait Images: Sync {
    /// The image as the second field of a description names it.
    fn name(&self, image: ImageId) -> &str;
    /// Whether a function's name alone means that of this image, where others have such a function too.
    fn is_first(&self, image: ImageId) -> bool;
    /// Whether several functions of the set have this name.
    fn is_shared(&self, function: &str) -> bool;

    /// The functions and their addresses.
    fn symbols(&self, image: ImageId) -> Option<&Symbols>;
    /// The file with the debug information.
    fn debug(&self, image: ImageId) -> Option<&ElfFile>;
    /// The file by whose addresses the symbols are, or what an index says of it.
    fn layout(&self, image: ImageId) -> Option<&ElfFile>;
    /// The file with the instructions, if it is not that of the debug information.
    fn binary(&self, image: ImageId) -> Option<&ElfFile>;
    /// The index of inlined functions, if one is kept.
    fn index(&self, image: ImageId) -> Option<&Arc<ImageIndex>>;
    /// The frames and lines, if they are kept.
    fn cached_source(&self, image: ImageId) -> Option<Source>;
    /// The command that installs what is missing.
    fn debug_package(&self) -> String;

    /// The functions as callers of inlined copies; `None` without a file whose code can be read.
    fn callers(&self, image: ImageId) -> Option<Callers<'_>>;
    /// The lists of places in the text that the file has; `None` without any.
    fn tables(&self, image: ImageId) -> Option<&Tables>;
    /// The target of a call or jump by the addresses of its bytes in the file.
    fn reference(&self, image: ImageId, bytes: Range<u64>) -> Option<&Reference>;

    /// Converts an address of the symbols to the one that the image runs at; `None` if that is hidden.
    fn run_time(&self, image: ImageId, address: u64) -> Option<u64>;
    /// Whether calls are linked only in memory, where an address has the name that `name_at` gives it.
    fn is_linked_in_memory(&self, image: ImageId) -> bool;
    /// The function or variable at an address at run time, with the distance from its beginning.
    fn name_at(&self, address: u64) -> Option<(String, u64)>;

    /// Reports a problem that does not stop a run.
    fn warn(&self, warning: Diagnostic);
    /// Reports for `-v` what was left out, and why.
    fn remark(&self, remark: String);
}

/// The lists of a file that has none.
static NO_TABLES: LazyLock<Tables> = LazyLock::new(Tables::default);

/// An image of a set.
#[derive(Clone, Copy)]
pub struct Image<'k> {
    all: &'k dyn Images,
    id: ImageId,
}

impl<'k> Image<'k> {
    pub fn new(all: &'k dyn Images, id: ImageId) -> Image<'k> {
        Image { all, id }
    }

    pub fn id(self) -> ImageId {
        self.id
    }

    pub(crate) fn all(self) -> &'k dyn Images {
        self.all
    }

    pub fn name(self) -> &'k str {
        self.all.name(self.id)
    }

    /// The functions by the addresses that all of [`Image`] speaks of.
    pub fn symbols(self) -> Option<&'k Symbols> {
        self.all.symbols(self.id)
    }

    pub(crate) fn debug(self) -> Option<&'k ElfFile> {
        self.all.debug(self.id)
    }

    pub(crate) fn layout(self) -> Option<&'k ElfFile> {
        self.all.layout(self.id)
    }

    pub(crate) fn binary(self) -> Option<&'k ElfFile> {
        self.all.binary(self.id)
    }

    pub(crate) fn index(self) -> Option<&'k Arc<ImageIndex>> {
        self.all.index(self.id)
    }

    pub(crate) fn callers(self) -> Option<Callers<'k>> {
        self.all.callers(self.id)
    }

    pub(crate) fn tables(self) -> &'k Tables {
        self.all.tables(self.id).unwrap_or(&NO_TABLES)
    }

    pub fn run_time(self, address: u64) -> Option<u64> {
        self.all.run_time(self.id, address)
    }
}

//! sites/image/handle.rs: one image in a set that is searched together, and a trait of such sets.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use kinst_base::diag::Diagnostic;
use kinst_base::image::ImageId;
use kinst_debuginfo::{ElfFile, Reference};
use kinst_dwarf::Function;

use crate::cache::image::ImageIndex;
use crate::cache::source::Source;
use crate::code::tables::Tables;
use crate::flow::callers::Callers;
use crate::symtab::Symbols;

/// A set of images: a kernel with its modules. Everything that differs between kinds of sets is in this
/// trait; queries about one image are in [`Image`].
pub trait Images: Sync {
    /// Returns the image's name in the second field of a description.
    fn name(&self, image: ImageId) -> &str;
    /// Whether an unqualified function name refers to this image if other images have such a function too.
    fn is_first(&self, image: ImageId) -> bool;
    /// Whether several functions of the set have this name.
    fn is_shared(&self, function: &str) -> bool;

    /// Returns the functions and their addresses.
    fn symbols(&self, image: ImageId) -> Option<&Symbols>;
    /// Returns the file with the debug information.
    fn debug(&self, image: ImageId) -> Option<&ElfFile>;
    /// Returns the file whose addresses the symbols use, or its layout from an index.
    fn layout(&self, image: ImageId) -> Option<&ElfFile>;
    /// Returns the file with the instructions, if it is not the one with the debug information.
    fn binary(&self, image: ImageId) -> Option<&ElfFile>;
    /// Returns the index of inlined functions, if cached.
    fn index(&self, image: ImageId) -> Option<&Arc<ImageIndex>>;
    /// Returns the functions with inlined copies that pass, by name, if the image has no debug information but another
    /// description of them.
    fn described(&self, image: ImageId, passes: &dyn Fn(&str) -> bool) -> Option<BTreeMap<String, Function>>;
    /// Returns the frames and lines, if cached.
    fn cached_source(&self, image: ImageId) -> Option<Source>;
    /// Returns the command that installs the missing debug information.
    fn debug_package(&self) -> String;

    /// Returns the functions as callers of inlined copies; `None` without a file with readable code.
    fn callers(&self, image: ImageId) -> Option<Callers<'_>>;
    /// Returns the tables of special places in the file's text; `None` without a file.
    fn tables(&self, image: ImageId) -> Option<&Tables>;
    /// Returns the target of a call or jump, by the addresses of its bytes in the file.
    fn reference(&self, image: ImageId, bytes: Range<u64>) -> Option<&Reference>;

    /// Returns the name of the imported function whose stub is at an address: `exit@plt`.
    fn import_at(&self, _image: ImageId, _address: u64) -> Option<String> {
        None
    }
    /// Whether calls may not return: they may end the program, or throw an exception.
    fn calls_may_end(&self) -> bool {
        false
    }
    /// Returns the addresses where the function at an address catches exceptions; `None` if that is unknown.
    fn landing_pads(&self, _image: ImageId, _address: u64) -> Option<Vec<u64>> {
        Some(Vec::new())
    }

    /// Converts an address of the symbols to a run-time address; `None` if that is hidden.
    fn run_time(&self, image: ImageId, address: u64) -> Option<u64>;
    /// Whether calls are linked only in memory, where `name_at` names their targets.
    fn is_linked_in_memory(&self, image: ImageId) -> bool;
    /// Returns the function or variable at a run-time address, and the offset in it.
    fn name_at(&self, address: u64) -> Option<(String, u64)>;

    /// Reports a problem that does not stop a run.
    fn warn(&self, warning: Diagnostic);
    /// Reports for `-v` what was left out and why.
    fn remark(&self, remark: String);
}

/// The tables of a file that has none.
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

    /// Returns the functions, with the addresses that all of [`Image`] uses.
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

    pub(crate) fn described(self, passes: &dyn Fn(&str) -> bool) -> Option<BTreeMap<String, Function>> {
        self.all.described(self.id, passes)
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

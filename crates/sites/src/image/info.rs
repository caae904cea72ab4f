//! sites/image/info.rs: source information on an image's code, from its debug information or from the cache.

use std::ops::Range;
use std::sync::Arc;

use super::handle::Image;
use crate::cache::source::Source;
use kinst_debuginfo::{ElfFile, Error};
use kinst_dwarf::{Body, DebugInfo, Definition, InlineCopy, Lines};

/// Debug information of up to this size is always read completely, even if the machine is busy.
pub(crate) const READ_WHOLE_BELOW: u64 = 1 << 20;

/// The frames and lines of an image, open for many queries.
pub(crate) enum Info<'k> {
    File(Box<DebugInfo<'k>>),
    Cached(Box<Source>),
}

impl Info<'_> {
    /// Returns the function whose code includes an address.
    pub(crate) fn body_at(&self, address: u64) -> Result<Option<Arc<Body>>, Error> {
        match self {
            Info::File(info) => info.body_at(address),
            Info::Cached(source) => Ok(source.body_at(address)),
        }
    }

    /// Returns the lines of a code range in one function.
    pub(crate) fn lines_in(&self, range: &Range<u64>) -> Result<Option<Arc<Lines>>, Error> {
        match self {
            Info::File(info) => info.lines_at(range.start),
            Info::Cached(source) => Ok(Some(Arc::new(source.lines_in(range)))),
        }
    }

    /// Returns the definition of the function that a frame is an instance of.
    pub(crate) fn definition(&self, origin: u64) -> Result<Arc<Definition>, Error> {
        match self {
            Info::File(info) => info.definition(origin),
            Info::Cached(source) => Ok(source.definition(origin)),
        }
    }

    /// Returns the code compiled from the source file with this path, or from all files in the folder:
    /// `fs/open.c`, `fs/ext4/`.
    pub(crate) fn code_from(&self, path: &str) -> Result<Vec<Range<u64>>, Error> {
        match self {
            Info::File(info) => info.code_from(path),
            Info::Cached(source) => Ok(source.code_from(path)),
        }
    }

    /// Returns the copies of a function in the order of the debug information.
    pub(crate) fn copies(&self, function: &str) -> Result<Vec<InlineCopy>, Error> {
        match self {
            Info::File(info) => {
                let found = kinst_dwarf::find_meant(info.image(), function, false)?;
                Ok(found.functions.into_iter().flat_map(|function| function.copies).collect())
            }
            Info::Cached(source) => Ok(source.copies(function)),
        }
    }
}

impl<'k> Image<'k> {
    /// Opens the source information; `None` if neither debug information nor a cache of it exists.
    pub(crate) fn info(self) -> Option<Result<Info<'k>, Error>> {
        if let Some(file) = self.debug() {
            return Some(DebugInfo::open(file).map(|info| Info::File(Box::new(info))));
        }
        self.all().cached_source(self.id()).map(|source| Ok(Info::Cached(Box::new(source))))
    }

    /// Whether it may have a function or copies of it: most images do not have a given name.
    pub(crate) fn may_mention(self, function: &str) -> bool {
        let wanted = [function.to_owned()];
        match (self.debug(), self.index()) {
            (Some(file), _) => self.all().is_first(self.id()) || kinst_dwarf::may_know(file, &wanted),
            (None, Some(index)) => {
                let named = self.symbols().map(|symbols| symbols.instances(function));
                index.function(function).is_some() || named.is_some_and(|named| !named.is_empty())
            }
            (None, None) => false,
        }
    }

    /// Whether the debug information may contain any of these names: searches for their bytes, which is much
    /// faster than a walk. Small files are walked instead.
    pub(crate) fn may_know(self, file: &ElfFile, names: &[String]) -> bool {
        self.all().is_first(self.id()) && file.debug_info_size() < READ_WHOLE_BELOW
            || kinst_dwarf::may_know(file, names)
    }

    /// Returns the names of the functions that are or could be inlined.
    pub(crate) fn inline_names(self) -> Vec<String> {
        if let Some(index) = self.index() {
            return index.names().map(str::to_owned).collect();
        }
        if let Some(described) = self.described(&|_| true) {
            return described.into_keys().collect();
        }
        let names = self.debug().and_then(|file| kinst_dwarf::inline_names(file).ok());
        names.unwrap_or_default().into_iter().collect()
    }
}

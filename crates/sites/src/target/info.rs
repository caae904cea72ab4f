//! sites/target/info.rs: what is known of a module's code in the source: from its debug information, or as it was kept.

use kinst_base::image::ModuleId;
use std::ops::Range;
use std::sync::Arc;

use super::Kernel;
use crate::kept::source::Source;
use kinst_debuginfo::Error;
use kinst_dwarf::{Body, DebugInfo, Definition, InlineCopy, Lines};

/// The frames and lines of a module, open for many queries.
pub enum Info<'k> {
    File(Box<DebugInfo<'k>>),
    Kept(Box<Source>),
}

impl Info<'_> {
    /// The function that has the code at an address.
    pub fn body_at(&self, address: u64) -> Result<Option<Arc<Body>>, Error> {
        match self {
            Info::File(info) => info.body_at(address),
            Info::Kept(source) => Ok(source.body_at(address)),
        }
    }

    /// The lines of a range of code of one function.
    pub fn lines_in(&self, range: &Range<u64>) -> Result<Option<Arc<Lines>>, Error> {
        match self {
            Info::File(info) => info.lines_at(range.start),
            Info::Kept(source) => Ok(Some(Arc::new(source.lines_in(range)))),
        }
    }

    /// The definition of the function that a frame is an instance of.
    pub fn definition(&self, origin: u64) -> Result<Arc<Definition>, Error> {
        match self {
            Info::File(info) => info.definition(origin),
            Info::Kept(source) => Ok(source.definition(origin)),
        }
    }

    /// The code that is compiled from the source file of this path, or from those in the folder: `fs/open.c`, `fs/ext4/`.
    pub fn code_from(&self, path: &str) -> Result<Vec<Range<u64>>, Error> {
        match self {
            Info::File(info) => info.code_from(path),
            Info::Kept(source) => Ok(source.code_from(path)),
        }
    }

    /// The copies of a function in the order of the debug information.
    pub fn copies(&self, function: &str) -> Result<Vec<InlineCopy>, Error> {
        match self {
            Info::File(info) => {
                let found = kinst_dwarf::find(info.image(), &[function.to_owned()], false)?;
                Ok(found.functions.into_iter().flat_map(|function| function.copies).collect())
            }
            Info::Kept(source) => Ok(source.copies(function)),
        }
    }
}

impl Kernel {
    /// What is known of a module's code; `None` if there is neither debug information nor what was kept of it.
    pub(crate) fn info(&self, module: ModuleId) -> Option<Result<Info<'_>, Error>> {
        if let Some(image) = self.debug(module) {
            return Some(DebugInfo::open(image).map(|info| Info::File(Box::new(info))));
        }
        let id = self.index_id(module)?;
        let source = self.kept.places().find_map(|place| place.source(&id));
        source.map(|source| Ok(Info::Kept(Box::new(source))))
    }

    /// Whether a module may have a function or copies of it: most do not have a given name.
    pub(crate) fn may_mention(&self, module: ModuleId, function: &str) -> bool {
        let wanted = [function.to_owned()];
        match (self.debug(module), self.index(module)) {
            (Some(image), _) => module == ModuleId::PROPER || kinst_dwarf::may_know(image, &wanted),
            (None, Some(index)) => {
                let named = self.symbols(module).map(|symbols| symbols.instances(function));
                index.function(function).is_some() || named.is_some_and(|named| !named.is_empty())
            }
            (None, None) => false,
        }
    }
}

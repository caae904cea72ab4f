//! debuginfo/home.rs: the place of a program among files: the root of its process, and the files beside it.

use std::path::{Path, PathBuf};

/// The place of a file.
#[derive(Clone, Debug, Default)]
pub struct Home {
    /// The root directory in which the file's paths are meant; `None` for that of this process.
    pub root: Option<PathBuf>,
    /// The binary, if this is the separate file with its debug information.
    pub binary: Option<PathBuf>,
}

impl Home {
    /// The path in this process of a path in the file's root.
    pub fn path(&self, path: &Path) -> PathBuf {
        match &self.root {
            Some(root) if path.starts_with(root) => path.to_owned(),
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_owned(),
        }
    }
}

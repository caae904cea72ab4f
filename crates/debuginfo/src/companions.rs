//! debuginfo/companions.rs: the files that complete another one: how a file names them, and those that are open.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use object::Object;

use super::buildid::BuildId;
use super::elf_file::{Companion, ElfFile};
use super::error::Error;
use super::home::Home;

impl ElfFile {
    /// Assigns the file's place; [`ElfFile::path`] is in its root.
    pub fn at_home(mut self, home: Home) -> ElfFile {
        self.home = home;
        self
    }

    /// The file's place.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The paths of the file and of its binary, as this process opens them.
    pub fn own_paths(&self) -> Vec<PathBuf> {
        let own = std::iter::once(self.path()).chain(self.home.binary.as_deref());
        let mut paths: Vec<PathBuf> = own.map(|path| self.home.path(path)).collect();
        paths.dedup();
        paths
    }

    /// A file with a part of the debug information, opened once. `path` names it, and `open` finds it.
    pub fn companion(&self, path: &Path, open: impl FnOnce() -> Result<ElfFile, Error>) -> Companion {
        let known = || self.companions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(companion) = known().get(path) {
            return Arc::clone(companion);
        }
        // Not under the lock: others are opened at the same time.
        let opened = Arc::new(open());
        Arc::clone(known().entry(path.to_owned()).or_insert(opened))
    }

    /// The file name and the CRC of `.gnu_debuglink`.
    pub fn debug_link(&self) -> Option<(String, u32)> {
        let file = self.file().ok()?;
        let (name, crc) = file.gnu_debuglink().ok().flatten()?;
        Some((String::from_utf8(name.to_vec()).ok()?, crc))
    }

    /// The file name and the build id of `.gnu_debugaltlink`.
    pub(super) fn alternate_link(&self) -> Option<(String, BuildId)> {
        let file = self.file().ok()?;
        let (name, id) = file.gnu_debugaltlink().ok().flatten()?;
        Some((String::from_utf8(name.to_vec()).ok()?, BuildId::new(id)))
    }

    /// The CRC to compare with a debug link's.
    pub fn crc(&self) -> u32 {
        let mut crc = flate2::Crc::new();
        crc.update(&self.bytes);
        crc.sum()
    }
}

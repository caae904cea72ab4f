//! backend/bpf/program_files.rs: the files of programs whose instructions are traced, by id.

use kinst_base::image::FileId;
use std::path::PathBuf;

/// The files that contain the places of a plan.
pub trait ProgramFiles {
    /// Returns a path by which this process can open the file.
    fn path(&self, file: FileId) -> Option<PathBuf>;

    /// Returns the offset in the file of an address of its layout.
    fn offset(&self, file: FileId, address: u64) -> Option<u64>;
}

/// No files: for a plan without places in programs.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl ProgramFiles for NoFiles {
    fn path(&self, _: FileId) -> Option<PathBuf> {
        None
    }

    fn offset(&self, _: FileId, _: u64) -> Option<u64> {
        None
    }
}

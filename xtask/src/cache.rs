//! The cache outside the checkout: the files that setup fetches, shared by all checkouts of a user.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};

use crate::steps;

/// The file written last into a finished folder: a folder without it is an incomplete download.
const STAMP: &str = ".complete";

/// The cache folder: KINST_CACHE, or kinst in the user's cache.
pub(crate) fn dir() -> Result<PathBuf> {
    if let Some(dir) = set("KINST_CACHE") {
        return Ok(std::path::absolute(dir)?);
    }
    if let Some(dir) = set("XDG_CACHE_HOME") {
        return Ok(PathBuf::from(dir).join("kinst"));
    }
    match set("HOME") {
        Some(home) => Ok(PathBuf::from(home).join(".cache/kinst")),
        None => bail!("neither KINST_CACHE, XDG_CACHE_HOME nor HOME is set: set KINST_CACHE to a folder"),
    }
}

/// The log of other programs' output while files are fetched.
pub(crate) fn log() -> Result<PathBuf> {
    Ok(dir()?.join("setup.log"))
}

fn set(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The lock on this cache, held against other setups until dropped.
pub(crate) struct Lock(#[expect(dead_code, reason = "closing the file is what unlocks")] File);

/// Waits for the cache's lock; a message says so if another process has it.
pub(crate) fn lock() -> Result<Lock> {
    let dir = dir()?;
    fs::create_dir_all(&dir).with_context(|| format!("cannot make the cache folder {}", dir.display()))?;
    let file = File::create(dir.join("lock"))?;
    if file.try_lock().is_err() {
        steps::step(format!("waiting for another setup on {}", dir.display()), |_| Ok(file.lock()?))?;
    }
    Ok(Lock(file))
}

/// Whether `dir` was filled completely.
pub(crate) fn is_complete(dir: &Path) -> bool {
    dir.join(STAMP).is_file()
}

/// Fills `dir` as a whole or not at all: `fill` works in a temporary folder, which gets the name at the end.
pub(crate) fn fill(dir: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let mut name = dir.file_name().context("a cache folder has a name")?.to_os_string();
    name.push(".part");
    let part = dir.with_file_name(name);
    remove(&part)?;
    fs::create_dir_all(&part)?;
    fill(&part)?;
    fs::write(part.join(STAMP), "")?;
    remove(dir)?;
    fs::rename(&part, dir).with_context(|| format!("cannot rename {} to {}", part.display(), dir.display()))
}

/// Writes a file as a whole or not at all: a concurrent reader, for another guest, sees the old one or the new one.
pub(crate) fn write(file: &Path, data: &[u8]) -> Result<()> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let part = file.with_extension(format!("{}-{number}.part", std::process::id()));
    let written = fs::write(&part, data).and_then(|()| fs::rename(&part, file));
    written.with_context(|| format!("cannot write {}", file.display()))
}

/// Removes a folder if it exists.
pub(crate) fn remove(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(e).with_context(|| format!("cannot remove {}", dir.display()))
        }
        _ => Ok(()),
    }
}

/// Fails early, with the missing bytes, if the disk is too small for the next step.
pub(crate) fn need_space(bytes: u64, what: &str) -> Result<()> {
    let dir = dir()?;
    let stat = rustix::fs::statvfs(&dir)?;
    let free = stat.f_bavail * stat.f_frsize;
    if free < bytes {
        bail!(
            "{what} needs {} MB in {}, and {} MB are free: make room, or set KINST_CACHE to another disk",
            bytes >> 20,
            dir.display(),
            free >> 20
        );
    }
    Ok(())
}

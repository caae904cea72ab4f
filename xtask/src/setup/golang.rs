//! A newer toolchain of Go than that of the machine's release: tests trace the programs of both.

use std::path::PathBuf;

use anyhow::Result;

use crate::apt::{Archive, Debian, Purpose, Suite};
use crate::cache;

/// The toolchain and its library.
const PACKAGES: [&str; 2] = ["golang-1.23-go", "golang-1.23-src"];

fn dir() -> Result<PathBuf> {
    Ok(cache::dir()?.join("golang"))
}

pub(crate) fn is_there() -> Result<bool> {
    Ok(cache::is_complete(&dir()?))
}

/// Fetches it if missing. The caller holds the cache's lock.
pub(crate) fn ensure() -> Result<()> {
    if is_there()? {
        return Ok(());
    }
    cache::need_space(500 << 20, "the packages of Go")?;
    let purpose = Purpose { brings: "a newer Go", instead: super::WITHOUT_TESTS };
    let archive = Archive::open(&cache::dir()?, Suite::WithBackports(Debian::Bookworm), purpose)?;
    cache::fill(&dir()?, |dir| archive.unpack("Go", &PACKAGES.map(String::from), dir))
}

//! The kernel's own tests of ftrace and livepatch, from the release's source package, as a tar file for guests.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::apt::Archive;
use crate::kernels::Name;
use crate::setup::source;
use crate::{cache, exec};

/// The name of the file in guests.
pub(crate) const FILE: &str = "selftests.tar";

/// The tar file; fetched if missing.
pub(crate) fn ensure() -> Result<PathBuf> {
    let cache = cache::dir()?;
    let dir = cache.join("selftests");
    let _lock = (!cache::is_complete(&dir)).then(cache::lock).transpose()?;
    if !cache::is_complete(&dir) {
        cache::need_space(400 << 20, "the kernel's source package")?;
        let brings = "the source of the kernel's own tests";
        let archive = Archive::open(&cache, Name::V6_1.suite(), super::kernel::purpose(brings))?;
        cache::fill(&dir, |dir| {
            let tests = ["ftrace", "livepatch"].map(|test| format!("tools/testing/selftests/{test}"));
            let unpacked = dir.join("source");
            source::unpack(&archive, &unpacked, &tests)?;
            let from = unpacked.join("tools/testing/selftests");
            exec::run(Command::new("tar").arg("-cf").arg(dir.join(FILE)).arg("-C").arg(from).arg("."))?;
            cache::remove(&unpacked)
        })?;
    }
    Ok(dir.join(FILE))
}

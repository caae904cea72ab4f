//! sid's bpftrace with all that it needs, for guests: a tree that a benchmark changes its root to.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::apt::{Archive, Suite};
use crate::{cache, exec};

/// What the tree has beside bpftrace: a shell, for its probes' commands.
const PACKAGES: [&str; 2] = ["bpftrace", "busybox-static"];

/// The tree as a tar file; brought unless it is there.
pub fn ensure() -> Result<PathBuf> {
    let cache = cache::dir()?;
    let dir = cache.join("bpftrace");
    let tar = dir.join("bpftrace.tar");
    let _lock = cache::lock()?;
    if cache::is_complete(&dir) {
        return Ok(tar);
    }
    cache::need_space(2 << 30, "bpftrace")?;
    let archive = Archive::open(&cache, Suite::Sid)?;
    let packages = archive.whole_closure(&PACKAGES)?;
    cache::fill(&dir, |dir| {
        let root = dir.join("root");
        archive.unpack(&packages, &cache.join("downloads"), &root)?;
        // What is read by people, and is half of it.
        for folder in ["usr/share", "usr/lib/x86_64-linux-gnu/perl-base", "usr/sbin"] {
            cache::remove(&root.join(folder))?;
        }
        for folder in ["bin", "lib", "lib64"] {
            symlink(format!("usr/{folder}"), root.join(folder))?;
        }
        exec::run(
            Command::new("tar").arg("-cf").arg(dir.join("bpftrace.tar")).arg("-C").arg(&root).arg("."),
        )?;
        cache::remove(&root)
    })?;
    Ok(tar)
}

//! tests/support/installed.rs: the kernels that `cargo xtask setup` has unpacked.

use std::path::{Path, PathBuf};

/// The sysroot of `stable`, `backports` or `sid`; `None`: it was not set up.
pub fn sysroot(name: &str) -> Option<PathBuf> {
    Some(cache()?.join("kernels").join(name)).filter(|root| root.exists())
}

/// Where all of that is.
pub fn cache() -> Option<PathBuf> {
    std::env::var_os("KINST_CACHE").map(PathBuf::from).or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME")?);
        let base = std::env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
        Some(base.join("kinst"))
    })
}

/// The kernel with its debug information.
#[allow(dead_code, reason = "some tests need the root alone")]
pub fn vmlinux(root: &Path) -> Option<PathBuf> {
    let boot = std::fs::read_dir(root.join("usr/lib/debug/boot")).ok()?;
    let mut files = boot.flatten().map(|entry| entry.path());
    files.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinux-")))
}

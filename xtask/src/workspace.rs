//! The folders of the checkout and of its build output.

use std::path::PathBuf;

/// The root of the checkout: the folder above this crate, and above `checks`.
pub fn root() -> PathBuf {
    // Cargo sets the crate's folder at run time: a binary may have been built for another checkout of a shared target.
    let running = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .filter(|dir| dir.ends_with("xtask") || dir.ends_with("checks"));
    let here = running.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    here.parent().expect("xtask/ is a folder of the checkout").to_path_buf()
}

/// Cargo's output folder, which the environment may move.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

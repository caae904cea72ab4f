//! tests/support/snapshot.rs: the folder of the reviewed snapshots, tests/snapshots; insta compares them.

#![allow(dead_code, reason = "each test needs some of it")]

use std::path::{Path, PathBuf};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").canonicalize().expect("the snapshots")
}

/// The files below a folder, sorted by name. `insta::glob!` is only for snapshots: its filter omits files, and it
/// collects the failures of other snapshots that are compared at the same time.
pub(crate) fn files(root: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The settings under which `assert_snapshot!("NAME", text)` uses NAME.snap in a folder, relative to tests/snapshots.
pub(crate) fn settings(below: impl AsRef<Path>) -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder().join(below));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    // glob! has set the input's path, but a snapshot is next to its input.
    settings.remove_snapshot_suffix();
    settings
}

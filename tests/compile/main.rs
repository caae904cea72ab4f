//! tests/compile/: the compiler: programs and what each stage makes of them.

#[path = "../support/btf.rs"]
mod btf;
#[path = "../support/exhaust.rs"]
mod exhaust;
#[path = "../support/kernel.rs"]
mod kernel;
#[path = "../support/needs.rs"]
mod needs;
#[path = "../support/snapshot.rs"]
mod snapshot;
#[path = "../support/sysroot.rs"]
mod sysroot;

mod scripts;
mod snapshots;
mod tags;
mod types;

use std::path::{Path, PathBuf};

/// The files below a folder, in the order of their names.
fn files(root: &Path, extension: &str) -> Vec<PathBuf> {
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

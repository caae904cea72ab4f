//! tests/support/snapshot.rs: texts that were reviewed, in tests/snapshots; `UPDATE=1` writes them anew, and their diff is what to review.

#![allow(dead_code, reason = "each test needs some of it")]

use std::path::{Path, PathBuf};

/// The lines that a report shows of each side, from the first difference on.
const SHOWN: usize = 8;

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots")
}

/// The files below a folder, in the order of their names.
pub fn files(root: &Path, extension: &str) -> Vec<PathBuf> {
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

/// Compares a text with the one in the file, or writes it; what differs is the error.
pub fn compare(path: &Path, actual: &str) -> Result<(), String> {
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return Ok(());
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, actual).expect("a file");
        return Ok(());
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let of = |lines: &[&str], sign: char| -> String {
        lines.iter().skip(first).take(SHOWN).map(|line| format!("  {sign} {line}\n")).collect()
    };
    Err(format!("{}\n{}{}", path.display(), of(&old, '-'), of(&new, '+')))
}

/// A test of one text; the file is named from tests/snapshots on.
#[track_caller]
pub fn assert(name: &str, actual: &str) {
    if let Err(report) = compare(&folder().join(name), actual) {
        panic!("\n{report}review, then UPDATE=1 writes it anew");
    }
}

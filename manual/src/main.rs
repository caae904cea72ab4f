//! manual/src/main.rs: writes the manual pages and the shell completions to a directory.

use anyhow::{Context as _, Result};
use clap::Parser;
use std::fs;
use std::path::{Path, PathBuf};

/// Write the manual pages and the shell completions
#[derive(Parser)]
#[command(name = "manual")]
struct Options {
    /// The directory to create man/ and completions/ in
    folder: PathBuf,
}

fn main() -> Result<()> {
    let folder = Options::parse().folder;
    let pages = manual::pages()?.into_iter().map(|page| (format!("man/{}", page.name), page.text));
    let scripts =
        manual::completions()?.into_iter().map(|(name, text)| (format!("completions/{name}"), text));
    for (name, text) in pages.chain(scripts) {
        write(&folder.join(name), &text)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(failed)?;
    }
    fs::write(path, text).with_context(failed)
}

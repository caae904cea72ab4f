//! Third-party C libraries for tests: the sources that are part of crates.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cache, exec, steps};

/// The crates with their versions: the drivers in tests/support/libraries are for these versions.
const CRATES: [(&str, &str); 7] = [
    ("bzip2-sys", "0.1.13"),
    ("jq-src", "0.4.1"),
    ("liblzma-sys", "0.4.9"),
    ("libsqlite3-sys", "0.40.0"),
    ("libz-sys", "1.1.33"),
    ("lz4-sys", "1.11.1"),
    ("zstd-sys", "2.1.3"),
];

/// Fetches the sources if missing.
pub(crate) fn ensure() -> Result<PathBuf> {
    let dir = cache::dir()?.join("libraries");
    let _lock = (!cache::is_complete(&dir)).then(cache::lock).transpose()?;
    if !cache::is_complete(&dir) {
        cache::need_space(200 << 20, "the sources of libraries")?;
        let fetch = || cache::fill(&dir, fetch);
        steps::step("sources of libraries", |_| fetch())?;
    }
    Ok(dir)
}

fn fetch(dir: &std::path::Path) -> Result<()> {
    let package = dir.join("package");
    fs::create_dir_all(&package)?;
    let crates = CRATES.map(|(name, version)| format!("{name} = \"={version}\"\n")).concat();
    let manifest =
        "[package]\nname = \"libraries\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n";
    fs::write(package.join("Cargo.toml"), format!("{manifest}[dependencies]\n{crates}"))?;
    fs::write(package.join("lib.rs"), "")?;
    let mut cargo = Command::new("cargo");
    cargo.args(["vendor", "--quiet"]).arg(package.join("vendor")).current_dir(&package);
    exec::logged(&mut cargo, &cache::log()?, || ())?;
    for (name, _) in CRATES {
        fs::rename(package.join("vendor").join(name), dir.join(name))
            .with_context(|| format!("cargo has not fetched {name}"))?;
    }
    cache::remove(&package)?;
    // jq's build converts its functions in the jq language to a file of strings.
    let source = dir.join("jq-src/modules/jq/src");
    let functions = fs::read_to_string(source.join("builtin.jq"))?;
    let lines =
        functions.lines().map(|line| format!("\"{}\\n\"\n", line.replace('\\', "\\\\").replace('"', "\\\"")));
    fs::write(source.join("builtin.inc"), lines.collect::<String>())?;
    Ok(())
}

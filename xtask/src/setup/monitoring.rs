//! Monitoring systems for tests of metrics: Prometheus, promtool and node_exporter, and the schema of OTLP.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::apt::{Archive, Purpose, Suite};
use crate::{cache, exec, steps};

/// Only the programs: each needs just the C library.
const PACKAGES: [&str; 2] = ["prometheus", "prometheus-node-exporter"];

/// The Python package of OTLP's messages. The version is fixed, since a test compares with it.
const SCHEMA: &str = "opentelemetry-proto==1.45.2";

fn dir() -> Result<PathBuf> {
    Ok(cache::dir()?.join("monitoring"))
}

pub(super) fn is_there() -> Result<bool> {
    Ok(cache::is_complete(&dir()?))
}

/// Fetches them if missing. The caller holds the cache's lock.
pub(super) fn ensure() -> Result<()> {
    if is_there()? {
        return Ok(());
    }
    cache::need_space(300 << 20, "Prometheus")?;
    let cache = cache::dir()?;
    let purpose = Purpose { brings: "Prometheus", instead: super::WITHOUT_TESTS };
    let archive = Archive::open(&cache, Suite::Host, purpose)?;
    cache::fill(&dir()?, |dir| {
        archive.unpack("Prometheus", &PACKAGES.map(String::from), dir)?;
        for folder in ["usr/share", "etc"] {
            cache::remove(&dir.join(folder))?;
        }
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]);
        pip.args(["--root-user-action", "ignore", "--target"]);
        pip.arg(dir.join("python")).arg(SCHEMA);
        steps::step("the schema of OTLP", |_| exec::logged(&mut pip, &cache::log()?, || ()))
    })
}

//! A kernel's own modules for a guest: uncompressed, as some busyboxes cannot unpack them, and each after its
//! dependencies, as the guest has no modules.dep.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection};

use crate::kernels::Kernel;
use crate::{cache, exec, workspace};

/// Writes these modules and their dependencies to files for a guest, in the order of loading. A module that the
/// kernel lacks, or has built in, is left out.
pub(crate) fn with_needs(kernel: &Kernel, names: &[&str]) -> Result<Vec<PathBuf>> {
    let dir = workspace::target().join("vm/modules").join(&kernel.release);
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let mut files = Vec::new();
    for name in names {
        take(kernel, name, &dir, &mut files)?;
    }
    Ok(files)
}

fn take(kernel: &Kernel, name: &str, dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let file = dir.join(format!("{name}.ko"));
    let Some(shipped) = kernel.module(name).filter(|_| !files.contains(&file)) else { return Ok(()) };
    let data = read(&shipped)?;
    for needed in needs(&data).with_context(|| format!("cannot read {}", shipped.display()))? {
        take(kernel, &needed, dir, files)?;
    }
    cache::write(&file, &data)?;
    files.push(file);
    Ok(())
}

/// The modules that this one depends on.
fn needs(module: &[u8]) -> Result<Vec<String>> {
    let file = object::File::parse(module)?;
    let section = file.section_by_name(".modinfo").context("it has no .modinfo")?;
    let info = String::from_utf8_lossy(section.data()?).into_owned();
    let depends = info.split('\0').find_map(|line| line.strip_prefix("depends=")).unwrap_or("");
    Ok(depends.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect())
}

/// A module's file, unpacked.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    let program = match file.extension().and_then(|e| e.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return fs::read(file).with_context(|| format!("cannot read {}", file.display())),
    };
    let out = exec::captured(Command::new(program).arg("-dc").arg(file))?;
    if !out.status.success() {
        bail!("{program} cannot unpack {}", file.display());
    }
    Ok(out.stdout)
}

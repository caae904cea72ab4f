//! The contents of a guest's initramfs: busybox, our programs and their libraries, the module, the runs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::kernels::{Arch, Kernel};
use crate::vm::{libraries, modules, newc::Archive};
use crate::{exec, pace};

const INIT: &str = include_str!("guest/init.sh");

/// The drivers of the ports to the host. Built-in drivers have no file.
const PORTS: [&str; 2] = ["virtio_pci", "virtio_console"];
/// The drivers of the disk, for kernels with modules for it.
const DISK: [&str; 3] = ["nvme", "crc32c_generic", "ext4"];

/// The guest's folder of files that scripts copy when needed.
pub(crate) const STORE: &str = "etc/store";

/// The contents of a guest, in addition to busybox.
#[derive(Clone, Default)]
pub(crate) struct Contents {
    /// Host programs for the guest's /usr/bin.
    pub programs: Vec<PathBuf>,
    /// Host files and folders for the guest's /root.
    pub pushed: Vec<PathBuf>,
    /// Host files and folders for the guest's [`STORE`], for files that only some scripts need.
    pub stored: Vec<PathBuf>,
    /// A disk to use instead of the one with the kernel's modules and debug files.
    pub disk: Option<PathBuf>,
    /// Whether the disk can be mounted writable; changes are lost with the guest.
    pub writes: bool,
    /// The index of the kernel, for dtrace's cache: otherwise every guest would read all of the debug information at
    /// the first use of each inlined function.
    pub index: Vec<PathBuf>,
    /// The module to load.
    pub module: Option<PathBuf>,
    /// Shell scripts; a run is an index into these.
    pub runs: Vec<String>,
}

/// The initramfs for a guest whose disk is `disk` and whose streams end a run with `mark`.
pub(crate) fn initramfs(
    contents: &Contents,
    kernel: &Kernel,
    busybox: &Path,
    disk: Option<&str>,
    mark: &str,
) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for dir in [
        "proc", "sys", "dev", "tmp", "run", "root", "sysroot", "bin", "sbin", "usr/bin", "usr/sbin",
        "var/tmp",
    ] {
        archive.directory(dir);
    }
    archive.file("init", 0o755, INIT.as_bytes());
    archive.file("bin/busybox", 0o755, &read(busybox)?);
    archive.file(
        "etc/passwd",
        0o644,
        b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    );
    archive.file("etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n");
    // Scripts multiply their time limits by it.
    let pace = pace::pace().ceil();
    let conf = format!("MARK={mark}\nDISK={}\nexport PACE={pace}\n", disk.unwrap_or_default());
    archive.file("etc/guest.conf", 0o644, conf.as_bytes());
    // The trees that tools expect at these places are on the disk.
    archive.link(
        &format!("lib/modules/{}", kernel.release),
        &format!("/sysroot/lib/modules/{}", kernel.release),
    );
    archive.link("usr/lib/debug", "/sysroot/usr/lib/debug");
    transport(&mut archive, kernel)?;
    if let Some(module) = &contents.module {
        archive.file("etc/module/kinst.ko", 0o644, &read(module)?);
    }
    for (id, script) in contents.runs.iter().enumerate() {
        archive.file(&format!("etc/runs/{id}"), 0o755, script.as_bytes());
    }
    for file in &contents.index {
        archive.file(&format!("root/.cache/kinst/index/{}", name(file)?), 0o600, &read(file)?);
    }
    files(&mut archive, contents, kernel.arch)?;
    Ok(archive.finish())
}

/// The programs and the other files, and the shared libraries that they need.
fn files(archive: &mut Archive, contents: &Contents, arch: Arch) -> Result<()> {
    let mut libraries = BTreeSet::new();
    let programs = contents.programs.iter().map(|p| ("usr/bin".to_owned(), p.clone()));
    let others = [placed("root", &contents.pushed)?, placed(STORE, &contents.stored)?].concat();
    for (folder, path) in programs.chain(others) {
        let name = name(&path)?;
        let mode =
            fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.permissions();
        let data = read(&path)?;
        if data.starts_with(b"\x7fELF") {
            libraries.extend(match arch {
                Arch::Amd64 => libraries_of(&path)?,
                Arch::Arm64 => {
                    libraries::of_arm64(&data).with_context(|| format!("in {}", path.display()))?
                }
            });
        }
        archive.file(&format!("{folder}/{name}"), mode.mode(), &data);
    }
    for (place, library) in libraries {
        archive.file(&place, 0o755, &read(&library)?);
    }
    Ok(())
}

/// Files with the guest's folder for each: a host folder comes with its name and its files.
fn placed(place: &str, paths: &[PathBuf]) -> Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push((place.to_owned(), path.clone()));
            continue;
        }
        let folder = format!("{place}/{}", name(path)?);
        let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        let inside = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
        files.extend(inside.map(|file| (folder.clone(), file)));
    }
    Ok(files)
}

fn name(path: &Path) -> Result<String> {
    let name = path.file_name().with_context(|| format!("{} has no file name", path.display()))?;
    Ok(name.to_string_lossy().into_owned())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The shipped modules that the ports and the disk need, in the order of loading.
fn transport(archive: &mut Archive, kernel: &Kernel) -> Result<()> {
    let mut names = PORTS.to_vec();
    if kernel.module("ext4").is_some() {
        names.extend(DISK);
    }
    for (order, file) in modules::with_needs(kernel, &names)?.iter().enumerate() {
        let name = file.file_name().unwrap_or_default().display();
        archive.file(&format!("etc/transport/{order:02}-{name}"), 0o644, &read(file)?);
    }
    let found = kernel.module("virtio_console").is_some();
    let builtin = fs::read_to_string(kernel.modules.join("modules.builtin")).unwrap_or_default();
    if !found && !builtin.contains("/virtio_console.ko") {
        bail!(
            "{} has no virtio_console module: is this the modules folder of the kernel?",
            kernel.modules.display()
        );
    }
    Ok(())
}

/// The shared libraries of a program and its loader: their places in the guest, and their files.
fn libraries_of(program: &Path) -> Result<Vec<(String, PathBuf)>> {
    let out = exec::captured(Command::new("ldd").env("LC_ALL", "C").arg(program))?;
    let text = String::from_utf8_lossy(&out.stdout);
    if let Some(line) = text.lines().find(|l| l.contains("not found")) {
        bail!("{} needs a missing library: {}", program.display(), line.trim());
    }
    // `NAME => PATH (ADDRESS)` or `PATH (ADDRESS)`; a static program or an object file has none.
    let path = |line: &str| {
        let path = line.split_whitespace().find(|w| w.starts_with('/'))?;
        Some((path.to_owned(), path.into()))
    };
    Ok(text.lines().filter_map(path).collect())
}

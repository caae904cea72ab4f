//! QEMU and busybox: from PATH when good enough, else unpacked into the cache, never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::apt::{Archive, Suite};
use crate::{cache, exec};

/// Older versions hang or crash a guest whose kernel text is patched.
const GOOD_QEMU: u32 = 10;
const QEMU: &str = "qemu-system-x86_64";

/// The programs that make and fill a guest.
#[derive(Clone, Debug)]
pub struct Tools {
    pub qemu: Qemu,
    /// A statically linked busybox.
    pub busybox: PathBuf,
}

/// A QEMU, and how to start it from where it is.
#[derive(Clone, Debug)]
pub struct Qemu {
    pub major: u32,
    program: PathBuf,
    /// The folder that it was unpacked into.
    unpacked: Option<PathBuf>,
}

impl Qemu {
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(root) = &self.unpacked {
            command.env("LD_LIBRARY_PATH", library_path(root));
            for data in ["usr/share/qemu", "usr/share/seabios"] {
                command.arg("-L").arg(root.join(data));
            }
        }
        command
    }

    /// Whether guest CPUs may run in parallel while kernel text is patched.
    pub fn is_good(&self) -> bool {
        self.major >= GOOD_QEMU
    }
}

fn library_path(root: &Path) -> String {
    let dirs =
        ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|d| root.join(d).display().to_string());
    dirs.join(":")
}

impl Tools {
    /// The tools, if both are there.
    pub fn find() -> Result<Option<Tools>> {
        let cache = cache::dir()?;
        let (Some(qemu), Some(busybox)) = (qemu(&cache.join("qemu")), busybox(&cache.join("busybox"))) else {
            return Ok(None);
        };
        Ok(Some(Tools { qemu, busybox }))
    }

    pub fn need() -> Result<Tools> {
        Tools::find()?.context("QEMU or busybox is not there: run `cargo xtask setup`")
    }
}

/// The unpacked QEMU, or the one in PATH if there is none.
fn qemu(dir: &Path) -> Option<Qemu> {
    if cache::is_complete(dir) {
        let program = dir.join("usr/bin").join(QEMU);
        let major = major(Command::new(&program).env("LD_LIBRARY_PATH", library_path(dir)))?;
        return Some(Qemu { major, program, unpacked: Some(dir.into()) });
    }
    let major = major(&mut Command::new(QEMU))?;
    Some(Qemu { major, program: QEMU.into(), unpacked: None })
}

/// `QEMU emulator version 10.0.2 (…)`
fn major(command: &mut Command) -> Option<u32> {
    let text = exec::output(command.arg("--version")).ok()?;
    text.split("version ").nth(1)?.split('.').next()?.parse().ok()
}

/// The unpacked busybox, or a static one of this machine.
fn busybox(dir: &Path) -> Option<PathBuf> {
    if cache::is_complete(dir) {
        return Some(dir.join("bin/busybox"));
    }
    let host = PathBuf::from("/bin/busybox");
    let text = exec::captured(Command::new("ldd").env("LC_ALL", "C").arg(&host)).ok()?;
    let is_static = String::from_utf8_lossy(&text.stderr).contains("not a dynamic executable");
    (host.is_file() && is_static).then_some(host)
}

/// UEFI for a guest: its code, and its variables as they are at first.
pub struct Firmware {
    pub code: PathBuf,
    pub variables: PathBuf,
}

/// Fetches UEFI, if it is not there.
pub fn firmware() -> Result<Firmware> {
    let cache = cache::dir()?;
    let dir = cache.join("uefi");
    if !cache::is_complete(&dir) {
        let _lock = cache::lock()?;
        let archive = Archive::open(&cache, Suite::Release)?;
        cache::fill(&dir, |dir| archive.unpack(&["ovmf".into()], &cache.join("downloads"), dir))?;
    }
    let file = |name: &str| dir.join("usr/share/OVMF").join(name);
    Ok(Firmware { code: file("OVMF_CODE_4M.fd"), variables: file("OVMF_VARS_4M.fd") })
}

/// Fetches what is missing. The caller holds the cache's lock.
pub fn ensure() -> Result<()> {
    let cache = cache::dir()?;
    let downloads = cache.join("downloads");
    if busybox(&cache.join("busybox")).is_none() {
        let archive = Archive::open(&cache, Suite::Release)?;
        let package = [String::from("busybox-static")];
        cache::fill(&cache.join("busybox"), |dir| archive.unpack(&package, &downloads, dir))?;
    }
    if qemu(&cache.join("qemu")).is_some_and(|q| q.is_good()) {
        return Ok(());
    }
    cache::need_space(300 << 20, "QEMU")?;
    let fetched = fetch_qemu(&cache, &downloads);
    match (fetched, qemu(&cache.join("qemu"))) {
        (Ok(()), Some(q)) if q.is_good() => Ok(()),
        (result, Some(q)) => {
            if let Err(error) = result {
                eprintln!("setup: QEMU {GOOD_QEMU} cannot be fetched: {error:#}");
            }
            eprintln!(
                "setup: only QEMU {} is there; before {GOOD_QEMU} it hangs or crashes kernels whose text is patched: \
                 guests run on one thread, slower",
                q.major
            );
            Ok(())
        }
        (Err(error), None) => Err(error),
        (Ok(()), None) => bail!("the QEMU in {} does not start", cache.join("qemu").display()),
    }
}

fn fetch_qemu(cache: &Path, downloads: &Path) -> Result<()> {
    let archive = Archive::open(cache, Suite::WithBackports)?;
    let packages = archive.missing_closure("qemu-system-x86")?;
    if packages.is_empty() {
        bail!("the archive has nothing newer than the installed QEMU");
    }
    cache::fill(&cache.join("qemu"), |dir| {
        archive.unpack(&packages, downloads, dir)?;
        // Manuals and the firmware of other machines are a third of it.
        for folder in ["usr/share/doc", "usr/share/man", "usr/share/icons"] {
            cache::remove(&dir.join(folder))?;
        }
        fs::metadata(dir.join("usr/bin").join(QEMU)).map(drop).context("the packages have no QEMU for x86-64")
    })
}

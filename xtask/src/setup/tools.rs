//! QEMU and busybox: from PATH if recent enough, else unpacked into the cache; never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::apt::{Archive, Purpose, Suite};
use crate::kernels::Arch;
use crate::{cache, exec, steps};

/// Older versions hang or crash a guest whose kernel text is patched.
const GOOD_QEMU: u32 = 10;

/// The names of an architecture's QEMU: its program, its package, and its folder in the cache.
struct Names {
    program: &'static str,
    package: &'static str,
    folder: &'static str,
}

impl Names {
    fn of(arch: Arch) -> Names {
        match arch {
            Arch::Amd64 => {
                Names { program: "qemu-system-x86_64", package: "qemu-system-x86", folder: "qemu" }
            }
            Arch::Arm64 => {
                Names { program: "qemu-system-aarch64", package: "qemu-system-arm", folder: "qemu-arm64" }
            }
        }
    }
}

/// The folder of an architecture's busybox in the cache.
fn busybox_folder(arch: Arch) -> &'static str {
    match arch {
        Arch::Amd64 => "busybox",
        Arch::Arm64 => "busybox-arm64",
    }
}

/// The programs that run and fill a guest.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    pub qemu: Qemu,
    /// A statically linked busybox.
    pub busybox: PathBuf,
}

/// A QEMU, and how to start it.
#[derive(Clone, Debug)]
pub(crate) struct Qemu {
    pub major: u32,
    program: PathBuf,
    /// The folder of the unpacked QEMU.
    unpacked: Option<PathBuf>,
}

impl Qemu {
    pub(crate) fn command(&self) -> Command {
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
    pub(crate) fn is_good(&self) -> bool {
        self.major >= GOOD_QEMU
    }
}

fn library_path(root: &Path) -> String {
    let dirs =
        ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|d| root.join(d).display().to_string());
    dirs.join(":")
}

impl Tools {
    /// The tools, if both exist.
    pub(crate) fn find(arch: Arch) -> Result<Option<Tools>> {
        let (Some(qemu), Some(busybox)) = (qemu(arch)?, busybox(arch)?) else { return Ok(None) };
        Ok(Some(Tools { qemu, busybox }))
    }

    pub(crate) fn need(arch: Arch) -> Result<Tools> {
        Tools::find(arch)?.context("QEMU or busybox is missing: run `cargo xtask setup`")
    }
}

/// The unpacked QEMU, or else the one in PATH.
fn qemu(arch: Arch) -> Result<Option<Qemu>> {
    let names = Names::of(arch);
    let dir = cache::dir()?.join(names.folder);
    if cache::is_complete(&dir) {
        let program = dir.join("usr/bin").join(names.program);
        let major = major(Command::new(&program).env("LD_LIBRARY_PATH", library_path(&dir)));
        return Ok(major.map(|major| Qemu { major, program, unpacked: Some(dir) }));
    }
    let major = major(&mut Command::new(names.program));
    Ok(major.map(|major| Qemu { major, program: names.program.into(), unpacked: None }))
}

/// `QEMU emulator version 10.0.2 (…)`
fn major(command: &mut Command) -> Option<u32> {
    let text = exec::output(command.arg("--version")).ok()?;
    text.split("version ").nth(1)?.split('.').next()?.parse().ok()
}

/// The unpacked busybox, or a static one of this machine.
fn busybox(arch: Arch) -> Result<Option<PathBuf>> {
    let dir = cache::dir()?.join(busybox_folder(arch));
    if cache::is_complete(&dir) {
        // Packages since trixie have all programs in /usr.
        return Ok(["bin/busybox", "usr/bin/busybox"]
            .map(|path| dir.join(path))
            .into_iter()
            .find(|path| path.is_file()));
    }
    let host = PathBuf::from("/bin/busybox");
    let text = exec::captured(Command::new("ldd").env("LC_ALL", "C").arg(&host));
    let says_static = |text: &[u8]| String::from_utf8_lossy(text).contains("not a dynamic executable");
    let is_static = text.is_ok_and(|text| says_static(&text.stderr));
    Ok((arch == Arch::Amd64 && host.is_file() && is_static).then_some(host))
}

/// UEFI for a guest: its code, and the initial state of its variables.
pub(crate) struct Firmware {
    pub code: PathBuf,
    pub variables: PathBuf,
}

/// Fetches UEFI if missing.
pub(crate) fn firmware() -> Result<Firmware> {
    let cache = cache::dir()?;
    let dir = cache.join("uefi");
    if !cache::is_complete(&dir) {
        let _lock = cache::lock()?;
        let purpose = Purpose { brings: "UEFI for guests", instead: "leave --uefi out" };
        let archive = Archive::open(&cache, Suite::Host, purpose)?;
        cache::fill(&dir, |dir| archive.unpack("UEFI", &["ovmf".into()], dir))?;
    }
    let file = |name: &str| dir.join("usr/share/OVMF").join(name);
    Ok(Firmware { code: file("OVMF_CODE_4M.fd"), variables: file("OVMF_VARS_4M.fd") })
}

/// Fetches the missing tools. The caller holds the cache's lock.
pub(crate) fn ensure(arch: Arch) -> Result<()> {
    let cache = cache::dir()?;
    if busybox(arch)?.is_none() {
        let purpose = Purpose { brings: "busybox", instead: "bring a static one as /bin/busybox" };
        let archive = match arch {
            Arch::Amd64 => Archive::open(&cache, Suite::Host, purpose)?,
            Arch::Arm64 => Archive::foreign(&cache, Suite::Host, "arm64", purpose)?,
        };
        let package = [String::from("busybox-static")];
        cache::fill(&cache.join(busybox_folder(arch)), |dir| archive.unpack("busybox", &package, dir))?;
    }
    if qemu(arch)?.is_some_and(|q| q.is_good()) {
        return Ok(());
    }
    cache::need_space(300 << 20, "QEMU")?;
    let fetched = fetch_qemu(&Names::of(arch), &cache);
    match (fetched, qemu(arch)?) {
        (Ok(()), Some(q)) if q.is_good() => Ok(()),
        (result, Some(q)) => {
            if let Err(error) = result {
                steps::say(&format!("setup: QEMU {GOOD_QEMU} cannot be fetched: {error:#}"));
            }
            steps::say(&format!(
                "setup: only QEMU {} is there; before {GOOD_QEMU} it hangs or crashes kernels whose text is patched: \
                 guests run on one thread, slower",
                q.major
            ));
            Ok(())
        }
        (Err(error), None) => Err(error),
        (Ok(()), None) => bail!("{} does not start", Names::of(arch).program),
    }
}

fn fetch_qemu(names: &Names, cache: &Path) -> Result<()> {
    let purpose = Purpose { brings: "QEMU", instead: "bring QEMU 10 or newer in PATH" };
    let archive = Archive::open(cache, Suite::HostWithBackports, purpose)?;
    let packages = archive.missing_closure(names.package)?;
    if packages.is_empty() {
        bail!("the archive has no newer QEMU than the installed one");
    }
    cache::fill(&cache.join(names.folder), |dir| {
        archive.unpack("QEMU", &packages, dir)?;
        // Manuals and other machines' firmware, a third of the size.
        for folder in ["usr/share/doc", "usr/share/man", "usr/share/icons"] {
            cache::remove(&dir.join(folder))?;
        }
        let program = dir.join("usr/bin").join(names.program);
        fs::metadata(program).map(drop).with_context(|| format!("the packages have no {}", names.program))
    })
}

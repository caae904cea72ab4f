//! The module that apt and DKMS have installed, loaded and used in a guest whose disk is that Debian system.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};

use super::enrol;
use crate::kernels::Kernel;
use crate::vm::contents::Contents;
use crate::vm::machine::{End, Sink};
use crate::vm::{self, Guest, modules};
use crate::{cache, exec, workspace};

/// The time for one guest, most of which is for reading the debug information.
const LIMIT: Duration = Duration::from_secs(240);
/// The time for a guest that installs packages: DKMS builds the module twice, with an emulated processor.
const INSTALL: Duration = Duration::from_secs(3000);

/// Installs the packages with apt in a guest, upgrades them while a session runs, and purges them.
pub(super) fn install(root: &Path, words: [&str; 3]) -> Result<()> {
    let image = root.with_extension("ext4");
    make(root, &image)?;
    let guest = Guest { no_module: true, no_tools: true, mem: 4096, ..Guest::default() };
    let script = script("apt.sh", &words)?;
    eprint!("{}", run(&guest, &image, script, INSTALL)?);
    Ok(fs::remove_file(image)?)
}

/// Loads the module in guests: one accepts every module, one only modules signed with a key of the kernel, and one
/// has DKMS's key among these.
pub(super) fn test(root: &Path, kernel: &Kernel) -> Result<()> {
    let image = root.with_extension("ext4");
    disk(root, kernel, &image)?;
    let guest =
        |append: &str| Guest { no_module: true, no_tools: true, append: append.into(), ..Guest::default() };
    let text = run(&guest(""), &image, script("guest.sh", &["yes"])?, LIMIT)?;
    if !text.lines().any(|line| line.contains("vmlinux`vfs_write+")) {
        bail!("an inlined function is not traced in the guest:\n{text}");
    }
    eprint!("{text}");
    let text = run(&guest("module.sig_enforce=1"), &image, script("guest.sh", &["no"])?, LIMIT)?;
    if !text.contains("Key was rejected") || !text.contains("not loaded") {
        bail!("the guest that enforces signatures does not refuse the module:\n{text}");
    }
    eprint!("{text}");
    let uefi = enrolled(root, kernel)?;
    let guest = Guest { uefi: Some(uefi), ..guest("module.sig_enforce=1") };
    let text = run(&guest, &image, script("guest.sh", &["yes"])?, LIMIT)?;
    if !text.lines().any(|line| line.contains("vmlinux`vfs_write+")) {
        bail!("with the key enrolled, an inlined function is not traced in the guest:\n{text}");
    }
    eprintln!("with module.sig_enforce=1 and the key of DKMS enrolled:\n{text}");
    Ok(fs::remove_file(image)?)
}

/// UEFI's variables after a guest has enrolled DKMS's key.
fn enrolled(root: &Path, kernel: &Kernel) -> Result<PathBuf> {
    let dir = root.with_extension("uefi");
    cache::remove(&dir)?;
    fs::create_dir_all(&dir)?;
    let (variables, database) = (dir.join("variables"), dir.join("database"));
    fs::write(&database, enrol::database(&fs::read(root.join("var/lib/dkms/mok.pub"))?))?;
    let mut pushed = modules::with_needs(kernel, &["efivarfs"])?;
    pushed.push(database);
    let script = format!(
        "set -e; vars=/sys/firmware/efi/efivars; insmod efivarfs.ko; mount -t efivarfs vars $vars\n\
         cat database >$vars/{}",
        enrol::VARIABLE
    );
    let guest = Guest { no_module: true, no_tools: true, uefi: Some(variables.clone()), ..Guest::default() };
    boot(&guest, &Contents { pushed, runs: vec![script], ..Contents::default() }, LIMIT)?;
    Ok(variables)
}

/// The system as a disk, with the debug information of the kernel.
fn disk(root: &Path, kernel: &Kernel, image: &Path) -> Result<()> {
    // The guest's packages are installed; the archive is no longer needed.
    cache::remove(&root.join("pool"))?;
    if let Some(vmlinux) = &kernel.vmlinux {
        let folder = root.join("usr/lib/debug/boot");
        fs::create_dir_all(&folder)?;
        fs::copy(vmlinux, folder.join(format!("vmlinux-{}", kernel.release)))?;
    }
    make(root, image)
}

/// The system as a disk.
fn make(root: &Path, image: &Path) -> Result<()> {
    let _ = fs::remove_file(image);
    // The file is sparse: empty blocks use no space.
    fs::File::create(image)?.set_len(4 << 30)?;
    exec::run(
        exec::admin("mke2fs")
            .args(["-q", "-F", "-t", "ext4", "-O", "^has_journal", "-d"])
            .arg(root)
            .arg(image),
    )
}

/// A script of packaging/ with its arguments.
fn script(name: &str, words: &[&str]) -> Result<String> {
    let text = fs::read_to_string(workspace::root().join("packaging").join(name))?;
    Ok(format!("set -- {}\n{text}", words.join(" ")))
}

/// Runs a script in a guest with this disk, and returns its output.
fn run(guest: &Guest, image: &Path, script: String, limit: Duration) -> Result<String> {
    let disk = Some(image.to_path_buf());
    boot(guest, &Contents { disk, writes: true, runs: vec![script], ..Contents::default() }, limit)
}

/// Boots a guest, runs its script, and returns its output.
fn boot(guest: &Guest, contents: &Contents, limit: Duration) -> Result<String> {
    let mut machine = vm::boot(guest, contents)?;
    let mut both = Both(Vec::new());
    let end = machine.run(0, limit, &mut both)?;
    let text = String::from_utf8_lossy(&both.0).into_owned();
    match (end, machine.log.first_trouble(0)) {
        (End::Exit(0), None) => Ok(text),
        (end, trouble) => {
            bail!("the guest ended with {end:?} {}:\n{text}", trouble.unwrap_or_default())
        }
    }
}

/// Both streams as one.
struct Both(Vec<u8>);

impl Sink for Both {
    fn out(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn err(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

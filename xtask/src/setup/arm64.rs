//! Kernels of arm64 with their debug files, and the parts of a guest with one of them.

use std::fmt;
use std::fs;

use anyhow::{Context, Result, bail};

use super::{host, image, kernel, own, release, tools};
use crate::apt::Archive;
use crate::cache;
use crate::kernels::{self, Arch, Kernel, build_root, slot};

/// A kernel of arm64: Debian's by the series of its version, or one that is built here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Name {
    /// Linux 6.1 of Debian 12
    #[value(name = "6.1")]
    V6_1,
    /// Linux 6.12 of Debian 13
    #[value(name = "6.12")]
    V6_12,
    /// Linux 7.3 of the backports of Debian 13
    #[value(name = "7.3")]
    V7_3,
    /// Linux 6.12, built here to find bad accesses and wrong locking (KASAN, lockdep)
    Debug,
    /// Linux 6.12, built here to find races (KCSAN)
    Kcsan,
}

impl Name {
    /// The kernel of the same series.
    pub(crate) fn of(kernel: kernels::Name) -> Result<Name> {
        match kernel {
            kernels::Name::V6_1 => Ok(Name::V6_1),
            kernels::Name::V6_12 => Ok(Name::V6_12),
            kernels::Name::V7_3 => Ok(Name::V7_3),
            kernels::Name::Debug => Ok(Name::Debug),
            kernels::Name::Kcsan => Ok(Name::Kcsan),
            other => bail!("no kernel {other} for arm64: only 6.1, 6.12, 7.3, debug and kcsan"),
        }
    }

    /// Whether guests get the module: Debian's 6.1 has no symbols of data (CONFIG_KALLSYMS_ALL).
    pub(crate) fn has_module(self) -> bool {
        self != Name::V6_1
    }

    fn same(self) -> kernels::Name {
        match self {
            Name::V6_1 => kernels::Name::V6_1,
            Name::V6_12 => kernels::Name::V6_12,
            Name::V7_3 => kernels::Name::V7_3,
            Name::Debug => kernels::Name::Debug,
            Name::Kcsan => kernels::Name::Kcsan,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.same().as_str())
    }
}

/// The parts of a guest: the kernel, its disk, what builds its module, QEMU and a busybox; fetched if missing.
pub(crate) fn ensure_for_guests(name: Name) -> Result<Kernel> {
    let kernel = ensure(name, false)?;
    if name.has_module() && !own::is_own(name.same()) && kernel.build_root.is_none() {
        let _lock = cache::lock()?;
        release::ensure(&kernel)?;
    }
    if tools::Tools::find(Arch::Arm64)?.is_none_or(|tools| !tools.qemu.is_good()) {
        let _lock = cache::lock()?;
        tools::ensure(Arch::Arm64)?;
    }
    let kernel = find(name)?.context("the kernel has disappeared")?;
    if !image::is_there(&kernel)? {
        let _lock = cache::lock()?;
        host::install(&host::missing_for_disks())?;
        image::ensure(&kernel)?;
    }
    Ok(kernel)
}

/// The kernel of a guest, which must exist.
pub(crate) fn need(kernel: kernels::Name) -> Result<Kernel> {
    find(Name::of(kernel)?)?.context("the kernel for arm64 is missing: run `cargo xtask arm64 --fetch`")
}

/// The kernel of that name; fetched if missing.
pub(crate) fn ensure(name: Name, update: bool) -> Result<Kernel> {
    const FLAVOUR: &str = "cloud-arm64";
    if let Some(found) = find(name)?.filter(|kernel| !update && own::is_current(kernel)) {
        return Ok(found);
    }
    let _lock = cache::lock()?;
    if own::is_own(name.same()) {
        host::install(&host::missing_for_kernels(Arch::Arm64))?;
        own::ensure(Arch::Arm64, name.same(), update)?;
        return find(name)?.context("the kernel is missing although it was just built");
    }
    cache::need_space(6 << 30, "a kernel of arm64 with its debug files")?;
    let cache = cache::dir()?;
    let brings = format!("the kernel {name} of arm64");
    let archive = Archive::foreign(&cache, name.same().suite(), "arm64", kernel::purpose(&brings))?;
    let release = kernel::newest(&archive, name.same().series(), FLAVOUR, false)?;
    let sysroot = cache.join("kernels").join(&release.name);
    if !cache::is_complete(&sysroot) {
        cache::fill(&sysroot, |dir| {
            archive.unpack(
                &format!("kernel {} with its debug files", release.name),
                &release.packages,
                dir,
            )?;
            kernel::layout(dir, &release.name)
        })?;
    }
    kernel::point(Arch::Arm64, name.same(), &release.name)?;
    find(name)?.context("the kernel is missing although it was just unpacked")
}

/// The kernel of that name if its files exist.
pub(crate) fn find(name: Name) -> Result<Option<Kernel>> {
    let Ok(sysroot) = fs::canonicalize(slot(Arch::Arm64, name.same())?) else { return Ok(None) };
    if !cache::is_complete(&sysroot) {
        return Ok(None);
    }
    let release = sysroot.file_name().context("a sysroot is named after its release")?;
    let release = release.to_string_lossy().into_owned();
    let build_root = Some(build_root(&release)?).filter(|root| cache::is_complete(root));
    let root = build_root.as_ref().or_else(|| own::is_own(name.same()).then_some(&sysroot));
    let headers = root.map(|root| root.join(format!("usr/src/linux-headers-{release}")));
    Ok(Some(Kernel {
        name: name.same(),
        arch: Arch::Arm64,
        vmlinuz: sysroot.join(format!("boot/vmlinuz-{release}")),
        vmlinux: Some(sysroot.join(format!("usr/lib/debug/boot/vmlinux-{release}"))),
        modules: sysroot.join("lib/modules").join(&release),
        headers,
        release,
        sysroot: Some(sysroot),
        build_root,
    }))
}

//! The kernels that the guests run, and where their files are.

use std::fmt;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use object::Object;

use crate::apt::{Debian, Suite};
use crate::{cache, exec};

/// A kernel: Debian's by the series of its version, one that is built here, or the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Name {
    /// Linux 6.1 of Debian 12
    #[value(name = "6.1")]
    V6_1,
    /// Linux 6.12 of Debian 13
    #[value(name = "6.12")]
    V6_12,
    /// Linux 7.2 of the backports of Debian 13
    #[value(name = "7.2")]
    V7_2,
    /// Linux 7.3 of the backports of Debian 13
    #[value(name = "7.3")]
    V7_3,
    /// Linux 6.1 of Debian 12 with real-time preemption
    Rt,
    /// Linux 6.1 (arm64: 6.12), built here to find bad accesses and wrong locking (KASAN, lockdep)
    Debug,
    /// Linux 6.1 (arm64: 6.12), built here to find races (KCSAN)
    Kcsan,
    /// Linux 6.1, built here to count the executed lines of ext4 (gcov)
    Gcov,
    /// Linux 6.1, built here to count the calls of functions, inlined ones too (-finstrument-functions)
    Counted,
    /// Linux 6.1, built here without kprobes, as kernels of micro-VMs are
    Bare,
    /// The kernel that KINST_VMLINUZ names
    Own,
}

impl Default for Name {
    /// The kernel that the environment names, or the kernel of this machine's release.
    fn default() -> Name {
        match std::env::var_os("KINST_VMLINUZ") {
            Some(_) => Name::Own,
            None if Debian::Trixie.is_host() => Name::V6_12,
            None => Name::V6_1,
        }
    }
}

impl Name {
    /// The kernels that a case is for, unless it names some.
    pub(crate) const ALL: [Name; 4] = [Name::V6_1, Name::V6_12, Name::V7_2, Name::V7_3];

    /// The kernels that run the cases of another one.
    const OF_A_BASE: [Name; 7] =
        [Name::Rt, Name::Debug, Name::Kcsan, Name::Gcov, Name::Counted, Name::Bare, Name::Own];

    /// The kernel of guests of arm64 if none is named: the first with the module.
    pub(crate) const OF_ARM64: Name = Name::V6_12;

    /// The named kernels, or the default one if none is named.
    pub(crate) fn or_default(names: &[Name]) -> Vec<Name> {
        Name::or_default_of(Arch::Amd64, names)
    }

    /// Like [`Name::or_default`], for guests of any architecture.
    pub(crate) fn or_default_of(arch: Arch, names: &[Name]) -> Vec<Name> {
        if names.is_empty() { vec![Name::default_of(arch)] } else { names.to_vec() }
    }

    /// The kernel of guests of an architecture if none is named.
    pub(crate) fn default_of(arch: Arch) -> Name {
        match arch {
            Arch::Amd64 => Name::default(),
            Arch::Arm64 => Name::OF_ARM64,
        }
    }

    /// The release that a kernel's packages or source come from, and whether from its backports.
    fn origin(self) -> (Debian, bool) {
        match self {
            Name::V6_12 => (Debian::Trixie, false),
            Name::V7_2 | Name::V7_3 => (Debian::Trixie, true),
            Name::V6_1
            | Name::Rt
            | Name::Debug
            | Name::Kcsan
            | Name::Gcov
            | Name::Counted
            | Name::Bare
            | Name::Own => (Debian::Bookworm, false),
        }
    }

    /// The suites that have its packages.
    pub(crate) fn suite(self) -> Suite {
        match self.origin() {
            (release, true) => Suite::WithBackports(release),
            (release, false) => Suite::Release(release),
        }
    }

    /// The prefix of its version.
    pub(crate) fn series(self) -> &'static str {
        self.base(Arch::Amd64).as_str()
    }

    /// Whether its modules are built in a small system of its release: this machine may lack the compiler or the
    /// library.
    pub(crate) fn needs_build_root(self) -> bool {
        Name::ALL.contains(&self) && !self.origin().0.is_host()
    }

    /// Debian's kernel whose cases this one runs, and whose source it has if it is built here.
    pub(crate) fn base(self, arch: Arch) -> Name {
        match arch {
            _ if !Name::OF_A_BASE.contains(&self) => self,
            Arch::Amd64 => Name::V6_1,
            Arch::Arm64 => Name::OF_ARM64,
        }
    }

    /// Whether it has kprobes, which the module needs.
    pub(crate) fn has_kprobes(self) -> bool {
        self != Name::Bare
    }

    /// The factor for time limits, compared with Debian's usual kernels.
    pub(crate) fn slowness(self) -> u32 {
        match self {
            Name::V6_1 | Name::V6_12 | Name::V7_2 | Name::V7_3 | Name::Gcov | Name::Bare | Name::Own => 1,
            Name::Rt | Name::Counted => 2,
            Name::Debug | Name::Kcsan => 6,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Name::V6_1 => "6.1",
            Name::V6_12 => "6.12",
            Name::V7_2 => "7.2",
            Name::V7_3 => "7.3",
            Name::Rt => "rt",
            Name::Debug => "debug",
            Name::Kcsan => "kcsan",
            Name::Gcov => "gcov",
            Name::Counted => "counted",
            Name::Bare => "bare",
            Name::Own => "own",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The machine that a guest has, as Debian names its architecture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Arch {
    /// x86-64
    #[default]
    Amd64,
    /// The 64-bit state of Arm
    Arm64,
}

impl Arch {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Arch::Amd64 => "amd64",
            Arch::Arm64 => "arm64",
        }
    }

    /// The factor for time limits, compared with machines like this one.
    pub(crate) fn slowness(self) -> u32 {
        match self {
            Arch::Amd64 => 1,
            Arch::Arm64 => 2,
        }
    }
}

/// One kernel's files.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub name: Name,
    pub arch: Arch,
    pub release: String,
    pub vmlinuz: PathBuf,
    /// The uncompressed kernel with its debug information.
    pub vmlinux: Option<PathBuf>,
    /// lib/modules/RELEASE: the modules as shipped.
    pub modules: PathBuf,
    /// The folder that a module is built against, for `make -C`.
    pub headers: Option<PathBuf>,
    /// A folder with boot/, lib/modules/ and usr/lib/debug/, as `dtrace --sysroot` expects it.
    pub sysroot: Option<PathBuf>,
    /// The root of a whole system in which its modules have to be built.
    pub build_root: Option<PathBuf>,
}

impl Kernel {
    /// Runs a dtrace that exports the index to a file or a folder; it caches new indices in `cache`.
    pub(crate) fn export_index(&self, dtrace: &Path, cache: &Path, to: &Path) -> Result<()> {
        exec::run(self.indexer(dtrace, cache)?.arg("--export").arg(to))
    }

    /// Runs a dtrace that indexes files without an index, and returns the kernel's own index files in `cache`.
    pub(crate) fn index(&self, dtrace: &Path, cache: &Path) -> Result<Vec<PathBuf>> {
        exec::output(&mut self.indexer(dtrace, cache)?)?;
        let vmlinux = self.vmlinux.as_ref().context("a kernel without debug information has no index")?;
        let reader = object::ReadCache::new(fs::File::open(vmlinux)?);
        let file = object::File::parse(&reader)?;
        let id = file.build_id()?.context("the kernel has no build id")?;
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(vec![cache.join(format!("kinst/index/{id}.sites"))])
    }

    fn indexer(&self, dtrace: &Path, cache: &Path) -> Result<Command> {
        let mut command = self.dtrace(dtrace, cache)?;
        command.arg("--index");
        Ok(command)
    }

    /// A dtrace that reads this kernel, with its index in `cache`.
    pub(crate) fn dtrace(&self, dtrace: &Path, cache: &Path) -> Result<Command> {
        let release = &self.release;
        let sysroot = self.sysroot.as_ref().with_context(|| format!("{release} has no debug information"))?;
        let mut command = Command::new(dtrace);
        command.env("XDG_CACHE_HOME", cache).arg("--sysroot").arg(sysroot);
        Ok(command)
    }

    /// The kernel of that name if its files exist.
    pub(crate) fn find(name: Name) -> Result<Option<Kernel>> {
        if name == Name::Own {
            return std::env::var_os("KINST_VMLINUZ").map(|_| from_environment()).transpose();
        }
        let link = slot(Arch::Amd64, name)?;
        let Ok(sysroot) = fs::canonicalize(&link) else { return Ok(None) };
        if !cache::is_complete(&sysroot) {
            return Ok(None);
        }
        let release = sysroot.file_name().context("a sysroot is named after its release")?;
        let release = release.to_string_lossy().into_owned();
        let vmlinux = sysroot.join(format!("usr/lib/debug/boot/vmlinux-{release}"));
        let build_root = name.needs_build_root().then(|| build_root(&release)).transpose()?;
        let headers = format!("usr/src/linux-headers-{release}");
        let headers = build_root.as_deref().unwrap_or(&sysroot).join(headers);
        Ok(Some(Kernel {
            name,
            arch: Arch::Amd64,
            vmlinuz: sysroot.join(format!("boot/vmlinuz-{release}")),
            vmlinux: vmlinux.is_file().then_some(vmlinux),
            modules: sysroot.join("lib/modules").join(&release),
            headers: headers.join("Makefile").is_file().then_some(headers),
            release,
            sysroot: Some(sysroot),
            build_root,
        }))
    }

    /// Like [`Kernel::find`]; it is an error if setup has not fetched the kernel.
    pub(crate) fn need(name: Name) -> Result<Kernel> {
        Kernel::find(name)?.with_context(|| match name {
            Name::Own => "KINST_VMLINUZ names no kernel".to_owned(),
            _ => format!("the kernel {name} is not there: run `cargo xtask setup --kernel {name}`"),
        })
    }

    /// KEY=PATH pairs for other programs.
    pub(crate) fn paths(&self) -> Vec<(&'static str, String)> {
        let shown = |path: &Path| path.display().to_string();
        let mut all = vec![("release", Some(self.release.clone())), ("vmlinuz", Some(shown(&self.vmlinuz)))];
        all.push(("vmlinux", self.vmlinux.as_deref().map(shown)));
        all.push(("modules", self.modules.is_dir().then(|| shown(&self.modules))));
        all.push(("headers", self.headers.as_deref().map(shown)));
        all.push(("sysroot", self.sysroot.as_deref().map(shown)));
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The read-only disk with modules and debug files that guests mount.
    pub(crate) fn image(&self) -> Result<PathBuf> {
        let own = if self.sysroot.is_some() { "" } else { "-own" };
        Ok(cache::dir()?.join("images").join(format!("{}{own}.ext4", self.release)))
    }

    /// A shipped module's file by its name, compressed or not.
    pub(crate) fn module(&self, name: &str) -> Option<PathBuf> {
        let order = fs::read_to_string(self.modules.join("modules.order")).ok()?;
        // A listed path may lack the compression's suffix.
        let line = order.lines().find(|l| module_name(l).as_deref() == Some(name))?;
        let plain = line.rsplit_once(".ko").map_or(line, |(stem, _)| stem);
        let candidates =
            [".ko", ".ko.xz", ".ko.zst", ".ko.gz"].map(|s| self.modules.join(format!("{plain}{s}")));
        candidates.into_iter().find(|file| file.is_file())
    }
}

/// The name of the module in a file; file names use `-` for `_` at will.
fn module_name(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    Some(file.split_once(".ko")?.0.replace('-', "_"))
}

/// The link that points from a kernel's name to its sysroot.
pub(crate) fn slot(arch: Arch, name: Name) -> Result<PathBuf> {
    Ok(cache::dir()?.join("kernels").join(word(arch, name)))
}

/// A kernel's word in names of files.
pub(crate) fn word(arch: Arch, name: Name) -> String {
    match arch {
        Arch::Amd64 => name.to_string(),
        Arch::Arm64 => format!("arm64-{name}"),
    }
}

/// The small system in which the modules of another release's kernel are built.
pub(crate) fn build_root(release: &str) -> Result<PathBuf> {
    Ok(cache::dir()?.join("roots").join(release))
}

/// Another distribution's kernel, named in the environment.
fn from_environment() -> Result<Kernel> {
    let var = |name: &str| -> Result<Option<PathBuf>> {
        let Some(value) = std::env::var_os(name).filter(|v| !v.is_empty()) else { return Ok(None) };
        let path = std::path::absolute(value)?;
        if !path.exists() {
            bail!("{name} is {}, which does not exist", path.display());
        }
        Ok(Some(path))
    };
    let vmlinuz = var("KINST_VMLINUZ")?.context("KINST_VMLINUZ is empty")?;
    let release = release_of(&vmlinuz)?;
    let modules = var("KINST_MODULES")?.unwrap_or_else(|| Path::new("/lib/modules").join(&release));
    let build = modules.join("build");
    Ok(Kernel {
        name: Name::Own,
        arch: Arch::Amd64,
        vmlinux: var("KINST_VMLINUX")?,
        headers: var("KINST_HEADERS")?.or_else(|| build.join("Makefile").is_file().then_some(build)),
        sysroot: None,
        build_root: None,
        vmlinuz,
        modules,
        release,
    })
}

/// The release that a bzImage names (Documentation/arch/x86/boot.rst: kernel_version at 0x20e).
fn release_of(vmlinuz: &Path) -> Result<String> {
    let read = || -> std::io::Result<Option<String>> {
        let mut file = fs::File::open(vmlinuz)?;
        let mut header = [0; 0x210];
        file.read_exact(&mut header)?;
        if header[0x202..0x206] != *b"HdrS" {
            return Ok(None);
        }
        let at = u16::from_le_bytes([header[0x20e], header[0x20f]]);
        let mut text = [0; 256];
        file.seek(SeekFrom::Start(u64::from(at) + 0x200))?;
        let length = file.read(&mut text)?;
        let text = String::from_utf8_lossy(&text[..length]);
        Ok(text.split([' ', '\0']).next().map(Into::into))
    };
    let release = read().with_context(|| format!("cannot read {}", vmlinuz.display()))?;
    release.with_context(|| format!("{} is not an x86 kernel image (bzImage)", vmlinuz.display()))
}

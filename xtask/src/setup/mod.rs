//! Fetching the needs of the other commands: packages, QEMU, busybox, kernels, the instruction decoder, peers,
//! monitoring.

pub(crate) mod arm64;
pub(crate) mod cross;
pub(crate) mod decoder;
mod golang;
pub(crate) mod host;
mod image;
mod instrument;
mod kernel;
pub(crate) mod libraries;
mod monitoring;
mod own;
pub(crate) mod peers;
pub(crate) mod pprof;
pub(crate) mod release;
pub(crate) mod selftests;
pub(crate) mod source;
pub(crate) mod tools;

use anyhow::Result;
use clap::ValueEnum;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use crate::apt::{Archive, Purpose, Suite};
use crate::cache;
use crate::kernels::{Arch, Kernel, Name};

/// How to proceed without a part that only tests need.
const WITHOUT_TESTS: &str = "only `cargo xtask test` needs it; `demo`, `vm` and `vm-test` do not";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The kernels to fetch [default: the kernel of this machine's release]
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub kernels: Vec<Name>,
    /// Only print the paths of existing files, as KERNEL.KEY=PATH
    #[arg(long)]
    pub paths: bool,
    /// Look for newer kernels even if some are present
    #[arg(long)]
    pub update: bool,
}

/// A part that commands need. Each command names its parts, and only these are fetched.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// QEMU, busybox, and the programs that assemble a guest.
    Guests,
    /// A kernel with its debug files, its headers, and the tools that build modules for it.
    Kernel(Name),
    /// The disk of a kernel's modules and debug files, for guests.
    Disk(Name),
    /// The programs and files that tests on the host compare with.
    Tests,
}

pub(crate) fn main(options: &Options) -> Result<()> {
    if options.paths {
        return print_paths();
    }
    let kernels = Name::or_default(&options.kernels);
    let all = kernels.iter().flat_map(|&name| [Part::Kernel(name), Part::Disk(name)]);
    let parts: Vec<Part> = [Part::Guests].into_iter().chain(all).chain([Part::Tests]).collect();
    ensure(&parts, options.update)?;
    for name in kernels {
        eprintln!("setup: {name} is {}", Kernel::need(name)?.release);
    }
    Ok(())
}

/// Fetches the missing ones of these parts; quick if none is missing.
pub(crate) fn ensure(parts: &[Part], update: bool) -> Result<()> {
    let mut missing = Vec::new();
    for &part in parts {
        if update || !part.is_there()? {
            missing.push(part);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let _lock = cache::lock()?;
    host::install(&missing.iter().flat_map(|part| part.packages()).collect::<Vec<_>>())?;
    missing.into_iter().try_for_each(|part| part.bring(update))
}

impl Part {
    fn is_there(self) -> Result<bool> {
        let has_files = match self {
            Part::Guests => tools::Tools::find(Arch::Amd64)?.is_some(),
            Part::Kernel(name) => match Kernel::find(name)? {
                // A kernel from the environment may lack headers.
                Some(kernel) => {
                    (kernel.headers.is_some() || kernel.sysroot.is_none()) && own::is_current(&kernel)
                }
                None => false,
            },
            Part::Disk(name) => Kernel::find(name)?.map_or(Ok(false), |kernel| image::is_there(&kernel))?,
            Part::Tests => {
                decoder::is_there()?
                    && monitoring::is_there()?
                    && pprof::is_there()?
                    && golang::is_there()?
                    && kernel::have_images()?
            }
        };
        Ok(has_files && self.packages().is_empty())
    }

    /// The packages that must be installed on this machine, and are missing.
    fn packages(self) -> Vec<&'static str> {
        match self {
            Part::Guests => host::missing_for_guests(),
            Part::Kernel(name) => host::missing_for_modules(own::is_own(name)),
            Part::Disk(_) => host::missing_for_disks(),
            Part::Tests => host::missing_for_tests(),
        }
    }

    /// Fetches or makes the part. The caller holds the cache's lock.
    fn bring(self, update: bool) -> Result<()> {
        match self {
            Part::Guests => tools::ensure(Arch::Amd64),
            Part::Kernel(name) => {
                if own::is_own(name) {
                    own::ensure(Arch::Amd64, name, update)?;
                } else {
                    kernel::ensure(name, update)?;
                }
                let kernel = Kernel::need(name)?;
                if kernel.build_root.is_some() {
                    release::ensure(&kernel)?;
                }
                host::ensure_compiler(&kernel)
            }
            Part::Disk(name) => image::ensure(&Kernel::need(name)?),
            Part::Tests => {
                decoder::ensure()?;
                monitoring::ensure()?;
                pprof::ensure(Arch::Amd64)?;
                golang::ensure()?;
                kernel::ensure_images()
            }
        }
    }
}

/// The packages of a release for the guests of an architecture.
fn archive(arch: Arch, cache: &Path, suite: Suite, purpose: Purpose) -> Result<Archive> {
    match arch {
        Arch::Amd64 => Archive::open(cache, suite, purpose),
        Arch::Arm64 => Archive::foreign(cache, suite, "arm64", purpose),
    }
}

fn print_paths() -> Result<()> {
    let mut text = String::new();
    for &name in Name::value_variants() {
        if let Some(kernel) = Kernel::find(name)? {
            for (key, value) in kernel.paths() {
                text += &format!("{name}.{key}={value}\n");
            }
        }
    }
    match std::io::stdout().write_all(text.as_bytes()) {
        // The reader closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

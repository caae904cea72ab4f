//! Fetching what the other commands need: packages, QEMU, busybox, kernels, their decoder of instructions, peers, monitoring.

pub mod arm64;
pub mod cross;
mod decoder;
pub mod host;
mod image;
mod kernel;
mod monitoring;
mod own;
pub mod peers;
pub mod pprof;
pub mod selftests;
pub mod sid;
pub mod tools;

use anyhow::Result;
use clap::ValueEnum;
use std::io::{ErrorKind, Write as _};

use crate::cache;
use crate::kernels::{Arch, Kernel, Name};

#[derive(clap::Args)]
pub struct Options {
    /// The kernels to bring [default: stable]
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub kernels: Vec<Name>,
    /// Print where the files that are there are, as KERNEL.KEY=PATH, and do nothing else
    #[arg(long)]
    pub paths: bool,
    /// Look for newer kernels even though some are there
    #[arg(long)]
    pub update: bool,
}

pub fn main(options: &Options) -> Result<()> {
    if options.paths {
        return print_paths();
    }
    let kernels = if options.kernels.is_empty() { &[Name::Stable][..] } else { &options.kernels };
    let found = ensure(kernels, options.update)?;
    for kernel in found {
        eprintln!("setup: {} is {}", kernel.name, kernel.release);
    }
    Ok(())
}

/// Fetches what is missing for these kernels; quick if nothing is.
pub fn ensure(names: &[Name], update: bool) -> Result<Vec<Kernel>> {
    if !update && let Some(found) = all_there(names)? {
        return Ok(found);
    }
    let _lock = cache::lock()?;
    host::ensure(names)?;
    tools::ensure(Arch::Amd64)?;
    decoder::ensure()?;
    monitoring::ensure()?;
    pprof::ensure()?;
    let mut kernels = Vec::new();
    for &name in names {
        if own::is_own(name) {
            own::ensure(name, update)?;
        } else {
            kernel::ensure(name, update)?;
        }
        if name == Name::Sid {
            sid::ensure(&Kernel::need(name)?)?;
        }
        let kernel = Kernel::need(name)?;
        host::ensure_compiler(&kernel)?;
        image::ensure(&kernel)?;
        kernels.push(kernel);
    }
    Ok(kernels)
}

/// The kernels, if nothing is missing.
fn all_there(names: &[Name]) -> Result<Option<Vec<Kernel>>> {
    let others = decoder::is_there()? && monitoring::is_there()? && pprof::is_there()?;
    if !others || !host::missing(names).is_empty() || tools::Tools::find(Arch::Amd64)?.is_none() {
        return Ok(None);
    }
    let mut kernels = Vec::new();
    for &name in names {
        match Kernel::find(name)? {
            // A kernel from the environment may come without headers.
            Some(kernel) if kernel.headers.is_some() || kernel.sysroot.is_none() => {
                if !image::is_there(&kernel)? || !own::is_current(&kernel) {
                    return Ok(None);
                }
                kernels.push(kernel);
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(kernels))
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

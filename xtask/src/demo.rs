//! The demonstration: an inlined function of a stock kernel, traced in a guest.

use std::process::ExitCode;

use anyhow::Result;

use crate::kernels::{Arch, Name};
use crate::vm::{self, Guest};
use crate::workspace;

#[derive(clap::Args)]
pub struct Options {
    /// The kernel to boot
    #[arg(long, default_value = "stable")]
    pub kernel: Name,
    /// The machine; on one of arm64 there is no module, and programs run as BPF
    #[arg(long, default_value = "amd64")]
    pub arch: Arch,
}

pub fn main(options: &Options) -> Result<ExitCode> {
    let script = match options.arch {
        Arch::Amd64 => "demo.sh",
        Arch::Arm64 => "demo-arm64.sh",
    };
    vm::main(&vm::Options {
        guest: Guest { arch: options.arch, kernel: options.kernel, ..Guest::default() },
        push: ["show.sh", script].map(|file| workspace::root().join("tests/vm").join(file)).to_vec(),
        disk: None,
        timeout: 300 * u64::from(options.arch.slowness()),
        allow_log: Vec::new(),
        command: vec!["sh".into(), script.into()],
    })
}

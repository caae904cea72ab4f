//! The demonstration: an inlined function of a stock kernel, traced in a guest.

use std::process::ExitCode;

use anyhow::Result;

use crate::kernels::Name;
use crate::vm::{self, Guest};
use crate::workspace;

#[derive(clap::Args)]
pub struct Options {
    /// The kernel to boot
    #[arg(long, default_value = "stable")]
    pub kernel: Name,
}

pub fn main(options: &Options) -> Result<ExitCode> {
    vm::main(&vm::Options {
        guest: Guest { kernel: options.kernel, ..Guest::default() },
        push: vec![workspace::root().join("tests/vm/demo.sh")],
        disk: None,
        timeout: 300,
        allow_log: Vec::new(),
        command: ["sh", "demo.sh"].map(Into::into).to_vec(),
    })
}

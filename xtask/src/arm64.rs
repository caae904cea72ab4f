//! `cargo xtask arm64`: kernels of arm64, read on this machine, against perf, binutils and QEMU's execution.

use std::process::Command;

use anyhow::{Context, Result};

use crate::setup::arm64::{self, Name};
use crate::setup::{decoder, host};
use crate::{crates, exec, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The kernels to read [default: 6.1]
    #[arg(long = "kernel", value_name = "KERNEL")]
    kernels: Vec<Name>,
    /// Fetch the kernels, and do nothing else
    #[arg(long)]
    fetch: bool,
    /// Look for newer kernels even if some are present
    #[arg(long)]
    update: bool,
}

/// The tests that read the kernel named in the environment.
const OF_KERNELS: [&str; 5] = [
    "arm64::",
    "arm64_module::the_analysis",
    "arm64_module::a_slot",
    "sweep::every_inlined_function",
    "vmlinux::every_entry_is_an_instruction",
];

/// The tests that compare with other tools of kernels for which the module exists.
const OF_MODULE: [&str; 2] = ["arm64_module::what_kprobes_refuses", "arm64_module::the_caller_is"];

/// The tests that name functions which newer kernels lack, and one that does not support Rust's names.
const OF_STABLE: [&str; 3] =
    ["vmlinux::the_copies_are_those_of_perf", "vmlinux::every_site_is_a_probe", "vmlinux::frames_and_lines"];

pub(crate) fn main(options: &Options) -> Result<()> {
    let names = if options.kernels.is_empty() { &[Name::V6_1][..] } else { &options.kernels };
    let mut kernels = Vec::new();
    for name in names {
        let kernel = arm64::ensure(*name, options.update)?;
        eprintln!("arm64: {name} is {}", kernel.release);
        if name.has_module() {
            decoder::ensure_for_arm64(kernel.name)?;
        }
        kernels.push((*name, kernel));
    }
    if options.fetch {
        return Ok(());
    }
    host::ensure_for_arm64()?;
    exec::run(tests("model", &["of_arm64"]).env("KINST_REQUIRE", "1"))?;
    for (name, kernel) in kernels {
        eprintln!("arm64: reading the kernel {name}");
        let slot = format!("arm64-{name}");
        let mut tests = tests("oracle", &OF_KERNELS);
        if name == Name::V6_1 {
            tests.args(OF_STABLE);
        }
        if name.has_module() {
            tests.args(OF_MODULE);
        }
        let vmlinux = kernel.vmlinux.context("the kernel has no debug files")?;
        tests.env("KINST_REQUIRE", "1").env("KINST_VMLINUX", vmlinux);
        exec::run(tests.env("KINST_ARM64_KERNEL", &slot).env("KINST_SWEEP_KERNEL", &slot))?;
    }
    Ok(())
}

/// The tests of one program with these words in their names, including ignored ones.
fn tests(program: &str, names: &[&str]) -> Command {
    let mut command = crates::cargo(&workspace::root());
    command.args(["test", "--test", program, "--", "--include-ignored", "--nocapture"]).args(names);
    command
}

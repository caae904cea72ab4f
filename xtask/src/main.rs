//! xtask: the development commands of the project.

mod apt;
mod cache;
mod exec;
mod kernels;
mod kmod;
mod setup;
mod uapi;
mod vm;
mod vmtest;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

/// The development commands of kinst
#[derive(Parser)]
#[command(bin_name = "cargo xtask", max_term_width = 100)]
enum Command {
    /// Fetch what the other commands need: packages, QEMU, busybox, kernels with debug files
    Setup(setup::Options),
    /// Build the kernel module
    Kmod(kmod::Options),
    /// Run a command in a guest
    Vm(vm::Options),
    /// Run the cases of tests/vm in guests
    VmTest(vmtest::Options),
    /// Write src/kernel/uapi.rs from the module's header
    Uapi(uapi::Options),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Setup(options) => setup::main(&options).map(|()| ExitCode::SUCCESS),
        Command::Kmod(options) => kmod::main(&options).map(|()| ExitCode::SUCCESS),
        Command::Vm(options) => vm::main(&options),
        Command::VmTest(options) => vmtest::main(&options),
        Command::Uapi(options) => uapi::main(&options).map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

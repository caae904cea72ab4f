//! xtask: the development commands of the project.

mod apt;
mod arm64;
mod bench;
mod cache;
mod checks;
mod counted;
mod demo;
mod executed;
mod fuzz;
mod gcov;
mod guide;
mod kernels;
mod kmod;
mod libraries;
mod objects;
mod pace;
mod package;
mod selftests;
mod setup;
mod sweep;
mod tally;
mod test;
mod uapi;
mod vm;
mod vmtest;

use std::process::ExitCode;

use clap::Parser;
use xtask::{crates, exec, steps, workspace};

/// The development commands of kinst
#[derive(Parser)]
#[command(bin_name = "cargo xtask", max_term_width = 100)]
enum Command {
    /// Fetch the needs of the other commands: packages, QEMU, busybox, kernels with debug files
    Setup(setup::Options),
    /// Trace an inlined function in a guest, to see it work
    Demo(demo::Options),
    /// Run all tests
    Test(test::Options),
    /// Build the kernel module
    Kmod(kmod::Options),
    /// Check -O json against its schema and against the text, program by program, in a guest
    Objects(objects::Options),
    /// Build the user's guide as a book, and check its links
    Guide,
    /// Build the .deb and .rpm packages of the last commit
    Package(package::Options),
    /// Run a command in a guest
    Vm(vm::Options),
    /// Check the house rules that a machine can check
    Tidy,
    /// Run the cases of tests/vm in guests
    VmTest(vmtest::Options),
    /// Arm every instruction of a kernel in a guest, batch after batch, under a load
    Sweep(sweep::Options),
    /// Compare the counts of --annotate with QEMU's log of the instructions that a guest executes
    Executed(executed::Options),
    /// Compare the lines of --coverage with the counts of a kernel with gcov
    Gcov(gcov::Options),
    /// Compare entries and returns of inlined functions with a kernel's own counts
    Counted(counted::Options),
    /// Run the kernel's own tests of ftrace and livepatch without probes and under them, and compare
    Selftests(selftests::Options),
    /// Fetch kernels of arm64, and compare kinst's results with other programs'
    Arm64(arm64::Options),
    /// Compare the counts of inlined calls in libraries with the libraries' own
    Libraries(libraries::Options),
    /// Run the fuzz targets for a limited time
    Fuzz(fuzz::Options),
    /// Run the benchmarks
    Bench(bench::Options),
    /// Write crates/base/src/uapi.rs from the module's header
    Uapi(uapi::Options),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Setup(options) => setup::main(&options).map(|()| ExitCode::SUCCESS),
        Command::Demo(options) => demo::main(&options),
        Command::Test(options) => test::main(&options),
        Command::Kmod(options) => kmod::main(&options).map(|()| ExitCode::SUCCESS),
        Command::Package(options) => package::main(&options),
        Command::Tidy => checks::tidy(),
        Command::Vm(options) => vm::main(&options),
        Command::VmTest(options) => vmtest::main(&options),
        Command::Sweep(options) => sweep::main(&options),
        Command::Executed(options) => executed::main(&options),
        Command::Gcov(options) => gcov::main(&options),
        Command::Counted(options) => counted::main(&options),
        Command::Selftests(options) => selftests::main(&options),
        Command::Objects(options) => objects::main(&options),
        Command::Arm64(options) => arm64::main(&options).map(|()| ExitCode::SUCCESS),
        Command::Libraries(options) => libraries::main(&options).map(|()| ExitCode::SUCCESS),
        Command::Guide => guide::main().map(|()| ExitCode::SUCCESS),
        Command::Fuzz(options) => fuzz::main(&options),
        Command::Bench(options) => bench::main(&options).map(|()| ExitCode::SUCCESS),
        Command::Uapi(options) => uapi::main(&options).map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

//! The guest of a benchmark: a script of tests/vm, and the programs that it runs.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::kernels::{Arch, Name};
use crate::setup::peers;
use crate::vm::contents::Contents;
use crate::vm::machine::{End, Sink};
use crate::vm::{self, Guest};
use crate::workspace;

/// The programs that find a place for a probe, arm it, and call it.
const TOOLS: [&str; 9] = [
    "kmod/tests/vm/points.c",
    "kmod/tests/vm/load.c",
    "tests/vm/files/arming.c",
    "tests/vm/files/places.sh",
    "tests/vm/files/jump.sh",
    "tests/vm/files/tree.sh",
    "tests/vm/files/peers.sh",
    "tests/vm/files/hits.sh",
    "benches/script.d",
];

/// Adds the script of a benchmark and the programs that it runs.
pub(crate) fn push(contents: &mut Contents, script: &str, arch: Arch) -> Result<()> {
    for file in TOOLS.iter().chain(&[script]) {
        let file = workspace::root().join(file);
        contents.pushed.push(vm::programs::from_source_for(arch, &file, &[])?);
    }
    Ok(())
}

/// Runs a script of tests/vm with the bpftrace and perf of the kernel's release.
pub(crate) fn beside_peers(kernel: Name, script: &str, limit: Duration) -> Result<String> {
    let peers = peers::ensure(Arch::Amd64, kernel)?;
    // The peers are unpacked in memory.
    let guest = Guest { kernel, mem: 6144, release: true, ..Guest::default() };
    let mut contents = vm::built(&guest)?;
    push(&mut contents, &format!("tests/vm/{script}"), Arch::Amd64)?;
    contents.pushed.push(peers);
    contents.runs = vec![format!("sh {script}\n")];
    measured(&guest, &contents, limit)
}

/// Boots the guest, runs the benchmark in it, and returns the output; stderr shows it as it arrives.
pub(crate) fn measured(guest: &Guest, contents: &Contents, limit: Duration) -> Result<String> {
    let mut machine = vm::boot(guest, contents)?;
    let mut output = Shown(Output::default());
    let end = machine.run(0, limit, &mut output)?;
    let Shown(output) = output;
    let trouble = machine.log.first_trouble(0);
    if end != End::Exit(0) || trouble.is_some() {
        let what = trouble.map_or_else(|| format!("{end:?}"), str::to_owned);
        let log = machine.log.excerpt(machine.run_start, 60);
        bail!("the benchmark failed in the guest: {what}\n{log}");
    }
    Ok(output.text)
}

#[derive(Default)]
pub(crate) struct Output {
    pub text: String,
    pub errors: String,
}

impl Sink for Output {
    fn out(&mut self, bytes: &[u8]) {
        self.text.push_str(&String::from_utf8_lossy(bytes));
    }

    fn err(&mut self, bytes: &[u8]) {
        self.errors.push_str(&String::from_utf8_lossy(bytes));
    }
}

/// Output that is shown while it is gathered: a benchmark takes minutes.
struct Shown(Output);

impl Sink for Shown {
    fn out(&mut self, bytes: &[u8]) {
        eprint!("{}", String::from_utf8_lossy(bytes));
        self.0.out(bytes);
    }

    fn err(&mut self, bytes: &[u8]) {
        eprint!("{}", String::from_utf8_lossy(bytes));
        self.0.err(bytes);
    }
}

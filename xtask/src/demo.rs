//! The demonstration: an inlined function of a stock kernel, traced in a guest.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use crate::kernels::{Arch, Name};
use crate::vm::{self, Guest};
use crate::{pace, steps, workspace};

const SCRIPT: &str = "demo.sh";

/// Commands to try next, and what each shows.
const NEXT: [(&str, &str); 3] = [
    (
        "how often each line is executed, and which branches are taken",
        "dtrace --annotate vfs_read -c 'md5sum /etc/passwd'",
    ),
    (
        "which lines of a file of the kernel a program reaches",
        "dtrace -q --coverage fs/readdir.c -c 'ls -lR /root'",
    ),
    (
        "which functions call an inlined one",
        "dtrace -n 'kinst::get_page:entry { @[stack(3)] = count(); }' -c 'ls /'",
    ),
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The kernel to boot [default: the kernel of this machine's release; arm64: 6.12]
    #[arg(long)]
    pub kernel: Option<Name>,
    /// The machine
    #[arg(long, default_value = "amd64")]
    pub arch: Arch,
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let arch = options.arch;
    let kernel = options.kernel.unwrap_or_else(|| Name::default_of(arch));
    let begin = Instant::now();
    let ended = vm::main(&vm::Options {
        guest: Guest { arch, kernel, ..Guest::default() },
        push: ["show.sh", SCRIPT].map(|file| workspace::root().join("tests/vm").join(file)).to_vec(),
        disk: None,
        timeout: (300.0 * f64::from(arch.slowness()) * pace::pace()) as u64,
        allow_log: Vec::new(),
        command: vec!["sh".into(), SCRIPT.into()],
    })?;
    if ended == ExitCode::SUCCESS {
        steps::say("\nNext, each in a separate guest:");
        let mut named = String::new();
        if arch != Arch::default() {
            named += &format!(" --arch {}", arch.as_str());
        }
        if kernel != Name::default_of(arch) {
            named += &format!(" --kernel {kernel}");
        }
        for (what, command) in NEXT {
            steps::say(&format!("  cargo xtask vm{named} -- \"{command}\"    # {what}"));
        }
        steps::say(&format!("\nThis took {} s.", begin.elapsed().as_secs()));
    }
    Ok(ended)
}

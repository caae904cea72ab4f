//! The demonstration: an inlined function of a stock kernel, traced in a guest.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use crate::kernels::{Arch, Name};
use crate::vm::{self, Guest};
use crate::{pace, steps, workspace};

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
    /// The kernel to boot
    #[arg(long, default_value_t)]
    pub kernel: Name,
    /// The machine; arm64 has no module, and programs run as BPF
    #[arg(long, default_value = "amd64")]
    pub arch: Arch,
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let script = match options.arch {
        Arch::Amd64 => "demo.sh",
        Arch::Arm64 => "demo-arm64.sh",
    };
    let begin = Instant::now();
    let ended = vm::main(&vm::Options {
        guest: Guest { arch: options.arch, kernel: options.kernel, ..Guest::default() },
        push: ["show.sh", script].map(|file| workspace::root().join("tests/vm").join(file)).to_vec(),
        disk: None,
        timeout: (300.0 * f64::from(options.arch.slowness()) * pace::pace()) as u64,
        allow_log: Vec::new(),
        command: vec!["sh".into(), script.into()],
    })?;
    if ended == ExitCode::SUCCESS && options.arch == Arch::Amd64 {
        steps::say("\nNext, each in a separate guest:");
        let named = match options.kernel == Name::default() {
            true => String::new(),
            false => format!(" --kernel {}", options.kernel),
        };
        for (what, command) in NEXT {
            steps::say(&format!("  cargo xtask vm{named} -- \"{command}\"    # {what}"));
        }
        steps::say(&format!("\nThis took {} s.", begin.elapsed().as_secs()));
    }
    Ok(ended)
}

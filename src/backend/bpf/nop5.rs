//! backend/bpf/nop5.rs: the test whether the kernel preserves the stack of programs at probed nops.

use kinst_os::uprobe::{self, Nop5};
use std::process::Command;

/// The first argument of the test process's command.
pub(crate) const WORD: &str = "--be-probed-at-a-nop";

/// Tests the running kernel, in a process that is started for it.
pub fn nop5() -> Nop5 {
    let mut command = Command::new("/proc/self/exe");
    command.arg(WORD).current_dir("/");
    uprobe::nop5(command)
}

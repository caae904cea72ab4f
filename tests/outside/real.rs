//! tests/outside/real.rs: dtrace for a real kernel.

use std::process::Command;

use crate::needs;

/// Whether it succeeds, and its output; `None` if the kernel is not installed.
pub(crate) fn dtrace(arguments: &[&str]) -> Option<(bool, String, String)> {
    let root = needs::linux_6_1()?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_dtrace"));
    let out = command.arg("--sysroot").arg(root).args(arguments).output().expect("dtrace runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Some((out.status.success(), text(out.stdout), text(out.stderr)))
}

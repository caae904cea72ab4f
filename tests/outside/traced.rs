//! tests/outside/traced.rs: dtrace as it traces the machine that runs the tests, by the kernel's BPF.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::commands::{run, support};
use crate::needs;
use crate::sysroot::sysroot;

fn dtrace(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dtrace"));
    command.args(["-x", "backend=bpf"]).args(arguments).env("NO_COLOR", "1");
    command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command.output().expect("dtrace runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether this machine can be traced.
#[track_caller]
fn can_trace() -> bool {
    let can = dtrace(&["-qn", "BEGIN { exit(0); }"]).status.success();
    if !can {
        needs::missing("tracing by BPF", "run the tests as root, on a kernel with BPF and BTF");
    }
    can
}

/// The build id of the running kernel, as /sys/kernel/notes has it.
fn running_build_id() -> Option<String> {
    let notes = std::fs::read("/sys/kernel/notes").ok()?;
    let at = notes.windows(8).position(|bytes| bytes == b"\x03\0\0\0GNU\0")?;
    let bytes = notes.get(at + 8..at + 28)?;
    Some(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn release() -> String {
    run("uname", &["-r"]).trim().to_owned()
}

/// The types of curthread tell whether they are those of the running kernel.
const PROGRAM: &str = "BEGIN { printf(\"%d\", curthread->tgid == pid); exit(0); }";

#[track_caller]
fn refused(root: &str, arguments: &[&str], says: &str) {
    let ran = dtrace(&[&["--sysroot", root], arguments].concat());
    let stderr = text(&ran.stderr);
    assert_eq!((ran.status.code(), text(&ran.stdout).as_str()), (Some(1), ""), "{stderr}");
    let first = format!("dtrace: the files under {root} are not those of the running kernel\n");
    assert!(stderr.starts_with(&first) && stderr.contains(says), "{stderr}");
}

#[test]
fn files_of_another_kernel_are_not_traced_with() {
    let dir = sysroot();
    let root = dir.path().to_str().expect("text");
    for arguments in [&["-qn", PROGRAM][..], &["-n", "tick-1s"], &["--path", "inner", "--for", "1s"]] {
        refused(root, arguments, &format!("= note: running: {}", release()));
    }
    // All else is done with them.
    for arguments in [
        &["-e", "-n", "kinst::inner:entry"][..],
        &["-e", "-d", "-S", "-n", "kinst::inner:entry"],
        &["-l", "-n", "fbt::caller:entry"],
        &["--disas", "caller"],
        &["--path", "caller", "-e"],
        &["--annotate", "caller", "--dump"],
    ] {
        let ran = dtrace(&[&["--sysroot", root], arguments].concat());
        assert!(ran.status.success(), "{arguments:?}: {}", text(&ran.stderr));
    }
    // A program is shown before it is refused.
    let ran = dtrace(&["--sysroot", root, "-d", "-n", "kinst::inner:entry"]);
    assert!(!ran.status.success() && text(&ran.stdout).contains("kinst::"), "{}", text(&ran.stderr));
}

#[test]
fn the_build_id_counts_and_not_the_release() {
    let Some(id) = running_build_id() else {
        return needs::missing("build id of the running kernel", "run the tests on a kernel that has one");
    };
    let make = |name: &str, id: &str| {
        let dir = tempfile::tempdir().expect("a directory");
        let boot = dir.path().join("usr/lib/debug/boot");
        std::fs::create_dir_all(&boot).expect("directories");
        let vmlinux = boot.join(format!("vmlinux-{name}"));
        let (to, from) = (vmlinux.to_str().expect("text"), support("calls.c"));
        let build_id = format!("-Wl,--build-id=0x{id}");
        run("gcc", &["-O2", "-g", "-no-pie", &build_id, "-o", to, from.to_str().expect("text")]);
        dir
    };
    let other = make(&release(), "1234567812345678123456781234567812345678");
    refused(other.path().to_str().expect("text"), &["-qn", PROGRAM], "build id 12345678");
    if can_trace() {
        let own = make("6.6.6", &id);
        let ran = dtrace(&["--sysroot", own.path().to_str().expect("text"), "-qn", PROGRAM]);
        assert_eq!((text(&ran.stdout).trim_end(), text(&ran.stderr).as_str()), ("1", ""));
    }
}

#[test]
fn a_sysroot_with_the_running_release_and_others_is_traced_with() {
    if !can_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    for release in ["99.9.9", &release()] {
        std::fs::create_dir_all(dir.path().join("lib/modules").join(release)).expect("directories");
    }
    let ran = dtrace(&["--sysroot", dir.path().to_str().expect("text"), "-qn", PROGRAM]);
    assert_eq!((text(&ran.stdout).trim_end(), text(&ran.stderr).as_str()), ("1", ""));
}

//! tests/outside/traced.rs: dtrace traces the machine that runs the tests, with BPF.

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

/// The build id of the running kernel, from /sys/kernel/notes.
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

/// The members of curthread show whether the types belong to the running kernel.
const PROGRAM: &str = "BEGIN { printf(\"%d\", curthread->tgid == pid); exit(0); }";

#[track_caller]
fn refused(root: &str, arguments: &[&str], says: &str) {
    let ran = dtrace(&[&["--sysroot", root], arguments].concat());
    let stderr = text(&ran.stderr);
    assert_eq!((ran.status.code(), text(&ran.stdout).as_str()), (Some(1), ""), "{stderr}");
    let first = format!("dtrace: the files under {root} do not belong to the running kernel\n");
    assert!(stderr.starts_with(&first) && stderr.contains(says), "{stderr}");
}

#[test]
fn files_of_another_kernel_are_not_traced_with() {
    let dir = sysroot();
    let root = dir.path().to_str().expect("text");
    for arguments in [&["-qn", PROGRAM][..], &["-n", "tick-1s"], &["--path", "caller", "--for", "1s"]] {
        refused(root, arguments, &format!("= note: running: {}", release()));
    }
    // Everything else works with them.
    for arguments in [
        &["-e", "-n", "kinst::in_module:entry"][..],
        &["-e", "-d", "-S", "-n", "kinst::in_module:entry"],
        &["-l", "-n", "fbt::caller:entry"],
        &["--disas", "caller"],
        &["--path", "caller", "-e"],
        &["--annotate", "twice", "--dump"],
    ] {
        let ran = dtrace(&[&["--sysroot", root], arguments].concat());
        assert!(ran.status.success(), "{arguments:?}: {}", text(&ran.stderr));
    }
    // A program is printed before it is refused.
    let ran = dtrace(&["--sysroot", root, "-d", "-n", "kinst::in_module:entry"]);
    assert!(
        !ran.status.success() && text(&ran.stdout).contains("kinst:extra_mod:twice:"),
        "{}",
        text(&ran.stderr)
    );
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

#[test]
fn a_target_that_nothing_gives_is_reported() {
    if !can_trace() {
        return;
    }
    let program = "BEGIN /pid == $target/ { trace(1); } BEGIN { exit(0); }";
    let ran = dtrace(&["-qn", program]);
    let stderr = text(&ran.stderr);
    assert!(ran.status.success() && stderr.contains("$target has no value: it is 0"), "{stderr}");
    assert!(stderr.contains("-c COMMAND or -p PID"), "{stderr}");
    for arguments in [&["-qn", program, "-p", "1"][..], &["-qn", program, "-c", "true"], &["-en", program]] {
        assert_eq!(text(&dtrace(arguments).stderr), "", "{arguments:?}");
    }
}

#[test]
fn words_of_a_command_are_quoted() {
    if !can_trace() {
        return;
    }
    let run = |command: &str| dtrace(&["-qn", "tick-100s", "-c", command]);
    assert_eq!(text(&run("sh -c \"echo one; echo 'two  words'\"").stdout).trim_end(), "one\ntwo  words");
    let ran = run("sh -c 'exit");
    assert!(!ran.status.success() && text(&ran.stderr).contains("has an unclosed '"), "{ran:?}");
}

#[test]
fn the_time_of_a_profile_is_that_of_the_trace() {
    if !can_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (page, lines) = (dir.path().join("page.html"), dir.path().join("lines.json"));
    let forms = [format!("flame={}", page.display()), format!("json={}", lines.display())];
    let program = "BEGIN { from = timestamp; } profile-97 { @[stack()] = count(); } tick-300ms { trace(timestamp - from); exit(0); }";
    let ran = dtrace(&["-q", "-O", &forms[0], "-O", &forms[1], "-n", program]);
    assert!(ran.status.success(), "{ran:?}");
    let page = std::fs::read_to_string(page).expect("a page");
    let seconds =
        page.split_once("\"seconds\":").and_then(|(_, rest)| rest.split_once(',')).expect("seconds").0;
    let seconds: f64 = seconds.parse().expect("a number");
    let lines = std::fs::read_to_string(lines).expect("lines");
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let record = lines.iter().find(|line| line["type"] == "record").expect("a record");
    let measured = record["actions"][0]["value"].as_f64().expect("nanoseconds") / 1e9;
    assert!(seconds >= measured && seconds < measured + 0.1, "{seconds}, and {measured} of the program");
    let time = |line: &serde_json::Value| line["timestamp"].as_str().expect("a time").to_owned();
    assert_eq!(time(record)[..23], time(&lines[lines.len() - 1])[..23], "it ends with exit()");
}

/// The numbers of system calls do not come from the kernel, which may hide its table.
#[test]
fn system_calls() {
    if !can_trace() {
        return;
    }
    let program = "syscall::openat:entry /pid == $target/ { self->opened = copyinstr(arg1); } \
        syscall::openat:return /self->opened != NULL/ { printf(\"%s %d\\n\", self->opened, errno); }";
    let ran = dtrace(&["-qn", program, "-c", "cat /etc/passwd /not/there"]);
    let said = text(&ran.stdout);
    assert!(said.lines().any(|line| line == "/etc/passwd 0"), "{said}{}", text(&ran.stderr));
    assert!(said.lines().any(|line| line == "/not/there 2"), "{said}{}", text(&ran.stderr));
}

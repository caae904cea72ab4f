//! tests/outside/interrupt.rs: the compiler while it reads a kernel: its progress display, and SIGINT and SIGTERM,
//! which leave no incomplete file.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::needs;

const LOOK: Duration = Duration::from_millis(20);

fn dtrace(root: &Path, cache: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dtrace"));
    command.arg("--sysroot").arg(root).args(arguments).env("XDG_CACHE_HOME", cache);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("dtrace starts")
}

/// Sends the signal and returns the exit status and the output.
fn ended_by(signal: &str, child: Child) -> (Option<i32>, String) {
    let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success(), "it had ended by itself");
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Waits until the process reads the kernel: its handlers are installed before.
fn wait_until_it_reads(child: &Child, what: &str) {
    let maps = format!("/proc/{}/maps", child.id());
    while !std::fs::read_to_string(&maps).expect("it runs").contains(what) {
        sleep(LOOK);
    }
}

#[test]
fn a_signal_ends_a_walk_over_the_debug_information() {
    let Some(root) = needs::linux_6_1() else { return };
    let cache = tempfile::tempdir().expect("a directory");
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let walk = ["-x", "nocache", "-x", "maxprobes=1000000", "-en", "kinst::*a*:entry"];
        let child = dtrace(&root, cache.path(), &walk);
        wait_until_it_reads(&child, "vmlinux-");
        assert_eq!(ended_by(signal, child), (Some(status), String::new()), "{signal}");
    }
    assert_eq!(files(cache.path()), [""; 0]);
}

#[test]
fn a_signal_leaves_whole_indices_or_none() {
    let Some(root) = needs::linux_6_1() else { return };
    for known in [1, 5, 10] {
        // Leftovers of an earlier run would end the wait before this run has installed its handlers.
        let cache = tempfile::tempdir().expect("a directory");
        let index = cache.path().join("kinst/index");
        let child = dtrace(&root, cache.path(), &["--index"]);
        while files(&index).iter().filter(|name| !name.starts_with('.')).count() < known {
            sleep(LOOK);
        }
        assert_eq!(ended_by("TERM", child), (Some(143), String::new()));
        let begun: Vec<String> = files(&index).into_iter().filter(|name| name.starts_with('.')).collect();
        assert_eq!(begun, [""; 0]);
    }
}

/// Without a terminal nothing is shown, which the other tests check.
#[test]
fn a_terminal_shows_what_takes_long() {
    let Some(root) = needs::linux_6_1().filter(|_| needs::program("script")) else { return };
    let walk = "-x nocache -x maxprobes=1000000 -en 'kinst::*a*:entry'";
    let command = format!("{} --sysroot {} {walk}", env!("CARGO_BIN_EXE_dtrace"), root.display());
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = script.spawn().expect("script starts");
    let mut terminal = child.stdout.take().expect("a pipe");
    let (mut shown, mut chunk) = (String::new(), [0; 512]);
    while !shown.contains("compiling") {
        let read = terminal.read(&mut chunk).expect("a terminal");
        assert!(read > 0, "it ended without a word: {shown:?}");
        shown += &String::from_utf8_lossy(&chunk[..read]);
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

//! tests/outside/unwritable.rs: standard output that is closed or full.

use std::path::Path;
use std::process::Command;

use crate::{commands, needs};

const DTRACE: &str = env!("CARGO_BIN_EXE_dtrace");

/// Runs a command with its output redirected by the shell; returns its status and standard error.
fn redirected(redirection: &str, command: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let script = format!("exec \"$0\" \"$@\" {redirection}");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, command]).args(arguments).env("NO_COLOR", "1").env("XDG_CACHE_HOME", cache);
    let output = shell.output().expect("a shell");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.d");
    std::fs::write(&path, "BEGIN { x = 1; }\n").expect("a file");
    let path = path.to_str().expect("UTF-8");
    let written: [&[&str]; 5] =
        [&["-V"], &["-x", "help"], &["--help"], &["-ed", "-s", path], &["-l", "-n", "BEGIN"]];
    for (redirection, reason) in [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")] {
        for arguments in written {
            let says = format!("dtrace: failed to write standard output: {reason}\n");
            assert_eq!(redirected(redirection, DTRACE, arguments), (Some(1), says), "{arguments:?}");
        }
        assert_eq!(redirected(redirection, DTRACE, &["-e", "-s", path]), (Some(0), String::new()));
    }
    assert_eq!(redirected(">/dev/null", DTRACE, &["-V"]), (Some(0), String::new()));
}

#[test]
fn so_it_is_of_inlinecall() {
    if !needs::program("gcc") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (source, program) = (dir.path().join("leaf.c"), dir.path().join("leaf"));
    let text = "static inline __attribute__((always_inline)) int leaf(int x) { return x * 3; }\n\
                int main(int c, char **v) { return leaf(c); }\n";
    std::fs::write(&source, text).expect("a file");
    let program = program.to_str().expect("UTF-8");
    commands::run("gcc", &["-O2", "-g", "-o", program, source.to_str().expect("UTF-8")]);
    for (redirection, reason) in [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")] {
        let says = format!("inlinecall: failed to write standard output: {reason}\n");
        let ran = redirected(redirection, env!("CARGO_BIN_EXE_inlinecall"), &["leaf", program]);
        assert_eq!(ran, (Some(2), says));
    }
}

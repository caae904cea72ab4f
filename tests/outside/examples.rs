//! tests/outside/examples.rs: the scripts of examples/ have a common format, are run in a guest, and are named in the
//! guide.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::needs;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Name, path and text of each script.
fn examples() -> Vec<(String, PathBuf, String)> {
    let entries = std::fs::read_dir(Path::new(ROOT).join("examples")).unwrap();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        (name, path, text)
    };
    // A folder is a driver, or a group of files.
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let mut examples: Vec<_> = files.map(read).collect();
    examples.sort();
    assert!(examples.len() >= 20, "only {} examples", examples.len());
    examples
}

#[test]
fn each_example_is_run_in_a_guest_and_named_in_the_guide() {
    let read = |path: &str| std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap();
    let (cases, guide) = (read("tests/vm/cases/examples.case"), read("docs/guide/src/scripts.md"));
    for (name, ..) in examples() {
        assert!(cases.contains(&format!("dtrace -s examples/{name} ")), "no case runs {name}");
        let rows = guide.lines().filter(|line| line.starts_with(&format!("| `{name}` "))).count();
        assert_eq!(rows, 1, "{name} in the guide");
    }
}

#[test]
fn each_example_says_what_it_shows_and_how_it_is_run() {
    for (name, path, text) in examples() {
        assert!(name.ends_with(".d"), "{name}");
        let begin = format!("#!/usr/bin/env -S dtrace -s\n/*\n * {name}: ");
        assert!(text.starts_with(&begin), "{name} begins otherwise");
        let (comment, program) = text.split_once(" */\n").unwrap();
        assert!(comment.contains(&format!("\n *\t./{name}")), "{name}: how it is run");
        assert!(program.starts_with("#pragma D option quiet\n"), "{name}: what it prints is its own");
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{name} can be executed");
    }
}

#[test]
fn an_example_starts_by_its_first_line_with_arguments_and_options() {
    let Some(root) = needs::linux_6_1() else { return };
    let folder = Path::new(env!("CARGO_BIN_EXE_dtrace")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(folder.into()).chain(std::env::split_paths(&path))).unwrap();
    let mut command = Command::new(Path::new(ROOT).join("examples/values.d"));
    command.env("PATH", path).env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command.args(["vfs_read", "0", "count", "-d", "-e", "--sysroot"]).arg(root);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("kinst::vfs_read:0\n") && text.contains("locals->count"), "{text}");
}

//! tests/compile/scripts.rs: realistic scripts compile with the types of a stock kernel, in every mode and layout.
//!
//! `tests/scripts/*.txt` hold scripts, separated by lines of `=====`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::needs;

fn scripts() -> Vec<(String, String)> {
    let mut scripts = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, script) in text.split("=====\n").enumerate() {
            scripts.push((format!("{name}-{number}"), script.to_owned()));
        }
    }
    scripts
}

fn dtrace(root: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dtrace"));
    command.args(["-Z", "-x", "defaultargs", "--sysroot"]).arg(root).args(arguments);
    command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command.output().unwrap()
}

#[track_caller]
fn accepted(root: &Path, name: &str, arguments: &[&str]) -> (String, String) {
    let output = dtrace(root, arguments);
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} {arguments:?}\n{stderr}");
    (stdout, stderr.into_owned())
}

/// The listing of the DIFOs, without the preceding warnings, whose line numbers depend on the layout.
fn objects(stderr: &str) -> &str {
    stderr.find("\nDIFO ").map_or(stderr, |at| &stderr[at..])
}

/// Whether a script has only clauses, which -d prints: the printed script compiles to the same objects.
fn is_clauses_only(script: &str) -> bool {
    let words = [
        "inline",
        "typedef",
        "struct",
        "union",
        "enum",
        "translator",
        "provider",
        "self ",
        "this ",
        "extern",
    ];
    let types = ["int", "uint", "char", "string", "unsigned", "signed", "const", "userland", "uint64_t"];
    let declares = |line: &str| words.iter().chain(&types).any(|word| line.starts_with(word));
    !script.lines().any(declares)
}

#[test]
fn scripts_compile_in_every_mode_and_layout() {
    let Some(root) = needs::linux_6_1() else { return };
    let dir = tempfile::tempdir().unwrap();
    let scripts = scripts();
    assert!(scripts.len() > 140, "only {} scripts", scripts.len());
    for (name, script) in &scripts {
        let path = dir.path().join("script.d");
        let file = path.to_str().unwrap();
        std::fs::write(&path, script).unwrap();
        let (desugared, _) = accepted(&root, name, &["-d", "-e", "-x", "tree=15", "-s", file]);
        let (_, listing) = accepted(&root, name, &["-e", "-v", "-S", "-s", file]);

        accepted(&root, name, &["--fmt", file]);
        let laid_out = std::fs::read_to_string(&path).unwrap();
        accepted(&root, name, &["--fmt", file]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), laid_out, "{name}: the layout of a layout");
        let (_, again) = accepted(&root, name, &["-e", "-S", "-s", file]);
        // These numbers differ between processes.
        if !script.contains("$p") && !script.contains("$s") {
            assert_eq!(
                objects(&again),
                objects(&listing),
                "{name}: the layout changed what it means\n{laid_out}"
            );
        }
        if is_clauses_only(script) {
            std::fs::write(&path, &desugared).unwrap();
            let (twice, _) = accepted(&root, name, &["-d", "-e", "-s", file]);
            assert_eq!(twice, desugared, "{name}");
        }
    }
}

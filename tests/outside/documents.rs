//! tests/outside/documents.rs: the examples of the documents compile, and their probes exist, on the kernel that setup fetches.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::needs;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The user documents. The other pages of the guide are run as a whole, in a guest.
fn documents() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(Path::new(ROOT).join("docs")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    let guide = Path::new(ROOT).join("docs/guide/src");
    let pages = ["cookbook.md", "limits.md", "providers.md", "scripts.md", "scripts-toolkit.md"];
    paths.extend(pages.map(|page| guide.join(page)));
    paths.push(Path::new(ROOT).join("README.md"));
    paths.sort();
    paths
}

/// The examples of a document, extracted by the program that does so in a guest.
fn examples(document: &Path) -> Vec<String> {
    let program = Path::new(ROOT).join("tests/outside/examples.awk");
    let output = Command::new("awk").arg("-f").arg(program).arg(document).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn every_example_of_the_documents_compiles() {
    let Some(root) = needs::linux_6_1() else { return };
    let vmlinux = needs::vmlinux(&root).expect("it is there");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("script.d"), "syscall::read:entry { @[execname] = count(); }\n").unwrap();
    std::os::unix::fs::symlink(vmlinux, dir.path().join("vmlinux")).unwrap();
    std::os::unix::fs::symlink(Path::new(ROOT).join("examples"), dir.path().join("examples")).unwrap();
    let folder = Path::new(env!("CARGO_BIN_EXE_dtrace")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(folder.into()).chain(std::env::split_paths(&path))).unwrap();
    let root = root.to_str().unwrap();
    let (mut count, mut failed) = (0, String::new());
    let help = Command::new(env!("CARGO_BIN_EXE_dtrace")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, help) = help.split_once("\nExamples:\n").unwrap();
    let options = dir.path().join("--help");
    std::fs::write(&options, format!("```\n{}```\n", help.replace("  dtrace", "# dtrace"))).unwrap();
    assert_eq!(examples(&options).len(), 5, "{help}");
    for document in documents().into_iter().chain([options]) {
        // --index reads the debug information of all modules; a guest has only a few.
        for example in examples(&document).into_iter().filter(|example| !example.contains(" --index")) {
            count += 1;
            let line = example.replacen(" --sysroot / ", " ", 1);
            let line = line.replacen("dtrace ", &format!("dtrace -e --sysroot {root} "), 1);
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).current_dir(dir.path()).env("PATH", &path).env("NO_COLOR", "1");
            shell.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
            let output = shell.output().unwrap();
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                failed += &format!("{}: {example}\n{said}\n", document.display());
            }
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
    assert!(count >= 75, "only {count} examples");
}

/// The commands of a document that trace programs, with their continuation lines.
fn program_examples(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match (line.strip_prefix("# "), line.strip_prefix("> ")) {
            (Some(command), _) => commands.push(command.to_owned()),
            (None, Some(more)) if open => {
                let last = commands.last_mut().expect("a command is open");
                *last = format!("{}\n{more}", last.trim_end_matches('\\'));
            }
            _ => {}
        }
        open = line.starts_with("# ") || open && line.starts_with("> ");
    }
    commands.retain(|command| command.starts_with("dtrace ") && command.contains('\''));
    commands.retain(|command| command.contains("pid$target") || command.contains("uprobe:"));
    commands
}

/// The programs are not on this machine, but the text can be parsed.
#[test]
fn every_example_about_a_program_is_d() {
    let mut count = 0;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("example.d");
    for document in ["README.md", "docs/guide/src/programs.md", "docs/guide/src/usdt.md"] {
        let text = std::fs::read_to_string(Path::new(ROOT).join(document)).unwrap();
        for command in program_examples(&text) {
            let mut program = command.split('\'').nth(1).unwrap().to_owned();
            // A description on the command line may have no body, in a file it needs one.
            if !program.contains('{') {
                program += " { }";
            }
            std::fs::write(&file, program).unwrap();
            let output = Command::new(env!("CARGO_BIN_EXE_dtrace")).arg("--fmt").arg(&file).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{document}: {command}\n{said}");
            count += 1;
        }
    }
    assert!(count >= 8, "only {count} examples");
}

#[test]
fn examples_are_found() {
    let text = "A `dtrace -l` and `kinst::f:entry`, `sched:::on-cpu`.\n\
        ```\n# dtrace -n BEGIN\n# dtrace -n 'pid$target:a.out:main:entry' -c true\n   0 dtrace\n```\n\
        | with `sdt:::there` → `sdt:::here`, or `examples/values.d vfs_read 43 count`, not `examples/values.d` |\n";
    let dir = tempfile::tempdir().unwrap();
    let document = dir.path().join("document");
    std::fs::write(&document, text).unwrap();
    let found = [
        "dtrace -l",
        "dtrace -n 'sched:::on-cpu'",
        "dtrace -n BEGIN",
        "dtrace -n 'sdt:::here'",
        "dtrace -s examples/values.d vfs_read 43 count",
    ];
    assert_eq!(examples(&document), found);
}

//! tests/outside/documents.rs: the examples of the documents compile, and their probes exist, on the kernel that setup fetches.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::needs;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The words that stand for a name in the shape of a description.
const PLACEHOLDERS: [&str; 6] = [":f:", ":f.cold:", ":NAME:", "FUNCTION", "caller:offset", "module:function"];

const PROVIDERS: [&str; 7] = ["kinst:", "fbt:", "syscall:", "sched:", "proc:", "io:", "sdt:"];

/// The documents for users, and their texts.
fn documents() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(Path::new(ROOT).join("docs")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    // The map of the sources names options, and the table of scripts other systems' probes: no commands to type.
    let types = |path: &PathBuf| !path.ends_with("ARCHITECTURE.md") && !path.ends_with("SCRIPTS.md");
    paths.retain(|path| path.extension().is_some_and(|end| end == "md") && types(path));
    paths.push(Path::new(ROOT).join("README.md"));
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    paths.iter().map(read).collect()
}

/// The commands of a document: those of its blocks that begin with a prompt, and the commands and the descriptions of
/// probes among its words.
fn examples(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block = false;
    for line in text.lines() {
        if line.starts_with("```") {
            block = !block;
        } else if block {
            found.extend(
                line.strip_prefix("# ").filter(|line| line.starts_with("dtrace ")).map(str::to_owned),
            );
        } else {
            let words = line.split('`').skip(1).step_by(2);
            found.extend(words.filter_map(command));
        }
    }
    found
}

fn command(words: &str) -> Option<String> {
    let is_shape = PLACEHOLDERS.iter().any(|placeholder| words.contains(placeholder));
    if is_shape {
        return None;
    }
    if words.starts_with("dtrace ") || words.starts_with("inlinecall ") {
        return Some(words.to_owned());
    }
    let is_description = PROVIDERS.iter().any(|provider| words.starts_with(provider));
    is_description.then(|| format!("dtrace -n '{words}'"))
}

#[test]
fn every_example_of_the_documents_compiles() {
    let Some(root) = needs::stable() else { return };
    let vmlinux = needs::vmlinux(&root).expect("it is there");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("script.d"), "syscall::read:entry { @[execname] = count(); }\n").unwrap();
    std::os::unix::fs::symlink(vmlinux, dir.path().join("vmlinux")).unwrap();
    let folder = Path::new(env!("CARGO_BIN_EXE_dtrace")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(folder.into()).chain(std::env::split_paths(&path))).unwrap();
    let root = root.to_str().unwrap();
    let (mut count, mut failed) = (0, String::new());
    let help = Command::new(env!("CARGO_BIN_EXE_dtrace")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, help) = help.split_once("\nExamples:\n").unwrap();
    let help = format!("```\n{}```\n", help.replace("  dtrace", "# dtrace"));
    assert_eq!(examples(&help).len(), 5, "{help}");
    for (document, text) in documents().into_iter().chain([("--help".to_owned(), help)]) {
        // --index reads the debug information of all modules, which are few in a guest.
        for example in examples(&text).into_iter().filter(|example| !example.ends_with(" --index")) {
            count += 1;
            let line = example.replacen(" --sysroot / ", " ", 1);
            let line = line.replacen("dtrace ", &format!("dtrace -e --sysroot {root} "), 1);
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).current_dir(dir.path()).env("PATH", &path).env("NO_COLOR", "1");
            shell.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
            let output = shell.output().unwrap();
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                failed += &format!("{document}: {example}\n{said}\n");
            }
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
    assert!(count >= 55, "only {count} examples");
}

#[test]
fn examples_are_found() {
    let text =
        "A `dtrace -l` and `kinst::f:entry`, `sched:::on-cpu`.\n```\n# dtrace -n BEGIN\n   0 dtrace\n```\n";
    assert_eq!(examples(text), ["dtrace -l", "dtrace -n 'sched:::on-cpu'", "dtrace -n BEGIN"]);
}

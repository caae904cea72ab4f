//! tests/model/processes.rs: threads, children, signals, jumps and exceptions, traced while they happen.

use std::process::Command;

use crate::commands::{run, support};
use crate::live::{can_trace, dtrace, text};
use crate::needs;
use crate::step::Stepped;

/// Entries and returns of copy() and of plain().
type Counts = [u64; 4];

/// Each process of the program, with what it has counted.
fn processes(output: &str) -> Vec<(u64, Counts)> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("@ "));
    let numbers = lines.map(|line| line.split(' ').map(|word| word.parse::<u64>().expect("a number")));
    let numbers: Vec<Vec<u64>> = numbers.map(Iterator::collect).collect();
    numbers.iter().map(|line| (line[0], [line[1], line[2], line[3], line[4]])).collect()
}

fn sum(counts: impl Iterator<Item = Counts>) -> Counts {
    counts.fold([0; 4], |sum, counts| std::array::from_fn(|index| sum[index] + counts[index]))
}

/// Traces a program with probes that begin with these fields. Returns the counts of its processes, and of dtrace.
fn traced(way: &str, program: &str, mode: &str, fields: &str) -> (Vec<(u64, Counts)>, Counts) {
    let mut script = String::new();
    let ends = [("copy", "entry"), ("copy", "return"), ("plain", "entry"), ("plain", "return")];
    for (function, end) in ends {
        script += &format!("{fields}:{function}:{end} {{ @[\"{function} {end}\"] = count(); }}\n");
    }
    let ran = dtrace(
        &[
            "-qn",
            &format!("{script} END {{ printa(\"%s %@u\\n\", @); }}"),
            "-c",
            &format!("{program} {mode}"),
        ],
        None,
    );
    let (stdout, stderr) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{way}: {stderr}");
    let counts = ends.map(|(function, end)| {
        let prefix = format!("{function} {end} ");
        stdout.lines().find_map(|line| line.strip_prefix(&prefix)?.parse().ok()).unwrap_or(0)
    });
    let processes = processes(&stdout);
    assert!(!processes.is_empty(), "{way}: {stdout}");
    println!("{way} {mode} {fields}: {counts:?}, by itself {processes:?} {stderr}");
    (processes, counts)
}

/// The modes of processes.c. The provider pid traces the one process, uprobe all.
#[test]
fn threads_children_signals_and_jumps() {
    if !can_trace() {
        return;
    }
    for compiler in crate::step::compilers() {
        for level in ["-O1", "-O2"] {
            let source = support("processes.c");
            let built = Stepped::compile(compiler, &source, &[level, "-g", "-pthread"]);
            let way = format!("{compiler} {level}");
            for mode in ["threads", "forks", "exec", "signals", "jumps"] {
                let uprobe = format!("uprobe:{}", built.program);
                for (fields, all) in [("pid$target:a.out", false), (uprobe.as_str(), true)] {
                    let (processes, counts) = traced(&way, &built.program, mode, fields);
                    let first = processes.last().expect("a process").0;
                    let counted = processes.iter().filter(|(pid, _)| all || *pid == first);
                    let mut expected = sum(counted.map(|(_, counts)| *counts));
                    if mode == "jumps" {
                        // A call of longjmp() is a return too, of the function and of the copy.
                        assert!(expected[1] < expected[0] && expected[3] < expected[2]);
                        (expected[1], expected[3]) = (expected[0], expected[2]);
                    }
                    assert_eq!(counts, expected, "{way} {mode} {fields}");
                }
            }
        }
    }
}

/// A function's own exceptions are returns of it, and of the copy that throws them. Those of other functions that pass
/// through it are not.
#[test]
fn exceptions() {
    if !can_trace() {
        return;
    }
    for level in ["-O1", "-O2"] {
        let dir = tempfile::tempdir().expect("a directory");
        let program = dir.path().join("thrown").display().to_string();
        let source = support("thrown.cpp").display().to_string();
        // Some kernels take no probe at a nop of five bytes.
        let aligned = ["-fno-align-jumps", "-fno-align-loops", "-fno-align-labels"];
        run("g++", &[&["-w", "-g", level, "-o", &program, &source], &aligned[..]].concat());
        let output = text(&Command::new(&program).output().expect("the program").stdout);
        let passed: u64 = output.lines().next().and_then(|line| line.parse().ok()).expect("a number");
        let (processes, counts) = traced(level, &program, "", "pid$target:a.out");
        let [copies, left_copies, plain, left] = processes[0].1;
        assert!(left_copies < copies && left + passed < plain && passed > 0);
        assert_eq!(counts, [copies, copies, plain, plain - passed], "{level}");
    }
}

/// A file in a layer of overlayfs is traced by its own path, until a container makes a copy of it: then a warning has
/// the path of that.
#[test]
fn a_layer_of_an_image_and_its_copy() {
    if !can_trace() || !needs::program("unshare") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().display().to_string();
    let source = dir.path().join("program.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("written");
    for layer in ["lower", "tmpfs", "merged"] {
        std::fs::create_dir(dir.path().join(layer)).expect("a directory");
    }
    run("gcc", &["-g", "-o", &format!("{path}/lower/program"), &source.display().to_string()]);
    let traced = |layer: &str| {
        format!(
            "\"$DTRACE\" -x backend=bpf -qn 'uprobe:{path}/{layer}/program:main:entry {{ @ = count(); }}' \
             -c {path}/merged/program\n"
        )
    };
    // The directory of the test may be in an overlay, which cannot be an upper layer.
    let script = format!(
        "mount -t tmpfs none {path}/tmpfs && mkdir {path}/tmpfs/upper {path}/tmpfs/scratch && \
         mount -t overlay none -o lowerdir={path}/lower,upperdir={path}/tmpfs/upper,workdir={path}/tmpfs/scratch \
         {path}/merged || exit 9\n{}touch {path}/merged/program\n{}{}",
        traced("lower"),
        traced("lower"),
        traced("tmpfs/upper"),
    );
    let ran = std::process::Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .env("DTRACE", env!("CARGO_BIN_EXE_dtrace"))
        .output()
        .expect("unshare runs");
    if ran.status.code() == Some(9) {
        return needs::missing("overlayfs", "run the tests as root");
    }
    let counts = text(&ran.stdout);
    let counts: Vec<&str> = counts.split_whitespace().collect();
    let said = text(&ran.stderr);
    assert_eq!(counts, ["1", "1"], "{said}");
    let copy = format!("trace the copy too, by its own path: {path}/tmpfs/upper/program");
    assert_eq!(said.matches(&copy).count(), 1, "{said}");
}

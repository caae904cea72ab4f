//! tests/model/live.rs: programs that count the calls of their functions, traced by dtrace while they run: what it
//! counts is compared with what they print.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kinst::sites::copies::calls::Call;

use crate::compared::share_places;
use crate::counted::{COUNTERS, Counting, INT3, with_loops};
use crate::needs;
use crate::step::{Stepped, compilers, number};

/// The levels of optimisation.
const LEVELS: [&str; 3] = ["-O1", "-O2", "-O3"];

/// The limit on calls in one program: each costs two probes.
const MOST_CALLS: u64 = 2_000_000;

/// The dtrace that is tested, which traces by BPF.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dtrace"));
    command.args(["-x", "backend=bpf"]).args(arguments).envs(environment());
    command
}

/// The variables that dtrace and its programs have, in addition to those of the test.
pub(crate) fn environment() -> [(&'static str, PathBuf); 2] {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    [("NO_COLOR", "1".into()), ("XDG_CACHE_HOME", cache)]
}

/// Runs it in a folder.
pub(crate) fn dtrace(arguments: &[&str], folder: Option<&Path>) -> Output {
    command(arguments).current_dir(folder.unwrap_or(Path::new("."))).output().expect("dtrace runs")
}

/// The lossy text of some output.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether programs of this machine can be traced.
#[track_caller]
pub(crate) fn can_trace() -> bool {
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("program.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("written");
    let program = Stepped::compile("gcc", &source, &["-O1", "-g"]);
    let ran = dtrace(&["-qn", "pid$target:a.out:main:entry { trace(42); }", "-c", &program.program], None);
    let can = ran.status.success();
    if !can {
        let how = "run the tests as root, on a kernel with BPF, BTF and uprobes";
        needs::missing("tracing of programs by BPF", &format!("{how}: {}", text(&ran.stderr).trim()));
    }
    can
}

/// The entries and returns of functions.
pub(crate) type Live = BTreeMap<String, (u64, u64)>;

/// A clause for each function that counts its entries, and one for its returns, and their output at the end: a line
/// with `@e` or `@r`, the function, the name by inlinefunc, and the count.
pub(crate) fn script<'f>(functions: impl Iterator<Item = &'f str>) -> String {
    let mut text = String::new();
    for function in functions {
        for (aggregation, end) in [("e", "entry"), ("r", "return")] {
            text += &format!(
                "pid$target:a.out:{function}:{end} {{ @{aggregation}[\"{function}\", inlinefunc] = count(); }}\n"
            );
        }
    }
    text + "END { printa(\"@e %s %s %@u\\n\", @e); printa(\"@r %s %s %@u\\n\", @r); }\n"
}

/// The counts in the output of such a program. Other lines are the program's output.
pub(crate) fn live(output: &str) -> Live {
    let mut live = Live::new();
    for line in output.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [kind @ ("@e" | "@r"), function, inlined, count] = words[..] else { continue };
        // A clone of the compiler is the function too.
        assert_eq!(inlined.split('.').next(), Some(function), "the function of a probe: {line}");
        let count: u64 = count.parse().expect("a count");
        let (entries, returns) = live.entry(function.to_owned()).or_default();
        *(if kind == "@e" { entries } else { returns }) += count;
    }
    live
}

/// The outcome of the functions of some programs.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    programs: usize,
    /// Functions that were called.
    functions: usize,
    /// Their copies.
    copies: usize,
    /// Functions with only exact copies, none of which share a place, or without copies.
    exact: usize,
    /// Exact functions with other counts than the program's.
    wrong: usize,
    /// Exact functions with copies that share an entry or a return, and the number of these with other counts.
    shared: usize,
    fewer: usize,
    /// Other functions, and the number of these with other counts.
    inexact: usize,
    differ: usize,
    /// The calls of exact functions.
    calls: u64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.programs += other.programs;
        self.functions += other.functions;
        self.copies += other.copies;
        self.exact += other.exact;
        self.wrong += other.wrong;
        self.shared += other.shared;
        self.fewer += other.fewer;
        self.inexact += other.inexact;
        self.differ += other.differ;
        self.calls += other.calls;
    }

    /// Compares the counts of one function.
    fn judge(&mut self, way: &str, function: &str, calls: &[Call], counted: u64, live: (u64, u64)) {
        let is_exact = calls.iter().all(|call| call.inexact.is_none());
        let is_right = live == (counted, counted);
        if counted == 0 && is_right {
            return;
        }
        self.functions += 1;
        self.copies += calls.len();
        let (count, not, word) = match (is_exact, share_places(calls)) {
            (true, false) => (&mut self.exact, &mut self.wrong, "WRONG"),
            (true, true) if live.0 <= counted && live.1 <= counted => {
                (&mut self.shared, &mut self.fewer, "SHARED")
            }
            (true, true) => (&mut self.shared, &mut self.wrong, "WRONG"),
            (false, _) => (&mut self.inexact, &mut self.differ, "DIFFERS"),
        };
        *count += 1;
        *not += usize::from(!is_right);
        if is_exact {
            self.calls += counted;
        }
        if !is_right {
            println!("{word} {way} {function}: {live:?}, {counted} calls, {} copies", calls.len());
        }
    }
}

/// A program without breakpoints that prints its counters at the end.
fn compile(compiler: &str, program: &Counting, options: &[&str]) -> Stepped {
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("program.c");
    std::fs::write(&source, program.text.replace(INT3, "")).expect("written");
    let report = dir.path().join("report.c");
    let count = program.functions.len();
    let text = format!(
        "#include <stdio.h>\nextern unsigned long {COUNTERS}[];\n__attribute__((destructor)) static void report(void)\n\
         {{\n for (int i = 0; i < {count}; i++)\n  printf(\"@ %lu\\n\", {COUNTERS}[i]);\n}}\n"
    );
    std::fs::write(&report, text).expect("written");
    Stepped::compile(compiler, &source, &[options, &[report.to_str().expect("text")]].concat())
}

/// The program's output, and its counters. `None` if it is killed: some crash, and some never end.
fn alone(program: &str) -> Option<(String, Vec<u64>)> {
    let mut command = Command::new("sh");
    let ran = command.args(["-c", "ulimit -t 1; exec \"$0\"", program]).output().expect("a shell");
    ran.status.success().then(|| counters(&text(&ran.stdout)))
}

/// The lines of the program, and its counters.
fn counters(output: &str) -> (String, Vec<u64>) {
    let is_own = |line: &&str| !line.is_empty() && !line.starts_with('@');
    let own: Vec<&str> = output.lines().filter(is_own).collect();
    let counters = output.lines().filter_map(|line| line.strip_prefix("@ ")?.parse().ok());
    (own.join("\n"), counters.collect())
}

/// Runs a program alone and under dtrace, and compares; `None` if it makes too many calls, or is killed.
fn compare(way: &str, compiled: &Stepped, functions: &[String]) -> Option<Tally> {
    let (output, counted) =
        alone(&compiled.program).filter(|(_, counted)| counted.iter().sum::<u64>() <= MOST_CALLS)?;
    let script = script(functions.iter().map(String::as_str));
    // Some functions have no code.
    let ran = dtrace(&["-Zqn", &script, "-c", &compiled.program], None);
    let (stdout, stderr) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{way}: {stderr}");
    assert_eq!(counters(&stdout), (output, counted.clone()), "{way}: another output under dtrace: {stderr}");
    let live = live(&stdout);
    let calls = compiled.calls(functions);
    let mut tally = Tally { programs: 1, ..Tally::default() };
    for (function, counted) in functions.iter().zip(counted) {
        let seen = live.get(function).copied().unwrap_or_default();
        tally.judge(way, function, &calls[function], counted, seen);
    }
    if tally.wrong > 0 {
        println!("{stderr}");
    }
    Some(tally)
}

/// Compiles the programs with all compilers and options, every second one at a random address, and traces them.
fn compare_all(programs: impl Fn(u64, &str) -> Counting) {
    if !can_trace() {
        return;
    }
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let first = number("KINST_FIRST", 1);
    for seed in first..first + number("KINST_PROGRAMS", 2) {
        let addresses: &[&str] = if seed % 2 == 0 { &["-fPIE", "-pie"] } else { &[] };
        for compiler in compilers() {
            let program = programs(seed, compiler);
            for level in LEVELS {
                let options = [&[level, "-g", "-fno-jump-tables", "-funroll-loops"], addresses].concat();
                let compiled = compile(compiler, &program, &options);
                let way = format!("{compiler} {level}");
                match compare(&format!("seed {seed} {way}"), &compiled, &program.functions) {
                    Some(tally) => tallies.entry(way).or_default().add(&tally),
                    None => println!("seed {seed} {way}: a signal, too long, or too many calls"),
                }
            }
        }
    }
    tallies.iter().for_each(|(way, tally)| println!("{way}: {tally:?}"));
    let wrong: usize = tallies.values().map(|tally| tally.wrong).sum();
    assert_eq!(wrong, 0, "functions that are reported as exact");
    assert!(tallies.values().any(|tally| tally.exact > 0));
}

/// `KINST_PROGRAMS` programs of csmith, from `KINST_FIRST` on, with each compiler and level.
#[test]
fn programs_of_csmith() {
    if needs::program("csmith") {
        compare_all(Counting::by_csmith);
    }
}

/// The same for programs whose functions are called in loops and on many paths.
#[test]
fn programs_with_loops() {
    compare_all(|seed, _| with_loops(seed));
}

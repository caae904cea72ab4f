//! tests/model/counted.rs: programs that count the calls of their functions, compared with the places found in them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use regex_lite::Regex;

use crate::compared::{Compared, Tally};
use crate::counting::{Definition, definitions};
use crate::needs;
use crate::numbers::Random;
use crate::step::{Stepped, compilers, number};
use crate::stepped;

/// The array with a counter for each function.
pub(crate) const COUNTERS: &str = "calls_of_functions";

/// A breakpoint, before and after the code that is compared.
pub(crate) const INT3: &str = "__asm__ volatile(\"int3\");";

/// The limit on executed instructions: some programs never end.
const LIMIT: u64 = 500_000;

/// A C program in which each function begins with the increment of its counter.
pub(crate) struct Counting {
    pub text: String,
    pub functions: Vec<String>,
}

impl Counting {
    /// Inserts the counters into functions whose names match.
    fn of(text: &str, names: &str) -> Counting {
        let pattern = Regex::new(&format!("^({names})$")).expect("a pattern");
        let (mut counting, mut functions, mut at) = (String::new(), Vec::new(), 0);
        for Definition { name, body, .. } in definitions(text) {
            if !pattern.is_match(&name) {
                continue;
            }
            counting.push_str(&text[at..=body]);
            let number = functions.len();
            counting.push_str(&format!(" __asm__ volatile(\"incq %0\" : \"+m\"({COUNTERS}[{number}]));"));
            functions.push(name);
            at = body + 1;
        }
        counting.push_str(&text[at..]);
        let counters = functions.len().max(1);
        Counting { text: format!("unsigned long {COUNTERS}[{counters}];\n{counting}"), functions }
    }

    /// The program that csmith makes from a seed, after preprocessing.
    pub(crate) fn by_csmith(seed: u64, compiler: &str) -> Counting {
        let dir = tempfile::tempdir().expect("a directory");
        let source = dir.path().join("program.c");
        let mut csmith = Command::new("csmith");
        csmith.args(["--seed", &seed.to_string(), "--max-funcs", "12", "--inline-function", "-o"]);
        // It leaves a file in its working directory.
        csmith.arg(&source).current_dir(dir.path());
        assert!(csmith.status().expect("csmith").success());
        let mut preprocessor = Command::new(compiler);
        preprocessor.args(["-E", "-P", "-I/usr/include/csmith"]).arg(&source);
        let text = preprocessor.output().expect("a preprocessor");
        let text = String::from_utf8(text.stdout).expect("text");
        // The first call changes the state for the next ones. A trap in the caller would end its paths.
        let (before, after) = text.rsplit_once("func_1();\n").expect("the call");
        let (before, main) = before.rsplit_once("int main").expect("main");
        let calls =
            "__attribute__((noinline)) static void calls(void) { for (int n = 0; n < 40; n++) func_1(); }";
        let text = format!("{before}{calls}\nint main{main}{INT3} calls(); {INT3}\n{after}");
        Counting::of(&text, r"func_\d+|safe_\w+")
    }
}

/// Steps through a program, and compares. `None` if it takes too long, or crashes.
fn compare(way: &str, stepped: &Stepped, functions: &[String]) -> Option<Tally> {
    let compared = Compared::of(Path::new(&stepped.program), stepped.calls(functions));
    let counters =
        compared.symbols.iter().find(|symbol| symbol.name == COUNTERS).expect("the counters").address;
    let numbers = (0..functions.len() as u64).map(|number| format!("= {:x}", counters + 8 * number));
    let lines: Vec<String> = numbers.chain(compared.lines()).collect();
    let mut hits = stepped.step(LIMIT, lines.into_iter())?.into_iter();
    let counted: Vec<u64> = hits.by_ref().take(functions.len()).collect();
    let seen = compared.seen(&mut hits);
    let mut tally = Tally::default();
    for (function, counted) in functions.iter().zip(counted) {
        tally.add(&compared.judge(way, function, &seen[function], counted, 0));
    }
    Some(tally)
}

/// Compiles the programs with all compilers and options, steps through them, and compares.
fn compare_all(seeds: impl Iterator<Item = u64>, programs: impl Fn(u64, &str) -> Counting) {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for seed in seeds {
        for compiler in compilers() {
            let program = programs(seed, compiler);
            let dir = tempfile::tempdir().expect("a directory");
            let source = dir.path().join("program.c");
            std::fs::write(&source, &program.text).expect("written");
            for level in ["-O1", "-O2", "-O3", "-Os"] {
                let way = format!("{compiler} {level}");
                let options = [level, "-g", "-fno-jump-tables", "-funroll-loops"];
                let stepped = Stepped::compile(compiler, &source, &options);
                match compare(&format!("seed {seed} {way}"), &stepped, &program.functions) {
                    Some(tally) => tallies.entry(way).or_default().add(&tally),
                    // The second call of func_1() may find pointers to variables of the first.
                    None => println!("seed {seed} {way}: a signal, or more than {LIMIT} instructions"),
                }
            }
        }
    }
    for (way, tally) in &tallies {
        println!("{way}: {tally:?}");
        assert_eq!(tally.wrong, 0, "{way}: functions that are reported as exact");
    }
    assert!(tallies.values().any(|tally| tally.exact > 0));
}

/// `KINST_PROGRAMS` programs, from `KINST_FIRST` on.
fn wanted() -> std::ops::Range<u64> {
    let first = number("KINST_FIRST", 1);
    first..first + number("KINST_PROGRAMS", 2)
}

#[test]
fn programs_of_csmith() {
    if needs::program("csmith") {
        compare_all(wanted(), Counting::by_csmith);
    }
}

/// Programs with a copy whose reported entry was once only one of several: a nop before its first instruction, and one
/// of two arms of a branch with the same ends.
#[test]
fn programs_of_csmith_that_misled() {
    if needs::program("csmith") {
        compare_all([467].into_iter(), Counting::by_csmith);
    }
}

/// The same for programs of the generator in [`crate::stepped`], whose functions are called in loops and on many paths.
#[test]
fn programs_with_loops() {
    compare_all(wanted(), |seed, _| with_loops(seed));
}

/// Programs with loops that clang unrolled around a call: each round has an entry, and only one is reported.
#[test]
fn programs_with_loops_that_misled() {
    compare_all([57, 70].into_iter(), |seed, _| with_loops(seed));
}

/// Such a program.
pub(crate) fn with_loops(seed: u64) -> Counting {
    let text = stepped::program(&mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    Counting::of(&text.replace("always_inline", "unused"), r"f\d")
}

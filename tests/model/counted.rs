//! tests/model/counted.rs: programs that count the calls of their functions themselves, against what is found in them.

use std::collections::BTreeMap;
use std::process::Command;

use kinst::sites::copies::calls::Call;
use object::{Object as _, ObjectSymbol as _};
use regex_lite::Regex;

use crate::needs;
use crate::numbers::Random;
use crate::step::{Stepped, compilers, number};
use crate::stepped;

/// The array that has a counter for each function.
const COUNTERS: &str = "calls_of_functions";

const INT3: &str = "__asm__ volatile(\"int3\");";

/// The most instructions of one program: some never end.
const LIMIT: u64 = 500_000;

/// A C program in which each function begins with the increment of its counter.
struct Counting {
    text: String,
    functions: Vec<String>,
}

impl Counting {
    /// Inserts the counters into functions whose names match.
    fn of(text: &str, names: &str) -> Counting {
        let pattern = format!(r"\b({names})\)?\s*\([^;{{}}()]*\)\s*\{{");
        let pattern = Regex::new(&pattern).expect("a pattern");
        let (mut counting, mut functions, mut at) = (String::new(), Vec::new(), 0);
        for found in pattern.captures_iter(text) {
            let end = found.get(0).expect("the whole").end();
            counting.push_str(&text[at..end]);
            let number = functions.len();
            counting.push_str(&format!(" __asm__ volatile(\"incq %0\" : \"+m\"({COUNTERS}[{number}]));"));
            functions.push(found[1].to_owned());
            at = end;
        }
        counting.push_str(&text[at..]);
        let counters = functions.len().max(1);
        Counting { text: format!("unsigned long {COUNTERS}[{counters}];\n{counting}"), functions }
    }

    /// The program that csmith makes of a number, after the compiler's preprocessor.
    fn by_csmith(seed: u64, compiler: &str) -> Counting {
        let dir = tempfile::tempdir().expect("a directory");
        let source = dir.path().join("program.c");
        let mut csmith = Command::new("csmith");
        csmith.args(["--seed", &seed.to_string(), "--max-funcs", "12", "--inline-function", "-o"]);
        // It leaves a file of its own where it runs.
        csmith.arg(&source).current_dir(dir.path());
        assert!(csmith.status().expect("csmith").success());
        let mut preprocessor = Command::new(compiler);
        preprocessor.args(["-E", "-P", "-I/usr/include/csmith"]).arg(&source);
        let text = preprocessor.output().expect("a preprocessor");
        let text = String::from_utf8(text.stdout).expect("text");
        // The first call changes what the next ones find. A trap in the caller would end its paths.
        let (before, after) = text.rsplit_once("func_1();\n").expect("the call");
        let (before, main) = before.rsplit_once("int main").expect("main");
        let calls =
            "__attribute__((noinline)) static void calls(void) { for (int n = 0; n < 40; n++) func_1(); }";
        let text = format!("{before}{calls}\nint main{main}{INT3} calls(); {INT3}\n{after}");
        Counting::of(&text, r"func_\d+|safe_\w+")
    }
}

/// The outcome of one function in one program.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    copies: usize,
    functions: usize,
    /// Functions all of whose copies are said to be exact, and of these the ones whose counts are not those of the program.
    exact: usize,
    wrong: usize,
    /// The others whose counts are wrong.
    doubted: usize,
    calls: u64,
}

/// The symbols that are calls of a function: itself, and its clones.
fn is_instance(symbol: &str, function: &str) -> bool {
    symbol.strip_prefix(function).is_some_and(|rest| {
        rest.is_empty()
            || rest.starts_with(".isra")
            || rest.starts_with(".constprop")
            || rest.starts_with(".lto_priv")
    })
}

/// Steps through a program, and compares. `None` if it takes too long.
fn compare(way: &str, stepped: &Stepped, functions: &[String]) -> Option<Tally> {
    let bytes = std::fs::read(&stepped.program).expect("a program");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let symbols: Vec<(String, u64, u64)> = file
        .symbols()
        .map(|symbol| (symbol.name().unwrap_or_default().to_owned(), symbol.address(), symbol.size()))
        .collect();
    let counters = symbols.iter().find(|(name, ..)| name == COUNTERS).expect("the counters").1;
    let calls: BTreeMap<String, Vec<Call>> = stepped.calls(functions);
    let mut lines = Vec::new();
    for (number, function) in functions.iter().enumerate() {
        lines.push(format!("= {:x}", counters + 8 * number as u64));
        for (_, start, size) in symbols.iter().filter(|(name, ..)| is_instance(name, function)) {
            lines.push(format!("( {start:x} {:x}", start + size));
        }
        for call in &calls[function] {
            lines.extend(call.entries.iter().chain(&call.returns).map(|left| match &left.to {
                Some(to) => format!("{:x} {:x}", left.place.address, to.address),
                None => format!("{:x}", left.place.address),
            }));
        }
    }
    let mut hits = stepped.step(LIMIT, lines.into_iter())?.into_iter();
    let mut next = || hits.next().expect("a count");
    let mut tally = Tally::default();
    for function in functions {
        let counted = next();
        let own: u64 = symbols.iter().filter(|(name, ..)| is_instance(name, function)).map(|_| next()).sum();
        let copies = &calls[function];
        let hits: Vec<(u64, u64)> = copies
            .iter()
            .map(|call| {
                (call.entries.iter().map(|_| next()).sum(), call.returns.iter().map(|_| next()).sum())
            })
            .collect();
        if copies.is_empty() || counted == 0 {
            continue;
        }
        tally.copies += copies.len();
        tally.functions += 1;
        tally.calls += counted;
        let (entered, left) = hits.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let is_right = entered + own == counted && left == entered;
        if copies.iter().any(|call| call.inexact.is_some()) {
            tally.doubted += usize::from(!is_right);
            continue;
        }
        tally.exact += 1;
        if !is_right {
            tally.wrong += 1;
            println!("WRONG {way} {function}: {counted} calls, {own} of the function itself");
            show(copies, &hits);
        }
    }
    Some(tally)
}

/// Prints the entries and returns of the copies that were executed.
fn show(copies: &[Call], hits: &[(u64, u64)]) {
    for (call, (entered, left)) in copies.iter().zip(hits) {
        if entered + left > 0 {
            println!("    {entered} entries, {left} returns: {:x?} -> {:x?}", call.entries, call.returns);
        }
    }
}

/// Compiles the programs in all ways, steps through them, and compares.
fn compare_all(programs: impl Fn(u64, &str) -> Counting) {
    let first = number("KINST_FIRST", 1);
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for seed in first..first + number("KINST_PROGRAMS", 2) {
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
                    None => println!("seed {seed} {way}: more than {LIMIT} instructions"),
                }
            }
        }
    }
    for (way, tally) in &tallies {
        println!("{way}: {tally:?}");
        assert_eq!(tally.wrong, 0, "{way}: functions that are said to be exact");
    }
    assert!(tallies.values().any(|tally| tally.exact > 0));
}

/// `KINST_PROGRAMS` programs of csmith, from `KINST_FIRST` on.
#[test]
fn programs_of_csmith() {
    if needs::program("csmith") {
        compare_all(Counting::by_csmith);
    }
}

/// The same of the generator in [`crate::stepped`], whose functions are called in loops and on many paths.
#[test]
fn programs_with_loops() {
    compare_all(|seed, _| {
        let text = stepped::program(&mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        Counting::of(&text.replace("always_inline", "unused"), r"f\d")
    });
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.copies += other.copies;
        self.functions += other.functions;
        self.exact += other.exact;
        self.wrong += other.wrong;
        self.doubted += other.doubted;
        self.calls += other.calls;
    }
}

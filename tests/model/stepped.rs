//! tests/model/stepped.rs: inlined copies in programs that are single-stepped: each is left as often as it is entered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use kinst::sites::copies::calls::{self, Call, Place};

use crate::binutils;
use crate::needs;
use crate::numbers::Random;

fn support(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support").join(name)
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Returns gcc, and clang if it is installed: its copies have no DW_AT_entry_pc.
fn compilers() -> Vec<&'static str> {
    if needs::program("clang") { vec!["gcc", "clang"] } else { vec!["gcc"] }
}

const LEVELS: [&str; 3] = ["-O1", "-O2", "-Os"];
const FORMATS: [&str; 2] = ["-gdwarf-4", "-gdwarf-5"];

/// Returns all ways to compile: compiler, level, format of the debug information.
fn ways() -> impl Iterator<Item = [&'static str; 3]> {
    compilers().into_iter().flat_map(|compiler| {
        let ways = LEVELS.into_iter().flat_map(|level| FORMATS.map(|format| (level, format)));
        ways.map(move |(level, format)| [compiler, level, format])
    })
}

/// A program, and what steps through it.
struct Stepped {
    dir: tempfile::TempDir,
    program: String,
    by: By,
}

/// What executes a program step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// The processor.
    Here,
    /// QEMU, as a program of arm64.
    Qemu,
}

/// An instruction, or the edge from it to another one.
type Edge = (u64, Option<u64>);

/// QEMU for single programs.
const QEMU: &str = "qemu-aarch64-static";

/// Without the number, it makes tables of 17 cases and more.
const TABLES: [&str; 2] = ["-fjump-tables", "--param=case-values-threshold=3"];

/// The compiler for arm64.
const CROSS: &str = "aarch64-linux-gnu-gcc";

/// Hits of one call of an inline function.
struct Counted {
    call: Call,
    entries: u64,
    returns: u64,
}

impl Stepped {
    fn compile(compiler: &str, source: &Path, options: &[&str]) -> Stepped {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name).to_str().expect("text").to_owned();
        let program = path("program");
        let source = source.to_str().expect("text");
        let mut arguments = vec!["-w", "-no-pie", "-o", &program, source];
        arguments.extend(options);
        run(compiler, &arguments);
        Stepped { dir, program, by: By::Here }
    }

    /// Compiles a program for arm64. What stops the other ones does nothing there.
    fn compile_for_arm64(compiler: &str, source: &Path, options: &[&str]) -> Stepped {
        let text = std::fs::read_to_string(source).expect("a source");
        let dir = tempfile::tempdir().expect("a directory");
        let source = dir.path().join("program.c");
        std::fs::write(&source, text.replace("int3", "nop")).expect("written");
        let stepped = Stepped::compile(compiler, &source, &[options, &["-static"]].concat());
        Stepped { by: By::Qemu, ..stepped }
    }

    fn calls(&self, functions: &[String]) -> BTreeMap<String, Vec<Call>> {
        let path = Path::new(&self.program);
        // A compiler may remove all calls of one.
        let calls = |function: &String| calls::in_file(path, function).unwrap_or_default();
        functions.iter().map(|function| (function.clone(), calls(function))).collect()
    }

    fn count(&self, functions: &[String]) -> BTreeMap<String, Vec<Counted>> {
        let all = self.calls(functions);
        let mut sites: Vec<Edge> = Vec::new();
        for call in all.values().flatten() {
            sites.push((call.entry.address, None));
            let returns = call.returns.iter();
            sites.extend(returns.map(|left| (left.place.address, left.to.as_ref().map(|to| to.address))));
        }
        let mut hits = match self.by {
            By::Here => self.hits_here(&sites),
            By::Qemu => self.hits_in_qemu(&sites),
        }
        .into_iter();
        let counted = all.into_iter().map(|(function, calls)| {
            let counted = calls.into_iter().map(|call| {
                let entries = hits.next().expect("a count");
                let returns = call.returns.iter().map(|_| hits.next().expect("a count")).sum();
                Counted { call, entries, returns }
            });
            (function, counted.collect())
        });
        counted.collect()
    }

    fn hits_here(&self, sites: &[Edge]) -> Vec<u64> {
        let mut text = String::new();
        for (from, to) in sites {
            let to = to.map_or(String::new(), |to| format!(" {to:x}"));
            writeln!(text, "{from:x}{to}").expect("a string");
        }
        let file = self.dir.path().join("sites");
        std::fs::write(&file, text).expect("written");
        let step = self.dir.path().join("step");
        let step = step.to_str().expect("text");
        run("gcc", &["-O2", "-w", "-o", step, support("step.c").to_str().expect("text")]);
        let hits = run(step, &[file.to_str().expect("text"), &self.program]);
        hits.lines().map(|line| line.parse().expect("a number")).collect()
    }

    /// QEMU writes the address of each instruction that it executes.
    fn hits_in_qemu(&self, sites: &[Edge]) -> Vec<u64> {
        let log = self.dir.path().join("log");
        let log = log.to_str().expect("text");
        run(QEMU, &["-singlestep", "-d", "exec,nochain", "-D", log, &self.program]);
        let mut of: HashMap<Edge, Vec<usize>> = HashMap::new();
        for (number, site) in sites.iter().enumerate() {
            of.entry(*site).or_default().push(number);
        }
        let mut hits = vec![0; sites.len()];
        let mut before = 0;
        let lines = BufReader::new(std::fs::File::open(log).expect("a log")).lines();
        for line in lines.map(|line| line.expect("text")) {
            // `Trace 0: 0x7f60 [00000000/0000000000400580/…] main`
            let Some(at) = line.split('/').nth(1).filter(|_| line.starts_with("Trace")) else { continue };
            let at = u64::from_str_radix(at, 16).expect("an address");
            // An instruction that was interrupted is there twice.
            let own = of.get(&(at, None)).filter(|_| before != at);
            for number in own.into_iter().chain(of.get(&(before, Some(at)))).flatten() {
                hits[*number] += 1;
            }
            before = at;
        }
        assert!(before != 0, "an empty log");
        hits
    }

    /// Checks with objdump that every site is an instruction of the function that it names.
    fn check_places<'c>(&self, calls: impl Iterator<Item = &'c Call>) -> usize {
        let functions = disassembled(&self.program);
        let mut checked = 0;
        for call in calls {
            let lefts = call.returns.iter().flat_map(|left| std::iter::once(&left.place).chain(&left.to));
            for Place { address, caller, .. } in std::iter::once(&call.entry).chain(lefts) {
                let (name, offset) = caller.as_ref().expect("a caller");
                let named = functions.iter().filter(|(function, ..)| function == name);
                let inside = |(_, range, starts): &(String, Range<u64>, BTreeSet<u64>)| {
                    address - offset == range.start && starts.contains(address)
                };
                assert!(named.into_iter().any(inside), "{name}+{offset} at {address:#x}");
                checked += 1;
            }
        }
        assert!(checked > 0);
        checked
    }
}

/// Returns the functions of a program: name, range, addresses of instructions.
fn disassembled(program: &str) -> Vec<(String, Range<u64>, BTreeSet<u64>)> {
    let objdump = binutils::tool("objdump", Path::new(program));
    let text = run(&objdump, &["-d", "--no-show-raw-insn", program]);
    let mut functions: Vec<(String, Range<u64>, BTreeSet<u64>)> = Vec::new();
    for line in text.lines() {
        if let Some((address, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            let start = u64::from_str_radix(address, 16).expect("an address");
            functions.push((name.to_owned(), start..start, BTreeSet::new()));
        } else if let Some((address, _)) = line.trim_start().split_once(":\t")
            && let Ok(address) = u64::from_str_radix(address, 16)
            && let Some((_, range, starts)) = functions.last_mut()
        {
            range.end = address + 1;
            starts.insert(address);
        }
    }
    functions
}

/// The shapes, each called a known number of times. The debug information decides what is one call, and does not
/// always give its beginning; but a call is left as often as it is entered. When clang unrolls a loop, it makes one
/// copy of all repetitions, and one entry counts for them all.
#[test]
fn shapes() {
    let source = support("shapes.c");
    let names = ["early", "loop", "inner", "outer", "checked", "tail", "mixed", "choice", "turned"];
    let names = names.map(str::to_owned);
    let mut calls = None;
    for [compiler, level, format] in ways() {
        for loops in [&["-fno-unroll-loops"][..], &[]] {
            let options = [&[level, format, "-fno-jump-tables"], loops].concat();
            let stepped = Stepped::compile(compiler, &source, &options);
            let counted = stepped.count(&names);
            stepped.check_places(counted.values().flatten().map(|counted| &counted.call));
            let calls = calls.get_or_insert_with(|| known_calls(&stepped, &names));
            for (function, copies) in &counted {
                let (entries, returns) = sums(copies);
                let calls = calls[function];
                println!(
                    "{compiler} {level} {format} {loops:?} {function}: {} copies, {entries} entries, \
                     {returns} returns, {calls} calls",
                    copies.len(),
                );
                for Counted { call, entries, returns } in copies {
                    assert_eq!(call.inexact, None);
                    assert_eq!(entries, returns, "{compiler} {level} {format} {function}: {call:x?}");
                }
                let is_unrolled = compiler == "clang" && loops.is_empty() && returns < calls;
                assert!(returns == calls || is_unrolled, "{compiler} {level} {format} {function}");
            }
        }
    }
}

fn sums(copies: &[Counted]) -> (u64, u64) {
    (copies.iter().map(|copy| copy.entries).sum(), copies.iter().map(|copy| copy.returns).sum())
}

/// Returns the program's own counts, read with gdb.
fn known_calls(stepped: &Stepped, names: &[String]) -> BTreeMap<String, u64> {
    let mut arguments = vec!["-nx", "-batch", "-ex", "run", "-ex", "continue"];
    let prints: Vec<String> = names.iter().map(|name| format!("printf \"%u\\n\", calls_{name}")).collect();
    arguments.extend(prints.iter().flat_map(|print| ["-ex", print]));
    arguments.push(&stepped.program);
    let text = run("gdb", &arguments);
    let numbers = text.lines().filter_map(|line| line.parse().ok());
    names.iter().cloned().zip(numbers).collect()
}

const FUNCTIONS: usize = 6;

/// Makes a C program of inline functions that call each other, and of functions that call them.
fn program(random: &mut Random) -> String {
    let mut text = "typedef unsigned u;\nvolatile u sink;\n\
        __attribute__((noinline, noclone)) u ext(u x) { return x * 5 + sink; }\n\
        __attribute__((noinline, noclone, cold)) void rare(u x) { sink ^= x; }\n\
        __attribute__((noinline, noreturn, cold)) void fatal(u x) { sink = x; __builtin_trap(); }\n"
        .to_owned();
    for function in 0..FUNCTIONS {
        let _ = writeln!(
            text,
            "static inline __attribute__((always_inline)) u f{function}(u a, u b) {{\n u c = a ^ b, i;"
        );
        statements(random, &mut text, function, 3, false);
        text.push_str(" return a + b * 3 + c;\n}\n");
    }
    for caller in 0..4 {
        let _ =
            writeln!(text, "__attribute__((noinline, noclone)) u g{caller}(u a, u b) {{\n u c = a + b, i;");
        statements(random, &mut text, FUNCTIONS, 3, false);
        let _ = writeln!(text, " return {};\n}}", expression(random, FUNCTIONS));
    }
    text.push_str("int main(void) {\n u i;\n __asm__ volatile(\"int3\");\n for (i = 0; i < 6; i++)\n  sink += g0(i, 3) + g1(i * 77, i) + g2(i, sink) + g3(~i, i);\n __asm__ volatile(\"int3\");\n return 0;\n}\n");
    text
}

/// Makes an expression; functions with a number smaller than `below` may be called.
fn expression(random: &mut Random, below: usize) -> String {
    match random.below(7) {
        0 | 1 if below > 0 => format!("f{}(a + {}, c)", random.below(below), random.below(9)),
        2 => format!("(a % {} + b)", 2 + random.below(5)),
        3 => format!("(c >> {})", random.below(9)),
        4 => "sink".to_owned(),
        5 => format!("ext(b + {})", random.below(4)),
        _ => format!("(a * {} + c)", random.below(99)),
    }
}

fn statements(random: &mut Random, text: &mut String, below: usize, depth: u32, in_loop: bool) {
    for _ in 0..1 + random.below(3) {
        let value = expression(random, below);
        let bound = 2 + random.below(4);
        let _ = match random.below(if depth > 0 { 11 } else { 4 }) {
            0 => writeln!(text, " c += {value};"),
            1 => writeln!(text, " a = {value} % 1000;"),
            2 => writeln!(text, " sink = {value};"),
            3 => writeln!(text, " b ^= {value};"),
            4 => writeln!(text, " if ({value} % {bound} == 1) return c + {};", random.below(9)),
            5 => writeln!(text, " if (__builtin_expect(({value}) == 0xdeadbeefu, 0)) fatal(c);"),
            6 => writeln!(
                text,
                " if (__builtin_expect(({value}) % 13 == 0, 0)) {{ rare(a); {} }}",
                if in_loop { "continue;" } else { "c++;" }
            ),
            7 | 8 => {
                let _ = writeln!(text, " if ({value} % {bound} == 0) {{");
                statements(random, text, below, depth - 1, in_loop);
                text.push_str(" } else {\n");
                statements(random, text, below, depth - 1, in_loop);
                writeln!(text, " }}")
            }
            9 => {
                let level = format!("l{depth}");
                let _ = writeln!(text, " {{ u {level}; for ({level} = 0; {level} < {bound}; {level}++) {{");
                statements(random, text, below, depth - 1, true);
                if random.below(2) == 0 {
                    let _ = writeln!(text, " if ({value} % 7 == 2) break;");
                }
                writeln!(text, " }} }}")
            }
            _ => {
                let _ = writeln!(text, " switch ({value} % {}) {{", bound + 3);
                for case in 0..bound {
                    let _ = writeln!(
                        text,
                        " case {case}: c += {};{}",
                        random.below(50) + case * 31,
                        if random.below(3) == 0 { "" } else { " break;" }
                    );
                }
                writeln!(text, " default: sink = c; }}")
            }
        };
    }
}

/// Returns the sources of `count` programs; each can be made again from its number.
fn sources(count: u64) -> impl Iterator<Item = (u64, tempfile::TempDir, PathBuf)> {
    (1..=count).map(|seed| {
        let text = program(&mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let dir = tempfile::tempdir().expect("a directory");
        let source = dir.path().join("program.c");
        std::fs::write(&source, text).expect("written");
        (seed, dir, source)
    })
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

fn functions() -> Vec<String> {
    (0..FUNCTIONS).map(|function| format!("f{function}")).collect()
}

/// Steps through `KINST_PROGRAMS` programs; each way of compiling has one of the two formats.
#[test]
fn random_programs() {
    let (mut copies, mut executed, mut entered, mut inexact) = (0, 0, 0, 0);
    for (seed, _dir, source) in sources(number("KINST_PROGRAMS", 4)) {
        for (way, [compiler, level, format]) in (seed..).zip(ways()) {
            let tables = if way % 2 == 0 { "-fno-jump-tables" } else { "-fjump-tables" };
            let stepped = Stepped::compile(compiler, &source, &[level, format, tables]);
            let counted = stepped.count(&functions());
            stepped.check_places(counted.values().flatten().map(|counted| &counted.call));
            for (function, of) in &counted {
                for Counted { call, entries, returns } in of {
                    copies += 1;
                    executed += u32::from(*entries > 0);
                    entered += entries;
                    if call.inexact.is_some() {
                        assert_eq!(tables, "-fjump-tables", "{call:x?}");
                        inexact += 1;
                    } else {
                        let way = format!("seed {seed} {compiler} {level} {format} {tables}");
                        assert_eq!(entries, returns, "{way} {function}: {call:x?}");
                    }
                }
            }
        }
    }
    println!(
        "{copies} copies, {executed} executed, {entered} entries, {inexact} with a jump table in the caller"
    );
    assert!(executed > 100);
}

/// Only compiles programs, and so more of them: `KINST_COMPILED`.
#[test]
fn sites_of_random_programs_are_instructions_of_the_caller() {
    let (mut programs, mut places) = (0, 0);
    for (_, _dir, source) in sources(number("KINST_COMPILED", 6)) {
        for [compiler, level, format] in ways() {
            let stepped = Stepped::compile(compiler, &source, &[level, format]);
            places += stepped.check_places(stepped.calls(&functions()).values().flatten());
            programs += 1;
        }
    }
    println!("{programs} programs, {places} places, all at instructions of the caller");
}

/// The shapes, executed by QEMU: each is left as often as it is entered, and as often as on this machine.
#[test]
#[ignore = "needs a compiler for arm64, and QEMU for single programs: cargo xtask arm64"]
fn shapes_of_arm64() {
    let source = support("shapes.c");
    let names = ["early", "loop", "inner", "outer", "checked", "tail", "mixed", "choice", "turned"];
    let names = names.map(str::to_owned);
    let known = known_calls(&Stepped::compile("gcc", &source, &["-O1", "-g"]), &names);
    for level in LEVELS {
        for options in [&["-fno-jump-tables"][..], &TABLES, &["-mbranch-protection=standard"]] {
            let stepped = Stepped::compile_for_arm64(CROSS, &source, &[&[level, "-g"], options].concat());
            let counted = stepped.count(&names);
            stepped.check_places(counted.values().flatten().map(|counted| &counted.call));
            for (function, copies) in &counted {
                let (entries, _) = sums(copies);
                println!(
                    "{level} {options:?} {function}: {} copies, {entries} entries of {} calls",
                    copies.len(),
                    known[function]
                );
                for Counted { call, entries, returns } in copies {
                    // gcc reads the address of a table before a loop around it.
                    let is_unknown = call.inexact.is_some() && level == "-Os" && options == TABLES;
                    assert!(is_unknown || call.inexact.is_none(), "{call:x?}");
                    assert!(is_unknown || entries == returns, "{level} {options:?} {function}: {call:x?}");
                }
                // gcc rotates loops and splits functions; some ways into what is in them then do not lead over its
                // DW_AT_entry_pc. It does neither with -O1.
                let known = known[function];
                let is_right = if level == "-O1" { entries == known } else { entries <= known };
                assert!(is_right, "{level} {options:?} {function}: {entries} of {known}");
            }
        }
    }
}

/// Random programs of arm64, half of them with jump tables, `KINST_PROGRAMS` for each way of compiling.
#[test]
#[ignore = "needs a compiler for arm64, and QEMU for single programs: cargo xtask arm64"]
fn random_programs_of_arm64() {
    let (mut copies, mut executed, mut entered, mut inexact) = (0, 0, 0, 0);
    for (seed, _dir, source) in sources(number("KINST_PROGRAMS", 8)) {
        for level in LEVELS {
            for tables in [&["-fno-jump-tables"][..], &TABLES] {
                let stepped = Stepped::compile_for_arm64(CROSS, &source, &[&[level, "-g"], tables].concat());
                let counted = stepped.count(&functions());
                stepped.check_places(counted.values().flatten().map(|counted| &counted.call));
                for (function, Counted { call, entries, returns }) in
                    counted.iter().flat_map(|(function, of)| of.iter().map(move |one| (function, one)))
                {
                    copies += 1;
                    executed += u32::from(*entries > 0);
                    entered += entries;
                    if call.inexact.is_some() {
                        assert_eq!(tables, TABLES, "{call:x?}");
                        inexact += 1;
                    } else {
                        assert_eq!(entries, returns, "seed {seed} {level} {tables:?} {function}: {call:x?}");
                    }
                }
            }
        }
    }
    println!("{copies} copies, {executed} executed, {entered} entries, {inexact} with an unknown jump");
    assert!(executed > 100);
    // Few of the tables are read in such a way that their bounds are not found.
    assert!(inexact * 10 < copies);
}

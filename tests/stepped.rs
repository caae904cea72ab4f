//! tests/stepped.rs: inlined copies in programs that are executed instruction by instruction: as often left as entered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use kinst::sites::calls::{self, Call, Place};

fn support(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support").join(name)
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// gcc, and clang where there is one.
fn compilers() -> Vec<&'static str> {
    let mut compilers = vec!["gcc"];
    if Command::new("clang").arg("--version").output().is_ok_and(|output| output.status.success()) {
        compilers.push("clang");
    }
    compilers
}

/// A program, and the one that steps through it.
struct Stepped {
    dir: tempfile::TempDir,
    program: String,
}

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
        let (program, step) = (path("program"), path("step"));
        let source = source.to_str().expect("text");
        let mut arguments = vec!["-g", "-w", "-no-pie", "-o", &program, source];
        arguments.extend(options);
        run(compiler, &arguments);
        run("gcc", &["-O2", "-w", "-o", &step, support("step.c").to_str().expect("text")]);
        Stepped { dir, program }
    }

    fn count(&self, functions: &[String]) -> BTreeMap<String, Vec<Counted>> {
        let mut sites = String::new();
        let mut all = BTreeMap::new();
        for function in functions.iter().collect::<BTreeSet<_>>() {
            // A compiler may leave nothing of one.
            let calls = calls::in_file(Path::new(&self.program), function).unwrap_or_default();
            for call in &calls {
                writeln!(sites, "{:x}", call.entry.address).expect("a string");
                for left in &call.returns {
                    let to = left.to.as_ref().map_or(String::new(), |to| format!("{:x}", to.address));
                    writeln!(sites, "{:x} {to}", left.place.address).expect("a string");
                }
            }
            all.insert(function.clone(), calls);
        }
        let file = self.dir.path().join("sites");
        std::fs::write(&file, sites).expect("written");
        let step = self.dir.path().join("step");
        let hits = run(step.to_str().expect("text"), &[file.to_str().expect("text"), &self.program]);
        let mut hits = hits.lines().map(|line| line.parse::<u64>().expect("a number"));
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

    /// Every site is an instruction of the function that it names, by what objdump says.
    fn check_places(&self, counted: &BTreeMap<String, Vec<Counted>>) {
        let functions = disassembled(&self.program);
        let mut checked = 0;
        for call in counted.values().flatten().map(|counted| &counted.call) {
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
    }
}

/// Functions of a program: name, range, where instructions begin.
fn disassembled(program: &str) -> Vec<(String, Range<u64>, BTreeSet<u64>)> {
    let text = run("objdump", &["-d", "--no-show-raw-insn", program]);
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

/// The shapes, each called a known number of times. What one call is the debug information decides, and it does not
/// always say where it begins: but a call is left as often as it is entered.
#[test]
fn shapes() {
    let source = support("shapes.c");
    let names = ["early", "loop", "inner", "outer", "checked", "tail", "mixed", "choice"].map(str::to_owned);
    for compiler in compilers() {
        for level in ["-O1", "-O2", "-Os"] {
            let stepped = Stepped::compile(compiler, &source, &[level, "-fno-jump-tables"]);
            let counted = stepped.count(&names);
            stepped.check_places(&counted);
            let calls = known_calls(&stepped, &names);
            for (function, copies) in &counted {
                let (entries, returns) = sums(copies);
                println!(
                    "{compiler} {level} {function}: {} copies, {entries} entries, {returns} returns, {} calls",
                    copies.len(),
                    calls[function]
                );
                for Counted { call, entries, returns } in copies {
                    assert_eq!(call.inexact, None);
                    assert_eq!(entries, returns, "{compiler} {level} {function}: {call:x?}");
                }
                assert_eq!(returns, calls[function], "{compiler} {level} {function}");
            }
        }
    }
}

fn sums(copies: &[Counted]) -> (u64, u64) {
    (copies.iter().map(|copy| copy.entries).sum(), copies.iter().map(|copy| copy.returns).sum())
}

/// What the program itself counts; gdb reads it.
fn known_calls(stepped: &Stepped, names: &[String]) -> BTreeMap<String, u64> {
    let mut arguments = vec!["-nx", "-batch", "-ex", "run", "-ex", "continue"];
    let prints: Vec<String> = names.iter().map(|name| format!("printf \"%u\\n\", calls_{name}")).collect();
    arguments.extend(prints.iter().flat_map(|print| ["-ex", print]));
    arguments.push(&stepped.program);
    let text = run("gdb", &arguments);
    let numbers = text.lines().filter_map(|line| line.parse().ok());
    names.iter().cloned().zip(numbers).collect()
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

const FUNCTIONS: u64 = 6;

/// A C program of inline functions that call each other, and of functions that call them.
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

/// `below`: functions with a smaller number may be called.
fn expression(random: &mut Random, below: u64) -> String {
    match random.below(7) {
        0 | 1 if below > 0 => format!("f{}(a + {}, c)", random.below(below), random.below(9)),
        2 => format!("(a % {} + b)", 2 + random.below(5)),
        3 => format!("(c >> {})", random.below(9)),
        4 => "sink".to_owned(),
        5 => format!("ext(b + {})", random.below(4)),
        _ => format!("(a * {} + c)", random.below(99)),
    }
}

fn statements(random: &mut Random, text: &mut String, below: u64, depth: u32, in_loop: bool) {
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

#[test]
fn random_programs() {
    let seeds: u64 = std::env::var("KINST_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(4);
    let names: Vec<String> = (0..FUNCTIONS).map(|function| format!("f{function}")).collect();
    let (mut copies, mut executed, mut entered, mut inexact) = (0, 0, 0, 0);
    for seed in 1..=seeds {
        let text = program(&mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let dir = tempfile::tempdir().expect("a directory");
        let source = dir.path().join("program.c");
        std::fs::write(&source, &text).expect("written");
        for compiler in compilers() {
            for level in ["-O1", "-O2", "-Os"] {
                for tables in [&["-fno-jump-tables"][..], &[]] {
                    let stepped = Stepped::compile(compiler, &source, &[&[level], tables].concat());
                    let counted = stepped.count(&names);
                    stepped.check_places(&counted);
                    for (function, of) in &counted {
                        for Counted { call, entries, returns } in of {
                            copies += 1;
                            executed += u32::from(*entries > 0);
                            entered += entries;
                            if call.inexact.is_some() {
                                assert!(tables.is_empty(), "{call:x?}");
                                inexact += 1;
                            } else {
                                assert_eq!(
                                    entries, returns,
                                    "seed {seed} {compiler} {level} {function}: {call:x?}"
                                );
                            }
                        }
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

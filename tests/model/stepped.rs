//! tests/model/stepped.rs: inlined copies in single-stepped programs: each is left as often as it is entered.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use kinst::sites::copies::calls::Inexact;

use crate::commands::{run, support};
use crate::numbers::Random;
use crate::step::{CROSS, Counted, LEVELS, Stepped, TABLES, number, ways};

/// The shapes, each called a known number of times. The debug information decides what one call is, and does not
/// always give its beginning; but a call is left as often as it is entered. When clang unrolls a loop, it makes one
/// copy of all repetitions, which is then doubtful.
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
                let may_be_unrolled = compiler == "clang" && loops.is_empty();
                for Counted { call, entries, returns } in copies {
                    assert!(call.inexact.is_none() || may_be_unrolled, "{call:x?}");
                    assert_eq!(entries, returns, "{compiler} {level} {format} {function}: {call:x?}");
                }
                let is_doubted = copies.iter().any(|copy| copy.call.inexact.is_some());
                assert!(returns == calls || is_doubted, "{compiler} {level} {format} {function}");
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
pub(crate) fn program(random: &mut Random) -> String {
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

/// Makes an expression; functions with an index below `below` may be called.
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

/// Returns the sources of `count` programs; each can be reproduced from its number.
fn sources(count: u64) -> impl Iterator<Item = (u64, tempfile::TempDir, PathBuf)> {
    (1..=count).map(|seed| {
        let text = program(&mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let dir = tempfile::tempdir().expect("a directory");
        let source = dir.path().join("program.c");
        std::fs::write(&source, text).expect("written");
        (seed, dir, source)
    })
}

fn functions() -> Vec<String> {
    (0..FUNCTIONS).map(|function| format!("f{function}")).collect()
}

/// Steps through `KINST_PROGRAMS` programs; each compiler and level uses one of the two formats.
#[test]
fn random_programs() {
    let (mut copies, mut executed, mut entered, mut inexact, mut doubted) = (0, 0, 0, 0, 0);
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
                    doubted += u32::from(matches!(call.inexact, Some(Inexact::Entries(_))));
                    if let Some(Inexact::Returns(_)) = call.inexact {
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
        "{copies} copies, {executed} executed, {entered} entries, {inexact} with a jump table in the caller, {doubted} that \
         may be entered elsewhere"
    );
    assert!(executed > 100);
}

/// Only compiles programs, and therefore more of them: `KINST_COMPILED`.
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
                    // gcc loads the address of a table before the loop around it.
                    let is_unknown = call.inexact.is_some() && level == "-Os" && options == TABLES;
                    assert!(is_unknown || call.inexact.is_none(), "{call:x?}");
                    assert!(is_unknown || entries == returns, "{level} {options:?} {function}: {call:x?}");
                }
                assert_eq!(entries, known[function], "{level} {options:?} {function}");
            }
        }
    }
}

/// Random programs for arm64, half of them with jump tables, `KINST_PROGRAMS` for each set of options.
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
                    if let Some(Inexact::Returns(_)) = call.inexact {
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
    // Only a few tables are read by code that does not show their bounds.
    assert!(inexact * 10 < copies);
}

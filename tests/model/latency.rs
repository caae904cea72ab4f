//! tests/model/latency.rs: --annotate --latency of programs: its counts are those without --latency, each lap is as long
//! as the sleep in it, and all laps of a thread together are not longer than the program.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use crate::commands::{run, support};
use crate::live::{can_trace, dtrace, text};
use crate::step::{Stepped, compilers};

/// The calls of the program's main loop.
const CALLS: u64 = 100;
/// Its other calls, in five threads.
const SLEEPING: u64 = 50;

const LEVELS: [&str; 3] = ["-O0", "-O1", "-O2"];

/// An instruction with its count, the calls, and what --latency adds.
#[derive(Clone, Debug, PartialEq)]
struct Insn {
    text: String,
    count: Option<u64>,
    calls: Option<u64>,
    /// The number of laps; the nanoseconds without and with the probes, and how sure that is.
    spent: Option<[u64; 4]>,
}

/// The instructions of a function or its copies, by the function that contains them and the offset.
type Insns = BTreeMap<(String, u64), Insn>;

fn program(compiler: &str, level: &str) -> Stepped {
    Stepped::compile(compiler, &support("latency.c"), &[level, "-g", "-pthread"])
}

fn annotated(stepped: &Stepped, given: &[&str], operand: &str, command: &str) -> (Insns, String) {
    let counts = stepped.dir.path().join("counts");
    let _ = fs::remove_file(&counts);
    let path = counts.to_str().expect("text");
    let arguments = [given, &["-q", "--json", "-o", path, "-c", command, "--annotate", operand]].concat();
    let output = dtrace(&arguments, Some(stepped.dir.path()));
    let said = text(&output.stderr);
    assert!(output.status.success() && !said.contains("may be off"), "{operand}: {said}");
    let mut insns = Insns::new();
    for line in fs::read_to_string(&counts).expect("counts").lines() {
        let object: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let (Some(function), Some(offset)) = (object["function"].as_str(), object["offset"].as_u64()) else {
            continue;
        };
        let spent = object.get("spent");
        let spent = spent.map(|spent| {
            ["times", "ns", "measured", "doubt"].map(|name| spent[name].as_u64().expect("a number"))
        });
        let insn = Insn {
            text: object["text"].as_str().expect("an instruction").to_owned(),
            count: object["count"].as_u64(),
            calls: object["calls"].as_u64(),
            spent,
        };
        insns.insert((function.to_owned(), offset), insn);
    }
    (insns, text(&output.stdout))
}

/// The sums over the instructions of a containing function.
fn total(insns: &Insns, function: &str) -> [u64; 4] {
    let own = insns.iter().filter(|((name, _), _)| name == function);
    let mut all = [0; 4];
    for spent in own.filter_map(|(_, insn)| insn.spent) {
        all.iter_mut().zip(spent).for_each(|(all, spent)| *all += spent);
    }
    all
}

/// Places of the same instruction as the end of a call are hit once, and count within the call.
#[test]
fn counts_are_those_without_the_time() {
    if !can_trace() {
        return;
    }
    let mut compared = 0;
    for compiler in compilers() {
        for level in LEVELS {
            let stepped = program(compiler, level);
            for function in ["computes", "find", "sign", "branches", "once", "deep", "main"] {
                let way = format!("{compiler} {level} {function}");
                let operand = format!("a.out:{function}");
                let command = format!("{} {CALLS}", stepped.program);
                let (plain, _) = annotated(&stepped, &[], &operand, &command);
                let (timed, _) = annotated(&stepped, &["--latency"], &operand, &command);
                assert_eq!(plain.len(), timed.len(), "{way}");
                for ((at, plain), timed) in plain.iter().zip(timed.values()) {
                    let known = plain.count.zip(timed.count);
                    // Padding need not have a count.
                    assert!(known.is_some() || plain.text.starts_with("nop"), "{way} {at:?} {timed:?}");
                    assert!(
                        known.is_none_or(|(plain, timed)| plain == timed),
                        "{way} {at:?} {plain:?} {timed:?}"
                    );
                    assert_eq!(plain.calls, timed.calls, "{way}");
                    let Some([times, ns, measured, _]) = timed.spent else { continue };
                    // The last instruction of a copy may have its return too, and then no lap.
                    assert!(times == 0 || Some(times) == timed.count, "{way} {at:?} {timed:?}");
                    assert!(ns <= measured, "{way} {at:?} {timed:?}");
                    compared += usize::from(times > 0);
                }
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn laps_are_as_long_as_what_is_in_them() {
    if !can_trace() {
        return;
    }
    for compiler in compilers() {
        let stepped = program(compiler, "-O2");
        let command = format!("{} {CALLS} 100000", stepped.program);
        let begun = Instant::now();
        let (insns, _) = annotated(&stepped, &["--latency"], "a.out:sleeps", &command);
        let wall = begun.elapsed().as_nanos() as u64;
        let [longer, shorter] = ["longer", "shorter"].map(|function| total(&insns, function));
        // Half of the calls sleep.
        for ([_, ns, measured, doubt], each) in [(longer, 4_000_000), (shorter, 1_000_000)] {
            let calls = if each > 1_000_000 { SLEEPING } else { SLEEPING - 10 };
            let least = each * calls / 2;
            assert!(measured >= least && ns + doubt >= least, "{compiler}: {ns} {measured} {doubt}");
            // Four threads, and then the main one.
            assert!(ns <= 4 * wall, "{compiler}: {ns} {wall}");
        }
        assert!(longer[1] > shorter[1], "{compiler}: {longer:?} {shorter:?}");
        // Nearly all of the time is in the laps with the call.
        let calls = insns.values().filter(|insn| insn.text.starts_with("call"));
        let in_calls: u64 = calls.filter_map(|insn| Some(insn.spent?[1])).sum();
        assert!(in_calls * 2 > longer[1] + shorter[1], "{compiler}: {in_calls} {longer:?} {shorter:?}");

        // The laps of a call contain the nested ones: 2, 4, 6 and 8 ms.
        let (insns, _) = annotated(&stepped, &["--latency"], "a.out:deep", &command);
        let [_, ns, measured, doubt] = total(&insns, "deep");
        let least = 10 * 20_000_000;
        assert!(measured >= least && ns + doubt >= least, "{compiler}: {ns} {measured} {doubt}");

        // For docs/EVIDENCE.md, the program measures the same itself.
        let (insns, said) = annotated(&stepped, &["--latency"], "a.out:computes", &command);
        let [once, twice] = ["once", "twice"].map(|function| {
            let [_, ns, _, doubt] = total(&insns, function);
            format!("{function} {} ± {}", ns / CALLS, doubt / CALLS)
        });
        let alone = run(&stepped.program, &[&CALLS.to_string(), "100000"]);
        let [alone, traced] = [&alone, &said].map(|said| said.trim());
        println!("{compiler}: {once}; {twice}\n  the program itself: {alone}\n  with the probes: {traced}");
    }
}

/// All processes of a file are timed together.
#[test]
fn laps_of_many_processes() {
    if !can_trace() {
        return;
    }
    let stepped = program("gcc", "-O2");
    let program = &stepped.program;
    let script = stepped.dir.path().join("both");
    fs::write(&script, format!("{program} 8 & {program} 8\nwait\n")).expect("written");
    let command = format!("sh {}", script.display());
    let (insns, _) = annotated(&stepped, &["--latency"], &format!("{program}:sleeps"), &command);
    let [longer, shorter] = ["longer", "shorter"].map(|function| total(&insns, function));
    assert!(longer[2] >= 2 * 4_000_000 * SLEEPING / 2, "{longer:?}");
    assert!(shorter[2] >= 2 * 1_000_000 * (SLEEPING - 10) / 2, "{shorter:?}");
    let counts = |function: &str| {
        let own = insns.iter().filter(|(at, insn)| at.0 == function && insn.text.starts_with("call"));
        own.filter_map(|(_, insn)| Some(insn.spent?[0])).sum::<u64>()
    };
    assert_eq!([counts("longer"), counts("shorter")], [SLEEPING, SLEEPING - 10]);
}

/// A hit of both would count as two.
#[test]
fn functions_that_share_instructions_are_refused() {
    if !can_trace() {
        return;
    }
    let stepped = program("gcc", "-O2");
    let arguments = ["--latency", "-c", &stepped.program, "--annotate", "a.out:once", "a.out:computes"];
    let output = dtrace(&arguments, Some(stepped.dir.path()));
    let said = text(&output.stderr);
    assert!(!output.status.success() && said.contains("once and computes share instructions"), "{said}");
}

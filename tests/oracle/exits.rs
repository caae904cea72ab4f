//! tests/oracle/exits.rs: the exits of all inlined copies in whole kernels: a sweep, with the time it takes.

use std::collections::{BTreeMap, HashSet};

use kinst::dwarf::{self, Evidence};
use kinst::image::ModuleId;
use kinst::sites::Kernel;
use kinst::sites::copies::together::doubt_conditions;
use kinst::sites::flow::doubts::Doubt;
use kinst::sites::flow::points::Point;
use rustix::time::{ClockId, clock_gettime};

use crate::needs;

/// Returns CPU time of all threads, and wall time, in milliseconds.
fn now() -> (i64, i64) {
    let of = |clock| clock_gettime(clock);
    let milliseconds = |clock| of(clock).tv_sec * 1000 + of(clock).tv_nsec / 1_000_000;
    (milliseconds(ClockId::ProcessCPUTime), milliseconds(ClockId::Monotonic))
}

fn since(start: (i64, i64)) -> String {
    let end = now();
    format!("{} ms of CPU, {} ms of time", end.0 - start.0, end.1 - start.1)
}

#[derive(Default, Debug)]
#[allow(dead_code, reason = "printed as a whole")]
struct Count {
    copies: usize,
    empty: usize,
    fallback: usize,
    at: usize,
    edge: usize,
    /// Edges at jump labels, at alternatives, and from one symbol to another.
    at_label: usize,
    at_switch: usize,
    across: usize,
    /// Edges with names longer than a probe's name may be.
    too_long: usize,
    /// Exits by a fault without a place for a probe.
    lost: usize,
    /// Copies without an exit: they end in a trap.
    none: usize,
    /// Copies entered at an instruction that the kernel rewrites, and those without substitutes there.
    entered_at_patched: usize,
    entered_nowhere: usize,
    /// Exits at an instruction that the kernel rewrites.
    left_nowhere: usize,
    /// Edges over static keys.
    over_keys: usize,
    /// Copies by entry: no row in the line table; the place of the attribute; another place; several places.
    unmarked: usize,
    as_told: usize,
    elsewhere: usize,
    several: usize,
    /// Copies that may be entered elsewhere, too.
    doubtful: usize,
}

/// With KINST_MODULES, sweeps all modules too. Run it with `--release --ignored --nocapture`.
#[test]
#[ignore = "takes some seconds, and measures"]
fn all_copies_of_a_kernel() {
    for (_, path) in needs::kernels() {
        let kernel = Kernel::sysroot(&path, None).expect("a sysroot");
        let modules = if std::env::var_os("KINST_MODULES").is_some() { usize::MAX } else { 1 };
        let (mut count, mut reasons) = (Count::default(), BTreeMap::new());
        for module in kernel.modules().ids().take(modules) {
            let Some(image) = kernel.debug(module) else { continue };
            let names: Vec<String> = dwarf::inline_names(image).expect("names").into_iter().collect();
            let findings = dwarf::find(image, &names, false).expect("copies");
            let copies: Vec<_> = findings.functions.iter().flat_map(|function| &function.copies).collect();
            let symbols = kernel.symbols(module).expect("symbols");
            let start = now();
            let Some(callers) = kernel.callers(module) else {
                // Some modules contain only tables.
                assert_eq!(copies.len(), 0, "{} has no code", kernel.modules()[module].name);
                continue;
            };
            let tables = since(start);
            let start = now();
            let mut left = callers.left(&copies);
            let by_function = findings.functions.iter().map(|function| function.copies.iter().collect());
            doubt_conditions(&Vec::from_iter(by_function), &mut left);
            if module == ModuleId::PROPER {
                println!("{}: tables {tables}; exits {}", path.display(), since(start));
            }
            let marks = callers.marks();
            let labels: HashSet<u64> = marks.jump_labels.iter().map(|label| label.0).collect();
            let switches: HashSet<u64> = marks.switches.iter().map(|switch| switch.0).collect();
            let is_patched =
                |address: u64| marks.patched.iter().any(|(start, end)| (*start..*end).contains(&address));
            count.copies += copies.len();
            for (copy, left) in copies.iter().zip(&left) {
                count.empty += usize::from(copy.ranges.is_empty());
                count.none += usize::from(left.sites.is_empty());
                count.lost += left.lost as usize;
                count.entered_at_patched += usize::from(copy.entries.iter().any(|entry| is_patched(*entry)));
                count.entered_nowhere +=
                    usize::from(left.entries.iter().any(|point| is_patched(point.address())));
                count.left_nowhere += left.sites.iter().filter(|point| is_patched(point.address())).count();
                match &copy.entries[..] {
                    _ if copy.evidence != Evidence::Marked => count.unmarked += 1,
                    [one] if *one == copy.entry_pc => count.as_told += 1,
                    [_] => count.elsewhere += 1,
                    _ => count.several += 1,
                }
                if let Some(doubt) = left.doubt {
                    count.doubtful += 1;
                    let reason = match doubt {
                        Doubt::Bypassed(_) => "an instruction is reached without passing an entry",
                        Doubt::Looped(_) => "a loop after the entry",
                        Doubt::Unrolled(_) => "a statement that comes again",
                        Doubt::Unmarked(_) => "the marker of the entry is lost",
                        Doubt::Reentered(_) => "the entry is reached from a call",
                        Doubt::Shared(_) => "another copy begins there",
                        Doubt::Combined(_) => "the first branch may be the caller's",
                    };
                    *reasons.entry(reason.to_owned()).or_insert(0) += 1;
                }
                if let Some(reason) = left.unread {
                    count.fallback += 1;
                    *reasons.entry(reason.to_string()).or_insert(0) += 1;
                }
                for exit in &left.sites {
                    let Point::Edge { from, over, to } = exit else {
                        count.at += 1;
                        continue;
                    };
                    count.edge += 1;
                    count.over_keys += usize::from(!over.keys().is_empty());
                    count.at_label += usize::from(labels.contains(from));
                    count.at_switch += usize::from(switches.contains(from));
                    let (a, b) = (symbols.containing(*from), symbols.containing(*to));
                    if let (Some(a), Some(b)) = (a, b)
                        && a.address != b.address
                    {
                        count.across += 1;
                        let name = format!("{}-{}+{}", from - a.address, symbols.name(b), to - b.address);
                        count.too_long += usize::from(name.len() > 63);
                    }
                }
            }
        }
        println!("{count:#?}");
        reasons.iter().take(10).for_each(|(reason, copies)| println!("{copies} copies: {reason}"));
        assert!(count.fallback * 100 < count.copies);
    }
}

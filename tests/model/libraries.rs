//! tests/model/libraries.rs: libraries that others wrote: entries and returns of inlined copies, against the calls that
//! the compiler's own instrumentation counts, and each copy's entries against its returns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kinst::sites::copies::calls;

use crate::commands::support;
use crate::compared::{Compared, Tally};
use crate::needs;
use crate::projects::{Built, Hooks, LIBRARIES, Library};
use crate::step::compilers;

/// The calls of functions that a program counts itself, by name.
type Counts = BTreeMap<String, u64>;

/// All libraries, at their own level and two others.
#[test]
#[ignore = "needs the sources of libraries, and QEMU for single programs: cargo xtask libraries"]
fn of_libraries() {
    let Some(sources) = needs::libraries() else { return };
    let only = |variable: &str| std::env::var(variable).unwrap_or_default();
    let chosen = |variable: &str, name: &str| {
        let only = only(variable);
        only.is_empty() || only.split(',').any(|one| one == name)
    };
    let mut wrong = 0;
    for library in LIBRARIES.iter().filter(|library| chosen("KINST_LIBRARIES", library.name)) {
        for compiler in compilers().into_iter().filter(|compiler| chosen("KINST_COMPILERS", compiler)) {
            let levels: BTreeSet<&str> = [library.level, "-O2", "-O3"].into();
            for level in levels.into_iter().filter(|level| chosen("KINST_LEVELS", level)) {
                wrong += compare(&sources, library, compiler, level);
            }
        }
    }
    assert_eq!(wrong, 0, "functions that are said to be exact");
}

/// Compares a library that is compiled in one way, with instrumentation and without. Returns the number of functions that
/// are wrong.
fn compare(sources: &Path, library: &Library, compiler: &str, level: &str) -> usize {
    let way = format!("{compiler}{level}");
    // When clang unrolls a loop whose rounds are calls, nothing in its debug information says so.
    let loops: &[&str] = if compiler == "clang" { &["-fno-unroll-loops"] } else { &[] };
    let options = [&[level], loops].concat();
    let hooks = [support("libraries/hooks.c")];
    let counting = [&options[..], &["-finstrument-functions"]].concat();
    let counting = library.build(sources, compiler, &format!("{way}-counting"), &counting, &hooks);
    let plain = library.build(sources, compiler, &way, &options, &[]);
    let (output, hooks) = counting.run();
    assert_eq!(plain.run().0, output, "{} {way}", library.name);
    let way = format!("{} {compiler} {level}", library.name);
    let (counts, mut tally) = instrumented(&format!("{way} instrumented"), &counting, &hooks);
    let plain = uninstrumented(&way, &plain, &counts);
    println!("{way} instrumented: {tally:?}");
    println!("{way}: {plain:?}");
    tally.add(&plain);
    tally.wrong
}

/// Finds the copies of functions.
fn calls_of<'f>(built: &Built, functions: impl Iterator<Item = &'f String>) -> Compared {
    let calls = |function: &String| calls::in_file(&built.program, function).unwrap_or_default().calls;
    let calls = functions.map(|function| (function.clone(), calls(function)));
    Compared::of(&built.program, calls.collect())
}

/// Compares with what the hooks have counted.
fn instrumented(way: &str, built: &Built, hooks: &Hooks) -> (Counts, Tally) {
    let named = Compared::of(&built.program, BTreeMap::new());
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for symbol in &named.symbols {
        if let Some((entered, left)) = hooks.get(&symbol.address).filter(|_| symbol.size > 0) {
            let function = symbol.name.split('.').next().unwrap_or_default().to_owned();
            let count = counts.entry(function).or_default();
            *count = (count.0 + entered, count.1 + left);
        }
    }
    let compared = calls_of(built, counts.keys());
    let seen = compared.seen(&mut built.follow(&compared.lines()).into_iter());
    let mut tally = Tally::default();
    for (function, (entered, left)) in &counts {
        if entered != left {
            println!("{way} {function}: {entered} entries and {left} exits are counted");
        }
        tally.add(&compared.judge(way, function, &seen[function], *entered));
    }
    let counts = counts.into_iter().map(|(function, (entered, _))| (function, entered));
    (counts.collect(), tally)
}

/// Compares entries with returns, and both with the counts of the program that has hooks.
fn uninstrumented(way: &str, built: &Built, counts: &Counts) -> Tally {
    let compared = calls_of(built, counts.keys());
    let seen = compared.seen(&mut built.follow(&compared.lines()).into_iter());
    let mut tally = Tally::default();
    for (function, count) in counts {
        tally.add(&compared.judge(way, function, &seen[function], *count));
    }
    tally
}

//! tests/model/libraries.rs: third-party libraries: entries and returns of inlined copies, compared with the calls that
//! the compiler's instrumentation counts, and each copy's entries compared with its returns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kinst::sites::copies::calls;

use crate::compared::{Compared, Seen, Tally};
use crate::needs;
use crate::projects::{Built, Counting, Counts, LIBRARIES, Library};
use crate::step::compilers;

/// Functions with wrong counts in gcc's unmodified programs, and the presumed reason, which the compiler's output does
/// not show.
const KNOWN: [(&str, &str, &str); 13] = [
    ("zstd", "BIT_readBits", SHARED),
    ("zstd", "BIT_readBitsFast", SHARED),
    ("zstd", "FSE_decodeSymbol", SHARED),
    ("zstd", "FSE_decodeSymbolFast", SHARED),
    ("zstd", "FSE_initCState", SHARED),
    ("zstd", "MEM_write32", SHARED),
    ("zstd", "HUF_zeroIndex1", "it has no instruction, and precedes a loop that begins at the next one"),
    ("zstd", "ZSTD_cwksp_mark_tables_clean", NOTHING),
    ("sqlite", "isAuxiliaryVtabOperator", NOTHING),
    ("sqlite", "sqlite3HasExplicitNulls", NOTHING),
    ("sqlite", "memjrnlTruncate", "one comparison tests both its condition and the caller's"),
    ("jq", "block_append", SHARED),
    ("jq", "block_join", SHARED),
];
/// Not visible in the code.
const SHARED: &str = "it seems to share its end with equal code of another function";
/// By the source: the function does nothing if its condition is false, and calls are missing.
const NOTHING: &str = "on some paths its condition seems to be known, and the call is removed completely";

/// The libraries, compilers and levels that the environment names; all if it names none.
pub(crate) struct Chosen([Vec<String>; 3]);

impl Chosen {
    pub(crate) fn from_environment() -> Chosen {
        Chosen(["KINST_LIBRARIES", "KINST_COMPILERS", "KINST_LEVELS"].map(|variable| {
            let names = std::env::var(variable).unwrap_or_default();
            names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
        }))
    }

    pub(crate) fn has_library(&self, name: &str) -> bool {
        has(&self.0[0], name)
    }

    pub(crate) fn compilers(&self) -> impl Iterator<Item = &'static str> {
        compilers().into_iter().filter(|compiler| has(&self.0[1], compiler))
    }

    /// The chosen levels, or else the usual ones.
    pub(crate) fn levels(&self, usual: BTreeSet<&str>) -> Vec<String> {
        match &self.0[2] {
            levels if levels.is_empty() => usual.into_iter().map(str::to_owned).collect(),
            levels => levels.clone(),
        }
    }
}

fn has(chosen: &[String], name: &str) -> bool {
    chosen.is_empty() || chosen.iter().any(|one| one == name)
}

/// All libraries, or a comma-separated list from the environment, at their normal optimization level and two others.
#[test]
#[ignore = "needs the sources of libraries, and QEMU for single programs: cargo xtask libraries"]
fn of_libraries() {
    let Some(sources) = needs::libraries() else { return };
    if !needs::program("qemu-x86_64") {
        return;
    }
    let chosen = Chosen::from_environment();
    let mut wrong = 0;
    for library in LIBRARIES.iter().filter(|library| chosen.has_library(library.name)) {
        for compiler in chosen.compilers() {
            for level in chosen.levels([library.level, "-O2", "-O3"].into()) {
                wrong += compare(&sources, library, compiler, &level);
            }
        }
    }
    assert_eq!(wrong, 0, "functions that are reported as exact");
}

/// Compares a library that is compiled with one set of options (`level` may have several): with hooks, with counters,
/// and unmodified. Returns the number of wrong functions.
fn compare(sources: &Path, library: &Library, compiler: &str, level: &str) -> usize {
    let options: Vec<&str> = ["-static"].into_iter().chain(level.split(' ')).collect();
    let way = format!("{compiler}{level}").replace(' ', "");
    let build = |counting| library.build(sources, &way, compiler, &options, counting);
    let plain = build(Counting::No);
    let way = format!("{} {compiler} {level}", library.name);
    let (output, _) = plain.run();
    let [hooks, counters] = [Counting::Hooks, Counting::Counters].map(|counting| {
        let built = build(counting);
        let (same, counts) = built.run();
        assert_eq!(same, output, "{way} {counting:?}");
        let executed = Executed::of(&built, counts);
        let tally = executed.judge(&format!("{way} {counting:?}"), |_| 0, |_| None);
        (executed, tally)
    });
    let without_effects = library.without_effects(sources);
    let executed = Executed::of(&plain, counters.0.counts.clone());
    let tally = executed.judge(
        &way,
        |function| match without_effects.contains(function) {
            true => u64::MAX,
            false => counters.0.without_copy(&executed, function),
        },
        |function| {
            let is_it = |(of, name, _): &&(&str, &str, &str)| *of == library.name && *name == function;
            KNOWN.iter().find(is_it).filter(|_| compiler == "gcc").map(|(.., reason)| *reason)
        },
    );
    hooks.1.wrong + counters.1.wrong + tally.wrong
}

/// A program that was executed.
struct Executed {
    counts: Counts,
    compared: Compared,
    seen: BTreeMap<String, Seen>,
}

impl Executed {
    fn of(built: &Built, counts: Counts) -> Executed {
        let calls = |function: &String| calls::in_file(&built.program, function).unwrap_or_default().calls;
        let calls = counts.keys().map(|function| (function.clone(), calls(function)));
        let compared = Compared::of(&built.program, calls.collect());
        let seen = compared.seen(&mut built.follow(&compared.lines()).into_iter());
        Executed { counts, compared, seen }
    }

    /// Compares entries and returns with the counted calls. `removable`: how many calls of a function the compiler may
    /// have removed; `known`: why a function is counted wrongly.
    fn judge(
        &self,
        way: &str,
        removable: impl Fn(&str) -> u64,
        known: impl Fn(&str) -> Option<&'static str>,
    ) -> Tally {
        let mut tally = Tally::default();
        for (function, (entered, left)) in &self.counts {
            if entered != left {
                println!("{way} {function}: {entered} entries and {left} exits are counted");
            }
            let seen = &self.seen[function];
            let mut one = self.compared.judge(way, function, seen, *entered, removable(function));
            if let Some(reason) = known(function).filter(|_| one.wrong > 0) {
                println!("    known: {reason}");
                (one.wrong, one.known) = (0, 1);
            }
            tally.add(&one);
        }
        println!("{way}: {tally:?}");
        tally
    }

    /// The calls of a function at places where another program has no copy of it, since all instructions were removed.
    fn without_copy(&self, other: &Executed, function: &str) -> u64 {
        let others = other.compared.by_place(function, &other.seen[function]);
        let own = self.compared.by_place(function, &self.seen[function]);
        own.iter().filter(|(place, _)| !others.contains_key(*place)).map(|(_, entered)| entered).sum()
    }
}

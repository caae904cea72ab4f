//! tests/model/beginnings.rs: the calls in tests/support/beginnings.c, compared with an unoptimised build.

use std::collections::BTreeMap;
use std::path::Path;

use crate::commands::support;
use crate::compared::{Compared, Seen, Tally};
use crate::step::{LIMIT, Stepped, compilers};

const FUNCTIONS: [&str; 8] = ["find", "hash", "price", "make", "search", "get", "skip", "finish"];
/// clang merges calls without a trace, and does not mark where calls begin.
const OF_CLANG: usize = 6;

fn seen(compiler: &str, options: &[&str]) -> (Compared, BTreeMap<String, Seen>) {
    let stepped = Stepped::compile(compiler, &support("beginnings.c"), options);
    let calls = stepped.calls(&FUNCTIONS.map(str::to_owned));
    let compared = Compared::of(Path::new(&stepped.program), calls);
    let mut hits = stepped.step(LIMIT, compared.lines().into_iter()).expect("an end").into_iter();
    let seen = compared.seen(&mut hits);
    (compared, seen)
}

/// A call that is reported as exact is counted once.
#[test]
fn calls_whose_beginning_is_moved() {
    for compiler in compilers() {
        let (_, all) = seen(compiler, &["-O0", "-g"]);
        let mut exact = 0;
        // A whole program by gcc: the DWARF of its functions does not show which are inlined, and few calls are marked.
        let whole = Some("-O2 -flto").filter(|_| compiler.starts_with("gcc"));
        for level in ["-O1", "-O2", "-O3", "-Os"].into_iter().chain(whole) {
            let options: Vec<&str> = level.split(' ').chain(["-g"]).collect();
            let (compared, found) = seen(compiler, &options);
            let mut tally = Tally::default();
            let known = if compiler == "clang" { OF_CLANG } else { FUNCTIONS.len() };
            for function in &FUNCTIONS[..known] {
                let called = all[*function].total();
                assert!(called > 0, "{function}");
                tally.add(&compared.judge(
                    &format!("{compiler} {level}"),
                    function,
                    &found[*function],
                    called,
                    0,
                ));
            }
            println!("{compiler} {level}: {tally:?}");
            assert_eq!(tally.wrong, 0, "{compiler} {level}");
            assert!(tally.exact_copies > 0, "{compiler} {level}");
            exact += tally.exact;
        }
        assert!(exact > 0, "{compiler}");
    }
}

//! tests/oracle/locals.rs: the locations of a kernel's variables, compared with `perf probe -D 'function $params'`; and
//! the number of inlined copies' parameters with a readable location at the entry.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use kinst::debuginfo::ElfFile;
use kinst::dwarf::variables::scope::{Missing, Variable};
use kinst::dwarf::variables::term::{Binary, Location, Term};
use kinst::dwarf::{self, Variables};
use kinst::probe::Site;
use kinst::sites::Kernel;
use kinst::sites::Places as _;
use rayon::prelude::*;

use crate::kernel;
use crate::needs;

/// From one copy to more than two thousand, with all shapes of parameters.
const FUNCTIONS: [&str; 15] = [
    "rw_verify_area",
    "file_start_write",
    "fsnotify_access",
    "fsnotify_modify",
    "fdget_pos",
    "iov_iter_ubuf",
    "vma_pages",
    "path_put",
    "i_size_read",
    "list_del",
    "__list_add",
    "kref_get",
    "copy_from_user",
    "dst_release",
    "rb_link_node",
];

/// `KINST_SYSROOT`, or 6.1.
fn sysroot() -> Option<PathBuf> {
    std::env::var_os("KINST_SYSROOT").map(PathBuf::from).or_else(needs::linux_6_1)
}

/// perf's output for one copy: variables and their places.
struct Line {
    symbol: String,
    offset: u64,
    variables: BTreeMap<String, String>,
}

fn perf(vmlinux: &Path, function: &str) -> Option<Vec<Line>> {
    let wanted = format!("{function} $params");
    let arguments = ["probe", "-k", vmlinux.to_str()?, "--max-probes", "100000", "-D", &wanted];
    let output = Command::new("perf").args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (symbol, offset) = words.next()?.split_once('+')?;
        let variables = words.filter_map(|word| {
            let (name, place) = word.split_once('=')?;
            let place = place.rsplit_once(':').map_or(place, |(place, _)| place);
            Some((name.to_owned(), place.to_owned()))
        });
        Some(Line { symbol: symbol.to_owned(), offset: offset.parse().ok()?, variables: variables.collect() })
    };
    Some(text.lines().filter_map(line).collect())
}

/// Formats a location in the syntax of kprobe events; `None` if perf has no syntax for it.
fn in_words_of_perf(location: &Location) -> Option<String> {
    let register = |name: &str| {
        format!(
            "%{}",
            name.strip_prefix('r')
                .filter(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
                .unwrap_or(name)
        )
    };
    match location {
        Location::Value(Term::Register(of)) => Some(register(of.name())),
        Location::Value(Term::Constant(value)) => Some(format!("\\{}", *value as i64)),
        Location::Memory(Term::Register(of)) => Some(format!("+0({})", register(of.name()))),
        Location::Memory(Term::Binary(Binary::Add, base, by)) => match (&**base, &**by) {
            (Term::Register(of), Term::Constant(by)) => {
                Some(format!("{:+}({})", *by as i64, register(of.name())))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns how the two agree, if they do; `ours` is `None` if the function has no such parameter.
fn classify(ours: Option<&Result<Location, Missing>>, theirs: &str) -> Option<&'static str> {
    let words = |location: &Location| in_words_of_perf(location);
    match ours {
        // perf also lists the parameters of copies inside this one.
        None => Some("of another function"),
        // perf considers only the first operation of an expression.
        Some(Err(Missing::Operation(_) | Missing::EntryValue)) if theirs.starts_with(['+', '-']) => {
            Some("the start of an expression")
        }
        Some(Err(_)) => None,
        Some(Ok(location)) if words(location).as_deref() == Some(theirs) => Some("the same"),
        // The value is a sum (DW_OP_bregN, DW_OP_stack_value), which perf treats as the address of the value.
        Some(Ok(Location::Value(term)))
            if words(&Location::Memory(term.clone())).as_deref() == Some(theirs) =>
        {
            Some("a sum that perf loads from")
        }
        Some(Ok(Location::Value(Term::Address(_)) | Location::Memory(Term::Address(_))))
            if theirs.starts_with('@') =>
        {
            Some("an address that perf writes as a symbol")
        }
        Some(Ok(location)) => words(location).is_none().then_some("the start of an expression"),
    }
}

#[test]
fn parameters_are_where_perf_finds_them() {
    let (Some(root), true) = (sysroot(), needs::program("perf")) else { return };
    let vmlinux = needs::vmlinux(&root).expect("it is there");
    let kernel = Kernel::sysroot(&root, None).expect("a sysroot");
    let (mut classes, mut only_ours): (BTreeMap<&str, usize>, usize) = Default::default();
    let mut differences = BTreeSet::new();
    for function in FUNCTIONS {
        let lines = perf(&vmlinux, function).expect("perf's answer");
        let asked: Vec<Site> = lines
            .iter()
            .map(|line| Site {
                module: "vmlinux".to_owned(),
                function: line.symbol.clone(),
                offset: line.offset,
                copy: Some(function.to_owned()),
                ..Site::default()
            })
            .collect();
        for (line, scope) in lines.iter().zip(kernel.scopes(&asked)) {
            // perf begins some copies elsewhere, and does not distinguish namesakes: vmlinux.rs counts these.
            let Ok(scope) = scope else { continue };
            let parameters = &scope.frames[0].parameters;
            let named = |name: &str| parameters.iter().find(|parameter| parameter.name == name);
            let place = format!("{}+{}", line.symbol, line.offset);
            for (name, theirs) in &line.variables {
                let location = named(name).map(|parameter| &parameter.location);
                let class = classify(location, theirs).or_else(|| {
                    let inside = inside(&kernel, line, function);
                    inside.iter().any(|known| known == name).then_some("of another function")
                });
                match class {
                    Some(class) => *classes.entry(class).or_default() += 1,
                    None => {
                        let ours = named(name).map(Variable::place);
                        differences.insert(format!("{function} at {place}: {name} {ours:?}, perf {theirs}"));
                    }
                }
            }
            only_ours += parameters
                .iter()
                .filter(|parameter| {
                    parameter.location.is_ok() && !line.variables.contains_key(&parameter.name)
                })
                .count();
        }
    }
    println!("{classes:?}, only ours {only_ours}, different {}", differences.len());
    for difference in differences.iter().take(40) {
        println!("{difference}");
    }
    assert!(classes["the same"] > 1000, "perf's output was not read");
    assert!(differences.is_empty(), "{} differences", differences.len());
}

/// In copies.c: a description by a function's name gets that function's variables, whatever else begins there.
#[test]
fn a_copy_is_the_one_that_was_asked_for() {
    let kernel = kernel::Fixture::with_copies().types();
    let asked = |function: &str, offset, copy: Option<&str>| Site {
        module: "vmlinux".to_owned(),
        function: function.to_owned(),
        offset,
        copy: copy.map(str::to_owned),
        ..Site::default()
    };
    let shown = |asked: Site| {
        let scopes = kernel.scopes(&[asked]);
        let scope = match &*scopes[0] {
            Ok(scope) => scope,
            Err(why) => return why.to_string(),
        };
        let frame = &scope.frames[0];
        let parameters = frame.parameters.iter();
        let parameters: Vec<String> =
            parameters.map(|parameter| format!("{} {}", parameter.name, parameter.place())).collect();
        let around: Vec<&str> = scope.frames.iter().map(|frame| frame.function.as_str()).collect();
        format!("{}: {}", around.join(" in "), parameters.join(", "))
    };
    // Both begin at this instruction.
    let outer = shown(asked("resubmit", 16, Some("checked")));
    assert_eq!(outer, "checked in resubmit: rq in %rsi, limit the value %rdx + 1");
    let inner = shown(asked("resubmit", 16, None));
    assert_eq!(inner, "positive in checked in resubmit: number the value %rdx + 1");
    assert_eq!(shown(asked("resubmit", 16, Some("positive"))), inner);
    // Its variables exist only between two statements of one instruction: a constant, and a structure in a register.
    let entered = shown(asked("accessed", 45, Some("young")));
    assert_eq!(entered, "young in accessed: pte in %rbx, shift the constant 5");
    assert_eq!(
        shown(asked("accessed", 0, Some("young"))),
        "the instruction is not in an inlined copy of young()"
    );
    // In the frame: the address is computed from the stack pointer at each instruction.
    let place = |offset, name: &str| match &*kernel.scopes(&[asked("submit", offset, None)])[0] {
        Ok(scope) => scope.find(name).map(Variable::place).unwrap_or_default(),
        Err(why) => why.to_string(),
    };
    assert_eq!(place(0, "rq"), "at -40(%rsp)");
    assert_eq!(place(1, "rq"), "at -32(%rsp)");
    assert_eq!(place(14, "rq"), "at 16(%rsp)");
    assert!(place(152, "refused").starts_with("at 0xffffffff8"), "{}", place(152, "refused"));
    assert_eq!(place(0, "index"), "not available here (live 62-79, 144-149)");
}

/// Returns the parameters of the copies inside this one that begin at the same instruction, which perf lists too.
fn inside(kernel: &Kernel, line: &Line, function: &str) -> Vec<String> {
    let innermost = Site {
        module: "vmlinux".to_owned(),
        function: line.symbol.clone(),
        offset: line.offset,
        ..Site::default()
    };
    let Some(Ok(scope)) = kernel.scopes(&[innermost]).pop() else { return Vec::new() };
    let frames = scope.frames.iter().take_while(|frame| frame.function != function);
    frames.flat_map(|frame| &frame.parameters).map(|parameter| parameter.name.clone()).collect()
}

/// Returns the table's row for a parameter.
fn row(variable: &Variable) -> String {
    match &variable.location {
        Ok(Location::Value(Term::Register(_))) => "in a register".to_owned(),
        Ok(Location::Value(Term::Constant(_))) => "a constant".to_owned(),
        Ok(Location::Value(Term::Address(_) | Term::PerCpu(_))) => "an address".to_owned(),
        Ok(Location::Value(_)) => "computed".to_owned(),
        Ok(Location::Memory(_)) => "in memory".to_owned(),
        Ok(Location::Parts(_)) => "in parts".to_owned(),
        Err(Missing::Operation(name)) => format!("not: {name}"),
        Err(Missing::Register(_)) => "not: a register that is not saved".to_owned(),
        Err(Missing::Damaged(cause)) => format!("not: damaged ({cause})"),
        Err(missing) => format!("not: {missing:?}"),
    }
}

/// Reads all parameters of all copies of a kernel at their entries; this takes a minute on two processors.
#[test]
#[ignore = "slow: every copy of a kernel; cargo test --release --test locals -- --ignored --nocapture"]
fn parameters_of_all_copies() {
    let Some(root) = sysroot() else { return };
    let image = ElfFile::open(&needs::vmlinux(&root).expect("it is there")).expect("a vmlinux");
    // Only every N-th name, for a run of seconds.
    let every = std::env::var("KINST_EVERY").ok().and_then(|every| every.parse().ok()).unwrap_or(1);
    let names: Vec<String> = dwarf::inline_names(&image).expect("names").into_iter().step_by(every).collect();
    let findings = dwarf::find(&image, &names, false).expect("copies");
    let variables = Variables::open(&image).expect("debug information");
    let failed = AtomicUsize::new(0);
    let counted = names.par_iter().zip(&findings.functions).map(|(name, function)| {
        let mut rows: BTreeMap<String, usize> = BTreeMap::new();
        let entries: BTreeSet<u64> = function.copies.iter().flat_map(|copy| copy.entries.clone()).collect();
        for address in entries {
            let instruction = dwarf::Instruction { address, symbol: 0..u64::MAX, copy: Some(name) };
            match variables.at(&instruction, &|linked| Some(linked)) {
                Ok(frames) => {
                    *rows.entry("entries".to_owned()).or_default() += 1;
                    for parameter in &frames[0].parameters {
                        *rows.entry(row(parameter)).or_default() += 1;
                    }
                }
                Err(why) => {
                    if failed.fetch_add(1, Ordering::Relaxed) < 20 {
                        println!("{name} at {address:#x}: {why}");
                    }
                    *rows.entry("entries without a scope".to_owned()).or_default() += 1;
                }
            }
        }
        rows
    });
    let mut table = counted.reduce(BTreeMap::new, |mut all, rows| {
        for (row, count) in rows {
            *all.entry(row).or_default() += count;
        }
        all
    });
    let (entries, without) =
        (table.remove("entries").unwrap_or(0), table.remove("entries without a scope").unwrap_or(0));
    let all: usize = table.values().sum();
    let readable: usize =
        table.iter().filter(|(row, _)| !row.starts_with("not: ")).map(|(_, count)| count).sum();
    let share = |count: usize| count as f64 * 100.0 / all.max(1) as f64;
    println!(
        "{entries} entries, {without} without a scope, {all} parameters, {:.1} % of them readable",
        share(readable)
    );
    let mut rows: Vec<(&String, &usize)> = table.iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (row, count) in rows {
        println!("| {row} | {count} | {:.2} % |", share(*count));
    }
    assert!(entries * every > 50_000 && without * 1000 < entries, "{without} of {entries}");
    assert!(share(readable) > 75.0, "too few parameters are readable");
}

//! tests/model/views.rs: --annotate and --coverage of programs: each count is compared with the program's execution step
//! by step, and the executed lines with gcov's and llvm-cov's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::binutils;
use crate::commands::{run, support};
use crate::live::{can_trace, dtrace, text};
use crate::needs;
use crate::step::{Stepped, compilers, follow};

/// The most instructions of a run.
const LIMIT: u64 = 20_000_000;

/// An instruction of a program.
pub(crate) struct Insn {
    function: String,
    pub text: String,
}

/// Instructions by address.
pub(crate) fn instructions(program: &str) -> BTreeMap<u64, Insn> {
    let objdump = binutils::tool("objdump", Path::new(program));
    let text = run(&objdump, &["-d", "--no-show-raw-insn", "-j", ".text", program]);
    let (mut found, mut function) = (BTreeMap::new(), String::new());
    for line in text.lines() {
        if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            name.clone_into(&mut function);
        } else if let Some((address, insn)) = line.trim_start().split_once(":\t")
            && let Ok(address) = u64::from_str_radix(address, 16)
        {
            found.insert(address, Insn { function: function.clone(), text: insn.to_owned() });
        }
    }
    found
}

/// How often each of the instructions is executed.
fn executed(program: &str, arguments: &[&str], places: impl Iterator<Item = u64>) -> BTreeMap<u64, u64> {
    let places: Vec<u64> = places.collect();
    let lines: Vec<String> = places.iter().map(|address| format!("{address:x}")).collect();
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    let folder = Path::new(program).parent().expect("a folder");
    let (hits, _) = follow(LIMIT, Path::new(program), &arguments, folder, &lines).expect("an end");
    places.into_iter().zip(hits).collect()
}

/// The command of -c.
fn command(program: &str, arguments: &[&str]) -> String {
    [&[program], arguments].concat().join(" ")
}

/// Compares the counts of all instructions of some functions. Returns the number of compared ones.
fn compare(way: &str, stepped: &Stepped, arguments: &[&str], is_ours: impl Fn(&str) -> bool) -> usize {
    let program = &stepped.program;
    let all = instructions(program);
    let names = all.values().map(|insn| &insn.function);
    let functions: BTreeSet<&String> =
        names.filter(|name| !name.contains(".cold") && is_ours(name)).collect();
    let operands: Vec<String> = functions.iter().map(|name| format!("a.out:{name}")).collect();
    let counts = stepped.dir.path().join("counts");
    let (counts, traced) = (counts.to_str().expect("text"), command(program, arguments));
    let mut given = vec!["--json", "-o", counts, "-c", &traced, "--annotate"];
    given.extend(operands.iter().map(String::as_str));
    let output = dtrace(&given, Some(stepped.dir.path()));
    let said = text(&output.stderr);
    assert!(said.contains("matched") && !said.contains("may be off"), "{way}: {said}");
    let steps = executed(program, arguments, all.keys().copied());
    let (mut compared, mut unknown) = (0, 0);
    for line in fs::read_to_string(counts).expect("counts").lines() {
        let object: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let address = object["address"].as_str().and_then(|text| text.strip_prefix("0x"));
        let address = u64::from_str_radix(address.expect("an address"), 16).expect("a number");
        let Some(count) = object["count"].as_u64() else {
            // Padding has no count; neither has code that cannot have a probe.
            unknown += usize::from(steps.get(&address).is_some_and(|steps| *steps > 0));
            continue;
        };
        let at = format!("{way}: {}+{} {}", object["function"], object["offset"], object["text"]);
        assert_eq!(Some(&count), steps.get(&address), "{at}\n{said}");
        compared += 1;
    }
    println!("{way}: {compared} instructions compared, {unknown} executed ones without a count");
    assert!(unknown * 50 <= compared, "{way}: {unknown} of {compared} are not counted");
    compared
}

/// The options of the compilers, and the arguments of the program, after which it ends in different places.
const LEVELS: [&str; 3] = ["-O0", "-O1", "-O2"];
const RUNS: [&[&str]; 3] = [&[], &["0"], &["quietly", "77"]];

#[test]
fn counts_of_instructions_are_those_of_the_execution() {
    if !can_trace() {
        return;
    }
    let mut compared = 0;
    for compiler in compilers() {
        for (level, arguments) in LEVELS.into_iter().zip(RUNS) {
            let stepped = Stepped::compile(compiler, &support("coverage.c"), &[level, "-g"]);
            let way = format!("{compiler} {level} {arguments:?}");
            compared +=
                compare(&way, &stepped, arguments, |name| !name.starts_with('_') && !is_of_start(name));
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// Functions that the compiler adds.
fn is_of_start(name: &str) -> bool {
    ["deregister_tm_clones", "register_tm_clones", "frame_dummy"].contains(&name)
}

/// Exceptions leave functions at calls, and enter them at landing pads.
#[test]
fn counts_of_code_that_catches_exceptions() {
    if !can_trace() || !needs::program("g++") {
        return;
    }
    let ours = ["main", "_ZL5picky", "_ZL7through", "_ZL6caught", "_ZL7checked", "_ZN5Noted"];
    // The C++ library needs millions of steps, so there is one program only.
    let stepped = Stepped::compile("g++", &support("caught.cpp"), &["-O2", "-g"]);
    let is_ours = |name: &str| ours.iter().any(|ours| name.starts_with(ours));
    assert!(compare("g++ -O2", &stepped, &[], is_ours) > 100);
}

/// Panics are exceptions.
#[test]
fn counts_of_code_that_catches_panics() {
    if !can_trace() || !needs::program("rustc") {
        return;
    }
    for level in ["0", "2"] {
        let dir = tempfile::tempdir().expect("a directory");
        let program = dir.path().join("program").to_str().expect("text").to_owned();
        let source = support("caught.rs").display().to_string();
        let options = ["--edition", "2024", "-g", "-C", "codegen-units=1", "-C", "relocation-model=static"];
        let level = format!("opt-level={level}");
        run("rustc", &[&options[..], &["-C", &level, "-o", &program, &source]].concat());
        let stepped = Stepped::built(dir, program);
        let is_ours =
            |name: &str| name.starts_with("_RN") && name.contains("caught") || name.contains("6caught");
        assert!(compare(&format!("rustc {level}"), &stepped, &[], is_ours) > 50);
    }
}

/// Lines by number, and whether each was executed.
pub(crate) type Lines = BTreeMap<usize, bool>;

/// The lines of an lcov file, by source file.
pub(crate) fn lcov(info: &str) -> BTreeMap<String, Lines> {
    let (mut files, mut file) = (BTreeMap::<String, Lines>::new(), String::new());
    for line in info.lines() {
        if let Some(name) = line.strip_prefix("SF:") {
            name.clone_into(&mut file);
        } else if let Some((number, count)) = line.strip_prefix("DA:").and_then(|line| line.split_once(',')) {
            let executed = count.parse::<u64>().expect("a count") > 0;
            files.entry(file.clone()).or_default().insert(number.parse().expect("a line"), executed);
        }
    }
    files
}

/// The lines of a source file in an lcov file.
fn in_lcov(info: &str, source: &str) -> Lines {
    lcov(info).into_iter().filter(|(file, _)| file.ends_with(source)).flat_map(|(_, lines)| lines).collect()
}

/// The lines that dtrace finds in a program that is not instrumented.
fn covered(stepped: &Stepped, arguments: &[&str], source: &str) -> Lines {
    let info = stepped.dir.path().join("info");
    let (info, traced) = (info.to_str().expect("text"), command(&stepped.program, arguments));
    let output =
        dtrace(&["-q", "--coverage", "a.out:*", "--lcov", info, "-c", &traced], Some(stepped.dir.path()));
    assert!(!output.stdout.is_empty(), "{}", text(&output.stderr));
    in_lcov(&fs::read_to_string(info).expect("an lcov file"), source)
}

/// The lines that gcov counts in an instrumented program.
fn by_gcov(options: &[&str], arguments: &[&str], source: &str) -> Lines {
    let stepped = Stepped::compile("gcc", &support(source), &[options, &["--coverage"]].concat());
    let folder = stepped.dir.path();
    let ran = std::process::Command::new(&stepped.program).args(arguments).current_dir(folder).output();
    assert!(ran.is_ok());
    let data = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let data =
        data.into_iter().find(|path| path.extension().is_some_and(|end| end == "gcda")).expect("counts");
    let gcov = run("gcov", &["-t", data.to_str().expect("text")]);
    let mut lines = Lines::new();
    for line in gcov.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(count), Some(number)) = (fields.next(), fields.next()) else { continue };
        let (count, number) = (count.trim(), number.trim().parse::<usize>().unwrap_or(0));
        if number > 0 && count != "-" {
            lines.insert(number, !count.starts_with(['#', '=', '$', '%']) && count != "0");
        }
    }
    lines
}

/// The lines that llvm-cov counts in an instrumented program. It also counts lines without code.
fn by_llvm(options: &[&str], arguments: &[&str], source: &str) -> Lines {
    let profiled = [options, &["-fprofile-instr-generate", "-fcoverage-mapping"]].concat();
    let stepped = Stepped::compile("clang", &support(source), &profiled);
    let path = |name: &str| stepped.dir.path().join(name).to_str().expect("text").to_owned();
    let raw = path("raw");
    let ran =
        std::process::Command::new(&stepped.program).args(arguments).env("LLVM_PROFILE_FILE", &raw).output();
    assert!(ran.is_ok());
    in_lcov(&exported(&stepped.program, &raw), source)
}

/// The counts of a program that clang has instrumented, as an lcov file.
pub(crate) fn exported(program: &str, raw: &str) -> String {
    let data = format!("{raw}.data");
    run("llvm-profdata", &["merge", "-o", &data, raw]);
    run("llvm-cov", &["export", "-format=lcov", "-instr-profile", &data, program])
}

/// Without optimization, the lines are those of the compiler's own counters, up to two differences in what counts as
/// a line with code: gcov counts the head of a function, which has its braces in the line table, and labels.
#[test]
fn executed_lines_are_those_of_gcov() {
    if !can_trace() || !needs::program("gcov") {
        return;
    }
    let name = "coverage.c";
    let source = fs::read_to_string(support(name)).expect("a source");
    let written = |line: &usize| source.lines().nth(line - 1).unwrap_or_default().trim();
    for arguments in RUNS {
        let stepped = Stepped::compile("gcc", &support(name), &["-O0", "-g"]);
        let (ours, theirs) = (covered(&stepped, arguments, name), by_gcov(&["-O0"], arguments, name));
        let mut common = 0;
        for (line, executed) in &ours {
            match theirs.get(line) {
                Some(theirs) => {
                    assert_eq!(executed, theirs, "{arguments:?}: line {line}: {}", written(line));
                    common += 1;
                }
                None => assert!(["{", "}"].contains(&written(line)), "{line}: {}", written(line)),
            }
        }
        for line in theirs.keys().filter(|line| !ours.contains_key(line)) {
            let is_head = written(&(line + 1)) == "{";
            let is_label = written(line).ends_with(':');
            assert!(is_head || is_label, "{line}: {}", written(line));
        }
        println!("{arguments:?}: {common} lines as gcov's");
        assert!(common > 90, "{common}");
    }
}

/// llvm-cov takes it that each call returns once, so the program has no others.
#[test]
fn executed_lines_are_those_of_llvm_cov() {
    if !can_trace() || !["clang", "llvm-profdata", "llvm-cov"].into_iter().all(needs::program) || !profiles()
    {
        return;
    }
    let (name, options) = ("coverage.c", ["-O0", "-DSTRAIGHT"]);
    let source = fs::read_to_string(support(name)).expect("a source");
    let written = |line: &usize| source.lines().nth(line - 1).unwrap_or_default().trim();
    for arguments in RUNS {
        let stepped = Stepped::compile("clang", &support(name), &[&options[..], &["-g"]].concat());
        let (ours, theirs) = (covered(&stepped, arguments, name), by_llvm(&options, arguments, name));
        // The last brace of a function has the code that all returns jump to; to llvm-cov it follows the last statement.
        let is_different = |(line, executed): &(&usize, &bool)| {
            theirs.get(line).is_some_and(|theirs| theirs != *executed) && written(line) != "}"
        };
        let different: Vec<(&usize, &str)> =
            ours.iter().filter(is_different).map(|(line, _)| (line, written(line))).collect();
        assert!(different.is_empty(), "{arguments:?}: {different:?}");
        assert!(ours.keys().filter(|line| theirs.contains_key(line)).count() > 90);
    }
}

/// Whether clang has the library that counts.
#[track_caller]
pub(crate) fn profiles() -> bool {
    let name = "libclang_rt.profile-x86_64.a";
    let found = Path::new(run("clang", &[&format!("-print-file-name={name}")]).trim()).is_file();
    if !found {
        needs::missing("clang's library for profiles", "install libclang-rt-dev");
    }
    found
}

/// The source file and line of each address, by LLVM; the line 0 if they are not known. addr2line of binutils 2.40 has
/// other files for functions of headers.
pub(crate) fn places<'a>(
    folder: &Path,
    program: &str,
    addresses: impl Iterator<Item = &'a u64>,
) -> Vec<(String, usize)> {
    let list = folder.join("addresses");
    fs::write(&list, addresses.map(|address| format!("{address:#x}\n")).collect::<String>())
        .expect("written");
    let text = run("llvm-addr2line", &["-e", program, &format!("@{}", list.display())]);
    let place = |text: &str| {
        let (file, line) = text.rsplit_once(':').unwrap_or_default();
        // `file.c:17 (discriminator 3)`
        let line = line.split(' ').next().and_then(|line| line.parse().ok()).unwrap_or(0);
        (file.to_owned(), line)
    };
    text.lines().map(place).collect()
}

/// A program of tests/support, the arguments of its runs, the least number of its lines, and the lines that may be
/// unknown.
type Case = (&'static str, [&'static [&'static str]; 3], usize, &'static [usize]);

/// With optimization, compilers join equal code of several lines, and their own counters count other code. The lines are
/// those of the instructions that are executed. In dispatch.c, clang -O0 makes a jump table with unknown targets.
#[test]
fn executed_lines_are_those_of_the_instructions() {
    if !can_trace() || !needs::program("llvm-addr2line") {
        return;
    }
    let cases: [Case; 2] = [
        ("coverage.c", RUNS, 50, &[]),
        // clang -O0 puts jumps of five bytes to the next instruction there, and the table may lead to these.
        ("dispatch.c", [&[], &["bdeegg"], &["aaaceacccbb"]], 15, &[21, 24]),
    ];
    for case in cases {
        for compiler in compilers() {
            for (level, arguments) in LEVELS.into_iter().zip(case.1).chain([("-O0", case.1[2])]) {
                lines_of_instructions(&case, compiler, level, arguments);
            }
        }
    }
}

fn lines_of_instructions((name, _, least, unknown): &Case, compiler: &str, level: &str, arguments: &[&str]) {
    let stepped = Stepped::compile(compiler, &support(name), &[level, "-g"]);
    let ours = covered(&stepped, arguments, name);
    let all = instructions(&stepped.program);
    let steps = executed(&stepped.program, arguments, all.keys().copied());
    let places = places(stepped.dir.path(), &stepped.program, all.keys());
    let mut expected = Lines::new();
    for ((file, line), address) in places.into_iter().zip(all.keys()) {
        if file.ends_with(*name) && line > 0 {
            *expected.entry(line).or_default() |= steps[address] > 0;
        }
    }
    let may_lack = |line: &usize| compiler == "clang" && level == "-O0" && unknown.contains(line);
    let is_different = |(line, executed): &(&usize, &bool)| match ours.get(line) {
        Some(ours) => ours != *executed,
        None => !may_lack(line),
    };
    let different: Vec<_> = expected.iter().filter(is_different).collect();
    assert!(different.is_empty(), "{name} {compiler} {level} {arguments:?}: {different:?}");
    assert!(ours.len() > *least && ours.len() <= expected.len(), "{name} {compiler} {level}: {}", ours.len());
}

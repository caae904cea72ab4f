//! tests/model/lines.rs: the lines of --coverage in third-party libraries, compared with gcov's and llvm-cov's of another
//! build that is instrumented, and with the instructions that are executed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::run;
use crate::libraries::Chosen;
use crate::live::{can_trace, dtrace, text};
use crate::needs;
use crate::projects::{Built, Counting, LIBRARIES, Library};
use crate::views::{exported, instructions, lcov, places, profiles};

/// Whether each line is executed, by source file and number.
type Lines = BTreeMap<(PathBuf, usize), bool>;

/// The library's own lines, and those of its driver.
#[derive(Default)]
struct Sources {
    /// The names in debug information and reports, each with the path of the file, if it exists.
    paths: BTreeMap<String, Option<PathBuf>>,
    texts: BTreeMap<PathBuf, Vec<String>>,
}

impl Sources {
    fn path(&mut self, name: &str) -> Option<PathBuf> {
        let path = self.paths.entry(name.to_owned()).or_insert_with(|| fs::canonicalize(name).ok());
        path.clone().filter(|path| !path.starts_with("/usr"))
    }

    fn line(&mut self, (path, number): &(PathBuf, usize)) -> &str {
        let lines = self.texts.entry(path.clone()).or_insert_with(|| {
            String::from_utf8_lossy(&fs::read(path).expect("a source")).lines().map(str::to_owned).collect()
        });
        lines.get(number - 1).map_or("", |line| line.trim())
    }

    /// Adds lines of one file, as far as they are in a file that is present.
    fn add(&mut self, to: &mut Lines, name: &str, lines: impl Iterator<Item = (usize, bool)>) {
        let Some(path) = self.path(name) else { return };
        for (number, executed) in lines {
            *to.entry((path.clone(), number)).or_default() |= executed;
        }
    }

    fn of_lcov(&mut self, info: &str) -> Lines {
        let mut all = Lines::new();
        lcov(info).into_iter().for_each(|(file, lines)| self.add(&mut all, &file, lines.into_iter()));
        all
    }

    /// Prints how many of some lines are of each kind, and the first few of the kind that is not obvious.
    fn kinds(&mut self, whose: &str, lines: &[(PathBuf, usize)]) {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        let mut others = Vec::new();
        for at in lines {
            let (own, next) = (self.line(at).to_owned(), self.line(&(at.0.clone(), at.1 + 1)).to_owned());
            let kind = kind(&own, &next);
            *kinds.entry(kind).or_default() += 1;
            if kind == OTHER && others.len() < 8 {
                others.push(format!("    {}: {own}", shown(at)));
            }
        }
        if !lines.is_empty() {
            println!("  {} lines that only {whose} knows: {kinds:?}", lines.len());
            others.iter().for_each(|line| println!("{line}"));
        }
    }
}

const OTHER: &str = "other";

/// The kind of a line, by its text and that of the next one.
fn kind(line: &str, next: &str) -> &'static str {
    match line {
        _ if line.starts_with('}') || line.ends_with('{') => "brace",
        _ if line.starts_with("case ") || line.starts_with("default:") || line.ends_with(':') => "label",
        _ if next.starts_with('{') || line.ends_with(['(', ',', ')']) => "head",
        _ => OTHER,
    }
}

fn shown((path, number): &(PathBuf, usize)) -> String {
    format!("{}:{number}", path.file_name().unwrap_or_default().display())
}

/// Without optimization, the lines are gcov's. Of a function that must be inlined, gcov adds the counts of all copies, and
/// miscounts lines that have a branch in one copy and none in another: so it is not inlined here.
const EXACT: &str = "-O0 -Dalways_inline=unused";

/// Lines that gcov counts differently at the exact level, each with the reason.
const KNOWN: [(&str, &str, &str); 2] = [
    ("jv_file.c:80", "return data;", "loads the value of all returns, for which gcov counts no statement"),
    (
        "sqlite3.c:92300",
        "return 0;",
        "gcov also counts the end of a variable's scope, which has no instruction",
    ),
];

/// The most lines that are printed of a comparison.
const SHOWN: usize = 40;

/// All libraries, or a comma-separated list from the environment; likewise the compilers and levels.
#[test]
#[ignore = "needs the sources of libraries, and QEMU for single programs: cargo xtask libraries --coverage"]
fn lines_of_libraries() {
    let Some(sources) = needs::libraries() else { return };
    if !can_trace() || !["qemu-x86_64", "gcov", "llvm-addr2line"].into_iter().all(needs::program) {
        return;
    }
    let chosen = Chosen::from_environment();
    let mut wrong = 0;
    for library in LIBRARIES.iter().filter(|library| chosen.has_library(library.name)) {
        for level in chosen.levels([EXACT, "-O2"].into()) {
            for compiler in chosen.compilers() {
                let is_counted = compiler != "clang"
                    || ["llvm-profdata", "llvm-cov"].into_iter().all(needs::program) && profiles();
                if is_counted {
                    wrong += compare(&sources, library, compiler, &level);
                }
            }
        }
    }
    assert_eq!(wrong, 0, "lines that differ without an explanation");
}

/// Compares the lines of one build. Returns the number of lines whose state is not that of their instructions, and at the
/// exact level, of those whose state is not gcov's.
fn compare(sources: &Path, library: &Library, compiler: &str, level: &str) -> usize {
    let options: Vec<&str> = level.split(' ').collect();
    let way = format!("lines-{compiler}{level}").replace(' ', "");
    let build = |counting| library.build(sources, &way, compiler, &options, counting);
    let mut files = Sources::default();
    let plain = build(Counting::No);
    let ours = covered(&plain, &mut files);
    let theirs = counted(&build(Counting::Lines), compiler, &mut files);
    let (executed, jumps) = executed(&plain, &mut files);

    let common: Vec<&(PathBuf, usize)> = ours.keys().filter(|line| theirs.contains_key(*line)).collect();
    let different: Vec<&(PathBuf, usize)> =
        common.iter().copied().filter(|line| ours[*line] != theirs[*line]).collect();
    let tool = if compiler == "gcc" { "gcov" } else { "llvm-cov" };
    let both = common.iter().filter(|line| ours[**line] && theirs[**line]).count();
    println!(
        "{} {compiler} {level}: {} lines that both know, {both} executed for both, {} differ",
        library.name,
        common.len(),
        different.len()
    );
    for line in different.iter().take(SHOWN) {
        let whose = if ours[*line] { "--coverage" } else { tool };
        println!("    {}: executed only for {whose}: {}", shown(line), files.line(line));
    }
    files.kinds(tool, &alone(&theirs, &ours));
    files.kinds("--coverage", &alone(&ours, &theirs));

    let wrong = against_execution(&ours, &executed, &mut files);
    // If a branch goes to a jump, gcc lets it go to the target of the jump, except where gcov counts.
    let skipped = different.iter().filter(|line| theirs[**line] && jumps.contains_key(**line)).count();
    let is_known = |line: &(PathBuf, usize), files: &mut Sources| {
        let (place, text) = (shown(line), files.line(line));
        KNOWN
            .iter()
            .find(|(at, begin, _)| *at == place && text.starts_with(begin))
            .map(|(.., reason)| *reason)
    };
    let mut known = 0;
    for line in different.iter().filter(|_| level == EXACT) {
        if let Some(reason) = is_known(line, &mut files) {
            println!("    {}: {reason}", shown(line));
            known += 1;
        }
    }
    println!("  {skipped} of the lines that differ are jumps that are skipped, {known} are known");
    let is_exact = compiler == "gcc" && level == EXACT;
    wrong + if is_exact { different.len() - skipped - known } else { 0 }
}

/// The lines that only the first one has.
fn alone(one: &Lines, other: &Lines) -> Vec<(PathBuf, usize)> {
    one.keys().filter(|line| !other.contains_key(*line)).cloned().collect()
}

/// Compares lines with those of the executed instructions. Returns the number of wrong ones.
fn against_execution(ours: &Lines, executed: &Lines, files: &mut Sources) -> usize {
    // A line of which no instruction can have a probe is left out.
    let wrong: Vec<_> = executed
        .iter()
        .filter(|(line, executed)| ours.get(*line).is_some_and(|ours| ours != *executed))
        .collect();
    let missing = alone(executed, ours);
    let unknown = missing.len();
    let invented = alone(ours, executed);
    println!(
        "  {} lines have instructions, {} of them executed; {} are wrong, {unknown} unknown, and {} more have none",
        executed.len(),
        executed.values().filter(|executed| **executed).count(),
        wrong.len(),
        invented.len()
    );
    for line in missing.iter().take(SHOWN) {
        println!("    {}: unknown: {}", shown(line), files.line(line));
    }
    for (line, executed) in wrong.iter().take(SHOWN) {
        let not = if **executed { "" } else { "not " };
        println!("    {}: its instructions are {not}executed: {}", shown(line), files.line(line));
    }
    assert!(unknown * 100 <= executed.len(), "{unknown} of {} lines are not known", executed.len());
    wrong.len() + invented.len()
}

/// The lines that dtrace finds.
fn covered(plain: &Built, files: &mut Sources) -> Lines {
    let dir = tempfile::tempdir().expect("a directory");
    let (info, program) = (dir.path().join("info"), plain.program.display().to_string());
    let info = info.to_str().expect("text");
    let output = dtrace(&["-q", "--coverage", "a.out:*", "--lcov", info, "-c", &program], Some(dir.path()));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    said.lines().filter(|line| line.starts_with("dtrace:")).for_each(|line| println!("  {line}"));
    files.of_lcov(&fs::read_to_string(info).expect("an lcov file"))
}

/// The lines that the compiler's own counters say.
fn counted(built: &Built, compiler: &str, files: &mut Sources) -> Lines {
    let folder = built.program.parent().expect("a folder");
    let raw = folder.join("raw");
    let names = |end: &str| -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let named = entries.filter(|path| path.extension().is_some_and(|extension| extension == end));
        named.map(|path| path.display().to_string()).collect()
    };
    // Counts of an earlier run would be added to.
    names("gcda").iter().for_each(|path| fs::remove_file(path).expect("removed"));
    let ran = Command::new(&built.program).env("LLVM_PROFILE_FILE", &raw).output().expect("the program");
    assert!(ran.status.success());
    let program = built.program.display().to_string();
    if compiler == "clang" {
        return files.of_lcov(&exported(&program, &raw.display().to_string()));
    }
    let mut lines = Lines::new();
    for counts in names("gcda") {
        let report = run("gcov", &["--json-format", "--stdout", &counts]);
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        for file in report["files"].as_array().expect("files") {
            let number = |line: &serde_json::Value| line["line_number"].as_u64().expect("a number") as usize;
            let executed = |line: &serde_json::Value| line["count"].as_u64().expect("a count") > 0;
            let counted = file["lines"].as_array().expect("lines").iter();
            let name = file["file"].as_str().expect("a name");
            files.add(&mut lines, name, counted.map(|line| (number(line), executed(line))));
        }
    }
    lines
}

/// The lines of the instructions that QEMU executes, and those whose instructions do nothing but jump.
fn executed(plain: &Built, files: &mut Sources) -> (Lines, Lines) {
    let program = plain.program.display().to_string();
    let all = instructions(&program);
    let asked: Vec<String> = all.keys().map(|address| format!("{address:x}")).collect();
    let hits = plain.follow(&asked);
    let dir = tempfile::tempdir().expect("a directory");
    let (mut lines, mut others) = (Lines::new(), Lines::new());
    let places = places(dir.path(), &program, all.keys());
    for (((file, line), hits), insn) in places.iter().zip(hits).zip(all.values()) {
        if *line > 0 {
            let is_jump = insn.text.starts_with("jmp ") || insn.text.trim() == "nop";
            files.add(&mut lines, file, std::iter::once((*line, hits > 0)));
            files.add(&mut others, file, std::iter::once((*line, !is_jump)));
        }
    }
    others.retain(|_, others| !*others);
    (lines, others)
}

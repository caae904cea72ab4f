//! tests/oracle/dwarf.rs: the variants of debug information from compilers and packagers, each compared with addr2line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use kinst::debuginfo::ElfFile;
use kinst::dwarf::{self, DebugInfo};

use crate::needs;

/// Inlined in both units: a loop, a branch that returns early, a cold part, and a function nested in a function.
const HEADER: &str = "
extern void effect(int);
struct pair { int left, right; };
static inline __attribute__((always_inline)) int innermost(struct pair *p) {
    if (p->left > 3) { effect(p->left); return 1; }
    return p->right * 7;
}
static inline __attribute__((always_inline)) int summed(struct pair *p, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += innermost(p + i);
        if (__builtin_expect(sum > 99, 0)) { effect(sum); effect(n); }
    }
    return sum;
}
";
const ONE: &str = "
#include \"shared.h\"
int exported(int x);
int one(struct pair *p) { return summed(p, 5) + exported(p->left) + innermost(p + 9); }
int main(int argc, char **argv) { struct pair p[10] = { { argc, 1 } }; (void)argv; return one(p) + summed(p, argc); }
";
const TWO: &str = "
#include \"shared.h\"
void effect(int x) { __asm__ volatile (\"\" :: \"r\"(x)); }
int exported(int x) { struct pair p = { x, x + 1 }; { int y = summed(&p, 1); effect(y); } return innermost(&p); }
";

struct Fixture {
    dir: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in [("shared.h", HEADER), ("one.c", ONE), ("two.c", TWO)] {
            std::fs::write(dir.path().join(name), text).expect("a file");
        }
        Fixture { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(self.dir.path())
            .output()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    }

    fn gcc(&self, program: &str, flags: &[&str]) -> PathBuf {
        let arguments = [flags, &["-Wl,--build-id", "-o", program, "one.c", "two.c"]].concat();
        self.run("gcc", &arguments);
        self.path(program)
    }
}

/// Returns, for each function, the addresses that its copies cover and those where they begin.
fn copies(path: &Path, functions: &[&str]) -> Vec<(BTreeSet<u64>, BTreeSet<u64>)> {
    let image = ElfFile::open(path).expect("a program");
    let wanted: Vec<String> = functions.iter().map(|name| (*name).to_owned()).collect();
    let findings = dwarf::find(&image, &wanted, true).expect("debug information");
    assert_eq!(findings.damaged, Vec::<String>::new());
    let of = |function: &dwarf::Function| {
        let covered = function.copies.iter().flat_map(|copy| copy.ranges.iter().cloned().flatten());
        (covered.collect(), function.copies.iter().map(|copy| copy.entry_pc).collect())
    };
    findings.functions.iter().map(of).collect()
}

/// Returns addr2line's functions and lines for each byte of .text, the innermost first.
fn addr2line(path: &Path, addresses: &[u64]) -> Vec<Vec<(String, String)>> {
    let list: Vec<String> = addresses.iter().map(|address| format!("{address:#x}")).collect();
    let output = Command::new("addr2line").args(["-aif", "-e"]).arg(path).args(&list).output();
    let output = String::from_utf8_lossy(&output.expect("addr2line").stdout).into_owned();
    let mut answers: Vec<Vec<(String, String)>> = Vec::new();
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        match answers.last_mut() {
            _ if line.starts_with("0x") => answers.push(Vec::new()),
            Some(answer) => {
                let place = lines.next().unwrap_or_default();
                let place = place.split_once(" (").map_or(place, |(place, _)| place);
                answer.push((line.to_owned(), place.rsplit('/').next().unwrap_or(place).to_owned()));
            }
            None => panic!("{line}"),
        }
    }
    assert_eq!(answers.len(), addresses.len());
    answers
}

/// Returns the addresses in the functions of the two files.
fn text(image: &ElfFile) -> Vec<u64> {
    let mut addresses = BTreeSet::new();
    image
        .for_each_code_symbol(|symbol| {
            let name = symbol.name.split('.').next().unwrap_or_default();
            if ["one", "main", "effect", "exported"].contains(&name) {
                addresses.extend(symbol.address..symbol.address + symbol.size);
            }
        })
        .expect("symbols");
    addresses.into_iter().collect()
}

/// Checks that copies, frames and lines agree with addr2line, at each byte.
fn agrees(path: &Path) {
    let image = ElfFile::open(path).expect("a program");
    let info = DebugInfo::open(&image).expect("debug information");
    let addresses = text(&image);
    let theirs = addr2line(path, &addresses);
    let functions = ["summed", "innermost"];
    let ours = copies(path, &functions);
    let mut frames = 0;
    for (address, theirs) in addresses.iter().zip(&theirs) {
        let names: Vec<&str> = theirs.iter().map(|(name, _)| name.as_str()).collect();
        let (_, inlined) = names.split_last().expect("a function");
        for (function, (covered, _)) in functions.iter().zip(&ours) {
            assert_eq!(covered.contains(address), inlined.contains(function), "{function} at {address:#x}");
        }
        let found = info.frames_at(*address).expect("frames");
        assert_eq!(found.iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>(), names, "{address:#x}");
        let lines = info.lines_at(*address).expect("lines").expect("a table");
        let line = lines.at(*address).expect("a line");
        let mut places = vec![format!("{}:{}", line.file.rsplit('/').next().unwrap_or_default(), line.line)];
        places.extend(found.iter().filter_map(|frame| {
            let call = frame.call.as_ref()?;
            Some(format!("{}:{}", call.file.rsplit('/').next()?, call.line))
        }));
        // binutils shows the name of the linker's unit where the line table has a file's name.
        let expected = theirs.iter().zip(&places).map(|((_, place), ours)| match place.split_once(">:") {
            Some(("<artificial", line)) => format!("{}:{line}", ours.split(':').next().unwrap_or_default()),
            _ => place.replace(":?", ":0"),
        });
        assert_eq!(places, expected.collect::<Vec<_>>(), "{address:#x}");
        frames += found.len();
    }
    assert!(frames > addresses.len() && addresses.len() > 100, "{frames} frames, {}", addresses.len());
}

/// Checks that two files of the same code give the same answers for each of its bytes.
fn same(a: &Path, b: &Path) {
    let images = [a, b].map(|path| ElfFile::open(path).expect("a program"));
    let infos = [&images[0], &images[1]].map(|image| DebugInfo::open(image).expect("debug information"));
    for address in text(&images[0]) {
        let [a, b] = [&infos[0], &infos[1]].map(|info| {
            let frames = info.frames_at(address).expect("frames");
            // A partial unit does not record its compilation directory: its paths stay absolute.
            let definition = |origin| {
                let definition = info.definition(origin).expect("a definition");
                let file = definition.file.rsplit('/').next().map(str::to_owned);
                (definition.name.clone(), file, definition.line)
            };
            let definitions: Vec<_> = frames.iter().map(|frame| definition(frame.origin)).collect();
            let line = info.lines_at(address).expect("lines").expect("a table").at(address).map(|at| at.line);
            let frames: Vec<_> = frames
                .into_iter()
                .map(|frame| (frame.name, frame.call, frame.entries, frame.ranges))
                .collect();
            (frames, definitions, line)
        });
        assert_eq!(a, b, "{address:#x}");
    }
}

#[test]
fn each_version_of_the_format() {
    let fixture = Fixture::new();
    for version in ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5"] {
        for level in ["-O1", "-O2", "-Os"] {
            agrees(&fixture.gcc("program", &[version, level]));
        }
    }
    agrees(&fixture.gcc("split", &["-g", "-O2", "-freorder-blocks-and-partition", "-ffunction-sections"]));
    agrees(&fixture.gcc("packed", &["-g", "-O2", "-gz"]));
}

#[test]
fn origins_in_another_unit() {
    let fixture = Fixture::new();
    // The link-time compiler writes a separate unit, with origins in the units of the files.
    let linked = fixture.gcc("linked", &["-g", "-O2", "-flto", "-flto-partition=none"]);
    agrees(&linked);
    agrees(&fixture.gcc("parts", &["-g", "-O2", "-flto", "-flto-partition=1to1", "-ffat-lto-objects"]));
}

#[test]
fn partial_units_and_an_alternate_file() {
    if !needs::program("dwz") {
        return;
    }
    let fixture = Fixture::new();
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let before = fixture.gcc("before", &[version, "-O2"]);
        let functions = ["summed", "innermost"];
        let known = copies(&before, &functions);
        assert!(known.iter().all(|(covered, entries)| !covered.is_empty() && entries.len() > 1));
        // In one file: entries that its units have in common become a partial unit.
        let alone = fixture.path("alone");
        fixture.run("cp", &["before", "alone"]);
        fixture.run("dwz", &["alone"]);
        assert_eq!(copies(&alone, &functions), known, "{version}");
        // binutils loses the frames whose function is in another unit; the file before dwz was compared with it.
        agrees(&before);
        same(&before, &alone);
        // In two: the partial unit becomes a separate file.
        fixture.run("cp", &["before", "first"]);
        let other = fixture.gcc("other", &[version, "-O1"]);
        fixture.run("cp", &["other", "second"]);
        fixture.run("dwz", &["-m", "common.debug", "-r", "first", "second"]);
        let first = fixture.path("first");
        let image = ElfFile::open(&first).expect("a program");
        let alternate = image.alternate().expect("a name of another file").expect("that file");
        assert!(alternate.path().ends_with("common.debug"));
        assert_eq!(copies(&first, &functions), known, "{version}");
        let inline = dwarf::inline_names(&image).expect("names");
        assert!(functions.iter().all(|function| inline.contains(*function)), "{inline:?}");
        assert!(dwarf::may_know(&image, &["summed".to_owned()]));
        same(&before, &first);
        agrees(&other);
        same(&other, &fixture.path("second"));
        // A different file in its place is not used, and the message for a missing one gives the build id.
        let id = alternate.build_id().expect("an id").to_string();
        std::fs::copy(&before, fixture.path("common.debug")).expect("another file");
        let error = |path: &Path| {
            let image = ElfFile::open(path).expect("a program");
            let error = image.alternate().expect("a name").err().expect("a refusal").diagnostic();
            format!("{}\n{}", error.title, error.notes.join("\n"))
        };
        assert!(error(&first).contains(&id), "{}", error(&first));
        std::fs::remove_file(fixture.path("common.debug")).expect("gone");
        assert!(error(&first).contains("common.debug") && error(&first).contains(&id), "{}", error(&first));
        assert!(copies(&first, &["nothing"])[0].0.is_empty(), "the rest can be read");
    }
}

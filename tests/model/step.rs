//! tests/model/step.rs: compiles programs, and executes them instruction by instruction.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, ExitStatus};

use kinst::sites::copies::calls::{self, Call, Place};

use crate::binutils;
use crate::commands::{run, support};
use crate::live::environment;
use crate::needs;

/// Returns gcc, and clang if it is installed: its copies have no DW_AT_entry_pc.
pub(crate) fn compilers() -> Vec<&'static str> {
    if needs::program("clang") { vec!["gcc", "clang"] } else { vec!["gcc"] }
}

pub(crate) const LEVELS: [&str; 3] = ["-O1", "-O2", "-Os"];
const FORMATS: [&str; 2] = ["-gdwarf-4", "-gdwarf-5"];

/// Returns all combinations of compiler, optimization level and format of the debug information.
pub(crate) fn ways() -> impl Iterator<Item = [&'static str; 3]> {
    compilers().into_iter().flat_map(|compiler| {
        let ways = LEVELS.into_iter().flat_map(|level| FORMATS.map(|format| (level, format)));
        ways.map(move |(level, format)| [compiler, level, format])
    })
}

/// A program and its executor.
pub(crate) struct Stepped {
    pub dir: tempfile::TempDir,
    pub program: String,
    by: By,
}

/// The executor of a program, step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The processor.
    Here,
    /// QEMU, as a program of arm64.
    Qemu,
}

/// An instruction, or the edge from it to another one.
pub(crate) type Edge = (u64, Option<u64>);

/// The limit on executed instructions of one program.
pub(crate) const LIMIT: u64 = 30_000_000;

/// QEMU's user mode.
const QEMU: &str = "qemu-aarch64-static";

/// Without this threshold, it makes tables only for 17 cases and more.
pub(crate) const TABLES: [&str; 2] = ["-fjump-tables", "--param=case-values-threshold=3"];

/// The compiler for arm64.
pub(crate) const CROSS: &str = "aarch64-linux-gnu-gcc";

/// The hits of one inlined call.
pub(crate) struct Counted {
    pub call: Call,
    pub entries: u64,
    pub returns: u64,
}

impl Stepped {
    pub(crate) fn compile(compiler: &str, source: &Path, options: &[&str]) -> Stepped {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name).to_str().expect("text").to_owned();
        let program = path("program");
        let source = source.to_str().expect("text");
        let mut arguments = vec!["-w", "-no-pie", "-o", &program, source];
        arguments.extend(options);
        run(compiler, &arguments);
        Stepped { dir, program, by: By::Here }
    }

    /// A program that has been compiled into a folder.
    pub(crate) fn built(dir: tempfile::TempDir, program: String) -> Stepped {
        Stepped { dir, program, by: By::Here }
    }

    /// Compiles a program for arm64. The breakpoints of the x86 programs do nothing there.
    pub(crate) fn compile_for_arm64(compiler: &str, source: &Path, options: &[&str]) -> Stepped {
        let text = std::fs::read_to_string(source).expect("a source");
        let dir = tempfile::tempdir().expect("a directory");
        let source = dir.path().join("program.c");
        std::fs::write(&source, text.replace("int3", "nop")).expect("written");
        let stepped = Stepped::compile(compiler, &source, &[options, &["-static"]].concat());
        Stepped { by: By::Qemu, ..stepped }
    }

    pub(crate) fn calls(&self, functions: &[String]) -> BTreeMap<String, Vec<Call>> {
        let path = Path::new(&self.program);
        // A compiler may remove all calls of a function.
        let calls = |function: &String| calls::in_file(path, function).unwrap_or_default().calls;
        functions.iter().map(|function| (function.clone(), calls(function))).collect()
    }

    pub(crate) fn count(&self, functions: &[String]) -> BTreeMap<String, Vec<Counted>> {
        let all = self.calls(functions);
        let mut sites: Vec<Edge> = Vec::new();
        for call in all.values().flatten() {
            let boundaries = call.entries.iter().chain(&call.returns);
            sites.extend(boundaries.map(|at| (at.place.address, at.to.as_ref().map(|to| to.address))));
        }
        let mut hits = match self.by {
            By::Here => self.hits_here(&sites),
            By::Qemu => self.hits_in_qemu(&sites),
        }
        .into_iter();
        let counted = all.into_iter().map(|(function, calls)| {
            let counted = calls.into_iter().map(|call| {
                let mut sum = |count| (0..count).map(|_| hits.next().expect("a count")).sum();
                let (entries, returns) = (sum(call.entries.len()), sum(call.returns.len()));
                Counted { call, entries, returns }
            });
            (function, counted.collect())
        });
        counted.collect()
    }

    fn hits_here(&self, sites: &[Edge]) -> Vec<u64> {
        let lines = sites.iter().map(|(from, to)| match to {
            Some(to) => format!("{from:x} {to:x}"),
            None => format!("{from:x}"),
        });
        self.step(LIMIT, lines).expect("an end")
    }

    /// Steps through the program, and counts the hits of each line; `None` if it exceeds the limit, or is killed.
    pub(crate) fn step(&self, limit: u64, lines: impl Iterator<Item = String>) -> Option<Vec<u64>> {
        let mut text = String::new();
        lines.for_each(|line| writeln!(text, "{line}").expect("a string"));
        let file = self.dir.path().join("sites");
        std::fs::write(&file, text).expect("written");
        let mut command = stepper(self.dir.path());
        let output = command.arg(limit.to_string()).arg(file).arg(&self.program).output().expect("step");
        if output.status.code() == Some(3) {
            return None;
        }
        assert!(output.status.success(), "{}: {}", self.program, String::from_utf8_lossy(&output.stderr));
        let hits = String::from_utf8(output.stdout).expect("text");
        Some(hits.lines().map(|line| line.parse().expect("a number")).collect())
    }

    /// QEMU writes the address of each instruction that it executes.
    fn hits_in_qemu(&self, sites: &[Edge]) -> Vec<u64> {
        let log = self.dir.path().join("log");
        let log = log.to_str().expect("text");
        run(QEMU, &["-singlestep", "-d", "exec,nochain", "-D", log, &self.program]);
        let mut of: HashMap<Edge, Vec<usize>> = HashMap::new();
        for (number, site) in sites.iter().enumerate() {
            of.entry(*site).or_default().push(number);
        }
        let mut hits = vec![0; sites.len()];
        let mut before = 0;
        let lines = BufReader::new(std::fs::File::open(log).expect("a log")).lines();
        for line in lines.map(|line| line.expect("text")) {
            // `Trace 0: 0x7f60 [00000000/0000000000400580/…] main`
            let Some(at) = line.split('/').nth(1).filter(|_| line.starts_with("Trace")) else { continue };
            let at = u64::from_str_radix(at, 16).expect("an address");
            // An interrupted instruction is listed twice.
            let own = of.get(&(at, None)).filter(|_| before != at);
            for number in own.into_iter().chain(of.get(&(before, Some(at)))).flatten() {
                hits[*number] += 1;
            }
            before = at;
        }
        assert!(before != 0, "an empty log");
        hits
    }

    /// Checks with objdump that every site is an instruction of its function.
    pub(crate) fn check_places<'c>(&self, calls: impl Iterator<Item = &'c Call>) -> usize {
        let functions = disassembled(&self.program);
        let mut checked = 0;
        for call in calls {
            let boundaries = call.entries.iter().chain(&call.returns);
            for Place { address, caller, .. } in
                boundaries.flat_map(|at| std::iter::once(&at.place).chain(&at.to))
            {
                let (name, offset) = caller.as_ref().expect("a caller");
                let named = functions.iter().filter(|(function, ..)| function == name);
                let inside = |(_, range, starts): &(String, Range<u64>, BTreeSet<u64>)| {
                    address - offset == range.start && starts.contains(address)
                };
                assert!(named.into_iter().any(inside), "{name}+{offset} at {address:#x}");
                checked += 1;
            }
        }
        assert!(checked > 0);
        checked
    }
}

/// Compiles tests/support/step.c into a folder.
fn stepper(folder: &Path) -> Command {
    let step = folder.join("step");
    run("gcc", &["-O2", "-w", "-o", step.to_str().expect("text"), support("step.c").to_str().expect("text")]);
    Command::new(step)
}

/// Runs a program in a folder step by step, from its first instruction to its last, and counts the hits of these
/// places; `None` if it exceeds the limit.
pub(crate) fn follow(
    limit: u64,
    program: &Path,
    arguments: &[String],
    folder: &Path,
    lines: &[String],
) -> Option<(Vec<u64>, ExitStatus)> {
    let dir = tempfile::tempdir().expect("a directory");
    let [sites, hits] = ["sites", "hits"].map(|name| dir.path().join(name));
    std::fs::write(&sites, lines.join("\n")).expect("written");
    let mut command = stepper(dir.path());
    command.arg("-o").arg(&hits).arg(limit.to_string()).arg(sites).arg(program).args(arguments);
    let output = command.current_dir(folder).envs(environment()).output().expect("step");
    let hits = std::fs::read_to_string(&hits).ok()?;
    Some((hits.lines().map(|line| line.parse().expect("a number")).collect(), output.status))
}

/// Returns the functions of a program: name, range, addresses of instructions.
fn disassembled(program: &str) -> Vec<(String, Range<u64>, BTreeSet<u64>)> {
    let objdump = binutils::tool("objdump", Path::new(program));
    let text = run(&objdump, &["-d", "--no-show-raw-insn", program]);
    let mut functions: Vec<(String, Range<u64>, BTreeSet<u64>)> = Vec::new();
    for line in text.lines() {
        if let Some((address, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            let start = u64::from_str_radix(address, 16).expect("an address");
            functions.push((name.to_owned(), start..start, BTreeSet::new()));
        } else if let Some((address, _)) = line.trim_start().split_once(":\t")
            && let Ok(address) = u64::from_str_radix(address, 16)
            && let Some((_, range, starts)) = functions.last_mut()
        {
            range.end = address + 1;
            starts.insert(address);
        }
    }
    functions
}

/// The number in an environment variable.
pub(crate) fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

//! The cost of --annotate of a program's function: next to a D program with a probe at the head of each block. On this
//! machine, in turn.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::hits::median;
use crate::setup::{host, libraries};
use crate::{exec, vm, workspace};

/// Functions in loops: the library, the folder of its sources, its options, the function.
const FUNCTIONS: [(&str, &str, &[&str], &str); 4] = [
    ("lz4", "lz4-sys/liblz4/lib", &[], "LZ4_decompress_safe"),
    ("lz4", "lz4-sys/liblz4/lib", &[], "LZ4_compress_fast_extState"),
    ("zlib", "libz-sys/src/zlib", &["-DHAVE_UNISTD_H"], "longest_match"),
    ("zlib", "libz-sys/src/zlib", &["-DHAVE_UNISTD_H"], "inflate_fast"),
];

const ROUNDS: usize = 3;

/// The cost of the block heads is to be at least so many times that of --annotate.
const AIM: f64 = 4.0;

pub(super) fn main() -> Result<()> {
    host::ensure_for_libraries()?;
    let sources = libraries::ensure()?;
    let dtrace = vm::programs::build(false)?.into_iter().next().context("no dtrace was built")?;
    println!(
        "{:<28} {:>6} {:>6} {:>10} {:>10} {:>10} {:>8}   milliseconds of the program's processor time, medians",
        "a function", "heads", "probes", "alone", "annotate", "heads", "ratio"
    );
    for (library, folder, options, function) in FUNCTIONS {
        let program = build(library, &sources.join(folder), options)?;
        let function = Function::new(&dtrace, &program, function)?;
        let rounds = (0..ROUNDS).map(|_| function.round()).collect::<Result<Vec<_>>>()?;
        let middle = |of: &dyn Fn(&Round) -> f64| median(&rounds.iter().map(of).collect::<Vec<_>>());
        let milliseconds = |of: &dyn Fn(&Round) -> f64| middle(of) / 1e6;
        println!(
            "{:<28} {:>6} {:>6} {:>10.0} {:>10.0} {:>10.0} {:>8.1}   aim {AIM}",
            format!("{library}: {}", function.name),
            function.heads,
            function.probes,
            milliseconds(&|round| round.alone),
            milliseconds(&|round| round.annotated),
            milliseconds(&|round| round.at_heads),
            middle(&Round::ratio),
        );
    }
    Ok(())
}

/// Compiles a library with its driver.
fn build(library: &str, folder: &Path, options: &[&str]) -> Result<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    let drivers = workspace::root().join("tests/support/libraries");
    files.extend([drivers.join(format!("{library}.c")), drivers.join("cpu.c")]);
    let program = workspace::target().join("bench").join(library);
    fs::create_dir_all(program.with_file_name(""))?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g", "-w", "-no-pie"]).args(options).arg("-I").arg(folder);
    exec::run(gcc.arg("-o").arg(&program).args(files))?;
    Ok(program)
}

/// A function that is measured.
struct Function<'a> {
    dtrace: &'a Path,
    program: &'a Path,
    name: &'a str,
    /// The D program with a probe at the head of each block.
    script: PathBuf,
    heads: usize,
    /// The number of probes of --annotate.
    probes: usize,
}

/// The processor time of the program in nanoseconds: without probes, with those of --annotate, with those at the heads.
struct Round {
    alone: f64,
    annotated: f64,
    at_heads: f64,
}

impl Round {
    fn ratio(&self) -> f64 {
        (self.at_heads - self.alone) / (self.annotated - self.alone)
    }
}

impl<'a> Function<'a> {
    fn new(dtrace: &'a Path, program: &'a Path, name: &'a str) -> Result<Function<'a>> {
        let objects = program.with_extension("json");
        // dtrace appends to its output file.
        if objects.exists() {
            fs::remove_file(&objects)?;
        }
        let mut command = annotate(dtrace, program, name);
        exec::output(command.arg("--json").arg("-o").arg(&objects))?;
        let text = fs::read_to_string(&objects).with_context(|| objects.display().to_string())?;
        let objects: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let is = |object: &Value, key: &str| object[key].as_bool() == Some(true);
        let mut places: BTreeMap<String, u64> = BTreeMap::new();
        for head in objects.iter().filter(|object| is(object, "block") && is(object, "traceable")) {
            let (function, offset) = (head["function"].as_str(), head["offset"].as_u64());
            let place = format!("{}:{:x}", function.context("no function")?, offset.context("no offset")?);
            places.insert(place, head["count"].as_u64().unwrap_or(0));
        }
        let hits: u64 = places.values().sum();
        if hits < 50_000 {
            bail!("{name} is hardly executed: {hits} executions of its blocks");
        }
        let probes: Vec<String> = places.keys().map(|place| format!("pid$target:a.out:{place}")).collect();
        let script = program.with_extension("d");
        fs::write(&script, format!("{}\n{{\n\t@[id] = count();\n}}\n", probes.join(",\n")))?;
        let probes = objects.iter().filter(|object| is(object, "counted")).count();
        Ok(Function { dtrace, program, name, script, heads: places.len(), probes })
    }

    fn round(&self) -> Result<Round> {
        let mut heads = Command::new(self.dtrace);
        heads.arg("-qs").arg(&self.script).arg("-c").arg(self.program);
        Ok(Round {
            alone: time(&mut Command::new(self.program))?,
            annotated: time(&mut annotate(self.dtrace, self.program, self.name))?,
            at_heads: time(&mut heads)?,
        })
    }
}

fn annotate(dtrace: &Path, program: &Path, function: &str) -> Command {
    let mut command = Command::new(dtrace);
    command.args(["-q", "--annotate", &format!("a.out:{function}"), "-c"]).arg(program);
    command
}

/// The processor time that the program prints at its end.
fn time(command: &mut Command) -> Result<f64> {
    let output = exec::captured(command)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let time = said.lines().find_map(|line| line.strip_prefix("cpu ")?.parse().ok());
    time.with_context(|| format!("{} printed no time: {said}", exec::shown(command)))
}

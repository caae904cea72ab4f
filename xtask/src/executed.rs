//! `cargo xtask executed`: the counts of --annotate against QEMU's own log of the instructions that a guest executes.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::bench::guest::Output;
use crate::kernels::{Kernel, Name};
use crate::vm::machine::{End, Machine};
use crate::vm::{self, Guest};
use crate::{exec, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The kernel to boot
    #[arg(long, default_value_t)]
    kernel: Name,
    /// Use dtrace as built for the packages, which takes minutes longer
    #[arg(long)]
    release: bool,
    /// Fail if fewer functions were called
    #[arg(long, value_name = "N", default_value_t = 20)]
    least: usize,
}

/// An instruction, with its count from --annotate.
struct Counted {
    function: String,
    offset: u64,
    text: String,
    count: Option<u64>,
}

/// The line after the log.
const END: &[u8] = b"end";

const LIMIT: Duration = Duration::from_secs(1200);

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    // On one processor, and with the same addresses in both guests.
    let guest = Guest {
        kernel: options.kernel,
        smp: 1,
        append: "nokaslr".into(),
        release: options.release,
        ..Guest::default()
    };
    let mut contents = vm::built(&guest)?;
    for file in ["tests/vm/rare.c", "tests/vm/executed.sh"] {
        contents.pushed.push(vm::programs::from_source(&workspace::root().join(file), &[])?);
    }
    contents.runs = vec!["exec sh executed.sh\n".into(), "exec ./rare\n".into()];
    let counted = counted(&vm::text(&mut vm::boot(&guest, &contents)?, 0, LIMIT)?)?;
    println!("{} instructions counted", counted.len());
    // With the real clock, a guest that logs its instructions would spend all its time in timer interrupts.
    let guest = Guest { accel: "icount".into(), ..guest };
    let logged = logged(&mut vm::boot(&guest, &contents)?, &counted)?;
    println!("{}", Kernel::need(options.kernel)?.release);
    Ok(compare(&counted, &logged, options.least))
}

/// The instructions by address.
fn counted(objects: &str) -> Result<BTreeMap<u64, Counted>> {
    let mut counted = BTreeMap::new();
    for line in objects.lines() {
        let object: Value =
            serde_json::from_str(line).with_context(|| format!("not a JSON object: {line}"))?;
        let text = |name: &str| object[name].as_str().with_context(|| format!("no {name} in {line}"));
        let address = text("address")?.trim_start_matches("0x");
        let insn = Counted {
            function: text("function")?.to_owned(),
            offset: object["offset"].as_u64().context("no offset")?,
            text: text("text")?.to_owned(),
            count: object["count"].as_u64(),
        };
        counted.insert(u64::from_str_radix(address, 16)?, insn);
    }
    Ok(counted)
}

/// Runs the load once more, without probes, and returns how often QEMU executed each of the instructions.
fn logged(machine: &mut Machine, wanted: &BTreeMap<u64, Counted>) -> Result<HashMap<u64, i64>> {
    let mut counts: HashMap<u64, i64> = wanted.keys().map(|address| (*address, 0)).collect();
    // The log has every instruction of the guest, so it is read while it is written.
    let log = Pipe::new(workspace::target().join("vm/executed.log"))?;
    let path = log.path.clone();
    let reader = std::thread::spawn(move || -> Result<_> {
        for line in BufReader::new(File::open(path)?).split(b'\n') {
            let line = line?;
            if line == END {
                break;
            }
            if let Some((address, times)) = execution(&String::from_utf8_lossy(&line))
                && let Some(count) = counts.get_mut(&address)
            {
                *count += times;
            }
        }
        Ok(counts)
    });
    let mut output = Output::default();
    // The first run differs from later ones, as nothing is cached yet: it is not logged.
    machine.run(1, LIMIT, &mut output)?;
    if machine.run_logged(1, LIMIT, &mut output, &log.path)? != End::Exit(0) {
        bail!("the load failed: {}\n{}", output.errors, machine.log.excerpt(machine.run_start, 60));
    }
    // QEMU holds the pipe open, so a line marks the end.
    let mut end = File::options().write(true).open(&log.path)?;
    end.write_all(END).and_then(|()| end.write_all(b"\n"))?;
    reader.join().map_err(|_| anyhow::anyhow!("the reader of the log panicked"))?
}

/// The address of a line of the log, and how often it adds to the executions there.
fn execution(line: &str) -> Option<(u64, i64)> {
    let (before, rest) = line.split_once('[')?;
    // Trace CPU: HOST [CS_BASE/PC/FLAGS/CFLAGS] SYMBOL
    if before.starts_with("Trace ") {
        return Some((u64::from_str_radix(rest.split('/').nth(1)?, 16).ok()?, 1));
    }
    // An interrupt came first: Stopped execution of TB chain before HOST [PC] SYMBOL
    let pc = before.starts_with("Stopped execution").then(|| rest.split(']').next())??;
    Some((u64::from_str_radix(pc, 16).ok()?, -1))
}

fn compare(counted: &BTreeMap<u64, Counted>, logged: &HashMap<u64, i64>, least: usize) -> ExitCode {
    // By function: the executions of all instructions, the number of instructions, and how many have another count.
    let mut functions: BTreeMap<&str, (i64, usize, usize)> = BTreeMap::new();
    let mut unknown = 0;
    for (address, insn) in counted {
        // The log has a line for each round of a `rep` instruction.
        let (Some(count), false) = (insn.count, insn.text.starts_with("rep")) else {
            unknown += 1;
            continue;
        };
        let log = logged.get(address).copied().unwrap_or(0);
        let (executions, all, wrong) = functions.entry(&insn.function).or_default();
        *executions += log;
        *all += 1;
        if i64::try_from(count).ok() != Some(log) {
            *wrong += 1;
            println!("{} + {}: {count} counted, {log} in the log: {}", insn.function, insn.offset, insn.text);
        }
    }
    let called: Vec<_> = functions.iter().filter(|(_, (executions, ..))| *executions > 0).collect();
    for (name, (executions, all, wrong)) in &called {
        println!("{name}: {executions} executions of {all} instructions, {wrong} differ");
    }
    let sum = |of: fn(&(i64, usize, usize)) -> usize| functions.values().map(of).sum::<usize>();
    let wrong = sum(|one| one.2);
    println!(
        "{} functions were called, {} instructions compared, {wrong} differ, {unknown} have no count",
        called.len(),
        sum(|one| one.1)
    );
    if wrong == 0 && called.len() >= least { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A named pipe, which is removed at the end.
struct Pipe {
    path: PathBuf,
}

impl Pipe {
    fn new(path: PathBuf) -> Result<Pipe> {
        remove(&path);
        exec::run(Command::new("mkfifo").arg(&path))?;
        Ok(Pipe { path })
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    // It may not exist.
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::execution;

    #[test]
    fn lines_of_the_log() {
        let trace = "Trace 0: 0x7f10c8000100 [00000000/ffffffff8130e3f0/0040c0b0/ff000301] vfs_write";
        assert_eq!(execution(trace), Some((0xffff_ffff_8130_e3f0, 1)));
        let stopped = "Stopped execution of TB chain before 0x7f10c8000100 [ffffffff8130e3f0] vfs_write";
        assert_eq!(execution(stopped), Some((0xffff_ffff_8130_e3f0, -1)));
        assert_eq!(execution("cpu_io_recompile: rewound execution of TB to ffffffff8130e3f0"), None);
        assert_eq!(execution("Trace 0: [x/y/z]"), None);
    }
}

//! `cargo xtask gcov`: the lines of --coverage against the counts of a kernel with gcov, for the same load in the
//! same run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::kernels::Name;
use crate::vm::{self, Guest};
use crate::{cache, exec, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Use dtrace as built for the packages, which takes minutes longer
    #[arg(long)]
    release: bool,
}

/// Whether each line was executed, by file and number.
type Lines = BTreeMap<(String, u64), bool>;

const LIMIT: Duration = Duration::from_secs(900);

/// The folder of the kernel's source that is built with counters.
const FOLDER: &str = "fs/ext4";

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let guest = Guest { kernel: Name::Gcov, mem: 3072, release: options.release, ..Guest::default() };
    let mut contents = vm::built(&guest)?;
    let script = workspace::root().join("tests/vm/gcov.sh");
    contents.pushed.push(vm::programs::from_source(&script, &[])?);
    contents.runs = vec!["exec sh gcov.sh\n".into()];
    let text = vm::text(&mut vm::boot(&guest, &contents)?, 0, LIMIT)?;
    let (info, counters) = text.split_once("counters:").context("the guest has no counters")?;
    let folder = workspace::target().join("gcov");
    write(counters, &folder)?;
    compare(&ours(info), &theirs(&folder)?)
}

/// Writes the counters, each after its name, next to the compiler's notes on the code.
fn write(counters: &str, folder: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let notes = tree()?.join(FOLDER);
    for file in counters.split("counters:") {
        let (name, hex) = file.split_once('\n').context("counters without a name")?;
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16);
        let bytes: Vec<u8> = digits.chunks(2).map(byte).collect::<Result<_, _>>()?;
        fs::write(folder.join(name), bytes)?;
        let note = Path::new(name).with_extension("gcno");
        fs::copy(notes.join(&note), folder.join(&note)).with_context(|| format!("{}", note.display()))?;
    }
    Ok(())
}

fn tree() -> Result<PathBuf> {
    Ok(cache::dir()?.join("builds").join(Name::Gcov.as_str()))
}

/// The lines of an lcov file.
fn ours(info: &str) -> Lines {
    let mut file = String::new();
    let mut lines = Lines::new();
    for line in info.lines() {
        if let Some(name) = line.strip_prefix("SF:") {
            file = name.to_owned();
        } else if let Some((number, count)) = line.strip_prefix("DA:").and_then(|rest| rest.split_once(','))
            && let Ok(number) = number.parse()
        {
            lines.insert((file.clone(), number), count != "0");
        }
    }
    lines
}

/// The lines that gcov derives from the counters.
fn theirs(folder: &Path) -> Result<Lines> {
    let mut lines = Lines::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "gcda") {
            continue;
        }
        let mut gcov = Command::new("gcov");
        let text = exec::output(gcov.current_dir(tree()?).arg("--stdout").arg("--json-format").arg(&path))?;
        let report: Value = serde_json::from_str(&text).with_context(|| format!("{}", path.display()))?;
        for file in report["files"].as_array().into_iter().flatten() {
            let name = file["file"].as_str().unwrap_or_default().trim_start_matches("./");
            for line in file["lines"].as_array().into_iter().flatten() {
                let number = line["line_number"].as_u64().context("a line without a number")?;
                let executed = line["count"].as_u64().is_some_and(|count| count > 0);
                *lines.entry((name.to_owned(), number)).or_default() |= executed;
            }
        }
    }
    Ok(lines)
}

fn compare(ours: &Lines, theirs: &Lines) -> Result<ExitCode> {
    let of_folder = |(file, _): &&(String, u64)| file.starts_with(FOLDER) && file.ends_with(".c");
    let both: Vec<&(String, u64)> =
        ours.keys().filter(of_folder).filter(|line| theirs.contains_key(*line)).collect();
    let (same, other): (Vec<&(String, u64)>, Vec<_>) =
        both.iter().copied().partition(|line| ours[*line] == theirs[*line]);
    let executed = same.iter().filter(|line| ours[**line]).count();
    for line in other.iter().copied() {
        let whose = if ours[line] { "--coverage" } else { "gcov" };
        println!("{}:{}: executed only for {whose}", line.0, line.1);
    }
    let alone = other.iter().filter(|line| ours[**line]).count();
    println!(
        "{} lines that both know, {} the same ({executed} of these executed); {} differ: {alone} are executed only for --coverage, {} only for gcov",
        both.len(),
        same.len(),
        other.len(),
        other.len() - alone
    );
    // The compiler attributes instructions that several lines share to one of them.
    Ok(if same.len() * 100 > both.len() * 97 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

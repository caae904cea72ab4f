//! `cargo xtask objects`: whether -O json has the same content as the text, program by program, and follows its
//! schema.
//!
//! A guest runs each program once, with both output formats. The objects are checked against the schema and converted
//! to text, which is compared with dtrace's own text.

mod compare;
mod json;
mod schema;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::kernels::Name;
use crate::vm::machine::{Captured, End};
use crate::vm::{self, Guest, contents::Contents, programs};
use crate::{pace, workspace};
use json::Json;
use schema::Faults;
use text::Style;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The kernel to boot
    #[arg(long, default_value_t)]
    pub kernel: Name,
    /// Use dtrace as built for the packages, which takes minutes longer
    #[arg(long)]
    pub release: bool,
    /// Run without the module: programs that BPF does not support must be refused by name
    #[arg(long)]
    pub without_module: bool,
    /// Only these programs, by number
    pub numbers: Vec<usize>,
}

/// The run fails if fewer programs have recorded something.
const LEAST: usize = 200;
const LIMIT: Duration = Duration::from_secs(900);

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let compared = run(options)?;
    println!("{compared} programs: the objects follow the schema and match the text");
    Ok(ExitCode::SUCCESS)
}

/// Returns the number of programs that were compared.
pub(crate) fn run(options: &Options) -> Result<usize> {
    let programs = programs()?;
    let folder = write(&programs, &options.numbers)?;
    let outputs = trace(options, &folder)?;
    let faults = schema::faults(outputs.values().flat_map(Output::lines))?;
    let (mut compared, mut wrong, mut empty, mut refused) = (0, Vec::new(), Vec::new(), Vec::new());
    for (number, program) in programs.iter().enumerate() {
        let Some(output) = outputs.get(&number) else { continue };
        let said = String::from_utf8_lossy(&output.messages);
        match check(program, output, &faults) {
            // The kernel's verifier refuses it.
            _ if said.contains("the kernel refuses a program") => {
                wrong.push(format!("{number}: {}\n{said}", program.trim()));
            }
            Ok(0) if said.contains("without the module, ") => {
                let line = said.lines().find(|line| line.contains("without the module, "));
                refused.push(format!("{number}: {}", line.unwrap_or_default()));
            }
            Ok(0) => empty.push(number.to_string()),
            Ok(_) => compared += 1,
            Err(error) => wrong.push(format!("{number}: {}\n{error:#}", program.trim())),
        }
    }
    eprintln!("objects: without records, or not for this kernel: {}", empty.join(" "));
    refused.iter().for_each(|refused| eprintln!("objects: {refused}"));
    if !wrong.is_empty() {
        bail!("{} programs differ:\n{}", wrong.len(), wrong.join("\n\n"));
    }
    if options.numbers.is_empty() && compared < LEAST {
        bail!("only {compared} programs have recorded something; {LEAST} are expected");
    }
    Ok(compared)
}

/// The scripts of tests/scripts and the examples.
fn programs() -> Result<Vec<String>> {
    let root = workspace::root();
    let mut programs = Vec::new();
    for file in files(&root.join("tests/scripts"), "txt")? {
        programs.extend(fs::read_to_string(file)?.split("=====\n").map(str::to_owned));
    }
    for file in files(&root.join("examples"), "d")? {
        programs.push(fs::read_to_string(file)?);
    }
    Ok(programs)
}

fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    Ok(files)
}

/// Makes the guest's folder, with a file for each program.
fn write(programs: &[String], only: &[usize]) -> Result<PathBuf> {
    let folder = workspace::target().join("vm/objects/programs");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    for (number, program) in programs.iter().enumerate() {
        if only.is_empty() || only.contains(&number) {
            fs::write(folder.join(format!("{number}.d")), program)?;
        }
    }
    Ok(folder)
}

/// The output of a program.
#[derive(Default)]
struct Output {
    text: Vec<u8>,
    objects: Vec<u8>,
    /// Standard error, and the exit status.
    messages: Vec<u8>,
}

impl Output {
    /// The objects, each as its line.
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.objects.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
    }
}

/// Runs all programs in a guest.
fn trace(options: &Options, folder: &Path) -> Result<BTreeMap<usize, Output>> {
    let mut guest = Guest { kernel: options.kernel, release: options.release, ..Guest::default() };
    let mut script = "exec sh objects.sh\n".to_owned();
    if options.without_module {
        guest.no_module = true;
        guest.append += vm::LOCKED;
        script.insert_str(0, vm::BY_BPF);
    }
    let mut contents = Contents { runs: vec![script], ..vm::built(&guest)? };
    contents.pushed.push(folder.to_owned());
    for file in ["objects.sh", "work.c"] {
        let file = workspace::root().join("tests/vm/files").join(file);
        contents.pushed.push(programs::from_source(&file, &[])?);
    }
    let mut machine = vm::boot(&guest, &contents)?;
    let mut captured = Captured::default();
    let end = machine.run(0, pace::limit(LIMIT * guest.kernel.slowness()), &mut captured)?;
    if end != End::Exit(0) {
        let log = machine.log.excerpt(machine.run_start, 80);
        bail!(
            "the programs do not come to their end: {end:?}\n{}\n{log}",
            String::from_utf8_lossy(&captured.err)
        );
    }
    if let Some(trouble) = machine.log.first_trouble(machine.run_start) {
        bail!("the kernel is in trouble: {trouble}");
    }
    Ok(split(&captured.out))
}

/// Splits the guest's output at its marks: `\x02text 12` and `\x02objects 12`.
fn split(out: &[u8]) -> BTreeMap<usize, Output> {
    let mut outputs: BTreeMap<usize, Output> = BTreeMap::new();
    for part in out.split(|byte| *byte == 2).skip(1) {
        let end = part.iter().position(|byte| *byte == b'\n').unwrap_or(part.len());
        let head = String::from_utf8_lossy(&part[..end]).into_owned();
        let body = part.get(end + 1..).unwrap_or_default().to_vec();
        let Some((kind, number)) = head.split_once(' ') else { continue };
        let Ok(number) = number.parse() else { continue };
        let output = outputs.entry(number).or_default();
        match kind {
            "text" => output.text = body,
            "objects" => output.objects = body,
            _ => output.messages = body,
        }
    }
    outputs
}

/// Returns the number of words that are the same; 0 if nothing was recorded.
fn check(program: &str, output: &Output, faults: &Faults) -> Result<usize> {
    let mut objects: Vec<Json> = Vec::new();
    for line in output.lines() {
        let shown = || String::from_utf8_lossy(line).into_owned();
        objects.push(serde_json::from_slice(line).with_context(shown)?);
        if let Some(fault) = faults.get(line) {
            bail!("{}: {fault}", shown());
        }
    }
    let kind = |object: &Json| object["type"].as_str().unwrap_or_default().to_owned();
    if !objects.iter().any(|object| ["record", "aggregation"].contains(&&*kind(object))) {
        return Ok(0);
    }
    if kind(&objects[0]) != "begin" || objects.last().map(kind).as_deref() != Some("end") {
        let said = String::from_utf8_lossy(&output.messages);
        bail!("the objects do not begin with `begin` and end with `end`:\n{said}");
    }
    let set = |option: &str| program.contains(&format!("#pragma D option {option}"));
    let style = Style { quiet: set("quiet"), flow: set("flowindent"), raw: set("rawbytes") };
    let expected = text::text(&objects, style);
    compare::compare(&output.text, &expected).map_err(anyhow::Error::msg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_split_the_output() {
        let outputs = split(b"noise\x02text 3\na\nb\n\x02objects 3\n{}\n\x02text 4\n");
        assert_eq!(outputs[&3].text, b"a\nb\n");
        assert_eq!(outputs[&3].objects, b"{}\n");
        assert!(outputs[&4].text.is_empty());
    }
}

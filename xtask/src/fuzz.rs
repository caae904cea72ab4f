//! `cargo xtask fuzz`: the fuzz targets, for a limited time; any finding is a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::{crates, exec, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The targets to run, one after the other [default: all of fuzz/fuzz_targets, and arm64_slots]
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Minutes for each target
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub minutes: u64,
    /// Processes at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub jobs: u32,
}

/// The target in C: kmod/tests/slots.c.
const IN_C: &str = "arm64_slots";

/// Longer inputs are slower and find little more.
const MAX_LEN: &str = "-max_len=4096";

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let known = targets()?;
    if let Some(unknown) = options.targets.iter().find(|name| !known.contains(name)) {
        bail!("no target {unknown}: the targets are {}", known.join(", "));
    }
    let chosen = if options.targets.is_empty() { &known } else { &options.targets };
    let output = workspace::target().join("fuzz");
    if chosen.iter().any(|name| name != IN_C) {
        build(&output)?;
    }
    if chosen.iter().any(|name| name == IN_C) {
        build_in_c(&output)?;
    }
    let mut found = Vec::new();
    for name in chosen {
        found.extend(run(name, &output, options)?);
    }
    for input in &found {
        println!("found: {}", input.display());
    }
    println!("{} targets, {} minutes each, {} findings", chosen.len(), options.minutes, found.len());
    if found.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "reproduce each with KINST_FUZZ_INPUTS={} cargo test --test outside regressions",
        output.join("found").display()
    );
    println!("once fixed, add it to fuzz/regressions/TARGET/");
    println!("({IN_C} prints the command that reproduces: make -C kmod/tests slots)");
    Ok(ExitCode::FAILURE)
}

/// Builds the targets in Rust.
fn build(output: &Path) -> Result<()> {
    if !exec::in_path("cargo-fuzz") {
        exec::run(crates::cargo(&workspace::root()).args(["install", "--locked", "cargo-fuzz"]))?;
    }
    // Safe Rust needs no sanitizer, and a sanitizer would need a nightly compiler.
    let build = ["fuzz", "build", "--sanitizer", "none", "--target-dir"];
    exec::run(crates::cargo(&workspace::root().join("fuzz")).args(build).arg(output))
}

/// Builds the target in C, with the sanitizers.
fn build_in_c(output: &Path) -> Result<()> {
    if !exec::in_path("clang") {
        bail!("{IN_C} needs clang and libclang-rt-dev");
    }
    let mut make = Command::new("make");
    make.args(["-s", "-C", "kmod/tests", "fuzz"]).current_dir(workspace::root());
    exec::run(make.arg(format!("OUT={}", output.display())))
}

fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(workspace::root().join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.push(IN_C.to_owned());
    names.sort();
    Ok(names)
}

/// Runs a target; returns the inputs on which it fails.
fn run(name: &str, output: &Path, options: &Options) -> Result<Vec<PathBuf>> {
    let (corpus, artifacts) = (output.join("corpus").join(name), output.join("found").join(name));
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    seed(name, &corpus)?;
    let folder =
        if name == IN_C { output.to_owned() } else { output.join("x86_64-unknown-linux-gnu/release") };
    let binary = folder.join(name);
    let mut command = Command::new(binary);
    command.env("RUST_BACKTRACE", "0").arg(MAX_LEN).args(["-timeout=20", "-rss_limit_mb=3000"]);
    command.arg(format!("-fork={}", options.jobs)).args([
        "-ignore_crashes=1",
        "-ignore_timeouts=1",
        "-ignore_ooms=1",
    ]);
    command.arg(format!("-max_total_time={}", options.minutes * 60));
    command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&corpus);
    // The exit status is an error if the target found something; its files are the result.
    exec::status(&mut command).with_context(|| format!("target {name}"))?;
    let mut found = Vec::new();
    for entry in fs::read_dir(&artifacts)? {
        found.push(entry?.path());
    }
    Ok(found)
}

/// Writes valid inputs for a target to begin with.
fn seed(name: &str, corpus: &Path) -> Result<()> {
    match name {
        "parse" | "compile" => seed_texts(corpus),
        "btf" => seed_types(corpus),
        "stapsdt" => seed_notes(corpus),
        "pclntab" => seed_functions(corpus),
        "walk" | "frames" | "lines" | "callers" | "locals" | "index" => seed_changes(corpus, 3, 8),
        // Both files of each set.
        "split_files" => seed_changes(corpus, 32, 17),
        _ => Ok(()),
    }
}

/// The programs of the tests, after a letter that selects how the input is read.
fn seed_texts(corpus: &Path) -> Result<()> {
    let root = workspace::root();
    let mut folders = vec![root.join("src/dlib"), root.join("tests/snapshots")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "d") {
                let room = folder.file_name().unwrap_or_default().to_string_lossy();
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                let text = [b"s".to_vec(), fs::read(&path)?].concat();
                fs::write(corpus.join(format!("{room}-{file}")), text)?;
            }
        }
    }
    Ok(())
}

/// A change of one byte in each file and in each of its parts.
fn seed_changes(corpus: &Path, files: u8, parts: u8) -> Result<()> {
    for (file, part) in (0..files).flat_map(|file| (0..parts).map(move |part| (file, part))) {
        fs::write(corpus.join(format!("change-{file}-{part}")), [file, part, 0x20, 0, 0xff])?;
    }
    Ok(())
}

/// The notes of a program with static probes, after the bytes for a kind of machine and a base.
fn seed_notes(corpus: &Path) -> Result<()> {
    let notes = compiled(corpus, "tests/vm/files/static.c", ".note.stapsdt")?;
    for kind in 0..4 {
        fs::write(corpus.join(format!("notes-{kind}")), [vec![kind, 2], notes.clone()].concat())?;
    }
    Ok(())
}

/// Compiles a file of the project with gcc, and returns a section.
fn compiled(corpus: &Path, source: &str, section: &str) -> Result<Vec<u8>> {
    let (object, cut) = (corpus.with_extension("o"), corpus.with_extension("section"));
    let source = workspace::root().join(source);
    exec::run(Command::new("gcc").args(["-gbtf", "-c", "-o"]).args([&object, &source]))?;
    let (only, loaded) = (format!("--only-section={section}"), format!("{section}=alloc"));
    let how = ["-O", "binary", &only, "--set-section-flags", &loaded];
    exec::run(Command::new("objcopy").args(how).args([&object, &cut]))?;
    Ok(fs::read(&cut)?)
}

/// The tables of small programs of Go, after a byte for the place of their data.
fn seed_functions(corpus: &Path) -> Result<()> {
    for entry in fs::read_dir(workspace::root().join("fuzz/regressions/pclntab"))? {
        let path = entry?.path();
        fs::copy(&path, corpus.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// The BTF of the tests' types, as gcc writes it, after a byte for their kind.
fn seed_types(corpus: &Path) -> Result<()> {
    let types = compiled(corpus, "tests/support/types.c", ".BTF")?;
    for kind in 0..3 {
        fs::write(corpus.join(format!("types-{kind}")), [vec![kind], types.clone()].concat())?;
    }
    Ok(())
}

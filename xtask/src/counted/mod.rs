//! `cargo xtask counted`: entries and returns of inlined functions against a kernel that counts its own calls, or against
//! the calls that functions make by their source, for the same load in the same run.

mod calls;
mod compare;
mod instrumented;
mod places;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::kernels::{Kernel, Name};
use crate::vm::contents::Contents;
use crate::vm::{self, Guest};
use crate::workspace;
use calls::Calls;
use compare::Comparison;
use instrumented::Instrumented;
use places::Places;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Use dtrace as built for the packages, which takes minutes longer
    #[arg(long)]
    release: bool,
    /// Compare with the calls that functions make by their source, on the release's own kernel
    #[arg(long)]
    calls: bool,
    /// Compare only these functions
    #[arg(value_name = "FUNCTION")]
    functions: Vec<String>,
    /// The number of places to probe at once
    #[arg(long, value_name = "N", default_value_t = 14000)]
    size: usize,
    /// Leave out functions that have more places than this
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    most: usize,
    /// Fail if fewer functions were compared
    #[arg(long, value_name = "N", default_value_t = 1000)]
    least: usize,
}

const LIMIT: Duration = Duration::from_secs(1200);

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    if options.calls { source::main(options) } else { hooks(options) }
}

/// Compares with the kernel's own counts.
fn hooks(options: &Options) -> Result<ExitCode> {
    let mut run = Run::prepare(Name::Counted, options)?;
    run.contents.runs = vec!["exec sh counted.sh\n".into()];
    let instrumented = Instrumented::of(run.vmlinux()?)?;
    let alone = vm::text(&mut vm::boot(&run.guest, &run.contents)?, 0, LIMIT)?;
    let alone = calls::kernels(&alone, &instrumented)?;
    let number = |name: &str| instrumented.places(name);
    let names = alone.inlined.iter().map(|name| &**name).filter(|name| options.wants(name, number(name)));
    run.batches(
        names.collect(),
        &number,
        &program,
        |text| {
            let (ours, theirs) = text.split_once("kernel:\n").context("the kernel has counted nothing")?;
            Ok((calls::dtraces(ours, &instrumented)?, calls::kernels(theirs, &instrumented)?))
        },
        &instrumented,
    )
}

impl Options {
    fn wants(&self, name: &str, places: usize) -> bool {
        (self.functions.is_empty() || self.functions.iter().any(|wanted| wanted == name))
            && places <= self.most
    }
}

/// The guest and the kernel, for both methods of counting.
struct Run<'o> {
    options: &'o Options,
    guest: Guest,
    contents: Contents,
    kernel: Kernel,
    inexact: BTreeSet<String>,
}

impl Run<'_> {
    fn prepare(name: Name, options: &Options) -> Result<Run<'_>> {
        // Addresses must be the ones in the kernel's file.
        let guest = Guest {
            kernel: name,
            mem: 4096,
            append: "nokaslr".into(),
            release: options.release,
            ..Guest::default()
        };
        let mut contents = vm::built(&guest)?;
        for file in ["tests/vm/counted.sh", "tests/vm/files/work.c"] {
            contents.pushed.push(vm::programs::from_source(&workspace::root().join(file), &[])?);
        }
        let kernel = Kernel::need(name)?;
        let mut run = Run { options, guest, contents, kernel, inexact: BTreeSet::new() };
        let [_, inlinecall] = &*run.contents.programs else { bail!("no inlinecall was built") };
        run.inexact = places::inexact(inlinecall, run.vmlinux()?)?;
        Ok(run)
    }

    fn vmlinux(&self) -> Result<&Path> {
        self.kernel.vmlinux.as_deref().context("the kernel has no debug information")
    }

    /// Runs the programs of all batches, and compares the two counts that `counts` parses from their output:
    /// dtrace's, and the other ones.
    fn batches(
        mut self,
        names: Vec<&str>,
        number: &dyn Fn(&str) -> usize,
        program: &dyn Fn(&[&str]) -> String,
        counts: impl Fn(&str) -> Result<(Calls, Calls)>,
        code: &Instrumented,
    ) -> Result<ExitCode> {
        let batches = batches(names, number, self.options.size);
        let first = self.contents.runs.len();
        for (n, names) in batches.iter().enumerate() {
            self.contents.pushed.push(written(n, &program(names))?);
            self.contents.runs.push(format!("exec sh counted.sh {n}.d\n"));
        }
        let dtrace = self.contents.programs[0].clone();
        let mut machine = vm::boot(&self.guest, &self.contents)?;
        let mut comparison = Comparison::default();
        for (n, names) in batches.iter().enumerate() {
            let text = match vm::text(&mut machine, first + n, LIMIT) {
                Ok(text) => text,
                // The figures of the earlier batches are still useful.
                Err(error) => {
                    eprintln!("{} of {}: {error:#}", n + 1, batches.len());
                    comparison.report(self.options.least);
                    return Ok(ExitCode::FAILURE);
                }
            };
            // Shows at which places a difference is.
            fs::write(file(n).with_extension("txt"), &text)?;
            let (ours, theirs) = counts(&text)?;
            let differing = compare::differing(names, &ours, &theirs);
            let asked = file(n).with_extension("differing.d");
            fs::write(&asked, program(&differing))?;
            let asked = (!differing.is_empty()).then_some(&*asked);
            let places = Places::of(&dtrace, &self.kernel, &file(n), asked)?;
            let left = places.left(code, &self.inexact, &ours.refused);
            let differ = comparison.add(names, &ours, &theirs, &left);
            eprintln!("{} of {}: {} functions, {differ} differences", n + 1, batches.len(), names.len());
        }
        Ok(comparison.report(self.options.least))
    }
}

/// The functions in groups of at most `size` places, except a function that has more. Functions with few places come
/// first.
fn batches(mut names: Vec<&str>, number: impl Fn(&str) -> usize, size: usize) -> Vec<Vec<&str>> {
    names.sort_by_key(|name| number(name));
    let mut batches: Vec<Vec<&str>> = Vec::new();
    let mut places = 0;
    for name in names {
        let own = number(name);
        match batches.last_mut() {
            Some(batch) if places + own <= size => batch.push(name),
            _ => {
                batches.push(vec![name]);
                places = 0;
            }
        }
        places += own;
    }
    batches
}

/// The condition for a call of the load. PFA_NO_NEW_PRIVS is bit 0; the kernel's hooks test the same.
const WHEN: &str = "/((struct task_struct *)curthread)->atomic_flags & 1 && ipl == 0/";

/// The program that counts the entries and returns of these functions.
fn program(names: &[&str]) -> String {
    let mut text = String::new();
    for name in names {
        text += &format!("kinst::{name}:entry {WHEN} {{ @e[\"{name}\", regs[R_PC]] = count(); }}\n");
        text += &format!("kinst::{name}:return {WHEN} {{ @r[\"{name}\", regs[R_PC]] = count(); }}\n");
    }
    text + "END { printa(\"enter %@d %s %x\\n\", @e); printa(\"exit %@d %s %x\\n\", @r); }\n"
}

/// The file of a batch's program.
fn file(n: usize) -> PathBuf {
    workspace::target().join("counted").join(format!("{n}.d"))
}

fn written(n: usize, program: &str) -> Result<PathBuf> {
    let file = file(n);
    fs::create_dir_all(workspace::target().join("counted"))?;
    fs::write(&file, program)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_with_too_many_places_is_alone() {
        let number = |name: &str| if name == "many" { 20 } else { 4 };
        let groups = batches(vec!["a", "b", "many", "c"], number, 10);
        assert_eq!(groups, [vec!["a", "b"], vec!["c"], vec!["many"]]);
    }
}

//! `cargo xtask counted`: entries and returns of inlined functions against a kernel that counts its own calls, for the same load in the same run.

mod calls;
mod compare;
mod instrumented;
mod places;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::kernels::{Kernel, Name};
use crate::vm::{self, Guest};
use crate::workspace;
use compare::Comparison;
use instrumented::Instrumented;
use places::Places;

#[derive(clap::Args)]
pub struct Options {
    /// Take dtrace from the build that packages have, which takes minutes longer
    #[arg(long)]
    release: bool,
    /// Compare these functions alone
    #[arg(value_name = "FUNCTION")]
    functions: Vec<String>,
    /// The number of places that are probed at once
    #[arg(long, value_name = "N", default_value_t = 14000)]
    size: usize,
    /// Leave out functions that have more places than this
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    most: usize,
    /// The number of functions that have to be compared
    #[arg(long, value_name = "N", default_value_t = 1000)]
    least: usize,
}

const LIMIT: Duration = Duration::from_secs(1200);

pub fn main(options: &Options) -> Result<ExitCode> {
    // The addresses are those of the kernel's file.
    let guest = Guest {
        kernel: Name::Counted,
        mem: 4096,
        append: "nokaslr".into(),
        release: options.release,
        ..Guest::default()
    };
    let mut contents = vm::built(&guest)?;
    for file in ["tests/vm/counted.sh", "tests/vm/files/work.c"] {
        contents.pushed.push(vm::programs::from_source(&workspace::root().join(file), &[])?);
    }
    contents.runs = vec!["exec sh counted.sh\n".into()];
    let kernel = Kernel::need(guest.kernel)?;
    let vmlinux = kernel.vmlinux.as_deref().context("the kernel has no debug information")?;
    let [dtrace, inlinecall] = &*contents.programs else { bail!("there is no inlinecall") };
    let (dtrace, inexact) = (dtrace.clone(), places::inexact(inlinecall, vmlinux)?);
    let instrumented = Instrumented::of(vmlinux)?;
    let alone = vm::text(&mut vm::boot(&guest, &contents)?, 0, LIMIT)?;
    let alone = calls::kernels(&alone, &instrumented)?;
    let wanted = |name: &str| options.functions.is_empty() || options.functions.iter().any(|f| f == name);
    let number = |name: &str| instrumented.places(name);
    let names =
        alone.inlined.iter().map(|name| &**name).filter(|name| wanted(name) && number(name) <= options.most);
    let batches = batches(names.collect(), number, options.size);
    for (n, names) in batches.iter().enumerate() {
        contents.pushed.push(written(n, &program(names))?);
        contents.runs.push(format!("exec sh counted.sh {n}.d\n"));
    }
    let mut machine = vm::boot(&guest, &contents)?;
    let mut comparison = Comparison::default();
    for (n, names) in batches.iter().enumerate() {
        let text = match vm::text(&mut machine, n + 1, LIMIT) {
            Ok(text) => text,
            // The figures of the batches before are worth having.
            Err(error) => {
                eprintln!("{} of {}: {error:#}", n + 1, batches.len());
                comparison.report(options.least);
                return Ok(ExitCode::FAILURE);
            }
        };
        // For who wants to know at which places a difference is.
        fs::write(file(n).with_extension("txt"), &text)?;
        let (ours, theirs) = text.split_once("kernel:\n").context("the kernel has counted nothing")?;
        let ours = calls::dtraces(ours, &instrumented)?;
        let theirs = calls::kernels(theirs, &instrumented)?;
        let differing = file(n).with_extension("differing.d");
        fs::write(&differing, program(&compare::differing(names, &ours, &theirs)))?;
        let places = Places::of(&dtrace, &kernel, &file(n), &differing)?;
        let left = places.left(&instrumented, &inexact, &ours.refused);
        let differ = comparison.add(names, &ours, &theirs, &left);
        eprintln!("{} of {}: {} functions, {differ} differences", n + 1, batches.len(), names.len());
    }
    Ok(comparison.report(options.least))
}

/// The functions in groups of at most so many places, but for a function that has more. Those of few places are first.
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

/// The program that counts the entries and returns of these functions.
fn program(names: &[&str]) -> String {
    // PFA_NO_NEW_PRIVS is bit 0; the kernel's hooks look at the same.
    const WHEN: &str = "/((struct task_struct *)curthread)->atomic_flags & 1 && ipl == 0/";
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

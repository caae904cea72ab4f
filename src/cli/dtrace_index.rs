//! cli/dtrace_index.rs: --index: the indices of inlined functions made, exported and imported.

use super::run::{Failed, Run};
use crate::options::key;
use crate::sites::{Built, Cache, Kernel};
use std::path::Path;

/// Imports what there is to import, or makes all indices, and then exports.
pub fn index(run: &mut Run) -> Result<u8, Failed> {
    let Some(cache) = Cache::of_user().filter(|_| !run.options.flag(key::NOCACHE)) else {
        return run.fail("there is no directory to keep an index in", Some("set HOME or XDG_CACHE_HOME"));
    };
    let imported = run.invocation.imported.clone();
    for from in &imported {
        let kernel = run.kernel()?;
        import(run, &kernel, Path::new(from), &cache)?;
    }
    if imported.is_empty() {
        make(run, &cache)?;
    }
    for to in run.invocation.exported.clone() {
        let kernel = run.kernel()?;
        export(run, &kernel, Path::new(&to))?;
    }
    Ok(0)
}

fn make(run: &mut Run, cache: &Cache) -> Result<(), Failed> {
    let kernel = run.kernel()?;
    let dir = cache.dir().display();
    let Some(built) = run.progress.during("reading debug information", || kernel.index_all()) else {
        let help = "it must be yours to write, and of nobody else";
        return run.fail_as(&format!("the index cannot be kept in {dir}"), Some(help));
    };
    run.tell_of_kernel();
    let Built { modules, kept, functions } = built;
    if modules == 0 {
        return nothing(run, &kernel);
    }
    let release = kernel.release();
    run.put(&format!(
        "{release}: {functions} inlined functions of vmlinux and its modules, {modules} files of debug information ({kept} of them indexed before), in {dir}\n",
    ))
}

fn nothing(run: &mut Run, kernel: &Kernel) -> Result<(), Failed> {
    let help = kernel.debug_package();
    run.fail_as(&format!("no debug information of {} was found", kernel.release()), Some(&help))
}

fn export(run: &mut Run, kernel: &Kernel, to: &Path) -> Result<(), Failed> {
    let shown = to.display();
    match run.progress.during("exporting the index", || kernel.export(to)) {
        Ok(Built { modules: 0, .. }) => nothing(run, kernel),
        Ok(built) => {
            run.put(&format!("{shown}: the indices of {} files of {}\n", built.modules, kernel.release()))
        }
        Err(cause) => run.fail_as(&format!("{shown}: the index cannot be exported: {cause}"), None),
    }
}

fn import(run: &mut Run, kernel: &Kernel, from: &Path, cache: &Cache) -> Result<(), Failed> {
    let found = match run.progress.during("importing the index", || kernel.import(from, cache)) {
        Ok(found) => found,
        Err(why) => {
            let help = "dtrace --index --export FILE makes one, with a dtrace of this version";
            return run.fail_as(&why.to_string(), Some(help));
        }
    };
    let of = if found.release.is_empty() { String::new() } else { format!(" of {}", found.release) };
    let (shown, dir) = (from.display(), cache.dir().display());
    run.put(&format!("{shown}: the indices of {} files{of}, in {dir}\n", found.files))?;
    if found.ours == Some(0) {
        let release = kernel.release();
        let this = if kernel.is_running() { "the running kernel" } else { "the kernel of the sysroot" };
        run.report.warning(&format!("none of them is of {this} ({release}): the build ids are others"));
    }
    Ok(())
}

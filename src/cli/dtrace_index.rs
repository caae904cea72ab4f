//! cli/dtrace_index.rs: --index: makes, exports and imports the indices of inlined functions.

use super::config::Config;
use super::console::{Console, Failed};
use super::subject::Subject;
use crate::options::key;
use kinst_sites::{Built, Cache, Kernel};
use std::path::Path;

/// Imports the files of --import or, without any, makes all indices; then exports.
pub(super) fn index(config: &Config, subject: &Subject, console: &Console) -> Result<u8, Failed> {
    let Some(cache) = Cache::of_user().filter(|_| !config.options.flag(key::NOCACHE)) else {
        return console.fail("no cache directory for the index", Some("set HOME or XDG_CACHE_HOME"));
    };
    let imported = &config.invocation.imported;
    for from in imported {
        let kernel = subject.kernel(console)?;
        import(console, &kernel, Path::new(from), &cache)?;
    }
    if imported.is_empty() {
        make(config, subject, console, &cache)?;
    }
    for to in &config.invocation.exported {
        let kernel = subject.kernel(console)?;
        export(console, &kernel, Path::new(to))?;
    }
    Ok(0)
}

fn make(config: &Config, subject: &Subject, console: &Console, cache: &Cache) -> Result<(), Failed> {
    let kernel = subject.kernel(console)?;
    let dir = cache.dir().display();
    let Some(built) = console.progress.during("reading debug information", || kernel.index_all()) else {
        let help = "it must belong to you, and others must not be able to write to it";
        return console.fail(&format!("cannot store the index in {dir}"), Some(help));
    };
    subject.report_files(console, config.invocation.verbose);
    let Built { modules, kept, functions } = built;
    if modules == 0 {
        return nothing(console, &kernel);
    }
    let release = kernel.release();
    console.put(&format!(
        "{release}: {functions} inlined functions of vmlinux and its modules, {modules} files of debug information \
         ({kept} already indexed), in {dir}\n",
    ))
}

fn nothing(console: &Console, kernel: &Kernel) -> Result<(), Failed> {
    let help = kernel.debug_package();
    console.fail(&format!("no debug information found for {}", kernel.release()), Some(&help))
}

fn export(console: &Console, kernel: &Kernel, to: &Path) -> Result<(), Failed> {
    let shown = to.display();
    match console.progress.during("exporting the index", || kernel.export(to)) {
        Ok(Built { modules: 0, .. }) => nothing(console, kernel),
        Ok(built) => {
            console.put(&format!("{shown}: the indices of {} files of {}\n", built.modules, kernel.release()))
        }
        Err(cause) => console.fail(&format!("{shown}: cannot export the index: {cause}"), None),
    }
}

fn import(console: &Console, kernel: &Kernel, from: &Path, cache: &Cache) -> Result<(), Failed> {
    let found = match console.progress.during("importing the index", || kernel.import(from, cache)) {
        Ok(found) => found,
        Err(why) => {
            let help = "make one with dtrace --index --export FILE, of this version";
            return console.fail(&why.to_string(), Some(help));
        }
    };
    let of = if found.release.is_empty() { String::new() } else { format!(" of {}", found.release) };
    let (shown, dir) = (from.display(), cache.dir().display());
    console.put(&format!("{shown}: the indices of {} files{of}, in {dir}\n", found.files))?;
    if found.ours == Some(0) {
        let release = kernel.release();
        let this = if kernel.is_running() { "the running kernel" } else { "the kernel of the sysroot" };
        console.report.warning(&format!("none of them matches {this} ({release}): the build ids differ"));
    }
    Ok(())
}

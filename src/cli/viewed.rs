//! cli/viewed.rs: the code that --disas, --annotate, --coverage and --path are about: the kernel's, or that of programs.

use super::config::Config;
use super::console::{Console, Failed};
use super::processes;
use super::subject::Subject;
use super::written;
use crate::analysis::source::Sources;
use crate::analysis::whose::Whose;
use crate::backend::bpf;
use crate::options::key;
use kinst_base::probe::{Description, Fields, Probe, Site};
use kinst_base::space::{PROGRAM, Space, TARGET};
use kinst_os::process::Process;
use kinst_sites::listing::disas::Disassembler;
use kinst_sites::listing::{InPrograms, ProgramCode, Searched};
use kinst_sites::{Catalog, Kernel, LiveText, ProbeCatalog as _};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The code of a view.
pub(super) struct Viewed {
    code: Code,
    /// The processes of -c and -p, if they were started for their files.
    pub processes: Option<Vec<Process>>,
}

enum Code {
    Kernel(Arc<Kernel>, Option<Box<dyn LiveText>>),
    Programs(ProgramCode),
}

/// A description of functions, as it was written.
#[derive(Debug, PartialEq, Eq)]
enum Written<'d> {
    /// `vfs_read`, `ext4:*`, `fs/ext4/`: functions of the kernel, or of the process, if no module has the name.
    Plain,
    /// `pid17:a.out:f`: a process, by its provider.
    Process(Space, &'d str, &'d str),
    /// `a.out:f`, `pid$target:libc:f`: the process of -c or -p.
    Target(&'d str, &'d str),
    /// `/usr/bin/x:f`, `uprobe:/usr/bin/x:f`: a file, and whether its provider is given.
    File(&'d str, &'d str, bool),
}

/// Parses a description.
fn parse(description: &str) -> Written<'_> {
    let (first, rest) = description.split_once(':').unwrap_or((description, ""));
    let fields = || rest.split_once(':').unwrap_or((rest, ""));
    match Space::of_program(first) {
        Some(Space::File) => Written::File(fields().0, fields().1, true),
        Some(space) => Written::Process(space, fields().0, fields().1),
        None if first == TARGET => Written::Target(fields().0, fields().1),
        None if first == PROGRAM => Written::Target(first, rest),
        None if first.starts_with('/') && description.contains(':') => Written::File(first, rest, false),
        None => Written::Plain,
    }
}

/// Reports a description that means the process of -c or -p, if there is none.
pub(super) fn lacks_process(config: &Config, console: &Console) -> bool {
    let given = &config.invocation;
    let views = [&given.disassembled, &given.annotated, &given.covered, &given.followed, &given.into];
    let none = given.commands.is_empty() && given.pids.is_empty();
    let is_lost = |one: &&String| none && matches!(parse(one), Written::Target(..));
    let lost = views.into_iter().flatten().find(is_lost);
    if let Some(description) = lost {
        let help = "name it with -c COMMAND or -p PID; a file in all processes: /PATH:FUNCTION";
        console.report.error(&format!("{description} is in a process"), Some(help));
    }
    lost.is_some()
}

impl Viewed {
    /// Opens the code that some descriptions name. The command of -c is started if they name its files.
    pub(super) fn open(
        config: &Config,
        subject: &Subject,
        console: &Console,
        descriptions: &[String],
    ) -> Result<Viewed, Failed> {
        let in_kernel = |description: &String| is_of_kernel(config, subject, description);
        let (kernel, programs): (Vec<&String>, Vec<&String>) =
            descriptions.iter().partition(|description| in_kernel(description));
        let Some(program) = programs.first() else {
            if let Some(module) = kernel.iter().find_map(|one| unknown_module(config, subject, one)) {
                let help =
                    "a library of a program is looked up in a process: name it with -c COMMAND or -p PID";
                return console.fail(&format!("the kernel has no module `{module}`"), Some(help));
            }
            let code = Code::Kernel(subject.kernel(console)?, subject.live_text());
            return Ok(Viewed { code, processes: None });
        };
        if let Some(kernel) = kernel.first() {
            let help = "show them in two runs";
            return console
                .fail(&format!("{program} is in a program, and {kernel} in the kernel"), Some(help));
        }
        let Some(files) = subject.programs() else {
            let help = "leave out --sysroot to show the programs of this machine";
            return console.fail("no program can be looked up: the files are those of a kernel", Some(help));
        };
        let of_target = |one: &&&String| match parse(one) {
            Written::File(.., given) => !given && config.invocation.commands.is_empty(),
            Written::Process(..) => false,
            Written::Plain | Written::Target(..) => true,
        };
        let has_target = !config.invocation.commands.is_empty() || !config.invocation.pids.is_empty();
        let started = programs.iter().any(|one| of_target(&one)) && has_target;
        let processes = started.then(|| processes::start_for(config, console, true)).transpose()?;
        let target = processes.as_deref().map_or(0, processes::target);
        let all = programs.iter().map(|one| in_programs(one, target)).collect();
        let code = ProgramCode::new(files, all, Box::new(bpf::nop5::nop5));
        // A name without a provider may have been meant as one of the kernel's modules.
        let plain = programs.iter().filter(|one| parse(one) == Written::Plain);
        let unknown = plain.into_iter().find_map(|one| unknown_module(config, subject, one));
        let code = code.map_err(|error| match unknown {
            Some(module) => Box::new(error.note(format!("the kernel has no module `{module}`, either"))),
            None => error,
        });
        Ok(Viewed { code: Code::Programs(console.reported(code)?), processes })
    }

    /// Like [`Viewed::open`], after a check that a backend can trace that code.
    pub(super) fn to_trace(
        config: &Config,
        subject: &Subject,
        console: &Console,
        descriptions: &[String],
    ) -> Result<Viewed, Failed> {
        match descriptions.iter().all(|description| is_of_kernel(config, subject, description)) {
            true => written::require_backend(config, subject, console)?,
            false => written::require_programs(config, subject, console)?,
        }
        Viewed::open(config, subject, console, descriptions)
    }

    /// Whether the code is that of programs.
    pub(super) fn is_of_programs(&self) -> bool {
        matches!(self.code, Code::Programs(_))
    }

    pub(super) fn disassembler(&self) -> Disassembler<'_> {
        Disassembler::new(match &self.code {
            Code::Kernel(kernel, live) => Searched::Kernel { kernel, live: live.as_deref() },
            Code::Programs(code) => Searched::Programs(code),
        })
    }

    /// Reports that functions of programs also have inlined copies, which a view of the function leaves out. In a kernel,
    /// the search would take long.
    pub(super) fn report_copies(
        &self,
        console: &Console,
        disassembler: &Disassembler<'_>,
        descriptions: &[String],
        done: &str,
    ) {
        for description in descriptions.iter().filter(|_| self.is_of_programs()) {
            let (count, name) = disassembler.times_inlined(description);
            let copies = if count == 1 { "1 copy, which is" } else { &format!("{count} copies, which are") };
            if count > 0 && disassembler.has_own_code(description) {
                console.report.notice(&format!("{name} is also inlined: {copies} not {done} here"));
            }
        }
    }

    /// Returns the source files of the code. Paths of programs that are not absolute count from the current folder, or
    /// from that of the program.
    pub(super) fn sources(&self, config: &Config, subject: &Subject) -> Sources {
        let given = config.options.list(key::SOURCEPATH);
        match &self.code {
            Code::Kernel(..) => {
                let release = subject.is_running().then(kinst_os::release);
                Sources::new(given, release.as_deref())
            }
            Code::Programs(code) => {
                let mut folders: Vec<PathBuf> = std::env::current_dir().into_iter().collect();
                folders.extend(code.paths().filter_map(|path| path.parent().map(Path::to_owned)));
                Sources::of_programs(given, folders)
            }
        }
    }

    /// Returns how the debug information is installed.
    pub(super) fn debug_package(&self) -> String {
        match &self.code {
            Code::Kernel(kernel, _) => kernel.debug_package(),
            Code::Programs(code) => code.debug_package(),
        }
    }

    /// Returns the threads whose executions count. A provider pid counts those of one process.
    pub(super) fn whose(&self, whose: Whose) -> Whose {
        match &self.code {
            Code::Programs(code) if code.is_of_processes() => Whose::All,
            _ => whose,
        }
    }
}

/// Returns the ids of the probes at sites of programs, as far as they are armed: `probefunc` is not always the function
/// of a site.
pub(super) fn ids<'s>(
    catalog: &Catalog,
    armed: &mut dyn Iterator<Item = &Probe>,
    sites: impl Iterator<Item = &'s Site>,
) -> HashMap<Fields, u32> {
    let armed: HashSet<u32> = armed.map(|probe| probe.id).collect();
    let id = |site: &Site| {
        let found = catalog.matches(&Description::Site(Box::new(site.clone()))).ok()?;
        found.iter().map(|probe| probe.id).find(|id| armed.contains(id))
    };
    sites.filter_map(|site| Some((site.fields(), id(site)?))).collect()
}

/// Whether a description means functions of the kernel.
fn is_of_kernel(config: &Config, subject: &Subject, description: &str) -> bool {
    if parse(description) != Written::Plain {
        return false;
    }
    let has_target = !config.invocation.commands.is_empty() || !config.invocation.pids.is_empty();
    match description.split_once(':') {
        // With a process, a module that the kernel does not have is one of its libraries.
        Some((module, _)) if has_target && !module.is_empty() => {
            let is_provider = ["kinst", "fbt"].contains(&module);
            let has = |kernel: Arc<Kernel>| !kernel.modules_matching(module).is_empty();
            is_provider || subject.open_kernel().is_ok_and(has)
        }
        _ => true,
    }
}

/// Returns the module of a description of the kernel that may be a library, as it is none of the kernel's.
fn unknown_module<'d>(config: &Config, subject: &Subject, description: &'d str) -> Option<&'d str> {
    let (module, _) =
        description.split_once(':').filter(|(module, rest)| !module.is_empty() && !rest.contains(':'))?;
    let is_here = config.options.text(key::SYSROOT).is_none();
    let has = |kernel: Arc<Kernel>| !kernel.modules_matching(module).is_empty();
    let is_known = ["kinst", "fbt"].contains(&module) || subject.open_kernel().map_or(true, has);
    (is_here && !is_known).then_some(module)
}

/// Completes a description of programs; `target` is the process of -c or -p, or 0.
fn in_programs(description: &str, target: u32) -> InPrograms {
    let process = Space::Process(target);
    let (space, module, function) = match parse(description) {
        Written::Process(space, module, function) => (space, module, function),
        Written::Target(module, function) => (process, module, function),
        Written::File(path, function, given) if given || target == 0 => (Space::File, path, function),
        Written::File(path, function, _) => (process, path, function),
        Written::Plain => {
            let (module, function) = description.split_once(':').unwrap_or(("", description));
            (process, module, function)
        }
    };
    let inner = function.strip_prefix('"').and_then(|function| function.strip_suffix('"'));
    InPrograms {
        description: description.to_owned(),
        space,
        module: module.to_owned(),
        function: inner.unwrap_or(function).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_programs_and_of_the_kernel() {
        for kernel in
            ["vfs_read", "ext4:ext4_map_blocks", "fs/ext4/", "kernel/fork.c", "*", "libc:f", "/path"]
        {
            assert_eq!(parse(kernel), Written::Plain, "{kernel}");
        }
        assert_eq!(parse("a.out:f"), Written::Target("a.out", "f"));
        assert_eq!(parse("pid$target:libc:f"), Written::Target("libc", "f"));
        assert_eq!(parse("pid17:a.out:P::f"), Written::Process(Space::Process(17), "a.out", "P::f"));
        assert_eq!(parse("/usr/bin/x:f"), Written::File("/usr/bin/x", "f", false));
        assert_eq!(parse("uprobe:/usr/bin/x:f"), Written::File("/usr/bin/x", "f", true));
    }

    #[test]
    fn a_file_is_traced_in_the_process_that_is_named() {
        let of = |description: &str, target| {
            let InPrograms { space, module, function, .. } = in_programs(description, target);
            (space, module, function)
        };
        let expected = |space, module: &str, function: &str| (space, module.to_owned(), function.to_owned());
        assert_eq!(of("/x:f", 0), expected(Space::File, "/x", "f"));
        assert_eq!(of("/x:f", 7), expected(Space::Process(7), "/x", "f"));
        assert_eq!(of("uprobe:/x:f", 7), expected(Space::File, "/x", "f"));
        assert_eq!(of("libc:f", 7), expected(Space::Process(7), "libc", "f"));
        assert_eq!(of("a.out:\"P::f\"", 7), expected(Space::Process(7), "a.out", "P::f"));
        assert_eq!(of("a.out:P::f", 7), expected(Space::Process(7), "a.out", "P::f"));
    }
}

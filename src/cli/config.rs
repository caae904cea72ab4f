//! cli/config.rs: the request of a run: arguments, options, and the sources of its programs and libraries.

use super::console::{Console, Failed};
use super::cpp;
use super::dtrace_args::{Invocation, Mode, ProgramArg};
use super::output::reason;
use super::report::Inserted;
use crate::options::{From, Options, key};
use crate::parser::Macros;
use crate::pipeline::LibraryFile;
use kinst_base::diag::Diagnostic;
use kinst_base::diag::render::end_of_descriptions;
use kinst_base::source::{FileId, Origin, Source, Sources};
use std::io::Read as _;

/// The whole request of a run.
pub(crate) struct Config {
    pub invocation: Invocation,
    pub options: Options,
    pub sources: Sources,
    /// Parallel to [`Invocation::programs`].
    pub files: Vec<FileId>,
    pub libraries: Vec<LibraryFile>,
    /// The parts of a generated program that come from the command line.
    pub inserted: Vec<Inserted>,
    /// The command's name.
    pub command: String,
}

impl Config {
    pub(crate) fn new(invocation: Invocation, console: &Console) -> Result<Config, Failed> {
        let mut config = Config {
            invocation,
            options: Options::default(),
            sources: Sources::default(),
            files: Vec::new(),
            libraries: Vec::new(),
            inserted: Vec::new(),
            command: console.report.program.clone(),
        };
        config.set_options(console)?;
        Ok(config)
    }

    /// Sets the options from the environment, then from the command line in its order.
    fn set_options(&mut self, console: &Console) -> Result<(), Failed> {
        for (name, value) in std::env::vars_os() {
            let name = name.to_string_lossy().to_ascii_lowercase();
            let Some(name) = name.strip_prefix("dtrace_opt_") else { continue };
            let value = value.to_string_lossy();
            self.set_option(console, name, Some(&*value).filter(|value| !value.is_empty()))?;
        }
        for (name, value) in self.invocation.settings.clone().into_iter().filter(|(name, _)| name != "help") {
            self.set_option(console, &name, value.as_deref())?;
        }
        Ok(())
    }

    fn set_option(&mut self, console: &Console, name: &str, value: Option<&str>) -> Result<(), Failed> {
        self.options.set(name, value, From::CommandLine).or_else(|error| {
            console.fail(&format!("failed to set -x {name}: {error}"), error.help().as_deref())
        })
    }

    pub(crate) fn read_programs(&mut self, console: &Console) -> Result<(), Failed> {
        for ProgramArg { origin, text } in self.invocation.programs.clone() {
            let text = match origin {
                Origin::Script => Source { text: self.read_script(console, &text)?, name: text, origin },
                _ => Source { name: text.clone(), text, origin },
            };
            self.files.push(self.sources.add(text));
        }
        Ok(())
    }

    fn read_script(&self, console: &Console, path: &str) -> Result<String, Failed> {
        let mut bytes = read_bytes(console, path)?;
        if self.options.flag(key::CPP) {
            bytes = cpp::preprocess(&bytes, path, &self.options).or_else(|error| {
                console.fail(&format!("failed to compile script {path}: {error}"), error.help())
            })?;
        }
        decode(console, bytes, path)
    }

    /// Whether this run traces, which requires the files of the running kernel.
    pub(crate) fn traces(&self) -> bool {
        let Invocation { mode, dump, formatted, disassembled, .. } = &self.invocation;
        *mode == Mode::Trace && !dump && formatted.is_empty() && disassembled.is_empty()
    }

    /// Whether a program names probes in the process of -c or -p: `pid$target`, or `python$target`.
    pub(crate) fn names_target(&self) -> bool {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = |text: &str| text.match_indices("$target").any(|(at, _)| text[..at].ends_with(is_name));
        self.files.iter().any(|file| names(&self.sources.get(*file).text))
    }

    /// Returns the values of the macro variables; `target` is $target, or 0.
    pub(crate) fn macros(&self, target: u32) -> Macros {
        let mut scripts = self.invocation.programs.iter().filter(|program| program.origin == Origin::Script);
        let script = scripts.next_back().map_or_else(|| self.command.clone(), |s| s.text.clone());
        let mut variables = macro_variables(target);
        if target != 0 && kinst_os::pid_namespace().is_some() {
            variables.retain(|(name, _)| name != "target");
        }
        let Invocation { commands, pids, operands, .. } = &self.invocation;
        let targetless = self.traces() && commands.is_empty() && pids.is_empty();
        Macros { script, arguments: operands.clone(), variables, targetless }
    }

    /// Returns how messages refer to a program on the command line: `description` or `script`, and its name.
    pub(crate) fn program_name(&self, program: usize) -> (&'static str, &str) {
        match self.invocation.programs.get(program) {
            None => ("description", ""),
            Some(program) if program.origin == Origin::Script => ("script", &program.text),
            // The description ends at its predicate or body.
            Some(program) => ("description", &program.text[..end_of_descriptions(&program.text)]),
        }
    }

    /// Returns the name for messages about the whole enabling.
    pub(crate) fn enabling_name(&self) -> String {
        let given = &self.invocation;
        let views = [("annotate", &given.annotated), ("coverage", &given.covered), ("path", &given.followed)];
        match views.iter().find(|(_, functions)| !functions.is_empty()) {
            Some((option, functions)) => format!("--{option} {}", functions.join(" ")),
            None => self.program_name(0).1.to_owned(),
        }
    }

    /// Reports a diagnostic about the program, or about a position in it.
    pub(crate) fn report(&self, console: &Console, diagnostic: &Diagnostic) {
        console.report.diagnostic(&self.sources, diagnostic, self.files.first().copied());
    }
}

/// Reads a script without preprocessing.
pub(super) fn read_file(console: &Console, path: &str) -> Result<String, Failed> {
    decode(console, read_bytes(console, path)?, path)
}

fn read_bytes(console: &Console, path: &str) -> Result<Vec<u8>, Failed> {
    let mut bytes = Vec::new();
    // One byte more than the limit, to detect a source that exceeds it.
    let most = crate::parser::MAX_TEXT as u64 + 1;
    let read = match path {
        "-" => std::io::stdin().take(most).read_to_end(&mut bytes),
        _ => std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => console.fail(&format!("failed to open {path}: {}", reason(&error)), None),
    }
}

fn decode(console: &Console, bytes: Vec<u8>, path: &str) -> Result<String, Failed> {
    crate::parser::decode(bytes).or_else(|diagnostic| {
        let tag = if console.report.errtags { format!("[{}] ", diagnostic.tag.0) } else { String::new() };
        let help = diagnostic.help.first().map(String::as_str);
        console.fail(&format!("failed to compile script {path}: {tag}{}", diagnostic.title), help)
    })
}

fn macro_variables(target: u32) -> Vec<(String, i64)> {
    let kinst_os::Identity { uid, euid, gid, egid } = kinst_os::identity();
    // getsid() and the like are not used: rustix panics at 0, which the kernel returns for a session begun outside the
    // process's PID namespace.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = |number: usize| {
        after_name.split_whitespace().nth(number - 3).and_then(|f| f.parse().ok()).unwrap_or(0)
    };
    let values = [
        ("pid", std::process::id().into()),
        ("ppid", field(4)),
        ("pgid", field(5)),
        ("sid", field(6)),
        ("uid", uid.into()),
        ("euid", euid.into()),
        ("gid", gid.into()),
        ("egid", egid.into()),
        ("projid", 0),
        ("taskid", 0),
        ("target", target.into()),
    ];
    values.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

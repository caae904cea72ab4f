//! cli/doctor/: the command doctor: what tracing needs, what of it was found, and the command that mends the rest.

mod bpf;
mod files;
mod kernel;
mod module;
mod rights;
mod show;
mod tracers;
mod verdict;

use super::report::{FAILURE, Report, USAGE};
use crate::backend;
use crate::backend::bpf::{EnableError, Means};
use crate::backend::module::{Device, Error};
use kinst_host::archive;
use kinst_host::distribution::{Family, Part};
use std::thread;

/// The word that is the command's first argument.
pub const WORD: &str = "doctor";

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Good,
    /// Tracing works, though not all of it, or not by the module.
    Warning,
    /// Nothing can be traced.
    Fault,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub state: State,
    /// What was found, in one line.
    pub found: String,
    /// The one command that mends it, to be pasted into a shell.
    pub mend: Option<String>,
    /// What has to follow the command, or to be done where there is none.
    pub then: Option<String>,
}

impl Finding {
    fn new(state: State, found: impl Into<String>) -> Finding {
        Finding { state, found: found.into(), mend: None, then: None }
    }

    fn good(found: impl Into<String>) -> Finding {
        Finding::new(State::Good, found)
    }

    fn warning(found: impl Into<String>) -> Finding {
        Finding::new(State::Warning, found)
    }

    fn fault(found: impl Into<String>) -> Finding {
        Finding::new(State::Fault, found)
    }

    fn mend(self, command: impl Into<String>) -> Finding {
        Finding { mend: Some(command.into()), ..self }
    }

    fn mend_if(self, command: Option<String>) -> Finding {
        Finding { mend: command, ..self }
    }

    /// Something without which the module, or the kernel's BPF, does not trace: a fault if the other does not either.
    fn hindrance(found: impl Into<String>, machine: &Machine) -> Finding {
        // A user who is not root can make no more of it.
        let is_fault = machine.root && !machine.traces();
        Finding::new(if is_fault { State::Fault } else { State::Warning }, found)
    }

    /// The command that installs a part, or the file that is looked for if no package is known to have it.
    fn install(self, part: Part, machine: &Machine) -> Finding {
        let Machine { release, family, .. } = machine;
        if let Some(command) = archive::install(*family, part, release) {
            return self.mend(command);
        }
        self.then(match part {
            Part::Headers => "no package of them is known here; where the kernel was built has them",
            Part::DebugInformation => {
                "no package of it is known here; it is looked for in /usr/lib/debug, or is what --vmlinux FILE says"
            }
            Part::Module => "dtrace and the module have to be of one version: install the newer module",
            Part::Tool => "dtrace and the module have to be of one version: install the newer dtrace",
            Part::Modprobe | Part::Debuginfod | Part::Mokutil => {
                "no package of it is known here; it is looked for in the directories of PATH"
            }
        })
    }

    fn then(self, what: impl Into<String>) -> Finding {
        Finding { then: Some(what.into()), ..self }
    }
}

/// The machine that is examined.
#[derive(Debug)]
pub struct Machine {
    pub release: String,
    pub family: Family,
    /// Whether the process has root's identity.
    pub root: bool,
    /// Whether the module was loaded for the check, or why it cannot be opened.
    pub module: Result<bool, Error>,
    /// The reach of the kernel's BPF, or why it does not trace.
    pub bpf: Result<Means, EnableError>,
}

impl Machine {
    /// Opens the device as a run that traces does; a module that is not loaded is, for the time of the check.
    fn here() -> Machine {
        let root = kinst_os::identity().euid == 0;
        let opened = if root { Device::open_or_load() } else { Device::open().map(|device| (device, false)) };
        let module = opened.map(|(device, loaded)| {
            drop(device);
            if loaded {
                kinst_host::module::unload();
            }
            loaded
        });
        let bpf = backend::bpf::check().map(|()| backend::bpf::means());
        Machine { release: kinst_os::release(), family: Family::running(), root, module, bpf }
    }

    fn read(path: &str) -> Option<String> {
        std::fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
    }

    /// Whether anything can be traced.
    fn traces(&self) -> bool {
        self.module.is_ok() || self.bpf.is_ok()
    }

    fn verdict(&self) -> Finding {
        verdict::of(&verdict::Facts {
            root: self.root,
            module: self.module.as_ref().map(|_| ()),
            bpf: self.bpf.as_ref(),
            hidden: rights::hidden(),
            undescribed: files::undescribed(),
        })
    }
}

/// A check: its name, and the function that does it; `None` if there is nothing to say on this machine.
type Check = (&'static str, fn(&Machine) -> Option<Finding>);

/// All checks, in the order of their lines.
const CHECKS: &[Check] = &[
    ("rights", rights::rights),
    ("addresses", rights::addresses),
    ("module file", module::file),
    ("headers", module::headers),
    ("Secure Boot", kernel::secure_boot),
    ("lockdown", kernel::lockdown),
    ("signatures", kernel::signatures),
    ("module", module::module),
    ("without the module", bpf::usable),
    ("functions by BPF", bpf::functions),
    ("events", bpf::events),
    ("ftrace", kernel::ftrace),
    ("kprobes", kernel::kprobes),
    ("debug information", files::vmlinux),
    ("modules' debug information", files::modules),
    ("debuginfod", files::debuginfod),
    ("BTF", files::btf),
    ("index", files::index),
    ("space", files::space),
    ("other kprobes", tracers::kprobes),
    ("other function tracers", tracers::functions),
    ("BPF programs", tracers::bpf),
];

/// Runs the command, whose arguments after the word are these.
pub fn run(arguments: &[String], report: &Report) -> u8 {
    let json = match arguments {
        [] => false,
        [option] if option == "--json" => true,
        [option] if option == "--help" => {
            return report.print(HELP);
        }
        [other, ..] => {
            report.error(&format!("doctor: unexpected argument '{other}'"), Some("dtrace doctor [--json]"));
            return USAGE;
        }
    };
    let machine = Machine::here();
    // Several ask a command of the distribution, which takes its time.
    let (findings, verdict) = thread::scope(|scope| {
        let machine = &machine;
        let checks: Vec<_> =
            CHECKS.iter().map(|(name, check)| (*name, scope.spawn(|| check(machine)))).collect();
        let verdict = machine.verdict();
        let join = |check: thread::ScopedJoinHandle<'_, Option<Finding>>| {
            check.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let findings: Vec<(&str, Finding)> =
            checks.into_iter().filter_map(|(name, check)| Some((name, join(check)?))).collect();
        (findings, verdict)
    });
    let color = super::report::in_color(&std::io::stdout());
    let text = if json { show::json(&findings, &verdict) } else { show::text(&findings, &verdict, color) };
    let status = report.print(&text);
    if verdict.state == State::Fault { FAILURE } else { status }
}

const HELP: &str = "\
Says what tracing needs, what was found on this machine, and the command that mends what is wrong

Usage: dtrace doctor [--json]

  --json  one JSON object a line: check, state (good, warning, fault), found, mend, then; the last one,
          whose check is \"tracing\", is the verdict

The module is loaded for the check if it is not there yet, and taken away again.

Exit status:
  0  tracing works, by the module or by the kernel's BPF; the last lines say by which, and what does not
  1  nothing can be traced
";

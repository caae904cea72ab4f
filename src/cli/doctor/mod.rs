//! cli/doctor/: the command doctor: what tracing needs, what of it was found, and the command that mends the rest.

mod bpf;
mod files;
mod kernel;
mod module;
mod rights;
mod show;
mod tracers;

use super::report::{FAILURE, Report, USAGE};
use crate::host::distribution::{Family, Part};
use crate::os;

/// The word that is the command's first argument.
pub const WORD: &str = "doctor";

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Good,
    /// Tracing works, though not all of it.
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

    /// Something of the module is missing, without which the kernel's BPF traces if it can.
    fn without_module(found: impl Into<String>, machine: &Machine) -> Finding {
        Finding::new(if bpf::stands_in(machine) { State::Warning } else { State::Fault }, found)
    }

    /// The command that installs a part of the kernel, or what to do if no package has it.
    fn install(self, part: Part, machine: &Machine) -> Finding {
        match machine.family.install(part, &machine.release) {
            Some(command) => self.mend(command),
            None if machine.family.has_kernel(&machine.release) => self,
            None => {
                let what = match part {
                    Part::Headers => "its headers are where it was built, for /lib/modules/RELEASE/build",
                    _ => "its vmlinux is where it was built: --vmlinux FILE",
                };
                let what = what.replace("RELEASE", &machine.release);
                self.then(format!("the kernel is not of this distribution's packages; {what}"))
            }
        }
    }

    fn then(self, what: impl Into<String>) -> Finding {
        Finding { then: Some(what.into()), ..self }
    }
}

/// The machine that is examined.
#[derive(Clone, Debug)]
pub struct Machine {
    pub release: String,
    pub family: Family,
    /// Whether the process has root's identity.
    pub root: bool,
}

impl Machine {
    fn read(path: &str) -> Option<String> {
        std::fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
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
    let family = Family::running();
    let machine = Machine { release: os::release(), family, root: os::identity().euid == 0 };
    let findings: Vec<(&str, Finding)> =
        CHECKS.iter().filter_map(|(name, check)| Some((*name, check(&machine)?))).collect();
    let color = super::report::in_color(&std::io::stdout());
    let status = report.print(&if json { show::json(&findings) } else { show::text(&findings, color) });
    if findings.iter().any(|(_, finding)| finding.state == State::Fault) { FAILURE } else { status }
}

const HELP: &str = "\
Says what tracing needs, what was found on this machine, and the command that mends what is wrong

Usage: dtrace doctor [--json]

  --json  one JSON object a line: check, state (good, warning, fault), found, mend, then

The module is loaded for the check if it is not there yet, and taken away again.

Exit status:
  0  tracing works; warnings say what of it does not
  1  nothing can be traced
";

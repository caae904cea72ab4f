//! cli/doctor/finding.rs: the finding of a check, and the command that fixes it.

use super::machine::Machine;
use kinst_host::archive;
use kinst_host::distribution::Part;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Good,
    /// Tracing works only in part, or without the module.
    Warning,
    /// Nothing can be traced.
    Fault,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub state: State,
    /// The finding in one line.
    pub found: String,
    /// The one command that fixes it, to be pasted into a shell.
    pub mend: Option<String>,
    /// The step after the command, or the only step without one.
    pub then: Option<String>,
}

impl Finding {
    fn new(state: State, found: impl Into<String>) -> Finding {
        Finding { state, found: found.into(), mend: None, then: None }
    }

    pub(super) fn good(found: impl Into<String>) -> Finding {
        Finding::new(State::Good, found)
    }

    pub(super) fn warning(found: impl Into<String>) -> Finding {
        Finding::new(State::Warning, found)
    }

    pub(super) fn fault(found: impl Into<String>) -> Finding {
        Finding::new(State::Fault, found)
    }

    pub(super) fn mend(self, command: impl Into<String>) -> Finding {
        Finding { mend: Some(command.into()), ..self }
    }

    pub(super) fn mend_if(self, command: Option<String>) -> Finding {
        Finding { mend: command, ..self }
    }

    /// Returns a problem that stops the module or BPF from tracing: a fault if the other one does not trace either.
    pub(super) fn hindrance(found: impl Into<String>, machine: &Machine) -> Finding {
        // Without root, a warning is enough: `rights` reports the fault.
        let is_fault = machine.root && !machine.traces();
        Finding::new(if is_fault { State::Fault } else { State::Warning }, found)
    }

    /// Adds the command that installs a part or, if no known package has it, a hint where the part is expected.
    pub(super) fn install(self, part: Part, machine: &Machine) -> Finding {
        let Machine { release, family, .. } = machine;
        if let Some(command) = archive::install(*family, part, release) {
            return self.mend(command);
        }
        self.then(match part {
            Part::Headers => "no known package has them; take them from the kernel's build directory",
            Part::DebugInformation => {
                "no known package has it; put it in /usr/lib/debug, or name it with --vmlinux FILE"
            }
            Part::Module => "dtrace and the module must have the same version: install the newer module",
            Part::Tool => "dtrace and the module must have the same version: install the newer dtrace",
            Part::Modprobe | Part::Debuginfod | Part::Mokutil => {
                "no known package has it; install it in a directory of PATH"
            }
        })
    }

    pub(super) fn then(self, what: impl Into<String>) -> Finding {
        Finding { then: Some(what.into()), ..self }
    }
}

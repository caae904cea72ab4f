//! cli/doctor/: dtrace doctor: the requirements of tracing, which of them are met, and commands that fix the rest.

mod bpf;
mod files;
mod finding;
mod kernel;
mod machine;
mod module;
mod rights;
mod show;
mod tracers;
mod verdict;

use super::report::{FAILURE, Report, USAGE};
use std::thread;

pub(super) use finding::{Finding, State};
pub(super) use machine::Machine;

/// The first argument that selects this command.
pub(super) const WORD: &str = "doctor";

/// A check: its name and its function, which returns `None` if it does not apply to this machine.
type Check = (&'static str, fn(&Machine) -> Option<Finding>);

/// All checks, in the order of the output.
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
    ("programs by BPF", bpf::programs),
    ("nops of programs", bpf::nops),
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

/// Runs the command with the arguments after [`WORD`].
pub(super) fn run(arguments: &[String], report: &Report) -> u8 {
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
    // Several checks run a slow command of the distribution, so all run in parallel.
    let (findings, verdict) = thread::scope(|scope| {
        let machine = &machine;
        let checks: Vec<_> =
            CHECKS.iter().map(|(name, check)| (*name, scope.spawn(|| check(machine)))).collect();
        let verdict = verdict(machine);
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

fn verdict(machine: &Machine) -> Finding {
    verdict::of(&verdict::Facts {
        root: machine.root,
        module: machine.module.as_ref().map(|_| ()),
        bpf: machine.bpf.as_ref(),
        hidden: rights::hidden(),
        undescribed: files::undescribed(),
    })
}

const HELP: &str = "\
Checks what tracing needs on this machine, and prints the commands that mend what is wrong

Usage: dtrace doctor [--json]

  --json  one JSON object a line: check, state (good, warning, fault), found, mend, then; the last one,
          whose check is \"tracing\", is the verdict

If the module is not loaded, it is loaded for the check, and unloaded again.

Exit status:
  0  tracing works, by the module or by the kernel's BPF; the last lines say which, and what does not work
  1  nothing can be traced
";

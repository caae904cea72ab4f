//! cli/dtrace.rs: the dtrace command, from arguments through library calls to the exit status.

use super::dtrace_args::{self, Mode, Stop};
use super::output::eprint;
use super::report::{FAILURE, Report, USAGE};
use super::run::{Failed, Run};
use super::{
    annotate, coverage, doctor, dtrace_disas, dtrace_index, dtrace_list, dtrace_trace, path, stability,
};
use crate::backend::bpf::sweep;
use crate::options;
use crate::options::key;
use crate::os;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command; the first argument is its name.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    os::output::keep_closed();
    let arguments: Result<Vec<String>, OsString> = arguments.map(OsString::into_string).collect();
    match arguments {
        Ok(arguments) => command(&arguments),
        // D is UTF-8, and what is not would name another file.
        Err(argument) => {
            let text = format!("an argument is not UTF-8: {}", argument.display());
            Report::new("dtrace").error(&text, None);
            ExitCode::from(USAGE)
        }
    }
}

fn command(arguments: &[String]) -> ExitCode {
    let name = arguments.first().and_then(|name| Path::new(name).file_name()?.to_str()).unwrap_or("dtrace");
    let mut report = Report::new(name);
    if arguments.get(1).is_some_and(|word| word == doctor::WORD) {
        return ExitCode::from(doctor::run(&arguments[2..], &report));
    }
    if arguments.get(1).is_some_and(|word| word == sweep::WORD) {
        if let Some(session) = arguments.get(2).and_then(|session| session.parse().ok()) {
            sweep::sweep(session);
        }
        return ExitCode::SUCCESS;
    }
    let status = match dtrace_args::parse(arguments) {
        Ok(invocation) => {
            report.json = invocation.json;
            // A failure has been reported already.
            Run::new(invocation, report).and_then(|mut started| run(&mut started)).unwrap_or(FAILURE)
        }
        Err(stop) => explain(&stop, &report),
    };
    ExitCode::from(status)
}

fn run(run: &mut Run) -> Result<u8, Failed> {
    if run.invocation.settings.iter().any(|(name, _)| name == "help") {
        return Ok(run.report.print(&options::describe()));
    }
    if run.invocation.mode == Mode::Version {
        let [major, minor, _] = options::D_VERSION;
        let program = &run.report.program;
        let text = format!("{program}: Sun D {major}.{minor} (kinst {})\n", env!("CARGO_PKG_VERSION"));
        return Ok(run.report.print(&text));
    }
    // Errors in the command line are reported before errors of the system.
    if let Some(pid) = run.invocation.pids.iter().find(|pid| pid.parse::<u32>().is_err()) {
        return run.fail(&format!("invalid pid: {pid}"), None);
    }
    if run.options.text(key::VMLINUX).is_some() {
        run.kernel()?;
    }
    if !run.invocation.formatted.is_empty() {
        return run.format(&run.invocation.formatted.clone());
    }
    if !run.invocation.disassembled.is_empty() {
        return dtrace_disas::disassemble(run, &run.invocation.disassembled.clone());
    }
    if !run.invocation.annotated.is_empty() {
        return annotate::annotate(run);
    }
    if !run.invocation.covered.is_empty() {
        return coverage::coverage(run);
    }
    if !run.invocation.followed.is_empty() {
        return path::path(run);
    }
    if run.invocation.mode == Mode::Index {
        return dtrace_index::index(run);
    }
    run.read_programs()?;
    if run.files.is_empty() && run.invocation.mode != Mode::List {
        let program = run.invocation.operands.iter().find(|operand| operand.contains(['{', ':']));
        let help = match program {
            Some(program) => format!("a program on the command line comes after -n: -n '{program}'"),
            None => "give a program: -n 'probe { actions }' or -s FILE".to_owned(),
        };
        return run.fail("no probes specified", Some(&help));
    }
    match run.invocation.mode {
        Mode::Trace => dtrace_trace::trace(run),
        Mode::List => dtrace_list::list(run),
        Mode::Compile | Mode::Version | Mode::Index => compile_only(run),
    }
}

/// Runs -e, which needs only the compiler. With the module loaded, or for another kernel's files, a description that
/// matches nothing is an error too.
fn compile_only(run: &mut Run) -> Result<u8, Failed> {
    let compiled = run.compile(0)?;
    let is_known = run.options.text(key::SYSROOT).is_some() || run.device().is_ok();
    if is_known && !run.options.flag(key::ZDEFS) {
        dtrace_trace::plan(run, &compiled)?;
    }
    for program in 0..run.files.len() {
        run.put(&stability::report(run, &compiled, program, true))?;
    }
    Ok(0)
}

fn explain(stop: &Stop, report: &Report) -> u8 {
    match stop {
        Stop::Help(text) => report.print(text),
        Stop::Usage { message, usage } => {
            if !message.is_empty() {
                report.error(message, None);
            }
            eprint(&format!("{}\n", usage.trim_end()));
            if !message.is_empty() {
                eprint("For more: --help\n");
            }
            USAGE
        }
        Stop::Refused { option, why } => {
            report.error(&format!("{option}: {why}"), None);
            FAILURE
        }
    }
}

//! cli/dtrace.rs: the dtrace command, from arguments through library calls to the exit status.

use super::compile::compile;
use super::config::Config;
use super::console::{Console, Failed};
use super::dtrace_args::{self, Invocation, Mode, Stop};
use super::output::eprint;
use super::report::{FAILURE, Report, USAGE};
use super::subject::Subject;
use super::{
    annotate, coverage, doctor, dtrace_disas, dtrace_index, dtrace_list, dtrace_trace, fmt, path, processes,
    stability, usdt, viewed,
};
use crate::backend::bpf::{nop5, sweep};
use crate::options;
use crate::options::key;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command; the first argument is its name.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    kinst_os::output::keep_closed();
    let arguments: Result<Vec<String>, OsString> = arguments.map(OsString::into_string).collect();
    match arguments {
        Ok(arguments) => command(&arguments),
        // D text is UTF-8, and a lossy conversion of a path would name another file.
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
    if arguments.get(1).is_some_and(|word| word == nop5::WORD) {
        return ExitCode::from(kinst_os::uprobe::be_tested());
    }
    let status = match dtrace_args::parse(arguments) {
        Ok(invocation) => {
            report.json = invocation.json;
            // A failure has been reported already.
            run(invocation, report).unwrap_or(FAILURE)
        }
        Err(stop) => explain(&stop, &report),
    };
    ExitCode::from(status)
}

fn run(invocation: Invocation, report: Report) -> Result<u8, Failed> {
    let mut console = Console::new(report, invocation.appended().cloned())?;
    let mut config = Config::new(invocation, &console)?;
    console.report.errtags = config.options.flag(key::ERRTAGS);
    console.report.quiet = config.options.flag(key::QUIET);
    let mut subject = Subject::new(&config, &console);
    let (config, subject, console) = (&mut config, &mut subject, &mut console);
    if config.invocation.settings.iter().any(|(name, _)| name == "help") {
        return Ok(console.report.print(&options::describe()));
    }
    if config.invocation.mode == Mode::Version {
        return Ok(console.report.print(&version(&config.command)));
    }
    // Errors in the command line are reported before errors of the system.
    if let Some(pid) = config.invocation.pids.iter().find(|pid| pid.parse::<u32>().is_err()) {
        return console.fail(&format!("invalid pid: {pid}"), None);
    }
    if viewed::lacks_process(config, console) {
        return Ok(USAGE);
    }
    if config.options.text(key::VMLINUX).is_some() {
        subject.kernel(console)?;
    }
    if !config.invocation.formatted.is_empty() {
        return fmt::format(config, subject, console);
    }
    if !config.invocation.disassembled.is_empty() {
        return dtrace_disas::disassemble(config, subject, console);
    }
    if !config.invocation.annotated.is_empty() {
        return annotate::annotate(config, subject, console);
    }
    if !config.invocation.covered.is_empty() {
        return coverage::coverage(config, subject, console);
    }
    if !config.invocation.followed.is_empty() {
        return path::path(config, subject, console);
    }
    if config.invocation.mode == Mode::Index {
        return dtrace_index::index(config, subject, console);
    }
    if config.invocation.makes_file() {
        return usdt::write(config, console);
    }
    run_programs(config, subject, console)
}

/// Traces, lists or compiles the programs of the command line.
fn run_programs(config: &mut Config, subject: &mut Subject, console: &mut Console) -> Result<u8, Failed> {
    config.read_programs(console)?;
    config.read_libraries(console)?;
    if config.files.is_empty() && config.invocation.mode != Mode::List {
        let program = config.invocation.operands.iter().find(|operand| operand.contains(['{', ':']));
        let help = match program {
            Some(program) => format!("a program on the command line comes after -n: -n '{program}'"),
            None => "give a program: -n 'probe { actions }' or -s FILE".to_owned(),
        };
        return console.fail("no probes specified", Some(&help));
    }
    match config.invocation.mode {
        Mode::Trace => dtrace_trace::trace(config, subject, console),
        Mode::List => dtrace_list::list(config, subject, console),
        Mode::Compile | Mode::Version | Mode::Index | Mode::Header | Mode::Object => {
            compile_only(config, subject, console)
        }
    }
}

fn version(command: &str) -> String {
    let [major, minor, _] = options::D_VERSION;
    format!("{command}: Sun D {major}.{minor} (kinst {})\n", env!("CARGO_PKG_VERSION"))
}

/// Runs -e, which needs only the compiler. With the module loaded, or with --sysroot, a description that matches
/// nothing is an error too.
fn compile_only(config: &mut Config, subject: &mut Subject, console: &mut Console) -> Result<u8, Failed> {
    let processes = match config.names_target() {
        true => processes::start(config, console)?,
        false => Vec::new(),
    };
    let compiled = compile(config, subject, console, processes::target(&processes))?;
    let is_known = config.options.text(key::SYSROOT).is_some() || subject.device().is_ok();
    if is_known && !config.options.flag(key::ZDEFS) {
        dtrace_trace::plan(config, subject, console, &compiled)?;
    }
    for program in 0..config.files.len() {
        console.put(&stability::report(config, &compiled, program, true))?;
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

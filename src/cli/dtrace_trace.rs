//! cli/dtrace_trace.rs: enables a program, and traces until it ends.

use super::backend::{self, Backend};
use super::compile::compile;
use super::config::Config;
use super::console::{Console, Failed};
use super::output::reason;
use super::processes;
use super::refused;
use super::report::FAILURE;
use super::stability;
use super::subject::Subject;
use crate::backend::{Fired, Plan, PlanError, Problem, Refused, Tracing, is_refused, probe_name};
use crate::consumer::consume::Consumer;
use crate::consumer::export::destination::Destination;
use crate::consumer::export::{Export, Exports, format};
use crate::consumer::run::{self, Watch};
use crate::consumer::sink::Sink;
use crate::consumer::stream::{Limits, Patience};
use crate::consumer::symbols::{System, Wanted};
use crate::options::Options;
use crate::options::key;
use crate::pipeline::Compiled;
use kinst_base::diag::Diagnostic;
use kinst_base::probe::{Place, Probe};
use kinst_dif::enabled::Enabled;
use kinst_dif::record::Layouts;
use kinst_dif::{Program, StatementKind};
use kinst_os::process::Process;
use kinst_os::signals::Requests;
use kinst_sites::{Kernel, no_match};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::os::fd::AsFd;

pub(crate) fn trace(config: &mut Config, subject: &mut Subject, console: &mut Console) -> Result<u8, Failed> {
    trace_into(config, subject, console, None)
}

/// A consumer that replaces the output of the trace.
pub(crate) struct Taker<'t> {
    /// Called with the armed probes.
    pub begin: &'t dyn Fn(&mut dyn Iterator<Item = &Probe>),
    pub export: Box<dyn Export>,
    /// Called when the trace has ended, with all probes and which of them have fired.
    pub end: Option<&'t AtEnd<'t>>,
    /// The processes of -c and -p, if they were started earlier.
    pub processes: Option<Vec<Process>>,
}

type AtEnd<'t> = dyn Fn(&[Probe], &[Fired]) + 't;

pub(crate) fn trace_into(
    config: &mut Config,
    subject: &mut Subject,
    console: &mut Console,
    mut taker: Option<Taker<'_>>,
) -> Result<u8, Failed> {
    let backend = backend(config, subject, console)?;
    let started = taker.as_mut().and_then(|taker| taker.processes.take());
    let mut processes = match started {
        Some(processes) => processes,
        None => processes::start(config, console)?,
    };
    let target = processes::target(&processes);
    let mut compiled = compile(config, subject, console, target)?;
    if format::draws_threads(&config.invocation.outputs) {
        kinst_dif::thread::identify(&mut compiled.program);
    }
    if let Some((setting, reason)) = config.options.unsupported() {
        return console
            .fail(&format!("failed to set -x {setting}: Option is not supported on Linux"), Some(reason));
    }
    allow_destructive(config, console, &compiled.program)?;
    let (plan, left_out) = plan(config, subject, console, &compiled)?;
    let backend = match backend.for_plan(config, subject, console, &plan) {
        Ok(backend) => backend,
        Err(error) => return console.fail(&error.to_string(), error.help().as_deref()),
    };
    if plan.enabled.ecbs.is_empty() {
        return console.fail("no probes matched", None);
    }
    let mut settings = settings(&config.options, target);
    let ncpus = backend.cpus();
    if let Some(cpu) = settings.cpu.filter(|cpu| *cpu >= ncpus) {
        return console.fail(&format!("failed to set -x cpu: no such CPU: {cpu}"), None);
    }
    let (session, refused) =
        backend::enable(config, subject, console, backend, &compiled, &plan, &mut settings)?;
    match taker {
        None => refused::report(config, console, &compiled, &plan, &refused)?,
        Some(_) => refused::report_some(console, config.invocation.verbose, &plan, &refused)?,
    }
    report_left_out(console, config.invocation.verbose, &left_out);
    if let Some(by) = session.by().filter(|_| config.invocation.verbose) {
        console.report.notice(&format!("functions: {by}"));
    }
    let armed = plan.enabled.probes.iter().enumerate();
    let mut armed = armed.filter(|(index, _)| !is_refused(*index as u32, &refused)).map(|(_, probe)| probe);
    let (mut export, mut end) = (None, None);
    if let Some(taker) = taker {
        (taker.begin)(&mut armed);
        (export, end) = (Some(taker.export), taker.end);
    }
    let armed = Armed { compiled: &compiled, plan: &plan, refused: &refused, settings: &settings };
    consume(config, console, &*subject.kernel(console)?, &armed, session, (export, end), &mut processes)
}

/// Returns the backend that runs the program. If there is none, -d and -S still print the program.
fn backend(config: &mut Config, subject: &mut Subject, console: &mut Console) -> Result<Backend, Failed> {
    if let Err(failed) = subject.require_running(console) {
        if config.invocation.desugared || config.options.flag(key::VERBOSE) {
            compile(config, subject, console, 0)?;
        }
        return Err(failed);
    }
    // Missing privileges are reported at once, before anything is read or started.
    match Backend::choose(config, subject, console) {
        Ok(backend) => Ok(backend),
        Err(error) if config.invocation.desugared => {
            compile(config, subject, console, 0)?;
            let to_do = error.help().map_or_else(String::new, |help| format!("{help}; "));
            let help = format!("{to_do}to print the program without tracing, add -e");
            console.fail(&error.to_string(), Some(&help))
        }
        Err(error) => console.fail(&error.to_string(), error.help().as_deref()),
    }
}

/// An enabled program.
struct Armed<'a> {
    compiled: &'a Compiled,
    plan: &'a Plan,
    refused: &'a [Refused],
    settings: &'a kinst_dif::Options,
}

/// Returns the probes of each description, and a message for each place that was left out.
pub(crate) fn plan(
    config: &Config,
    subject: &Subject,
    console: &Console,
    compiled: &Compiled,
) -> Result<(Plan, Vec<String>), Failed> {
    let catalog = subject.catalog(console)?;
    let matched = || Plan::new(&compiled.program, &*catalog, config.options.flag(key::ZDEFS));
    let plan = console.progress.during("looking for the probes", matched);
    let plan = plan.map_err(|error| {
        config.report(console, &plan_diagnostic(error, compiled));
        Failed
    })?;
    if plan.enabled.probes.iter().any(|probe| probe.place.is_text())
        && let Err(diagnostic) = catalog.kernel().require_addresses()
    {
        console.diagnostic(&diagnostic);
        return Err(Failed);
    }
    Ok((plan, catalog.left_out()))
}

fn plan_diagnostic(error: PlanError, compiled: &Compiled) -> Diagnostic {
    let written = compiled.descriptions.get(error.clause).and_then(|spans| spans.get(error.index));
    let diagnostic = match error.problem {
        Problem::Catalog(diagnostic) => *diagnostic,
        Problem::Zero(description) => no_match(&description),
    };
    match written {
        Some(span) if diagnostic.labels.is_empty() => diagnostic.at(*span, "no such probe"),
        _ => diagnostic,
    }
}

fn allow_destructive(config: &Config, console: &Console, program: &Program) -> Result<(), Failed> {
    if config.options.flag(key::DESTRUCTIVE) {
        console.report.notice("allowing destructive actions");
        return Ok(());
    }
    match destructive(program) {
        Some(name) => console.fail(
            &format!("failed to enable '{}': Destructive actions not allowed", config.enabling_name()),
            Some(&format!("{name} changes the system: permit it with -w")),
        ),
        None => Ok(()),
    }
}

/// Returns the first action that needs -w. system() and freopen() run in the consumer: without arguments they have no
/// action in the kernel.
fn destructive(program: &Program) -> Option<String> {
    program.clauses.iter().find_map(|clause| {
        let by_kernel = clause.actions.iter().find(|action| action.kind.is_destructive());
        let by_consumer = clause.statements.iter().find_map(|statement| match statement.kind {
            StatementKind::System(_) => Some("system()".to_owned()),
            StatementKind::Freopen(_) => Some("freopen()".to_owned()),
            _ => None,
        });
        by_consumer.or_else(|| by_kernel.map(|action| format!("{:?}()", action.kind).to_ascii_lowercase()))
    })
}

fn settings(options: &Options, target: u32) -> kinst_dif::Options {
    let small = |name| u32::try_from(options.number(name)).unwrap_or(u32::MAX);
    kinst_dif::Options {
        bufsize: options.number(key::BUFSIZE),
        aggsize: options.number(key::AGGSIZE),
        dynvarsize: options.number(key::DYNVARSIZE),
        specsize: options.number(key::SPECSIZE),
        nspec: small(key::NSPEC),
        strsize: small(key::STRSIZE),
        target,
        destructive: options.flag(key::DESTRUCTIVE),
        clean_us: u32::try_from(options.number(key::CLEANRATE) / 1000).unwrap_or(u32::MAX),
        cpu: options.is_set(key::CPU).then(|| small(key::CPU)),
        overwrite: options.text(key::BUFPOLICY) == Some("ring"),
        nojump: options.flag(key::NOJUMP),
        once: options.flag(key::ONCE),
    }
}

/// Reports instructions and functions that cannot be traced and were not requested one by one.
pub(crate) fn report_left_out(console: &Console, verbose: bool, left_out: &[String]) {
    if verbose {
        left_out.iter().for_each(|text| console.report.notice(text));
    } else if let Some(only) = left_out.first().filter(|_| left_out.len() == 1) {
        console.report.notice(only);
    } else if !left_out.is_empty() {
        console
            .report
            .notice(&format!("left out {} places that cannot be traced; -v lists them", left_out.len()));
    }
}

/// Reports `description 'BEGIN ' matched 1 probe`, and with -v the dependencies. It runs once the trace has begun, so
/// that a script that waits for the message loses no hit.
fn report_matched(config: &Config, console: &Console, armed: &Armed<'_>) -> Result<(), Failed> {
    let Armed { compiled, plan, refused, .. } = *armed;
    for (program, file) in config.files.iter().enumerate() {
        // An `if` becomes several clauses, which share the descriptions of the original.
        let written = plan.matched(refused).filter_map(|(clause, index, probe)| {
            let span = *compiled.descriptions.get(clause)?.get(index)?;
            (span.file == *file && span.start < span.end).then_some((span.start, probe))
        });
        let matched = written.collect::<HashSet<_>>().len();
        let plural = if matched == 1 { "" } else { "s" };
        let (what, name) = config.program_name(program);
        console.report.notice(&format!("{what} '{name}' matched {matched} probe{plural}"));
        console.put(&stability::report(config, compiled, program, false))?;
    }
    Ok(())
}

/// Passes the probes that have fired to the taker; otherwise reports those that have not.
fn at_end(console: &Console, session: &dyn Tracing, armed: &Armed<'_>, end: Option<&AtEnd<'_>>) {
    let probes = &armed.plan.enabled.probes;
    match (session.fired(probes.len()), end) {
        (Ok(fired), Some(end)) => end(probes, &fired),
        (Ok(fired), None) => report_unfired(console, probes, &fired, armed.refused),
        (Err(error), _) => console.report.warning(&error.to_string()),
    }
}

/// Reports the armed probes that have never fired, except BEGIN, END and ERROR.
fn report_unfired(console: &Console, probes: &[Probe], fired: &[Fired], refused: &[Refused]) {
    const SHOWN: usize = 20;
    let mut armed: Vec<(&Probe, bool)> = Vec::new();
    for (index, (probe, fired)) in probes.iter().zip(fired).enumerate() {
        let fires = probe.name.provider != "dtrace" && !matches!(probe.place, Place::Gate { .. });
        if fires && !is_refused(index as u32, refused) {
            armed.push((probe, *fired == Fired::Yes));
        }
    }
    let unfired: Vec<&Probe> = armed.iter().filter(|(_, fired)| !fired).map(|(probe, _)| *probe).collect();
    if unfired.is_empty() {
        return;
    }
    let mut text = format!("{} of {} probes never fired:", unfired.len(), armed.len());
    for probe in unfired.iter().take(SHOWN) {
        text += &format!("\n    {}", probe_name(probe));
    }
    if unfired.len() > SHOWN {
        text += &format!("\n    … and {} more", unfired.len() - SHOWN);
    }
    console.report.notice(&text);
}

/// Opens the outputs of the trace, and installs the handlers of the signals about them.
/// `export` replaces all outputs of the command line.
fn outputs(
    config: &Config,
    console: &Console,
    program: &Program,
    enabled: &Enabled,
    export: Option<Box<dyn Export>>,
) -> Result<(Sink, Exports, Requests), Failed> {
    let limits = limits(&config.options);
    let mut sink = match &console.output {
        Some(path) => Sink::file(path, limits)
            .or_else(|error| console.fail(&format!("failed to open {path}: {}", reason(&error)), None))?,
        None => Sink::stdout(),
    };
    let exports = format::open(&config.invocation.outputs, program, enabled, &config.options);
    let mut exports = exports.or_else(|error| console.fail(&error.to_string(), None))?;
    exports.limit(limits);
    if let Some(export) = export {
        exports.text = false;
        exports.add(export, Destination::Closed);
    }
    let requests = Requests::install(console.output.is_some() || exports.has_files());
    let signal = console.signals.as_fd().try_clone_to_owned();
    let (requests, signal) = requests
        .and_then(|requests| Ok((requests, signal?)))
        .or_else(|error| console.fail(&format!("failed to watch for signals: {}", reason(&error)), None))?;
    sink.patience = Patience::until(signal);
    Ok((sink, exports, requests))
}

/// The options outputsize, outputtime and outputfiles.
fn limits(options: &Options) -> Limits {
    Limits {
        bytes: options.is_set(key::OUTPUTSIZE).then(|| options.number(key::OUTPUTSIZE)),
        age: options.is_set(key::OUTPUTTIME).then(|| options.period(key::OUTPUTTIME)),
        kept: u32::try_from(options.number(key::OUTPUTFILES)).unwrap_or(u32::MAX),
    }
}

fn consume(
    config: &Config,
    console: &Console,
    kernel: &Kernel,
    armed: &Armed<'_>,
    mut session: Box<dyn Tracing>,
    (export, end): (Option<Box<dyn Export>>, Option<&AtEnd<'_>>),
    processes: &mut [Process],
) -> Result<u8, Failed> {
    let (program, enabled) = (&armed.compiled.program, &armed.plan.enabled);
    let layouts = match Layouts::new(program, armed.settings) {
        Ok(layouts) => layouts,
        Err(error) => return console.fail(&format!("DIF program content is invalid: {error}"), None),
    };
    let (sink, exports, requests) = outputs(config, console, program, enabled, export)?;
    for text in format::unsuited(&config.invocation.outputs, program) {
        console.report.warning(&text);
    }
    let options = config.options.clone();
    let wanted = Wanted {
        programs: !options.flag(key::NORESOLVE),
        processes: options.is_set(key::PGMAX).then(|| options.number(key::PGMAX) as usize),
        ..Wanted::of(program)
    };
    let symbols = System::new(kernel, wanted);
    let mut consumer = Consumer::new(program, enabled, &layouts, &symbols, options, sink, exports);
    let mut say = |message: &str| console.report.warning(message);
    let mut notice = |message: &str| console.report.notice(message);
    let what = format!("disarming {} probes", enabled.probes.len());
    let mut stopping = |stop: &mut dyn FnMut()| console.progress.during(&what, stop);
    let mut watch = Watch {
        signal: console.signals.as_fd(),
        requests: &requests,
        processes,
        say: &mut say,
        notice: &mut notice,
        stopping: &mut stopping,
    };
    console.signals.take_over();
    consumer.begin();
    session.go().or_else(|error| console.fail(&format!("could not enable tracing: {error}"), None))?;
    report_matched(config, console, armed)?;
    match run::run(&mut *session, &mut consumer, &mut watch) {
        Ok(status) => {
            let failed = consumer.has_failed();
            if config.invocation.verbose || end.is_some() {
                drop(consumer);
                at_end(console, &*session, armed, end);
            }
            // Output that could not be written is an error, whatever the program's exit status.
            Ok(if failed { FAILURE } else { status })
        }
        // The reader of the output has closed it.
        Err(run::Error::Output(error)) if error.kind() == ErrorKind::BrokenPipe => {
            let _ = session.stop();
            Ok(0)
        }
        Err(error) => console.fail(&error.to_string(), None),
    }
}

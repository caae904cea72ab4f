//! cli/compile.rs: calls the compiler with the inputs of a run; -d, -S and the dumps.

use super::config::Config;
use super::console::{Console, Failed};
use super::dtrace_args::Mode;
use super::output::eprint;
use super::report::placed;
use super::subject::Subject;
use crate::knowledge::{Installed, Knowledge};
use crate::options::key;
use crate::pipeline::{self, Compiled};
use kinst_base::diag::Diagnostic;
use kinst_base::machine::Machine;
use kinst_sites::{DwarfIndex, InlineProbe, SiteIndex};

/// Compiles all programs as one, and prints -d, -S and the dumps on the way. Afterwards the options include those that
/// the program sets.
pub(super) fn compile(
    config: &mut Config,
    subject: &mut Subject,
    console: &mut Console,
    target: u32,
) -> Result<Compiled, Failed> {
    let mut options = config.options.clone();
    let compilation = console.progress.during("compiling", || {
        with_given(config, subject, target, |given| {
            pipeline::compile(&config.sources, &config.files, given, &mut options)
        })
    });
    let verbose = config.invocation.verbose;
    subject.report_files(console, verbose);
    if config.invocation.desugared {
        console.print(&compilation.desugared)?;
    }
    eprint(&compilation.dumps);
    let compiled = compilation.result.map_err(|diagnostics| {
        let all = diagnostics.into_iter().map(|diagnostic| placed(diagnostic, &config.inserted));
        all.for_each(|diagnostic| config.report(console, &diagnostic));
        Failed
    })?;
    let remarks = compiled.remarks.iter().filter(|_| verbose);
    for told in compiled.warnings.iter().chain(remarks) {
        config.report(console, told);
    }
    config.options = options;
    console.report.quiet = config.options.flag(key::QUIET);
    subject.follow(config);
    for (name, why) in config.options.without_effect() {
        console.report.notice(&format!("option {name} has no effect here: {why}"));
    }
    for text in config.options.raised() {
        console.report.notice(&format!("option {text}"));
    }
    if config.options.flag(key::VERBOSE) {
        print_listing(config, subject, &compiled);
    }
    Ok(compiled)
}

/// Prints the compiled code, for the option verbose.
fn print_listing(config: &Config, subject: &Subject, compiled: &Compiled) {
    eprint(&kinst_dif::disasm::program(&compiled.program));
    if config.options.text(key::BACKEND) == Some("bpf") {
        let strsize = u32::try_from(config.options.number(key::STRSIZE)).unwrap_or(u32::MAX);
        let options = kinst_dif::Options { strsize, ..kinst_dif::Options::default() };
        let machine = subject.open_kernel().map_or(Machine::HERE, |kernel| kernel.machine());
        let machine = kinst_bpf::machine::of(machine);
        eprint(&kinst_bpf::listing::program(&compiled.program, &options, machine));
    }
}

/// Calls `compile` with this run's inputs for the compiler.
pub(super) fn with_given<T>(
    config: &Config,
    subject: &Subject,
    target: u32,
    compile: impl FnOnce(pipeline::Given<'_>) -> T,
) -> T {
    let macros = config.macros(target);
    let index = |wanted| index(config, subject, wanted);
    let kernel = Knowledge::new(Installed::new(subject.is_running(), Box::new(|| subject.open_catalog())));
    let stability = config.invocation.verbose && config.invocation.mode != Mode::List;
    let given = pipeline::Given {
        macros: &macros,
        kernel: &kernel,
        places: &kernel,
        index: &index,
        libraries: &config.libraries,
        stability,
    };
    compile(given)
}

fn index(
    config: &Config,
    subject: &Subject,
    wanted: Vec<InlineProbe>,
) -> Result<Box<dyn SiteIndex>, Box<Diagnostic>> {
    let index = DwarfIndex::new(subject.open_kernel()?, wanted);
    let most = usize::try_from(config.options.number(key::MAXPROBES)).unwrap_or(usize::MAX);
    let most_armed =
        subject.opened_device().map_or(usize::MAX, |device| match config.options.flag(key::ONCE) {
            true => device.info.max_once as usize,
            false => device.info.max_probes as usize,
        });
    let index = index.with_max_probes(most, most_armed);
    Ok(Box::new(match subject.programs() {
        Some(programs) => index.with_programs(programs),
        None => index,
    }))
}

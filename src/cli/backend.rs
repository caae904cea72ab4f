//! cli/backend.rs: chooses the backend that runs programs in the kernel: the module or BPF.

use super::config::Config;
use super::console::{Console, Failed};
use super::subject::Subject;
use crate::backend::module::{self, Device};
use crate::backend::{Error, Plan, Refusal, Refused, Tracing, bpf};
use crate::options::key;
use crate::pipeline::Compiled;
use kinst_dif::{Options, Program};
use kinst_sites::{ProgramFiles, Spots};
use std::sync::Arc;

/// The chosen backend.
pub(super) enum Backend {
    Module(Arc<Device>),
    /// With the notice that the module is absent, until it is shown.
    Bpf(Option<String>),
}

impl Backend {
    /// Opens the backend of the option `backend`; the module is loaded if necessary.
    /// The choice is made and reported once in a run.
    pub(super) fn choose(config: &Config, subject: &Subject, console: &Console) -> Result<Backend, Error> {
        if subject.without_module.get().is_some() {
            return Ok(Backend::Bpf(None));
        }
        let asked = config.options.text(key::BACKEND).unwrap_or_default();
        if asked == "bpf" {
            bpf::check()?;
            subject.without_module.get_or_init(|| None);
            return Ok(Backend::Bpf(None));
        }
        let absent = match subject.device_to_trace() {
            Ok((device, loaded)) => {
                if loaded && config.invocation.verbose {
                    console.report.notice("loaded the kernel module kinst (modprobe kinst)");
                }
                return Ok(Backend::Module(device));
            }
            Err(error) if asked != "auto" => return Err(error.into()),
            Err(error) => error,
        };
        let Some(notice) = absent.notice() else { return Err(absent.into()) };
        match bpf::check() {
            Ok(()) => {}
            Err(_) if absent == module::Error::NotRoot => return Err(absent.into()),
            Err(without) => return Err(Error::Neither(Box::new(absent), without)),
        }
        subject.without_module.get_or_init(|| Some(absent));
        Ok(Backend::Bpf(Some(notice)))
    }

    /// Returns the backend that can arm a plan: BPF, if places are in programs. Reports that the module is absent, if
    /// a place is in the kernel.
    pub(super) fn for_plan(
        self,
        config: &Config,
        subject: &Subject,
        console: &Console,
        plan: &Plan,
    ) -> Result<Backend, Error> {
        if let Backend::Bpf(notice) = &self {
            let is_missed = plan.needs_kernel() || !plan.needs_bpf();
            notice.iter().filter(|_| is_missed).for_each(|notice| console.report.notice(notice));
            return Ok(self);
        }
        if !plan.needs_bpf() {
            return Ok(self);
        }
        if config.options.text(key::BACKEND) == Some("module") {
            return Err(module::Error::OfPrograms.into());
        }
        bpf::check()?;
        subject.without_module.get_or_init(|| None);
        Ok(Backend::Bpf(None))
    }

    /// Prepares the backend for another session; returns whether that succeeded.
    fn reopen(&mut self) -> bool {
        if let Backend::Module(device) = self {
            let Ok(again) = Device::open() else { return false };
            *device = Arc::new(again);
        }
        true
    }

    /// Returns the number of possible CPUs.
    pub(super) fn cpus(&self) -> u32 {
        match self {
            Backend::Module(device) => device.info.ncpus,
            Backend::Bpf(_) => bpf::possible_cpus().unwrap_or(1),
        }
    }

    /// Arms the plan. Returns the session and the places that were refused; the others are armed.
    fn enable(
        &self,
        subject: &Subject,
        program: &Program,
        plan: &Plan,
        options: &Options,
    ) -> Result<(Box<dyn Tracing>, Vec<Refused>), Error> {
        let probes = &plan.enabled.probes;
        match self {
            Backend::Module(device) => {
                let (session, refused) = module::Session::enable(Arc::clone(device), program, plan, options)?;
                Ok((Box::new(session), Refused::named(refused, probes, Refusal::Module)))
            }
            Backend::Bpf(_) => {
                let text = subject.memory_text();
                let spots: &dyn Spots = match &text {
                    Ok(text) => text,
                    Err(_) if !plan.needs_kernel() => &bpf::NoKernel,
                    Err(error) => return Err(error.clone().into()),
                };
                let programs = subject.programs().unwrap_or_default();
                let files: &dyn ProgramFiles = &*programs;
                let (session, refused) = bpf::Session::enable(program, plan, options, spots, files)?;
                Ok((Box::new(session), Refused::named(refused, probes, Refusal::Bpf)))
            }
        }
    }
}

/// Enables the program. Buffers too large for the machine are halved until they fit, unless bufresize=manual
/// forbids it.
pub(super) fn enable(
    config: &Config,
    subject: &Subject,
    console: &Console,
    mut backend: Backend,
    compiled: &Compiled,
    plan: &Plan,
    settings: &mut kinst_dif::Options,
) -> Result<(Box<dyn Tracing>, Vec<Refused>), Failed> {
    let given = settings.clone();
    loop {
        let what = format!("arming {} probes", plan.enabled.probes.len());
        let armed =
            console.progress.during(&what, || backend.enable(subject, &compiled.program, plan, settings));
        let error = match armed {
            Ok(enabled) => {
                if !config.options.flag(key::QUIETRESIZE) {
                    report_lowered(console, &given, settings);
                }
                return Ok(enabled);
            }
            Err(error) => error,
        };
        let manual = config.options.text(key::BUFRESIZE) == Some("manual");
        if error.is_of_buffers() && !manual && halve(settings) && backend.reopen() {
            continue;
        }
        let absent = || subject.without_module.get()?.as_ref()?.help();
        let help = error.help().or_else(|| if error.is_of_module() { None } else { absent() });
        // The failed probe may belong to any clause, but the enabling is named after the first.
        let text = match error.names_probe() {
            true => error.to_string(),
            false => format!("failed to enable '{}': {error}", config.enabling_name()),
        };
        return console.fail(&text, help.as_deref());
    }
}

/// Halves the largest buffer; returns false if even that one is below 8 KiB.
fn halve(settings: &mut kinst_dif::Options) -> bool {
    const LEAST: u64 = 8192;
    let speculations = settings.specsize.saturating_mul(settings.nspec.into());
    let most = settings.bufsize.max(settings.aggsize).max(settings.dynvarsize).max(speculations);
    let size = if most == settings.bufsize {
        &mut settings.bufsize
    } else if most == settings.aggsize {
        &mut settings.aggsize
    } else if most == settings.dynvarsize {
        &mut settings.dynvarsize
    } else {
        &mut settings.specsize
    };
    let lower = *size >= LEAST;
    if lower {
        *size /= 2;
    }
    lower
}

fn report_lowered(console: &Console, given: &kinst_dif::Options, settings: &kinst_dif::Options) {
    let rows = [
        ("buffer size", given.bufsize, settings.bufsize),
        ("aggregation size", given.aggsize, settings.aggsize),
        ("speculation size", given.specsize, settings.specsize),
        ("dynamic variable size", given.dynvarsize, settings.dynvarsize),
    ];
    for (what, given, lowered) in rows {
        if lowered < given {
            let (number, unit) = match lowered {
                n if n % (1 << 30) == 0 => (n >> 30, "g"),
                n if n % (1 << 20) == 0 => (n >> 20, "m"),
                n if n % (1 << 10) == 0 => (n >> 10, "k"),
                n => (n, ""),
            };
            console.report.notice(&format!("{what} lowered to {number}{unit}"));
        }
    }
}

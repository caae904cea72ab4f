//! cli/backend.rs: what runs programs in the kernel: the module, or the kernel's own BPF machine.

use super::run::{Failed, Run};
use crate::dif::{self, Options, Program};
use crate::driver::ioctl::Device;
use crate::driver::session::{EnableError, Plan, Refused, Session, Tracing};
use crate::driver::{Error as DriverError, bpf};
use crate::options::key;
use crate::pipeline::Compiled;
use std::borrow::Cow;
use std::sync::Arc;

/// The option backend, as it was decided.
pub enum Backend {
    Module(Arc<Device>),
    Bpf,
}

impl Backend {
    /// Opens what the option asks for: the module, which is loaded if it is not there yet, or nothing.
    /// What was chosen stays, and is reported once.
    pub fn choose(run: &Run) -> Result<Backend, DriverError> {
        if run.without_module.get().is_some() {
            return Ok(Backend::Bpf);
        }
        let asked = run.options.text(key::BACKEND).unwrap_or_default();
        if asked == "bpf" {
            bpf::check().map_err(DriverError::Bpf)?;
            run.without_module.get_or_init(|| None);
            return Ok(Backend::Bpf);
        }
        let absent = match run.device_to_trace() {
            Ok(device) => return Ok(Backend::Module(device)),
            Err(error) if asked != "auto" => return Err(error),
            Err(error) => error,
        };
        let Some(notice) = absent.notice() else { return Err(absent) };
        match bpf::check() {
            Ok(()) => {}
            Err(_) if absent == DriverError::NotRoot => return Err(absent),
            Err(without) => return Err(DriverError::Neither(Box::new(absent), without)),
        }
        run.report.notice(&notice);
        run.without_module.get_or_init(|| Some(absent));
        Ok(Backend::Bpf)
    }

    /// Makes it ready for another session.
    fn reopen(&mut self) -> bool {
        if let Backend::Module(device) = self {
            let Ok(again) = Device::open() else { return false };
            *device = Arc::new(again);
        }
        true
    }

    /// The number of CPUs that there can be.
    pub fn cpus(&self) -> u32 {
        match self {
            Backend::Module(device) => device.info.ncpus,
            Backend::Bpf => bpf::possible_cpus().unwrap_or(1),
        }
    }

    /// Arms the plan. Returns the places that were refused; the others are armed.
    fn enable(
        &self,
        run: &Run,
        program: &Program,
        plan: &Plan,
        options: &Options,
    ) -> Result<(Box<dyn Tracing>, Vec<Refused>), EnableError> {
        match self {
            Backend::Module(device) => {
                let (session, refused) = Session::enable(Arc::clone(device), program, plan, options)?;
                Ok((Box::new(session), refused))
            }
            Backend::Bpf => {
                let failed = |error: bpf::EnableError| match error {
                    bpf::EnableError::Memory => EnableError::Kernel(DriverError::Memory),
                    error => EnableError::Bpf {
                        text: error.to_string(),
                        help: error.help(),
                        named: matches!(error, bpf::EnableError::Unable { .. }),
                    },
                };
                let text = run.memory_text().map_err(failed)?;
                let (session, refused) =
                    bpf::Session::enable(program, plan, options, &text).map_err(failed)?;
                Ok((Box::new(session), refused))
            }
        }
    }
}

/// Enables the program. Buffers too large for the machine are halved until they fit, unless bufresize=manual
/// forbids it.
pub fn enable(
    run: &Run,
    mut backend: Backend,
    compiled: &Compiled,
    plan: &Plan,
    settings: &mut dif::Options,
) -> Result<(Box<dyn Tracing>, Vec<Refused>), Failed> {
    let given = settings.clone();
    loop {
        let what = format!("arming {} probes", plan.enabled.probes.len());
        let armed = run.progress.during(&what, || backend.enable(run, &compiled.program, plan, settings));
        let error = match armed {
            Ok(enabled) => {
                report_lowered(run, &given, settings);
                return Ok(enabled);
            }
            Err(error) => error,
        };
        let memory = matches!(error, EnableError::Kernel(DriverError::Buffers | DriverError::Memory));
        let manual = run.options.text(key::BUFRESIZE) == Some("manual");
        if memory && !manual && halve(settings) && backend.reopen() {
            continue;
        }
        let help = match &error {
            EnableError::Kernel(error) => error.help(),
            EnableError::Bpf { help: Some(help), .. } => Some(Cow::Borrowed(*help)),
            EnableError::Bpf { help: None, .. } => {
                let absent = run.without_module.get().and_then(Option::as_ref);
                absent.and_then(DriverError::help)
            }
            EnableError::Encode(_) => None,
        };
        // The probe may be of any clause, the subject is the first one.
        let text = match &error {
            EnableError::Bpf { text, named: true, .. } => text.clone(),
            error => format!("failed to enable '{}': {error}", subject(run)),
        };
        return run.fail_as(&text, help.as_deref());
    }
}

/// Halves the largest buffer; returns false if even that is small.
fn halve(settings: &mut dif::Options) -> bool {
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

fn report_lowered(run: &Run, given: &dif::Options, settings: &dif::Options) {
    if run.options.flag(key::QUIETRESIZE) {
        return;
    }
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
            run.report.notice(&format!("{what} lowered to {number}{unit}"));
        }
    }
}

/// Returns the name for messages about the whole enabling.
pub fn subject(run: &Run) -> String {
    let given = &run.invocation;
    let views = [("annotate", &given.annotated), ("coverage", &given.covered), ("path", &given.followed)];
    match views.iter().find(|(_, functions)| !functions.is_empty()) {
        Some((option, functions)) => format!("--{option} {}", functions.join(" ")),
        None => run.program_name(0).1.to_owned(),
    }
}

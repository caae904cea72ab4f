//! sites/catalog/tracepoints.rs: the probes of sdt, the kernel's tracepoints, and of proc, sched and io.

use super::elsewhere;
use crate::target::Kernel;
use kinst_base::diag::{Diagnostic, suggest, tags};
use kinst_base::image::{KERNEL_PROPER, ModuleId};
use kinst_base::probe::{Fields, Place, Probe};

/// Prefix of a tracepoint's function, which calls everything attached to the tracepoint.
const PREFIX: &str = "__traceiter_";

/// Events of processes, threads and disks; the index is the event's number in the module (enum kinst_event).
pub const EVENTS: [(&str, &str); 13] = [
    ("proc", "create"),
    ("proc", "exec-success"),
    ("proc", "exit"),
    ("proc", "lwp-create"),
    ("proc", "lwp-exit"),
    ("proc", "signal-send"),
    ("proc", "signal-discard"),
    ("proc", "signal-handle"),
    ("sched", "off-cpu"),
    ("sched", "preempt"),
    ("sched", "sleep"),
    ("sched", "wakeup"),
    ("io", "start"),
];

/// Events without a tracepoint, at the entry of a function: the first one that a thread runs when it has the
/// CPU again, and the one that ends a block layer request, whatever the driver. The compiler may have added a
/// suffix.
pub(crate) const ENTRIES: [(&str, &str, &str); 2] =
    [("sched", "on-cpu", "finish_task_switch"), ("io", "done", "bio_endio")];

/// Returns the providers of these events, some of them repeatedly.
pub(crate) fn event_providers() -> impl Iterator<Item = &'static str> {
    let entries = ENTRIES.iter().map(|(provider, ..)| *provider);
    EVENTS.iter().map(|(provider, _)| *provider).chain(entries)
}

/// One tracepoint of the kernel proper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tracepoint {
    pub name: String,
    /// Run-time address of its function; 0 if the kernel hides it.
    pub address: u64,
}

impl Tracepoint {
    pub(crate) fn probe(&self, id: u32) -> Probe {
        probe(id, "sdt", &self.name, Place::Sdt { func: self.address })
    }
}

/// Returns the tracepoints in alphabetical order.
pub(crate) fn table(kernel: &Kernel) -> Vec<Tracepoint> {
    let symbols = kernel.symbols(ModuleId::PROPER).into_iter().flat_map(|symbols| symbols.iter());
    let functions = symbols.filter_map(|(name, symbol)| Some((name.strip_prefix(PREFIX)?, symbol.address)));
    let mut tracepoints: Vec<Tracepoint> = functions
        .map(|(name, address)| Tracepoint {
            name: name.to_owned(),
            address: kernel.run_time(ModuleId::PROPER, address).unwrap_or(0),
        })
        .collect();
    tracepoints.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    tracepoints.dedup_by(|a, b| a.name == b.name);
    tracepoints
}

/// Whether a tracepoint exists; reads only the kernel's symbols.
pub(crate) fn exists(kernel: &Kernel, name: &str) -> bool {
    !kernel.functions_named(&[ModuleId::PROPER], &format!("{PREFIX}{name}")).is_empty()
}

/// Returns the event with this number.
pub(crate) fn event(id: u32, number: u32) -> Option<Probe> {
    let (provider, name) = EVENTS.get(number as usize)?;
    Some(probe(id, provider, name, Place::Event { number: number.into() }))
}

/// Returns one of [`ENTRIES`]; `None` if the compiler left no code of its function.
pub(crate) fn entry(kernel: &Kernel, id: u32, number: usize) -> Option<Probe> {
    let (provider, name, function) = ENTRIES.get(number)?;
    let symbols = kernel.symbols(ModuleId::PROPER)?;
    let is_it = |name: &str| {
        name.strip_prefix(function).is_some_and(|rest| rest.is_empty() || rest.starts_with(".isra."))
    };
    let (_, symbol) = symbols.iter().find(|(name, symbol)| !symbol.gone() && is_it(name))?;
    let func = kernel.run_time(ModuleId::PROPER, symbol.address).unwrap_or(0);
    Some(probe(id, provider, name, Place::FbtEntry { func }))
}

fn probe(id: u32, provider: &str, name: &str, place: Place) -> Probe {
    Probe { id, name: Fields::new(provider, KERNEL_PROPER, "", name), place }
}

/// Refuses a name without globs that sdt, proc, sched or io does not have, or has elsewhere: `proper` says
/// whether the module and function are the right ones for such probes.
pub(crate) fn refusal(fields: &Fields, proper: bool, tracepoints: &[Tracepoint]) -> Diagnostic {
    let (provider, name) = (fields.provider.as_str(), fields.name.as_str());
    let what = if provider == "sdt" { "tracepoint" } else { "probe" };
    let error = Diagnostic::error(tags::PDESC_ZERO, format!("{provider} has no {what} `{name}`"));
    if let Some(nearest) = elsewhere::nearest(provider, name) {
        return error.help(format!("nearest on Linux: {nearest}"));
    }
    let events = EVENTS.iter().copied().chain(ENTRIES.iter().map(|(provider, name, _)| (*provider, *name)));
    let events = events.filter(|(of, _)| *of == provider).map(|(_, name)| name);
    let names: Vec<&str> = match provider {
        "sdt" => tracepoints.iter().map(|tracepoint| tracepoint.name.as_str()).collect(),
        _ => events.collect(),
    };
    if names.contains(&name) && !proper {
        let title = format!("probes of {provider} have the module {KERNEL_PROPER} and no function");
        return Diagnostic::error(tags::PDESC_ZERO, title).help(format!("write {provider}:::{name}"));
    }
    match suggest::nearest(name, names) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("-l -P {provider} lists them")),
    }
}

//! consumer/step.rs: recognizes entries and returns of functions by the names of probes.

use kinst_base::probe::{End, Probe};
use kinst_dif::object::Ecb;

/// An entry of a function, or a return from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    pub function: &'a str,
    pub end: End,
    /// The function whose code contains the copy, if the function is inlined.
    pub into: Option<&'a str>,
    /// Whether it is a system call of this name.
    pub syscall: bool,
}

impl<'a> Step<'a> {
    /// Returns the step that a firing of the probe means for an enabling, if any.
    pub fn of(probe: &'a Probe, ecb: Option<&'a Ecb>) -> Option<Step<'a>> {
        let name = &probe.name;
        if let Some(ecb) = ecb
            && let Some(copy) = &ecb.inlined
        {
            return ecb.end.map(|end| Step {
                function: copy,
                end,
                into: Some(&name.function),
                syscall: false,
            });
        }
        let (end, rest) = End::of_name(&name.name)?;
        let function =
            if name.function.is_empty() { rest.trim_end_matches(['-', '_']) } else { &name.function };
        Some(Step { function, end, into: None, syscall: name.provider == "syscall" })
    }
}

//! backend/refused.rs: the probes that the kernel refuses, and the descriptions left without any probe.

use super::bpf::ArmError;
use super::names::probe_name;
use super::plan::{Matched, Plan};
use kinst_base::probe::Probe;
use kinst_base::reason::{self, Reason};
use kinst_base::uapi;
use std::fmt;

/// A probe that the kernel refuses to trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// An index into [`kinst_dif::enabled::Enabled::probes`].
    pub probe: usize,
    /// The probe's name, `kinst::f:7`.
    pub name: String,
    /// The answer of the back end.
    pub why: Refusal,
}

/// The reason of a refusal, by back end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The module's result for the probe.
    Module(uapi::Result),
    /// The step of arming that failed.
    Bpf(ArmError),
}

impl Refusal {
    /// The next step for the user.
    pub(crate) fn help(&self) -> Option<&'static str> {
        match self {
            Refusal::Module(result) => reason::help(Reason(result.reason)),
            Refusal::Bpf(error) => error.help(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Module(result) => f.write_str(&reason::words(result)),
            Refusal::Bpf(error) => error.fmt(f),
        }
    }
}

impl Refused {
    /// Adds the names of the probes to refusals, which are in the order of the probes.
    pub(crate) fn named<T>(
        refusals: impl IntoIterator<Item = (usize, T)>,
        probes: &[Probe],
        why: impl Fn(T) -> Refusal,
    ) -> Vec<Refused> {
        let named = |(probe, refusal)| {
            let name = probe_name(probes.get(probe)?);
            Some(Refused { probe, name, why: why(refusal) })
        };
        refusals.into_iter().filter_map(named).collect()
    }

    /// `kinst::f:7 cannot be traced: jump label`
    pub(crate) fn text(&self) -> String {
        format!("{} cannot be traced: {}", self.name, self.why)
    }
}

/// Whether this probe is in `refused`, which is ordered.
pub(crate) fn is_refused(probe: u32, refused: &[Refused]) -> bool {
    refused.binary_search_by_key(&(probe as usize), |refused| refused.probe).is_ok()
}

impl Plan {
    /// Returns the probes of each description, without refused places: the clause, the index of the
    /// description in it, and the probe.
    pub(crate) fn matched<'a>(
        &'a self,
        refused: &'a [Refused],
    ) -> impl Iterator<Item = (usize, usize, u32)> + 'a {
        self.descriptions.iter().flat_map(move |matched| {
            let ecbs = self.enabled.ecbs.get(matched.ecbs.clone()).unwrap_or_default().iter();
            let probes = ecbs.map(|ecb| ecb.probe).filter(|probe| !is_refused(*probe, refused));
            probes.map(|probe| (matched.clause, matched.index, probe))
        })
    }

    /// Returns the descriptions whose places are all refused.
    pub(crate) fn lost<'a>(&'a self, refused: &'a [Refused]) -> impl Iterator<Item = &'a Matched> {
        self.descriptions.iter().filter(|description| {
            let ecbs = self.enabled.ecbs.get(description.ecbs.clone()).unwrap_or_default();
            !ecbs.is_empty() && ecbs.iter().all(|ecb| is_refused(ecb.probe, refused))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinst_base::probe::{Fields, Place};

    #[test]
    fn a_refused_probe_has_its_name_and_the_reason() {
        let probe = |id: u32, name: &str| {
            let place = Place::Insn { func: 0x1000, offset: id, bytes: Vec::new() };
            Probe { id, name: Fields::new("kinst", "vmlinux", "f", name), place }
        };
        let result = uapi::Result { reason: 7, ..uapi::Result::default() };
        let refused = Refused::named([(0, result)], &[probe(2, "4"), probe(3, "7")], Refusal::Module);
        assert_eq!(refused[0].text(), "kinst::f:4 cannot be traced: jump label (the kernel rewrites it)");
        assert_eq!(refused.len(), 1);
    }
}

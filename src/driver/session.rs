//! driver/session.rs: one tracing session: enabling, arming, draining and ending.

use super::buffer::{Damaged, Drain};
use super::ioctl::{Device, Fired, MappedRing};
use super::{Error, reason};
use crate::diag::Diagnostic;
use crate::dif::enabled::Enabled;
use crate::dif::object::{Ecb, EncodeError, encode};
use crate::dif::{Options, Program};
use crate::probe::{Description, Fields, Probe};
use crate::sites::{self, ProbeCatalog};
use crate::uapi;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// The kernel's services for the consumer while it traces.
pub trait Tracing {
    /// Fires BEGIN and turns tracing on.
    fn go(&mut self) -> Result<(), Error>;
    /// Fires END and turns tracing off.
    fn stop(&mut self) -> Result<(), Error>;
    fn status(&mut self) -> Result<uapi::Status, Error>;
    /// The hits at which no program ran because another one did, as of the last status. The module loses none so.
    fn missed(&self) -> u64 {
        0
    }
    /// The ways in which the probes of functions are made to fire, where the kernel has several ways.
    fn by(&self) -> Option<&str> {
        None
    }
    /// Moves the records in the rings to `into`; a damaged ring is reported and emptied.
    fn drain(&mut self, into: &mut Drain) -> Vec<Damaged>;
    /// Returns the records lost so far, by CPU.
    fn drops(&self) -> Vec<(u32, u64)>;
    /// Calls `each` with every CPU's number, the snapshot of its aggregations, and its losses so far.
    fn aggregations(&mut self, each: &mut dyn FnMut(u32, &[u8], u64)) -> Result<(), Error>;
    /// Returns a descriptor that is readable as soon as there is something to drain.
    fn readable(&self) -> BorrowedFd<'_>;
    /// Returns, for each of the program's probes, whether it has fired.
    fn fired(&self, probes: usize) -> Result<Vec<Fired>, Error>;
}

/// The probes that a program enables.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub enabled: Enabled,
    /// In order of clause and description.
    pub descriptions: Vec<Matched>,
}

/// One probe description of a clause and its enablings.
#[derive(Clone, Debug)]
pub struct Matched {
    pub clause: usize,
    /// The index among the clause's descriptions.
    pub index: usize,
    /// A range of [`Enabled::ecbs`].
    pub ecbs: std::ops::Range<usize>,
}

/// A description that cannot be enabled.
#[derive(Clone, Debug)]
pub struct PlanError {
    pub clause: usize,
    pub index: usize,
    pub problem: Problem,
}

#[derive(Clone, Debug)]
pub enum Problem {
    /// It matches nothing.
    Zero(Description),
    Catalog(Box<Diagnostic>),
}

impl Plan {
    /// Matches each clause's descriptions. A probe that several of them match is one probe with several enablings,
    /// in the order of the program.
    pub fn new(program: &Program, catalog: &dyn ProbeCatalog, zero_allowed: bool) -> Result<Plan, PlanError> {
        let mut plan = Plan::default();
        let mut known: HashMap<u32, u32> = HashMap::new();
        for (clause, source) in program.clauses.iter().enumerate() {
            for (index, description) in source.probes.iter().enumerate() {
                let error = |problem| PlanError { clause, index, problem };
                let probes = catalog.matches(description);
                let probes = match probes {
                    // With -Z, a description that cannot match is the same as one that matches nothing.
                    Err(_) if zero_allowed => Vec::new(),
                    probes => probes.map_err(|diagnostic| error(Problem::Catalog(diagnostic)))?,
                };
                if probes.is_empty() && !zero_allowed {
                    return Err(error(Problem::Zero(description.clone())));
                }
                let first = plan.enabled.ecbs.len();
                let inlined: Option<Arc<str>> = description.inlined().map(Arc::from);
                for probe in probes {
                    let next = plan.enabled.probes.len() as u32;
                    let number = *known.entry(probe.id).or_insert(next);
                    if number == next {
                        plan.enabled.probes.push(probe);
                    }
                    plan.enabled.ecbs.push(Ecb {
                        probe: number,
                        clause: clause as u32,
                        inlined: inlined.clone(),
                        end: description.end(),
                    });
                }
                let ecbs = first..plan.enabled.ecbs.len();
                plan.descriptions.push(Matched { clause, index, ecbs });
            }
        }
        let gates = catalog.gates(&plan.enabled.probes);
        plan.enabled.probes.extend(gates);
        Ok(plan)
    }

    /// Returns the probes of each description, without refused places: the clause, the number of the description in it,
    /// and the probe.
    pub fn matched<'a>(&'a self, refused: &'a [Refused]) -> impl Iterator<Item = (usize, usize, u32)> + 'a {
        self.descriptions.iter().flat_map(move |matched| {
            let ecbs = self.enabled.ecbs.get(matched.ecbs.clone()).unwrap_or_default().iter();
            let probes = ecbs.map(|ecb| ecb.probe).filter(|probe| !is_refused(*probe, refused));
            probes.map(|probe| (matched.clause, matched.index, probe))
        })
    }

    /// Returns the descriptions whose places are all refused.
    pub fn lost<'a>(&'a self, refused: &'a [Refused]) -> impl Iterator<Item = &'a Matched> {
        self.descriptions.iter().filter(|description| {
            let ecbs = self.enabled.ecbs.get(description.ecbs.clone()).unwrap_or_default();
            !ecbs.is_empty() && ecbs.iter().all(|ecb| is_refused(ecb.probe, refused))
        })
    }
}

/// A place that the kernel refuses to trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// An index into [`Enabled::probes`].
    pub probe: usize,
    /// `kinst::f:7`
    pub name: String,
    pub why: String,
    pub help: Option<&'static str>,
}

impl Refused {
    /// `kinst::f:7 cannot be traced: jump label`
    pub fn text(&self) -> String {
        format!("{} cannot be traced: {}", self.name, self.why)
    }
}

/// A program in the kernel, armed.
#[derive(Debug)]
pub struct Session {
    /// By CPU; there may be gaps between the numbers.
    rings: Vec<(u32, MappedRing)>,
    snapshot: Vec<u8>,
    device: Arc<Device>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnableError {
    #[error(transparent)]
    Kernel(#[from] Error),
    #[error("DIF program content is invalid: {0}")]
    Encode(#[from] EncodeError),
    /// A session through BPF. `named`: the text says which probe it is about.
    #[error("{text}")]
    Bpf { text: String, help: Option<&'static str>, named: bool },
}

impl Session {
    /// Arms the plan. Returns the places that were refused; the others are armed.
    pub fn enable(
        device: Arc<Device>,
        program: &Program,
        plan: &Plan,
        options: &Options,
    ) -> Result<(Session, Vec<Refused>), EnableError> {
        let image = encode(program, &plan.enabled.probes, &plan.enabled.ecbs, options)?;
        let results = device.load(&image, plan.enabled.probes.len())?;
        let refused = refused(&plan.enabled.probes, &results);
        let rings = rings(&device)?;
        let size = usize::try_from(options.aggsize).unwrap_or(usize::MAX).min(1 << 30);
        let snapshot = if program.aggregations.is_empty() { Vec::new() } else { vec![0; size] };
        Ok((Session { rings, snapshot, device }, refused))
    }
}

impl Tracing for Session {
    fn go(&mut self) -> Result<(), Error> {
        self.device.go()
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.device.stop()
    }

    fn status(&mut self) -> Result<uapi::Status, Error> {
        self.device.status()
    }

    fn drain(&mut self, into: &mut Drain) -> Vec<Damaged> {
        self.rings.iter().filter_map(|(cpu, mapped)| mapped.ring()?.drain(*cpu, into).err()).collect()
    }

    fn drops(&self) -> Vec<(u32, u64)> {
        self.rings.iter().map(|(cpu, mapped)| (*cpu, mapped.drops())).collect()
    }

    fn aggregations(&mut self, each: &mut dyn FnMut(u32, &[u8], u64)) -> Result<(), Error> {
        if self.snapshot.is_empty() {
            return Ok(());
        }
        for (cpu, _) in &self.rings {
            let (used, drops) = self.device.aggregations(*cpu, &mut self.snapshot)?;
            each(*cpu, &self.snapshot[..used], drops);
        }
        Ok(())
    }

    fn readable(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    fn fired(&self, probes: usize) -> Result<Vec<Fired>, Error> {
        self.device.fired(probes)
    }
}

/// Maps the ring of each possible CPU. A number without a CPU has no ring; without any ring, a session cannot trace.
fn rings(device: &Device) -> Result<Vec<(u32, MappedRing)>, Error> {
    let mut rings = Vec::new();
    let mut refused = None;
    for cpu in 0..device.info.ncpus {
        match device.ring(cpu) {
            Ok(ring) => rings.push((cpu, ring)),
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) if rings.is_empty() => Err(error),
        _ => Ok(rings),
    }
}

const _: () = assert!(sites::MIN_INTERVAL == uapi::MIN_INTERVAL as u64);
const _: () = assert!(sites::MAX_INTERVAL == uapi::MAX_INTERVAL);
const _: () = assert!(sites::EVENTS.len() == uapi::Event::MAX.0 as usize);

fn refused(probes: &[Probe], results: &[uapi::Result]) -> Vec<Refused> {
    let pairs = probes.iter().zip(results).enumerate();
    pairs
        .filter(|(_, (_, result))| result.reason != uapi::Reason::OK.0)
        .map(|(index, (probe, result))| Refused {
            probe: index,
            name: probe_name(probe),
            why: reason::words(result),
            help: reason::help(uapi::Reason(result.reason)),
        })
        .collect()
}

/// Returns the name as a person writes it: the kernel proper needs no module.
pub fn probe_name(probe: &Probe) -> String {
    let Fields { provider, module, function, name } = &probe.name;
    let module = if module == "vmlinux" { "" } else { module };
    format!("{provider}:{module}:{function}:{name}")
}

/// Whether the probe of this index is among the refused ones, which are in order.
pub fn is_refused(probe: u32, refused: &[Refused]) -> bool {
    refused.binary_search_by_key(&(probe as usize), |refused| refused.probe).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Tag;
    use crate::dif::Clause;
    use crate::probe::Place;

    /// Three probes of one function, matched by name alone.
    struct Three;

    fn probe(id: u32, name: &str) -> Probe {
        let place = Place::Insn { func: 0x1000, offset: id, bytes: Vec::new() };
        Probe { id, name: Fields::new("kinst", "vmlinux", "f", name), place }
    }

    impl ProbeCatalog for Three {
        fn matches(&self, description: &Description) -> Result<Vec<Probe>, Box<Diagnostic>> {
            let Some(Fields { name, .. }) = description.fields() else { return Ok(vec![probe(3, "7")]) };
            if name == "bad" {
                return Err(Box::new(Diagnostic::error(Tag("D_PDESC_INVAL"), "no")));
            }
            let all = ["0", "4", "7"].into_iter().zip(1..);
            Ok(all.filter(|(n, _)| name.is_empty() || *n == name).map(|(n, id)| probe(id, n)).collect())
        }
    }

    fn program(clauses: &[&[Description]]) -> Program {
        let clause = |probes: &&[Description]| Clause {
            probes: probes.to_vec(),
            predicate: None,
            actions: Vec::new(),
            statements: Vec::new(),
            record: true,
            part: false,
        };
        Program { clauses: clauses.iter().map(clause).collect(), ..Program::default() }
    }

    fn name(name: &str) -> Description {
        Description::Fields(Box::new(Fields::new("", "", "", name)))
    }

    #[test]
    fn one_probe_has_the_enablings_of_all_its_clauses() {
        let program = program(&[&[name("4"), Description::Id(3)], &[name("")]]);
        let plan = Plan::new(&program, &Three, false).unwrap();
        let names: Vec<_> = plan.enabled.probes.iter().map(|p| p.name.name.as_str()).collect();
        assert_eq!(names, ["4", "7", "0"]);
        assert_eq!(plan.enabled.ecbs, [(0, 0), (1, 0), (2, 1), (0, 1), (1, 1)].map(Ecb::from));
        let results = [7, 0, 0].map(|reason| uapi::Result { reason, ..uapi::Result::default() });
        let refused = refused(&plan.enabled.probes, &results);
        assert_eq!(refused[0].text(), "kinst::f:4 cannot be traced: jump label (the kernel rewrites it)");
        let matched: Vec<_> = plan.matched(&refused).collect();
        assert_eq!(matched, [(0, 1, 1), (1, 0, 2), (1, 0, 1)]);
        let lost: Vec<_> = plan.lost(&refused).map(|lost| (lost.clause, lost.index)).collect();
        assert_eq!(lost, [(0, 0)]);
    }

    #[test]
    fn what_matches_nothing_is_an_error_unless_allowed() {
        let program = program(&[&[name("4")], &[name("4"), name("9")]]);
        let error = Plan::new(&program, &Three, false).unwrap_err();
        assert!(matches!(error, PlanError { clause: 1, index: 1, problem: Problem::Zero(_) }));
        assert!(Plan::new(&program, &Three, true).is_ok());
    }

    #[test]
    fn the_catalogue_says_why() {
        let program = program(&[&[name("bad")]]);
        let error = Plan::new(&program, &Three, false).unwrap_err();
        assert!(matches!(error.problem, Problem::Catalog(_)));
    }
}

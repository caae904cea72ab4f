//! backend/plan.rs: the probes that a program enables, by clause and description, for both back ends.

use kinst_base::diag::Diagnostic;
use kinst_base::probe::{Description, Place};
use kinst_dif::Program;
use kinst_dif::enabled::Enabled;
use kinst_dif::object::Ecb;
use kinst_sites::ProbeCatalog;
use std::collections::HashMap;
use std::sync::Arc;

/// The probes that a program enables.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The probes, and the enablings of each.
    pub enabled: Enabled,
    /// In order of clause and description.
    pub descriptions: Vec<Matched>,
}

/// One probe description of a clause and its enablings.
#[derive(Clone, Debug)]
pub struct Matched {
    /// The index of the clause in the program.
    pub clause: usize,
    /// The index among the clause's descriptions.
    pub index: usize,
    /// A range of [`Enabled::ecbs`].
    pub ecbs: std::ops::Range<usize>,
}

/// A description that cannot be enabled.
#[derive(Clone, Debug)]
pub struct PlanError {
    /// The index of the clause in the program.
    pub clause: usize,
    /// The index among the clause's descriptions.
    pub index: usize,
    /// The cause: no match, or an invalid description.
    pub problem: Problem,
}

/// The reason why a description cannot be enabled.
#[derive(Clone, Debug)]
pub enum Problem {
    /// It matches nothing.
    Zero(Description),
    /// The catalogue rejects the description.
    Catalog(Box<Diagnostic>),
}

impl Plan {
    /// Whether places are in programs: only BPF traces these.
    pub fn needs_bpf(&self) -> bool {
        self.enabled.probes.iter().any(|probe| matches!(probe.place, Place::Program(_)))
    }

    /// Whether a place is in the kernel, so that its text or types may be needed.
    pub fn needs_kernel(&self) -> bool {
        let without = |place: &Place| {
            matches!(place, Place::Program(_) | Place::Begin | Place::End | Place::Error)
                || matches!(place, Place::Profile { .. } | Place::Tick { .. })
        };
        !self.enabled.probes.iter().all(|probe| without(&probe.place))
    }

    /// Matches each clause's descriptions. A probe that several of them match is one probe with several
    /// enablings, in program order.
    pub fn new(program: &Program, catalog: &dyn ProbeCatalog, zero_allowed: bool) -> Result<Plan, PlanError> {
        let mut plan = Plan::default();
        let mut known: HashMap<u32, u32> = HashMap::new();
        for (clause, source) in program.clauses.iter().enumerate() {
            for (index, description) in source.probes.iter().enumerate() {
                let error = |problem| PlanError { clause, index, problem };
                let probes = catalog.matches(description);
                let probes = match probes {
                    // With -Z, an invalid description counts as one that matches nothing.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::refused::{Refusal, Refused};
    use kinst_base::diag::Tag;
    use kinst_base::probe::{Fields, Probe};
    use kinst_base::uapi;
    use kinst_dif::Clause;

    /// Three probes of one function, matched only by name.
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
        let jump_label = uapi::Result { reason: uapi::Reason::JUMP_LABEL.0, ..uapi::Result::default() };
        let refused = Refused::named([(0, jump_label)], &plan.enabled.probes, Refusal::Module);
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

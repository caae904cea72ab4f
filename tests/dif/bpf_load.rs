//! bpf_load.rs: random programs as BPF, which the running kernel must accept when root loads them.

use crate::here::Here;
use crate::numbers::Random;
use crate::{machine, program};
use kinst::backend::Plan;
use kinst::backend::bpf::Session;
use kinst::bpf::{Found, Image, Unable};
use kinst::dif::enabled::Enabled;
use kinst::dif::{Options, Program};
use kinst::probe::{Fields, Place, Probe};
use kinst::sites::Spots;
use std::collections::BTreeMap;

/// How many DIFOs are loaded as one program. The kernel verifies the library with each BPF program, and accepts 256
/// functions in one.
const TOGETHER: usize = 180;

#[test]
#[ignore = "needs root and loads programs into the running kernel"]
fn a_kernel_takes_random_programs() {
    let cases = number("KINST_DIF_CASES").unwrap_or(1000);
    let first = number("KINST_DIF_FIRST").unwrap_or(0);
    let (mut taken, mut loaded, mut refused) = (0, 0, BTreeMap::<String, u32>::new());
    let empty = || Program { variables: program::variables(), ..Program::default() };
    let (mut whole, mut seeds) = (empty(), first);
    for seed in first..first + cases {
        let probe = [machine::probe, begin][loaded % 2];
        let program = program::program(&mut Random(seed));
        match translated(&program, probe()) {
            Ok(()) => {
                append(&mut whole, program);
                taken += 1;
            }
            Err(why) => *refused.entry(why).or_insert(0) += 1,
        }
        if whole.difos.len() > TOGETHER || seed + 1 == first + cases {
            let plan = plan(&whole, probe());
            let known = Session::try_load(&whole, &plan, &options(), &Here);
            loaded += known.unwrap_or_else(|error| panic!("seeds from {seeds}: {error}"));
            (whole, seeds) = (empty(), seed + 1);
        }
    }
    println!(
        "{taken} of {cases} random programs are {loaded} of BPF, which were loaded; refused by name: {refused:?}"
    );
    assert!(taken > cases / 2);
}

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn options() -> Options {
    let strsize = number("KINST_DIF_STRSIZE").unwrap_or(256) as u32;
    Options { bufsize: 4096, aggsize: 4096, dynvarsize: 4096, strsize, ..Options::default() }
}

fn begin() -> Probe {
    Probe { id: 1, place: Place::Begin, name: Fields::new("dtrace", "", "", "BEGIN") }
}

/// All clauses at one probe.
fn plan(program: &Program, probe: Probe) -> Plan {
    let ecbs = (0..program.clauses.len() as u32).map(|clause| (0, clause).into()).collect();
    Plan { enabled: Enabled { probes: vec![probe], ecbs }, descriptions: Vec::new() }
}

/// Whether the program can be translated to BPF, or why not.
fn translated(program: &Program, probe: Probe) -> Result<(), String> {
    let enabled = plan(program, probe).enabled;
    let spots = enabled.probes.iter().map(|probe| Here.spots(&probe.place).ok()).collect();
    let found = Found { arguments: vec![0; enabled.probes.len()], spots, ..Found::default() };
    match Image::new(program, &enabled, &options(), &found) {
        Ok(_) => Ok(()),
        Err(Unable::Probe(_)) => panic!("the probe exists without the module"),
        Err(Unable::Clauses { why, .. }) => Err(why.to_string()),
        Err(Unable::Layout(error)) => Err(error.to_string()),
        Err(Unable::Program(error)) => Err(error.to_string()),
    }
}

/// Adds the clauses of another program with the same variables.
fn append(whole: &mut Program, program: Program) {
    let before = whole.difos.len() as u32;
    whole.difos.extend(program.difos);
    for mut clause in program.clauses {
        clause.predicate.iter_mut().for_each(|difo| *difo += before);
        for action in &mut clause.actions {
            action.difo.iter_mut().chain(&mut action.incr).for_each(|difo| *difo += before);
        }
        whole.clauses.push(clause);
    }
}

//! backend/bpf/found.rs: facts about the running kernel that are required to generate programs.

use super::clock::Variables;
use super::error::{EnableError, TypesError};
use super::functions::{self, Chosen, FunctionError};
use super::kernel;
use super::means::{MeansError, uprobes};
use super::nop5::nop5;
use crate::backend::names::probe_name;
use kinst_base::probe::{InProgram, Place, Probe, Spot};
use kinst_bpf::kernel::Layout;
use kinst_bpf::machine::{self, Machine};
use kinst_bpf::needs::{Needs, Observed, observed, reads_process, walks};
use kinst_bpf::program::event;
use kinst_bpf::{By, Found};
use kinst_dif::Program;
use kinst_dif::enabled::Enabled;
use kinst_dif::object::Ecb;
use kinst_sites::uprobe::{Freedom, Nop5};
use kinst_sites::{NotPlaced, ProgramFiles, SpotError, Spots};
use std::collections::HashSet;
use std::sync::OnceLock;

/// The purpose of the generated programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Arm,
    Load,
}

/// The probes whose places are unknown, each with the reason.
pub(super) type Unknown = Vec<(u32, PlaceError)>;

/// The reason why the place of a probe is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error(transparent)]
    Function(#[from] FunctionError),
    #[error(transparent)]
    Spot(#[from] SpotError),
    /// A place in a program.
    #[error(transparent)]
    Uprobes(#[from] MeansError),
    /// An instruction of a program that cannot have a probe.
    #[error(transparent)]
    NotPlaced(#[from] NotPlaced),
    /// The kernel would begin its stack walk at the next instruction.
    #[error("the kernel cannot follow its stack at an instruction of one byte that moves it")]
    MovesStack,
}

/// The facts that were looked up.
pub(super) struct Facts {
    pub found: Found,
    pub variables: Variables,
    pub chosen: Chosen,
    pub unknown: Unknown,
}

/// Looks up facts about the kernel for the programs, and the means to run them at functions.
pub(super) fn found(
    program: &Program,
    enabled: &Enabled,
    (spots, files): (&dyn Spots, &dyn ProgramFiles),
    purpose: Purpose,
) -> Result<Facts, EnableError> {
    let needs = needs(program, enabled);
    let probes = &enabled.probes;
    let machine = machine::of(spots.machine());
    let (mut found, mut variables) = (Found { machine, ..Found::default() }, Variables::default());
    let mut unknown = Vec::new();
    let types = types_for(enabled, (machine, needs), spots, &mut found, &mut variables)?;
    let walking = walking(program, enabled);
    let chosen = match purpose {
        Purpose::Arm => functions::choose(program, (enabled, &walking), spots),
        Purpose::Load => Chosen::kprobes(enabled),
    };
    found.by.clone_from(&chosen.by);
    unknown.extend(chosen.unable.iter().map(|(index, why)| (*index, why.clone().into())));
    let unable: HashSet<u32> = chosen.unable.iter().map(|(index, _)| *index).collect();
    // The clauses of ERROR run at all probes.
    let everywhere = walking.iter().any(|index| probes[*index as usize].place == Place::Error);
    let walked = (0..).zip(probes).filter(|(index, _)| everywhere || walking.contains(index));
    found.own = own(walked.map(|(_, probe)| probe), spots);
    let freedoms = freedoms(program, enabled);
    for (index, probe) in (0..).zip(probes) {
        let mut arguments = 0;
        if let (Place::Sdt { .. }, Some(types)) = (&probe.place, &types) {
            arguments = types.arguments(&probe.name.name).unwrap_or_default();
        }
        found.arguments.push(arguments);
        if unable.contains(&index) {
            found.spots.push(None);
            continue;
        }
        let walks = walking.contains(&index);
        let place = whole(&probe.place, chosen.by[index as usize]);
        let at = match &place {
            Place::Program(place) => in_program(place, files, freedoms[index as usize]),
            place => spots.spots(place).map_err(PlaceError::from),
        };
        let at = at.and_then(|at| followed(&place, at, walks, (machine, spots)));
        found.spots.push(at.map_err(|why| unknown.push((index, why))).ok());
    }
    Ok(Facts { found, variables, chosen, unknown })
}

/// The instructions for a place in a program, if the kernel can trace programs.
fn in_program(
    place: &InProgram,
    files: &dyn ProgramFiles,
    freedom: Freedom,
) -> Result<Vec<Spot>, PlaceError> {
    static NOP5: OnceLock<Nop5> = OnceLock::new();
    match uprobes() {
        Ok(_) => Ok(files.placed(place, freedom, &|| *NOP5.get_or_init(nop5))?),
        Err(why) => Err(why.clone().into()),
    }
}

/// The instructions that may take each probe, as far as its clauses cannot see a difference.
fn freedoms(program: &Program, enabled: &Enabled) -> Vec<Freedom> {
    let freedom = |clause: usize| match observed(program, clause) {
        Observed::Count => Freedom::Block,
        Observed::Time => Freedom::Next,
        Observed::State => Freedom::PastMark,
        Observed::Place => Freedom::None,
    };
    let by_clause: Vec<Freedom> = (0..program.clauses.len()).map(freedom).collect();
    let mut freedoms = vec![Freedom::Block; enabled.probes.len()];
    for ecb in &enabled.ecbs {
        if let Some(least) = freedoms.get_mut(ecb.probe as usize) {
            *least = by_clause.get(ecb.clause as usize).copied().unwrap_or_default().min(*least);
        }
    }
    freedoms
}

/// Returns the needs of a program's clauses at their probes. At a place in a program, the registers are those of
/// the hit, and no interrupt is being handled.
fn needs(program: &Program, enabled: &Enabled) -> Needs {
    let mut needs = Needs::of(program);
    let is_in_kernel = |place: &Place| !matches!(place, Place::Program(_) | Place::Error);
    let in_kernel = enabled.probes.iter().any(|probe| is_in_kernel(&probe.place));
    // The clauses of ERROR run at all probes.
    let reads = |ecb: &Ecb| {
        let place = enabled.probes.get(ecb.probe as usize).map(|probe| &probe.place);
        let here = place.is_some_and(|place| is_in_kernel(place) || *place == Place::Error && in_kernel);
        here && reads_process(program, ecb.clause as usize)
    };
    needs.registers &= enabled.ecbs.iter().any(reads);
    let interrupts =
        |probe: &Probe| is_in_kernel(&probe.place) && !matches!(probe.place, Place::Begin | Place::End);
    needs.interrupts &= enabled.probes.iter().any(interrupts);
    needs.ipl &= needs.interrupts;
    needs
}

/// The place of a probe whose program is attached to a whole function rather than to each exit, as a kprobe is.
fn whole(place: &Place, by: By) -> Place {
    match *place {
        Place::FbtReturn { func } if by != By::Kprobe => Place::FbtEntry { func },
        ref place => place.clone(),
    }
}

/// Reads the kernel's types, and the facts that programs require, unless symbols provide everything.
fn types_for(
    enabled: &Enabled,
    (machine, needs): (&dyn Machine, Needs),
    spots: &dyn Spots,
    found: &mut Found,
    variables: &mut Variables,
) -> Result<Option<&'static kernel::Types>, EnableError> {
    use Place as P;
    let probes = &enabled.probes;
    let of_types = |place: &Place| {
        matches!(place, P::SyscallEntry { .. } | P::SyscallReturn { .. } | P::Sdt { .. } | P::Event { .. })
    };
    let demanding = probes.iter().find(|probe| of_types(&probe.place));
    let interrupts = needs.only_interrupts() && demanding.is_none();
    if interrupts && let Some(interrupts) = kernel::counted_by_cpu(spots, variables) {
        found.kernel.interrupts = interrupts;
        return Ok(None);
    }
    found.kernel.interrupts.unknown = needs.interrupts;
    let first = probes.first().filter(|_| needs.types());
    let Some(probe) = demanding.or(first) else { return Ok(None) };
    let read = types_beside(needs, spots).and_then(|types| {
        found.kernel = layout_for(types, (machine, needs), spots, variables)?;
        let events = probes.iter().any(|probe| matches!(probe.place, P::Event { .. }));
        found.kernel.tells_last = events && types.tells_last();
        Ok(Some(types))
    });
    match read {
        // Variables of a thread and of an interrupt on it then share one set.
        Err(_) if interrupts => Ok(None),
        read => read.map_err(|why| EnableError::Unable { probe: probe_name(probe), why: why.into() }),
    }
}

/// Reads the kernel's types, and its symbols in parallel, which takes as long, if any will be looked up.
fn types_beside(needs: Needs, spots: &dyn Spots) -> Result<&'static kernel::Types, TypesError> {
    std::thread::scope(|scope| {
        let types = scope.spawn(kernel::Types::get);
        if needs.interrupts || needs.clock {
            spots.symbol("_stext");
        }
        types.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The probes with clauses that record the kernel's stack.
fn walking(program: &Program, enabled: &Enabled) -> HashSet<u32> {
    let walks: Vec<bool> = (0..program.clauses.len()).map(|clause| walks(program, clause)).collect();
    let ecbs = enabled.ecbs.iter().filter(|ecb| walks.get(ecb.clause as usize) == Some(&true));
    ecbs.map(|ecb| ecb.probe).filter(|probe| (*probe as usize) < enabled.probes.len()).collect()
}

/// Refuses a stack at instructions for which the kernel would begin at the next one.
fn followed(
    place: &Place,
    at: Vec<Spot>,
    walks: bool,
    (machine, memory): (&dyn Machine, &dyn Spots),
) -> Result<Vec<Spot>, PlaceError> {
    let moves = |spot: &Spot| {
        let byte = memory.bytes(spot.address, 1).and_then(|bytes| bytes.first().copied());
        byte.is_some_and(|byte| machine.is_past_stack(byte))
    };
    if matches!(place, Place::Insn { .. }) && walks && at.iter().any(moves) {
        return Err(PlaceError::MovesStack);
    }
    Ok(at)
}

/// Looks up the layouts that the program requires.
fn layout_for(
    types: &kernel::Types,
    (machine, needs): (&dyn Machine, Needs),
    spots: &dyn Spots,
    variables: &mut Variables,
) -> Result<Layout, TypesError> {
    let mut layout = types.layout(machine)?;
    if needs.locks {
        layout.locks = types.locks()?;
    }
    if needs.paths {
        layout.paths = types.paths()?;
    }
    if needs.clock {
        layout.times = types.times(spots, variables)?;
    }
    if needs.interrupts {
        layout.interrupts = types.interrupts(spots, variables);
    }
    Ok(layout)
}

/// The code that runs programs at tracepoints, and BEGIN and END: stacks begin above it.
fn own<'p>(probes: impl Iterator<Item = &'p Probe>, spots: &dyn Spots) -> Vec<(u64, u64)> {
    let range = |name: &str| {
        let address = spots.symbol(name)?;
        Some((address, address.saturating_add(spots.room(address))))
    };
    let mut names: Vec<String> = Vec::new();
    for probe in probes {
        match &probe.place {
            Place::Begin | Place::End => {
                names.extend(
                    ["__bpf_prog_test_run_raw_tp", "bpf_prog_test_run_raw_tp", "__sys_bpf"].map(String::from),
                );
            }
            Place::SyscallEntry { .. } => names.push("__traceiter_sys_enter".to_owned()),
            Place::SyscallReturn { .. } => names.push("__traceiter_sys_exit".to_owned()),
            Place::Sdt { .. } => names.push(format!("__traceiter_{}", probe.name.name)),
            Place::Event { number } => {
                names.extend(event::tracepoint(*number).map(|name| format!("__traceiter_{name}")));
            }
            Place::Error
            | Place::Insn { .. }
            | Place::Edge { .. }
            | Place::Driver { .. }
            | Place::FbtEntry { .. }
            | Place::FbtReturn { .. }
            | Place::Profile { .. }
            | Place::Tick { .. }
            | Place::Gate { .. }
            | Place::Program(_) => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    let mut own: Vec<_> = names.iter().filter_map(|name| range(name)).collect();
    if !own.is_empty() {
        // One function for each number of arguments, adjacent in memory.
        let runners: Vec<_> = (1..=12).filter_map(|count| range(&format!("bpf_trace_run{count}"))).collect();
        let (starts, ends) = (runners.iter().map(|range| range.0), runners.iter().map(|range| range.1));
        own.extend(starts.min().zip(ends.max()));
    }
    own
}

//! bpf/image.rs: everything that a session loads: its programs, and the maps that they share.

use super::asm::{Code, FUNCTIONS, MAPS};
use super::found::Found;
use super::groups::{Member, groups};
use super::library::Functions;
use super::machine::Machine;
use super::memory::{Memory, SCRATCH, Sizes};
use super::missing::Missing;
use super::needs::Needs;
use super::object::ProbeKind;
use super::program::{Entries, ErrorProbe, Lanes, Prologue, Refusal, Writer, place, ways};
use kinst_base::probe::Place;
use kinst_dif::enabled::Enabled;
use kinst_dif::layout::{self, LayoutError};
use kinst_dif::{Action, ActionKind, Options, Program};
use std::borrow::Cow;
use std::collections::HashMap;

/// Everything that a session loads.
#[derive(Clone, Debug)]
pub struct Image {
    /// The maps, and the layout of their values.
    pub memory: Memory,
    /// Contents of the constants.
    pub constants: Vec<u8>,
    /// Aggregations, in the order of their maps.
    pub entries: Vec<Entries>,
    /// Programs, each with its places.
    pub units: Vec<Unit>,
    /// Total size of the places that do not share their program.
    pub alone: u32,
    /// The values of the CPUs' memory.
    pub lanes: Lanes,
}

/// The place of a probe, and the data that its program reads there.
#[derive(Clone, Debug)]
pub struct Located {
    /// Index of the enabled probe.
    pub probe: u32,
    /// An address; for a place without one, a number.
    pub at: u64,
    /// The map with the entry, and the position in it.
    pub home: Home,
    /// Words of 8 bytes, in the layout of `program::place`.
    pub entry: Vec<u64>,
}

/// The location of a place's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// A key in the hash of places.
    Shared(u64),
    /// An offset in bytes in the map of places that do not share their program.
    Alone(u32),
}

/// The program of probes with the same enabled clauses.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Kind of context that the program gets.
    pub kind: ProbeKind,
    /// The only process whose hits count.
    pub process: Option<u32>,
    /// Places of its probes.
    pub places: Vec<Located>,
    /// The program and the functions that it calls.
    pub code: Code,
}

/// Why a program cannot be traced without the module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unable {
    /// A probe of a kind that only the module has, by index.
    #[error("such a probe is not supported")]
    Probe(u32),
    /// The clauses at a probe.
    #[error("{why}")]
    Clauses {
        /// Index of the first probe with these clauses.
        probe: u32,
        /// The reason.
        why: Refusal,
    },
    /// An action without a layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Strings, variables or keys that the program cannot have with any probe.
    #[error(transparent)]
    Program(#[from] Missing),
}

impl Image {
    /// Generates the programs of all enablings and lays out their memory.
    pub fn new(
        program: &Program,
        enabled: &Enabled,
        options: &Options,
        found: &Found,
    ) -> Result<Image, Unable> {
        let layouts = program.clauses.iter().map(|clause| layout::clause_layout(program, clause, options));
        let layouts = layouts.collect::<Result<Vec<_>, _>>()?;
        let entries = entries(program, options)?;
        let record = layouts.iter().map(|layout| layout.size).max().unwrap_or_default();
        let memory = memory(program, options, found, record, &entries)?;
        let needs = Needs::of(program);
        let (heads, names) = heads(enabled, SCRATCH + memory.constants.len() as u32);
        let error = errors(enabled, &heads);
        let (mut units, mut alone) = (Vec::new(), 0);
        let lanes = lanes(enabled, found.cpus, memory.size);
        let groups = groups(enabled, found).map_err(Unable::Probe)?;
        for (unit, (group, members)) in groups.into_iter().enumerate() {
            let probe = members.first().map(|member| member.probe).unwrap_or_default();
            let place = enabled.probes.get(probe as usize).map(|probe| &probe.place);
            // Programs at system calls run at all of them.
            let shares = members.len() > 1 || group.kind.is_call();
            let home = |member: &Member| match shares {
                true => Home::Shared(place::key(member.key(group.kind), unit)),
                false => Home::Alone(alone),
            };
            let located = |member: &Member| located(member, home(member), &heads, found.machine);
            let places: Vec<Located> = members.iter().filter_map(located).collect();
            let prologue = Prologue {
                number: probe,
                unit,
                alone: (!shares).then_some(alone),
                flags: group.flags,
                spot: members.first().and_then(|member| member.spot).filter(|_| group.alone != 0),
                event: place.and_then(event_of),
                cpu: options.cpu,
                process: group.process,
                lanes,
                kernel: &found.kernel,
                level: needs.interrupts,
                computes: group.clauses.iter().any(|clause| computes(program, *clause)),
                once: options.once,
                timed: needs.time || record > 0,
                named: needs.names,
                inlined: needs.names || needs.stacks,
            };
            let (kind, functions) = (group.kind, &Functions::default());
            let (memory, layouts, entries, error) =
                (&*with_site(&memory, kind, &members), &*layouts, &*entries, &error);
            let writer =
                Writer { program, prologue, kind, context: kind, error, memory, layouts, entries, functions };
            let code = writer.write(&group.clauses).and_then(within_limits);
            let code = code.map_err(|why| Unable::Clauses { probe, why })?;
            let bytes = |place: &Located| place.entry.len() as u32 * 8;
            alone += if shares { 0 } else { places.iter().map(bytes).sum() };
            units.push(Unit { kind, process: group.process, code, places });
        }
        let constants = [&[0; SCRATCH as usize], &*memory.constants, &names].concat();
        Ok(Image { memory, constants, entries, units, alone, lanes })
    }

    /// Returns the places of all programs.
    pub fn places(&self) -> impl Iterator<Item = &Located> {
        self.units.iter().flat_map(|unit| &unit.places)
    }
}

/// Lays out the memory, for records of this size at most.
fn memory(
    program: &Program,
    options: &Options,
    found: &Found,
    record: u32,
    entries: &[Entries],
) -> Result<Memory, Missing> {
    let key = entries.iter().map(Entries::keys_size).max().unwrap_or_default();
    let sizes = Sizes { record, key, aggregations: entries.len() as u32 };
    let mut memory = Memory::new(program, options, sizes)?;
    (memory.kernel, memory.machine) = (found.kernel, found.machine);
    memory.own.clone_from(&found.own);
    Ok(memory)
}

/// Whether a clause does more than count its hits.
fn computes(program: &Program, clause: usize) -> bool {
    program.clauses.get(clause).is_none_or(|clause| {
        let counts =
            |action: &Action| action.kind == ActionKind::Count && action.difo.is_none() && action.ntuple == 0;
        clause.record || clause.predicate.is_some() || !clause.actions.iter().all(counts)
    })
}

/// Returns memory whose own code includes the call at the function's beginning that runs its trampoline.
fn with_site<'m>(memory: &'m Memory, kind: ProbeKind, members: &[Member<'_>]) -> Cow<'m, Memory> {
    let Some(function) = members.first().filter(|_| kind.is_trampoline()).map(Member::at) else {
        return Cow::Borrowed(memory);
    };
    let mut memory = memory.clone();
    let end = memory.machine.facts().ftrace_end;
    memory.own.push((function, function.wrapping_add(end) + 1));
    Cow::Owned(memory)
}

fn event_of(place: &Place) -> Option<u64> {
    match place {
        Place::Event { number } => Some(*number),
        _ => None,
    }
}

/// Refuses a program that the kernel would refuse.
fn within_limits(code: Code) -> Result<Code, Refusal> {
    if code.functions.len() > FUNCTIONS {
        return Err(Missing::Functions.into());
    }
    if code.maps() > MAPS {
        return Err(Missing::Maps.into());
    }
    Ok(code)
}

/// Lists the aggregations' entries: actions of an aggregation share entries if these look alike.
fn entries(program: &Program, options: &Options) -> Result<Vec<Entries>, LayoutError> {
    let mut entries: Vec<Entries> = Vec::new();
    let mut number = 0;
    for clause in &program.clauses {
        for (index, action) in clause.actions.iter().enumerate() {
            if action.kind.is_aggregating() {
                let layout = layout::aggregation_layout(program, clause, index, options)?;
                let (aggregation, function) = (action.agg, action.kind);
                let new = Entries { aggregation, actions: Vec::new(), function, layout };
                let place = entries.iter().position(|known| known.is_like(&new));
                let place = place.unwrap_or_else(|| {
                    entries.push(new);
                    entries.len() - 1
                });
                entries[place].actions.push(number);
            }
            number += 1;
        }
    }
    Ok(entries)
}

/// Returns the values of the CPUs' memory.
fn lanes(enabled: &Enabled, cpus: u32, size: u32) -> Lanes {
    match enabled.probes.iter().any(|probe| matches!(probe.place, Place::Program(_))) {
        true => Lanes::of_programs(cpus, size),
        false => Lanes::one(cpus),
    }
}

/// Returns a place with its entry.
fn located(member: &Member<'_>, home: Home, heads: &[Head], machine: &dyn Machine) -> Option<Located> {
    let head = heads.get(member.probe as usize)?;
    let (bits, inverted) = member.spot.map_or((0, true), |spot| ways::test(machine, spot.when));
    let exit = member.spot.map_or(0, |spot| spot.exit);
    let mut entry = head.names.to_vec();
    entry.extend([head.id, exit, bits.into(), inverted.into(), 0, 0]);
    entry.extend(&head.enablings);
    Some(Located { probe: member.probe, at: member.at(), home, entry })
}

/// Returns the enablings of ERROR, and the data of that probe.
fn errors(enabled: &Enabled, heads: &[Head]) -> ErrorProbe {
    let mut error = ErrorProbe::default();
    for (index, (probe, head)) in enabled.probes.iter().zip(heads).enumerate() {
        if probe.place == Place::Error {
            let ecbs = (1..).zip(&enabled.ecbs).filter(|(_, ecb)| ecb.probe as usize == index);
            error.clauses = ecbs.map(|(epid, ecb)| (epid, ecb.clause as usize)).collect();
            error.place = head.names.into_iter().chain([head.id]).collect();
        }
    }
    error
}

/// The data that all places of a probe share.
struct Head {
    /// Its four names, as offsets in the constants.
    names: [u64; 4],
    id: u64,
    /// The enablings, in the layout of a place.
    enablings: Vec<u64>,
}

/// Returns the heads of all probes, and the names that they refer to, from `base` in the constants on.
fn heads(enabled: &Enabled, base: u32) -> (Vec<Head>, Vec<u8>) {
    let mut names = Vec::new();
    let mut known: HashMap<&str, u64> = HashMap::new();
    let mut name = |text| {
        *known.entry(text).or_insert_with(|| {
            let at = u64::from(base) + names.len() as u64;
            names.extend(str::as_bytes(text));
            names.push(0);
            at
        })
    };
    let mut heads = Vec::new();
    for probe in &enabled.probes {
        let fields = [&probe.name.provider, &probe.name.module, &probe.name.function, &probe.name.name];
        let fields = fields.map(|field| name(field));
        heads.push(Head { names: fields, id: probe.id.into(), enablings: Vec::new() });
    }
    for (index, ecb) in enabled.ecbs.iter().enumerate() {
        let inlined = ecb.inlined.as_deref().map_or(0, &mut name);
        if let Some(head) = heads.get_mut(ecb.probe as usize) {
            head.enablings.extend([index as u64 + 1, inlined]);
        }
    }
    (heads, names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::By;
    use kinst_base::probe::{Fields, Probe, Spot, When};
    use kinst_dif::Clause;

    /// Makes an empty clause.
    fn clause() -> Clause {
        Clause {
            probes: vec![],
            predicate: None,
            actions: vec![],
            statements: vec![],
            record: false,
            part: false,
        }
    }

    /// Makes an image of two empty clauses, each at separate probes. `probes` has the number of places of
    /// each probe, by clause.
    fn image(probes: [&[usize]; 2]) -> Image {
        let program = Program { clauses: vec![clause(), clause()], ..Program::default() };
        let (mut enabled, mut found) = (Enabled::default(), Found::default());
        for (clause, places) in
            (0..).zip(probes).flat_map(|(clause, all)| all.iter().map(move |n| (clause, *n)))
        {
            let (index, func) = (enabled.probes.len() as u32, 0x1000 * (1 + enabled.probes.len() as u64));
            let place = Place::Insn { func, offset: 0, bytes: vec![0x90] };
            enabled.probes.push(Probe { id: index, place, name: Fields::new("kinst", "vmlinux", "f", "0") });
            enabled.ecbs.push((index, clause).into());
            let spot = |n| Spot { address: func + n as u64, exit: 0, when: When::Always, keys: Vec::new() };
            found.spots.push(Some((0..places).map(spot).collect()));
        }
        Image::new(&program, &enabled, &Options::default(), &found).unwrap()
    }

    fn homes(probes: [&[usize]; 2]) -> (Vec<Home>, u32) {
        let image = image(probes);
        (image.places().map(|place| place.home).collect(), image.alone)
    }

    #[test]
    fn each_trampoline_has_a_program_of_its_own() {
        let units = |by: By| {
            let program = Program { clauses: vec![clause()], ..Program::default() };
            let (mut enabled, mut found) = (Enabled::default(), Found::default());
            for index in 0..3 {
                let func = 0x1000 * (1 + u64::from(index));
                let name = Fields::new("fbt", "vmlinux", "f", "entry");
                enabled.probes.push(Probe { id: index, place: Place::FbtEntry { func }, name });
                enabled.ecbs.push((index, 0).into());
                found.spots.push(Some(vec![Spot {
                    address: func,
                    exit: 0,
                    when: When::Always,
                    keys: Vec::new(),
                }]));
                found.by.push(by);
            }
            let image = Image::new(&program, &enabled, &Options::default(), &found).unwrap();
            image.units.iter().map(|unit| (unit.kind, unit.places.len())).collect::<Vec<_>>()
        };
        assert_eq!(units(By::Trampoline), [(ProbeKind::Fentry, 1); 3]);
        assert_eq!(units(By::Multi), [(ProbeKind::MultiEntry, 3)]);
        assert_eq!(units(By::Kprobe), [(ProbeKind::Entry, 3)]);
    }

    #[test]
    fn a_place_is_alone_if_it_has_its_program_for_itself() {
        let entry = 8 * 12;
        assert_eq!(homes([&[1], &[1]]), (vec![Home::Alone(0), Home::Alone(entry)], 2 * entry));
        let (found, alone) = homes([&[2], &[1]]);
        let first = [0x1000, 0x1001].map(|address| Home::Shared(place::key(address, 0)));
        assert_eq!((&found[..2], found[2], alone), (&first[..], Home::Alone(0), entry));
        let (found, alone) = homes([&[1, 1], &[]]);
        assert!(found.iter().all(|home| matches!(home, Home::Shared(_))) && alone == 0, "{found:?}");
    }
}

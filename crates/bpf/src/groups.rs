//! bpf/groups.rs: the places of a session, by the program that they share.

use super::found::{By, Found};
use super::object::ProbeKind;
use kinst_base::probe::{End, Place, Spot, When};
use kinst_dif::enabled::Enabled;
use std::collections::{BTreeMap, HashSet};

/// The properties that the probes of one program share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Group {
    pub(super) kind: ProbeKind,
    /// The only process whose hits count.
    pub(super) process: Option<u32>,
    /// A unique number for a place that does not share its program; else 0.
    pub(super) alone: u32,
    /// Whether the flags say which hits count.
    pub(super) flags: bool,
    pub(super) clauses: Vec<usize>,
    /// Index of the place among those at one address, such as the edges of a branch: a program sees only one of them.
    layer: u32,
}

/// A place of a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'a> {
    pub(super) probe: u32,
    /// The number by which the program identifies it, unless it is an instruction of the kernel.
    number: u64,
    pub(super) spot: Option<&'a Spot>,
}

impl Member<'_> {
    pub(super) fn at(&self) -> u64 {
        self.spot.map_or(self.number, |spot| spot.address)
    }

    /// The address or number that is unique among the places of a unit: equal addresses may be in two files.
    pub(super) fn key(&self, kind: ProbeKind) -> u64 {
        if kind.is_in_program() { self.number } else { self.at() }
    }
}

/// Returns the places by group. An error is the index of a probe that only the module has.
pub(super) fn groups<'a>(
    enabled: &Enabled,
    found: &'a Found,
) -> Result<BTreeMap<Group, Vec<Member<'a>>>, u32> {
    let mut clauses = vec![Vec::new(); enabled.probes.len()];
    for ecb in &enabled.ecbs {
        if let Some(clauses) = clauses.get_mut(ecb.probe as usize) {
            clauses.push(ecb.clause as usize);
        }
    }
    let mut groups: BTreeMap<Group, Vec<Member<'a>>> = BTreeMap::new();
    let (mut alone, mut in_programs) = (0, 0);
    let mut taken: HashSet<(Group, u64)> = HashSet::new();
    for (index, (probe, clauses)) in enabled.probes.iter().zip(clauses).enumerate() {
        let Some(Some(spots)) = found.spots.get(index) else { continue };
        let index = index as u32;
        if probe.place == Place::Error {
            continue;
        }
        let (arguments, by) = (found.arguments.get(index as usize), found.by.get(index as usize));
        let kind = kind(&probe.place, arguments, by).ok_or(index)?;
        let number = match probe.place {
            Place::SyscallEntry { number } | Place::SyscallReturn { number } => number,
            _ => index.into(),
        };
        let mut add = |spot: Option<&'a Spot>, shares: bool| {
            alone += u32::from(!shares);
            let flags = spot.is_some_and(|spot| matches!(spot.when, When::Taken(_) | When::NotTaken(_)));
            let alone = if shares { 0 } else { alone };
            let process = process_of(&probe.place);
            let mut group = Group { kind, process, alone, flags, clauses: clauses.clone(), layer: 0 };
            // In programs, each place is found by its number.
            let address = spot.map(|spot| spot.address).filter(|_| !kind.is_in_program());
            let number = if kind.is_in_program() { in_programs } else { number };
            in_programs += u64::from(kind.is_in_program());
            while address.is_some_and(|address| taken.contains(&(group.clone(), address))) {
                group.layer += 1;
            }
            taken.extend(address.map(|address| (group.clone(), address)));
            groups.entry(group).or_default().push(Member { probe: index, number, spot });
        };
        if !kind.is_text() {
            add(None, kind.is_call());
        }
        for spot in spots {
            let by_operand = matches!(spot.when, When::Goes(..) | When::Leaves(..) | When::Zero { .. });
            add(Some(spot), spot.keys.is_empty() && !by_operand && !kind.is_trampoline());
        }
    }
    Ok(groups)
}

fn process_of(place: &Place) -> Option<u32> {
    match place {
        Place::Program(place) => place.process,
        _ => None,
    }
}

/// Returns the kind of context at a place; `None` if only the module has such probes.
fn kind(place: &Place, arguments: Option<&u8>, by: Option<&By>) -> Option<ProbeKind> {
    let by = by.copied().unwrap_or_default();
    Some(match place {
        Place::Insn { .. } | Place::Edge { .. } | Place::Driver { .. } => ProbeKind::Insn,
        Place::FbtEntry { .. } => match by {
            By::Kprobe => ProbeKind::Entry,
            By::Trampoline => ProbeKind::Fentry,
            By::Multi => ProbeKind::MultiEntry,
        },
        Place::FbtReturn { .. } => match by {
            By::Kprobe => ProbeKind::Return,
            By::Trampoline => ProbeKind::Fexit,
            By::Multi => ProbeKind::MultiReturn,
        },
        Place::Profile { .. } | Place::Tick { .. } => ProbeKind::Timer,
        Place::Begin | Place::End => ProbeKind::Bare,
        Place::SyscallEntry { .. } => ProbeKind::CallEntry,
        Place::SyscallReturn { .. } => ProbeKind::CallReturn,
        Place::Sdt { .. } => ProbeKind::Trace(arguments.copied().unwrap_or_default()),
        Place::Event { .. } => ProbeKind::Event,
        Place::Program(place) => match place.end {
            None => ProbeKind::UserInsn,
            Some(End::Entry) => ProbeKind::UserEntry,
            Some(End::Return) => ProbeKind::UserReturn,
        },
        // The clauses of ERROR are part of every program.
        Place::Error | Place::Gate { .. } => return None,
    })
}

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
            Some(End::Entry) => ProbeKind::UserEntry(place.passing),
            Some(End::Return) => ProbeKind::UserReturn,
        },
        // The clauses of ERROR are part of every program.
        Place::Error | Place::Gate { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinst_base::image::FileId;
    use kinst_base::probe::{Fields, InProgram, Jump, Passing, Probe};

    /// Each of the places with the clause 0, and its instructions.
    fn grouped(places: Vec<InProgram>) -> Vec<(ProbeKind, Option<u32>, Vec<u64>)> {
        let (mut enabled, mut found) = (Enabled::default(), Found::default());
        for (index, place) in (0..).zip(places) {
            found.spots.push(Some(place.spots.clone()));
            let name = Fields::new("uprobe", "a.out", "f", "0");
            enabled.probes.push(Probe { id: index, place: Place::Program(Box::new(place)), name });
            enabled.ecbs.push((index, 0).into());
        }
        let groups = groups(&enabled, &found).unwrap();
        let keys = |group: &Group, members: &[Member<'_>]| {
            members.iter().map(|member| member.key(group.kind)).collect::<Vec<_>>()
        };
        groups.iter().map(|(group, members)| (group.kind, group.process, keys(group, members))).collect()
    }

    fn place(file: u32, process: Option<u32>, end: Option<End>, when: &[When]) -> InProgram {
        let spot = |when: &When| Spot { address: 0x1000, exit: 0, when: *when, keys: Vec::new() };
        let spots = when.iter().map(spot).collect();
        InProgram { file: FileId(file), process, end, passing: Passing::C, spots, semaphore: None }
    }

    #[test]
    fn a_program_is_of_one_process_and_numbers_its_places() {
        use ProbeKind::{UserEntry, UserInsn, UserReturn};
        let always = [When::Always];
        // Two files have the same address, and so have two probes of one file.
        let places = [(0, None), (1, None), (1, None), (1, Some(7)), (0, Some(8)), (1, Some(7))];
        let places = places.map(|(file, process)| place(file, process, None, &always));
        let expected =
            [(UserInsn, None, vec![0, 1, 2]), (UserInsn, Some(7), vec![3, 5]), (UserInsn, Some(8), vec![4])];
        assert_eq!(grouped(places.to_vec()), expected);
        let ends = [Some(End::Return), None, Some(End::Entry)].map(|end| place(0, None, end, &always));
        let kinds: Vec<_> = grouped(ends.to_vec()).into_iter().map(|group| group.0).collect();
        assert_eq!(kinds, [UserInsn, UserEntry(Passing::C), UserReturn]);
        // An operand is tested by code for this place.
        let jumps = [When::Goes(Jump::default(), 1), When::Goes(Jump::default(), 2), When::Always];
        assert_eq!(grouped(vec![place(0, None, None, &jumps)]).len(), 3);
    }
}

//! analysis/counts/group.rs: the functions or copies that are counted together.

use crate::analysis::counts::counted::Counted;
use kinst_base::probe::{Site, Spot, in_description};
use kinst_base::space::Space;
use kinst_sites::uprobe::Way;
use std::collections::BTreeSet;

/// Functions during which the set of thread-local variables changes: they begin in an interrupt or softirq
/// and end outside of it, or vice versa.
pub(crate) const CROSSING: &[&str] = &[
    "irq_enter",
    "irq_enter_rcu",
    "irq_exit",
    "irq_exit_rcu",
    "__irq_exit_rcu",
    "__do_softirq",
    "handle_softirqs",
];

/// The functions and copies of one name in one module.
pub(crate) struct Group<'a> {
    /// The provider, the module and the function of the probes at their entries and returns.
    pub at: [String; 3],
    pub space: Space,
    /// Whether they are inlined copies.
    pub copies: bool,
    /// Whether to count only within calls that begin during the trace, with probes at the entries and returns.
    pub by_call: bool,
    /// With --latency of a function in programs, the firings at its ends.
    pub ends: Ends,
    pub members: Vec<&'a Counted>,
}

/// The probes at the entry and the exits of a function that do not share their instruction with a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    pub entry: Option<Firing>,
    /// Each with the offset, which is `arg0` there.
    pub exits: Vec<(u64, Option<Firing>)>,
}

/// How the kernel executes the instruction below a probe that fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Firing {
    Emulated,
    Stepped,
}

impl Group<'_> {
    /// The name of the function in descriptions.
    pub(crate) fn name(&self) -> &str {
        &self.at[2]
    }

    /// The common prefix of the probe descriptions of their entries and returns.
    pub(crate) fn prefix(&self) -> String {
        let [provider, module, function] = &self.at;
        format!("{provider}:{module}:{}", in_description(function))
    }

    /// The probe at one end of the calls. In programs, a name means the copies of a function too.
    pub(crate) fn end(&self, name: &str) -> String {
        let own = self.space != Space::Kernel && !self.copies;
        let only = if own { format!("\n/probename == \"{name}\"/") } else { String::new() };
        format!("{}:{name}{only}", self.prefix())
    }

    /// Finds how the probes at the ends of a function fire, by its instructions: those of the entry, then of the exits.
    pub(crate) fn find_ends(&mut self, [entry, exits]: [&[Spot]; 2]) {
        let sites = self.sites();
        let firing = |spot: &Spot| {
            let listings = self.members.iter().flat_map(|one| &one.listings);
            let (listing, insn) = listings.into_iter().find_map(|listing| {
                let offset = spot.address.checked_sub(listing.address)?;
                let insn = listing.instructions.iter().find(|insn| u64::from(insn.offset) == offset)?;
                Some((listing, insn))
            })?;
            let offset = u64::from(insn.offset);
            let is_here = |site: &&&Site| site.offset == offset && site.function == listing.function;
            let way = if insn.way == Some(Way::Emulated) { Firing::Emulated } else { Firing::Stepped };
            sites.iter().find(is_here).is_none().then_some(way)
        };
        let entry = entry.first().and_then(firing);
        let exits = exits.iter().map(|spot| (spot.exit, firing(spot))).collect();
        self.ends = Ends { entry, exits };
    }

    /// The sites where the kernel steps.
    pub(crate) fn stepped(&self) -> BTreeSet<&Site> {
        let laps = self.members.iter().flat_map(|one| &one.laps);
        let sites = laps.flat_map(|lap| [Some(&lap.begin), lap.second.as_ref()].into_iter().zip(lap.stepped));
        sites.filter(|(_, stepped)| *stepped).filter_map(|(site, _)| site).collect()
    }

    /// The sites that are counted or timed.
    pub(crate) fn sites(&self) -> BTreeSet<&Site> {
        let timed = self.members.iter().flat_map(|one| &one.laps);
        let timed = timed.flat_map(|lap| std::iter::once(&lap.begin).chain(&lap.second));
        let counters = self.members.iter().flat_map(|one| &one.counters);
        counters.flat_map(|counter| &counter.sites).chain(timed).collect()
    }
}

/// Groups the counted code by function. In programs, `by_call` says whether single calls matter; otherwise the counts do
/// not need the ends of calls.
pub(crate) fn groups(all: &[Counted], by_call: bool) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for counted in all {
        let Some(listing) = counted.listings.first() else { continue };
        let name = listing.copy.as_ref().map_or(&listing.function, |copy| &copy.function);
        let copies = listing.copy.is_some();
        let provider = match listing.space {
            Space::Kernel if !copies => "fbt".to_owned(),
            space => space.provider(),
        };
        let at = [provider, listing.module.clone(), name.clone()];
        match groups.iter_mut().find(|group| group.at == at && group.copies == copies) {
            Some(group) => group.members.push(counted),
            None => {
                let by_call = match listing.space {
                    Space::Kernel => !CROSSING.contains(&name.as_str()),
                    _ => by_call,
                };
                let (space, ends, members) = (listing.space, Ends::default(), vec![counted]);
                groups.push(Group { at, space, copies, by_call, ends, members });
            }
        }
    }
    groups
}

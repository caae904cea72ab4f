//! analysis/counts/counted.rs: functions and inlined copies whose executions are counted: where, and what follows for each instruction.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use kinst_base::diag::Diagnostic;
use kinst_base::probe::Site;
use kinst_sites::flow::counts::{Counts, Room};
use kinst_sites::flow::laps::{self, Takes};
use kinst_sites::flow::points::Point;
use kinst_sites::flow::{Flow, Undecodable};
use kinst_sites::listing::disas::{Disassembler, Listed, Listing};
use kinst_sites::listing::members::{After, Member};

/// One function, or one inlined copy of it.
pub(crate) struct Counted {
    /// Of a function its own code, then what the compiler put elsewhere; of a copy what is in each function.
    pub listings: Vec<Listing>,
    /// The number of blocks; of instructions where there is no graph.
    pub blocks: usize,
    /// What is counted.
    pub counters: Vec<Counter>,
    /// Where the time is taken, if it is.
    pub laps: Vec<Lap>,
    /// Why the control flow is not known; then each instruction is counted.
    pub unread: Option<Undecodable>,
    graph: Option<Graph>,
    /// The start of each listing's function at the addresses of the graph.
    starts: Vec<Option<u64>>,
}

/// What is done in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// As few counts as the others follow from.
    Count,
    /// Each instruction is counted too, as far as there is room.
    Exact,
    /// The time is taken where blocks begin, and after calls.
    Time,
}

/// Code from one place where the time is taken to the next one.
#[derive(Clone, Debug)]
pub(crate) struct Lap {
    pub begin: Site,
    /// The next instruction, where the cost of a probe is measured: from `begin` to there is nothing else.
    pub second: Option<Site>,
    pub takes: Takes,
    /// The listing, and the place in it, of the instruction that it is shown at: its call, or its first one.
    pub shown: (usize, usize),
}

/// The time that a lap took, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// How many laps were executed to their end.
    pub times: u64,
    /// With the probes' cost, and that cost.
    pub measured: u64,
    pub taken_off: u64,
    /// By how much the rest may be wrong, as the probes' cost varies.
    pub doubt: u64,
}

struct Graph {
    flow: Rc<Flow>,
    counts: Counts,
    /// The blocks with the entries of a copy.
    entered: Option<Vec<u32>>,
}

/// One count: the executions of its sites together.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub what: What,
    pub sites: Vec<Site>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// By its number in the graph.
    Way(usize),
    /// By listing, and by place in it.
    Insn(usize, usize),
}

/// What follows from the counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Executions {
    /// Parallel to the listings and their instructions.
    pub parts: Vec<Vec<Executed>>,
    /// As of [`Solved::imbalance`](kinst_sites::flow::counts::Solved::imbalance).
    pub imbalance: u64,
    /// How often it was entered, as far as it follows.
    pub calls: Option<u64>,
    /// What each instruction's own count says where it is another than what follows for it: listing, place, own count, what follows.
    pub wrong: Vec<(usize, usize, u64, u64)>,
    /// The number of instructions whose own count is what follows.
    pub right: usize,
}

impl Spent {
    /// What remains without the probes.
    pub(crate) fn rest(&self) -> u64 {
        self.measured.saturating_sub(self.taken_off)
    }

    /// The time of one of so many executions. A line whose laps are several is executed once for all of them.
    pub(crate) fn each(&self, executed: Option<u64>) -> u64 {
        let executions = executed.filter(|executed| *executed > 0).unwrap_or(self.times);
        self.rest().checked_div(executions).unwrap_or(0)
    }

    pub(crate) fn add(&mut self, other: Spent) {
        self.times += other.times;
        self.measured += other.measured;
        self.taken_off += other.taken_off;
        self.doubt += other.doubt;
    }
}

/// How often an instruction was executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Executed {
    /// `None`: it does not follow.
    pub count: Option<u64>,
    /// Whether it is counted here, and does not follow from others.
    pub counted: bool,
    /// Whether a block begins here.
    pub begins: bool,
    /// Where control went after the last instruction of a block, if there are several ways.
    pub ways: Vec<Way>,
    /// The time of the lap that is shown here.
    pub spent: Option<Spent>,
}

/// One way out of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The listing and the place in it of the instruction that it leads to; `None`: outside of what is counted.
    pub to: Option<(usize, usize)>,
    /// Whether it is the next instruction.
    pub falls_through: bool,
    pub count: Option<u64>,
}

impl Counted {
    /// The functions or copies of a description, as of [`Disassembler::disassemble`], with what is to be counted in them.
    pub(crate) fn all(
        disassembler: &mut Disassembler<'_>,
        description: &str,
        how: How,
    ) -> Result<Vec<Counted>, Box<Diagnostic>> {
        disassembler.each(description, |member| Ok(Counted::new(member, how)))
    }

    fn new(member: Member<'_>, how: How) -> Counted {
        let (ranges, starts) = (member.ranges(), member.starts());
        let Member { around, ref listings, copy, ref entries, .. } = member;
        let room = |address: u64| match around.room(address) {
            Room::Free if copy.is_some_and(|copy| !around.is_within(copy, address)) => Room::None,
            room => room,
        };
        let sites = |points: &[Point]| -> Option<Vec<Site>> {
            points.iter().map(|point| member.site(*point)).collect()
        };
        let mut counters = Vec::new();
        let mut laps = Vec::new();
        let (graph, unread) = match &around.flow {
            Ok(flow) => {
                let leads = |from, to| around.leads(flow, from, to);
                let counts = flow.counts(ranges.as_deref(), room, leads);
                if how == How::Time {
                    let kind = |address: u64| around.kind(address);
                    let site = |address| Some(sites(&[Point::At(address)])?.remove(0));
                    let place = |address| insn_at(listings, &starts, address);
                    (counters, laps) = timed(&counts, flow.laps(&counts, room, kind), site, place);
                } else {
                    let counted = counts.counted().filter_map(|(way, points)| Some((way, sites(points)?)));
                    counters.extend(counted.map(|(way, sites)| Counter { what: What::Way(way), sites }));
                }
                let mut entered: Vec<u32> =
                    entries.iter().filter_map(|entry| flow.block_over(*entry)).collect();
                entered.sort_unstable();
                entered.dedup();
                let entered = copy.map(|_| entered);
                (Some(Graph { flow: Rc::clone(flow), counts, entered }), None)
            }
            Err(why) => (None, Some(*why)),
        };
        if how == How::Exact || graph.is_none() {
            let at = |address| (room(address) != Room::None).then(|| sites(&[Point::At(address)])).flatten();
            counters.extend(each(listings, &starts, at));
        }
        let blocks = match &graph {
            Some(graph) => graph.counts.blocks(),
            None => listings.iter().map(|listing| listing.instructions.len()).sum(),
        };
        Counted { listings: member.listings, blocks, counters, laps, unread, graph, starts }
    }
}

/// A counter of each instruction that can have one.
fn each(
    listings: &[Listing],
    starts: &[Option<u64>],
    sites: impl Fn(u64) -> Option<Vec<Site>>,
) -> Vec<Counter> {
    let mut counters = Vec::new();
    for (part, (listing, start)) in listings.iter().zip(starts).enumerate() {
        let Some(start) = start else { continue };
        let free = listing.instructions.iter().enumerate().filter(|(_, insn)| insn.refused.is_none());
        counters.extend(free.filter_map(|(at, insn)| {
            let sites = sites(start + u64::from(insn.offset))?;
            Some(Counter { what: What::Insn(part, at), sites })
        }));
    }
    counters
}

/// The laps that there are sites for, and counters of their blocks.
fn timed(
    counts: &Counts,
    found: Vec<laps::Lap>,
    site: impl Fn(u64) -> Option<Site>,
    place: impl Fn(u64) -> Option<(usize, usize)>,
) -> (Vec<Counter>, Vec<Lap>) {
    let (mut counters, mut laps): (Vec<Counter>, _) = (Vec::new(), Vec::new());
    for lap in found {
        let shown = place(lap.shown).or_else(|| place(lap.begin));
        let (Some(begin), Some(shown), Some(way)) = (site(lap.begin), shown, counts.own(lap.block)) else {
            continue;
        };
        let what = What::Way(way);
        if !counters.iter().any(|counter| counter.what == what) {
            counters.push(Counter { what, sites: vec![begin.clone()] });
        }
        laps.push(Lap { begin, second: lap.second.and_then(&site), takes: lap.takes, shown });
    }
    (counters, laps)
}

/// The listing and the place in it of the instruction at an address of the graph.
fn insn_at(listings: &[Listing], starts: &[Option<u64>], address: u64) -> Option<(usize, usize)> {
    listings.iter().zip(starts).enumerate().find_map(|(part, (listing, start))| {
        let offset = u32::try_from(address.checked_sub((*start)?)?).ok()?;
        let at = listing.instructions.iter().position(|insn| insn.offset == offset)?;
        Some((part, at))
    })
}

impl Counted {
    /// The number of probes.
    pub(crate) fn places(&self) -> usize {
        let sites = self.counters.iter().flat_map(|counter| &counter.sites);
        let timed = self.laps.iter().flat_map(|one| std::iter::once(&one.begin).chain(&one.second));
        sites.chain(timed).collect::<BTreeSet<_>>().len()
    }

    /// The listing and the instruction that a way leads to; `None`: outside.
    pub(crate) fn target(&self, way: &Way) -> Option<(&Listing, &Listed)> {
        let (part, at) = way.to?;
        let listing = self.listings.get(part)?;
        Some((listing, listing.instructions.get(at)?))
    }

    /// Works out what follows. `hits` gives the executions of a site, `None` if they were not counted.
    pub(crate) fn work_out(&self, hits: impl Fn(&Site) -> Option<u64>) -> Executions {
        let mut known: HashMap<What, u64> = HashMap::new();
        for counter in &self.counters {
            if let Some(count) = counter.sites.iter().map(&hits).sum() {
                known.insert(counter.what, count);
            }
        }
        let mut executions = Executions {
            parts: self
                .listings
                .iter()
                .map(|listing| vec![Executed::default(); listing.instructions.len()])
                .collect(),
            ..Executions::default()
        };
        if let Some(graph) = &self.graph {
            self.by_flow(graph, &known, &mut executions);
        }
        for (part, instructions) in executions.parts.iter_mut().enumerate() {
            for (at, executed) in instructions.iter_mut().enumerate() {
                let Some(own) = known.get(&What::Insn(part, at)).copied() else { continue };
                match executed.count.replace(own) {
                    Some(follows) if follows != own => executions.wrong.push((part, at, own, follows)),
                    Some(_) => executions.right += 1,
                    None => {}
                }
                executed.counted = true;
            }
        }
        executions
    }

    fn by_flow(&self, graph: &Graph, known: &HashMap<What, u64>, executions: &mut Executions) {
        let Graph { flow, counts, entered } = graph;
        let ways = known.iter().filter_map(|(what, count)| match what {
            What::Way(way) => Some((*way, *count)),
            What::Insn(..) => None,
        });
        let solved = counts.solve(&ways.collect());
        executions.imbalance = solved.imbalance;
        executions.calls = match entered {
            None => counts.entered(&solved),
            Some(blocks) => blocks.iter().map(|block| counts.block(&solved, *block)).sum(),
        };
        for ((listing, start), executed) in self.listings.iter().zip(&self.starts).zip(&mut executions.parts)
        {
            let Some(start) = start else { continue };
            let mut last: Option<u32> = None;
            // Whether the instruction before it goes on with it.
            let mut is_next = true;
            for (insn, executed) in listing.instructions.iter().zip(executed) {
                let address = start + u64::from(insn.offset);
                let step = After::new(insn, address);
                let after = address + insn.bytes.len() as u64;
                let goes_on = step.as_ref().is_none_or(|step| step.ways.contains(&after));
                // The kernel fills up what it replaces by a jump.
                let is_filler = !std::mem::replace(&mut is_next, goes_on) && flow.block_at(address).is_none();
                let Some(block) = flow.block_over(address).filter(|_| !is_filler) else { continue };
                let (first, end) = flow.bounds(block);
                executed.count = counts.block(&solved, block);
                executed.counted = counts.is_counted(block);
                executed.begins = last.replace(block) != Some(block) && first == address;
                let edges = counts.edges(&solved, block);
                let left = counts.left(&solved, block).filter(|_| step.is_some_and(|step| step.parts));
                if address != end || edges.len() + usize::from(left.is_some()) < 2 {
                    continue;
                }
                executed.ways.extend(edges.into_iter().map(|(to, count)| {
                    let address = flow.bounds(to).0;
                    let to = insn_at(&self.listings, &self.starts, address);
                    Way { to, falls_through: address == after, count }
                }));
                if let Some(count) = left {
                    let falls_through = !executed.ways.iter().any(|way| way.falls_through);
                    executed.ways.push(Way { to: None, falls_through, count });
                }
            }
        }
    }
}

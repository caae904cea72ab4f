//! analysis/counts/counted.rs: functions and inlined copies that are counted: sites, and inferred counts.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use kinst_base::diag::Diagnostic;
use kinst_base::probe::Site;
use kinst_base::space::Space;
use kinst_sites::flow::counts::{Counts, Room};
use kinst_sites::flow::laps::{self, Kind, Takes};
use kinst_sites::flow::points::Point;
use kinst_sites::flow::{Flow, Undecodable};
use kinst_sites::listing::disas::{Disassembler, Listed, Listing};
use kinst_sites::listing::members::{After, Member};

/// One function, or one inlined copy of it.
pub(crate) struct Counted {
    /// For a function, its code, then the parts that the compiler placed elsewhere; for an inlined copy,
    /// its part of each function.
    pub listings: Vec<Listing>,
    /// The number of blocks; of instructions if the control flow is unknown.
    pub blocks: usize,
    /// The sites that are counted.
    pub counters: Vec<Counter>,
    /// The laps that are timed, with --latency.
    pub laps: Vec<Lap>,
    /// The reason why the control flow is unknown; then each instruction is counted.
    pub unread: Option<Undecodable>,
    graph: Option<Graph>,
    /// The start of each listing's function, in addresses of the graph.
    starts: Vec<Option<u64>>,
}

/// The kind of measurement in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Count as few sites as determine all others.
    Count,
    /// Count each instruction too, as far as the probes fit.
    Exact,
    /// Take the time at the start of blocks, and after calls.
    Time,
}

/// Code from one timed place to the next.
#[derive(Clone, Debug)]
pub(crate) struct Lap {
    pub begin: Site,
    /// The next instruction, if the cost of a probe is measured here: nothing else is between the two.
    pub second: Option<Site>,
    pub takes: Takes,
    /// Whether nothing but a jump is in it.
    pub is_empty: bool,
    /// Whether the kernel executes the first instruction, and the next one, in a single step.
    pub stepped: [bool; 2],
    /// The listing, and the index in it, of the instruction that shows the lap: its call, or its first
    /// instruction.
    pub shown: (usize, usize),
}

/// The time that a lap took, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// The number of laps that were executed to their end.
    pub times: u64,
    /// The time including the probes' cost, and that cost.
    pub measured: u64,
    pub taken_off: u64,
    /// The uncertainty of the rest, as the mean of the probes' cost varies from place to place.
    pub doubt: u64,
    /// The variance of the cost from one time to the next, summed up.
    pub variance: u128,
}

struct Graph {
    flow: Rc<Flow>,
    counts: Counts,
    /// The blocks that contain the entries of a copy.
    entered: Option<Vec<u32>>,
}

/// One count: the sum of the executions of its sites.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub what: What,
    pub sites: Vec<Site>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// An edge, by its index in the graph.
    Way(usize),
    /// An instruction, by listing and index in it.
    Insn(usize, usize),
}

/// The counts of all instructions, as far as they can be inferred.
#[derive(Clone, Debug, Default)]
pub(crate) struct Executions {
    /// Parallel to the listings and their instructions.
    pub parts: Vec<Vec<Executed>>,
    /// See [`Solved::imbalance`](kinst_sites::flow::counts::Solved::imbalance).
    pub imbalance: u64,
    /// The number of calls, if it can be inferred.
    pub calls: Option<u64>,
    /// The instructions whose own count differs from the inferred one: listing, index, own count, inferred
    /// count.
    pub wrong: Vec<(usize, usize, u64, u64)>,
    /// The number of instructions whose own count equals the inferred one.
    pub right: usize,
}

impl Spent {
    /// The time without the probes' cost.
    pub(crate) fn rest(&self) -> u64 {
        self.measured.saturating_sub(self.taken_off)
    }

    /// The uncertainty of the rest: that of the means, and twice the standard deviation.
    pub(crate) fn doubt(&self) -> u64 {
        self.doubt.saturating_add((4 * self.variance).isqrt() as u64)
    }

    /// Whether the rest is not zero, as far as the cost of the probes is known.
    pub(crate) fn is_sure(&self) -> bool {
        self.times > 0 && self.rest() > self.doubt()
    }

    /// The time of one execution. A line with several laps is executed once for all of them.
    pub(crate) fn each(&self, executed: Option<u64>) -> u64 {
        let executions = executed.filter(|executed| *executed > 0).unwrap_or(self.times);
        self.rest().checked_div(executions).unwrap_or(0)
    }

    pub(crate) fn add(&mut self, other: Spent) {
        self.times += other.times;
        self.measured += other.measured;
        self.taken_off += other.taken_off;
        self.doubt += other.doubt;
        self.variance += other.variance;
    }
}

/// The execution count of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Executed {
    /// `None`: it cannot be inferred.
    pub count: Option<u64>,
    /// Whether it is counted directly rather than inferred.
    pub counted: bool,
    /// Whether a block begins here.
    pub begins: bool,
    /// The exits after the last instruction of a block, if there are several.
    pub ways: Vec<Way>,
    /// The time of the lap shown here.
    pub spent: Option<Spent>,
}

/// One exit of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The listing and index of the target instruction; `None`: outside the counted code.
    pub to: Option<(usize, usize)>,
    /// Whether it is the next instruction.
    pub falls_through: bool,
    pub count: Option<u64>,
}

impl Counted {
    /// Returns the functions or copies of a description, as [`Disassembler::disassemble`] does, with their
    /// counters.
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
            room if room.has_space() && copy.is_some_and(|copy| !around.is_within(copy, address)) => {
                Room::None
            }
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
                    let kind =
                        |address: u64| Kind { is_entry: entries.contains(&address), ..around.kind(address) };
                    let site = |address| Some(sites(&[Point::At(address)])?.remove(0));
                    let place = |address| insn_at(listings, &starts, address);
                    let is_stepped = |address| around.room(address) == Room::Dear;
                    (counters, laps) =
                        timed(&counts, flow.laps(&counts, room, kind), site, place, is_stepped);
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

/// Makes a counter for each instruction that can have one.
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

/// Returns the laps that have sites, and counters of their blocks.
fn timed(
    counts: &Counts,
    found: Vec<laps::Lap>,
    site: impl Fn(u64) -> Option<Site>,
    place: impl Fn(u64) -> Option<(usize, usize)>,
    is_stepped: impl Fn(u64) -> bool,
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
        let stepped = [Some(lap.begin), lap.second].map(|at| at.is_some_and(&is_stepped));
        let (takes, is_empty) = (lap.takes, lap.is_empty);
        laps.push(Lap { begin, second: lap.second.and_then(&site), takes, is_empty, stepped, shown });
    }
    (counters, laps)
}

/// Returns the listing and index of the instruction at an address of the graph.
fn insn_at(listings: &[Listing], starts: &[Option<u64>], address: u64) -> Option<(usize, usize)> {
    listings.iter().zip(starts).enumerate().find_map(|(part, (listing, start))| {
        let offset = u32::try_from(address.checked_sub((*start)?)?).ok()?;
        let at = listing.instructions.iter().position(|insn| insn.offset == offset)?;
        Some((part, at))
    })
}

impl Counted {
    /// Returns the number of probes.
    pub(crate) fn places(&self) -> usize {
        let sites = self.counters.iter().flat_map(|counter| &counter.sites);
        let timed = self.laps.iter().flat_map(|one| std::iter::once(&one.begin).chain(&one.second));
        sites.chain(timed).collect::<BTreeSet<_>>().len()
    }

    /// Returns the listing and instruction at the target of an exit; `None`: outside.
    pub(crate) fn target(&self, way: &Way) -> Option<(&Listing, &Listed)> {
        let (part, at) = way.to?;
        let listing = self.listings.get(part)?;
        Some((listing, listing.instructions.get(at)?))
    }

    /// Infers all counts. `hits` returns the executions of a site, `None` if they were not counted.
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
            None => {
                // Exceptions and longjmp() enter a function of a program elsewhere.
                let in_program = self.listings.first().is_some_and(|listing| listing.space != Space::Kernel);
                let entry = self.starts.first().copied().flatten().filter(|_| in_program);
                counts.entered(&solved, entry.and_then(|entry| flow.block_at(entry)))
            }
            Some(blocks) => blocks.iter().map(|block| counts.block(&solved, *block)).sum(),
        };
        for ((listing, start), executed) in self.listings.iter().zip(&self.starts).zip(&mut executions.parts)
        {
            let Some(start) = start else { continue };
            let mut last: Option<u32> = None;
            // Whether control can continue from the preceding instruction.
            let mut is_next = true;
            for (insn, executed) in listing.instructions.iter().zip(executed) {
                let address = start + u64::from(insn.offset);
                let step = After::new(insn, address);
                let after = address + insn.bytes.len() as u64;
                let goes_on = step.as_ref().is_none_or(|step| step.ways.contains(&after));
                // The kernel pads an instruction sequence that it replaces by a jump.
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

//! analysis/paths/followed.rs: functions and inlined copies whose calls are followed: sites, and inferred paths.

use std::collections::HashMap;
use std::rc::Rc;

use kinst_base::diag::Diagnostic;
use kinst_base::probe::Site;
use kinst_base::space::Space;
use kinst_sites::flow::counts::What;
use kinst_sites::flow::points::Point;
use kinst_sites::flow::routes::{Left, Passed, Routes};
use kinst_sites::flow::{Flow, Undecodable};
use kinst_sites::listing::disas::{Copy, Disassembler, Listed, Listing, in_source};
use kinst_sites::listing::members::{self, Member};

pub(crate) use kinst_sites::flow::routes::Step;
pub(crate) use kinst_sites::listing::members::Operand;

/// One function, or one inlined copy of it.
pub(crate) struct Followed {
    /// See [`Counted`](crate::analysis::counts::counted::Counted).
    pub listings: Vec<Listing>,
    /// The probed sites.
    pub witnesses: Vec<Witness>,
    pub blocks: usize,
    /// The number of branches, and of branches that cannot be observed.
    pub branches: usize,
    pub unseen: usize,
    flow: Rc<Flow>,
    routes: Routes,
    starts: Vec<Option<u64>>,
    /// The start of each part of the code, in memory and in the graph, with its symbol.
    parts: Vec<(String, u64)>,
    entries: Vec<u64>,
    /// The edges by the site of their witness.
    by_site: HashMap<Site, u32>,
}

/// A probed site on a path.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    pub site: Site,
    /// The operands that a branch depends on, if it is one.
    pub operands: Vec<Operand>,
}

/// The exit of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit<'e> {
    /// At the instruction at this offset of the function.
    Offset(u64),
    /// At the return of a copy.
    Site(&'e Site),
}

/// A part of a call's path, by the instructions of the listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// These instructions were executed.
    Block(Vec<(usize, usize)>),
    /// The branch was taken, or fell through.
    Branch { insn: (usize, usize), to: Option<(usize, usize)>, jumps: bool, event: usize },
    /// The path is ambiguous here.
    Unknown,
}

/// The reason why calls cannot be followed.
#[derive(Clone, Debug)]
pub(crate) enum NotFollowed {
    Diagnostic(Box<Diagnostic>),
    /// The control flow of the function is unknown.
    Unread(String, Undecodable),
}

impl From<Box<Diagnostic>> for NotFollowed {
    fn from(diagnostic: Box<Diagnostic>) -> NotFollowed {
        NotFollowed::Diagnostic(diagnostic)
    }
}

impl Followed {
    /// Returns the functions or copies of a description, as [`Disassembler::disassemble`] does, with their
    /// sites to probe.
    pub(crate) fn all(
        disassembler: &mut Disassembler<'_>,
        description: &str,
    ) -> Result<Vec<Followed>, NotFollowed> {
        disassembler.each(description, Followed::new)
    }

    fn new(member: Member<'_>) -> Result<Followed, NotFollowed> {
        let (ranges, starts) = (member.ranges(), member.starts());
        let around = member.around;
        let name = || member.listings.first().map(|listing| listing.function.clone()).unwrap_or_default();
        let flow = around.flow.as_ref().map_err(|why| NotFollowed::Unread(name(), *why))?;
        let room = |address: u64| around.room(address);
        let leads = |from, to| around.leads(flow, from, to);
        let routes = flow.routes(ranges.as_deref(), &member.entries, room, leads);
        // Without a site, or without space for a probe, the path through here is unknown.
        let site = |(way, what, point)| Some((way, what, point, member.site(point)?));
        let sites: Vec<_> = routes.witnesses().filter_map(site).collect();
        let Member { listings, entries, .. } = member;
        let mut followed = Followed {
            witnesses: Vec::new(),
            blocks: routes.blocks(),
            branches: 0,
            unseen: 0,
            flow: Rc::clone(flow),
            parts: listings
                .iter()
                .zip(&starts)
                .filter_map(|(listing, start)| Some((listing.function.clone(), (*start)?)))
                .collect(),
            starts,
            listings,
            entries,
            by_site: HashMap::new(),
            routes,
        };
        let mut seen: Vec<u64> = Vec::new();
        for (way, what, point, site) in sites {
            let operands = match what {
                What::Edge { from, .. } => followed.operands(from),
                _ => Vec::new(),
            };
            if let Point::Edge { from, .. } = point {
                seen.push(from);
            }
            followed.by_site.insert(site.clone(), way);
            followed.witnesses.push(Witness { site, operands });
        }
        let forks: Vec<u64> = followed.routes.forks().map(|block| flow.bounds(block).1).collect();
        followed.branches = forks.len();
        followed.unseen = forks.iter().filter(|fork| !seen.contains(fork)).count();
        Ok(followed)
    }
}

impl Followed {
    /// The name of the function or inlined function, as in descriptions.
    pub(crate) fn name(&self) -> &str {
        let listing = self.listings.first();
        let name =
            listing.map(|listing| listing.copy.as_ref().map_or(&listing.function, |copy| &copy.function));
        name.map_or("", String::as_str)
    }

    /// The name of the function in its source.
    pub(crate) fn shown(&self) -> String {
        in_source(self.name())
    }

    pub(crate) fn space(&self) -> Space {
        self.listings.first().map_or(Space::Kernel, |listing| listing.space)
    }

    /// The key by which types are looked up.
    pub(crate) fn types(&self) -> &str {
        self.listings.first().map_or("", |listing| &listing.types)
    }

    /// The site of the first instruction.
    pub(crate) fn begin(&self) -> Site {
        let (space, module) = (self.space(), self.module().to_owned());
        Site { space, module, function: self.name().to_owned(), ..Site::default() }
    }

    pub(crate) fn module(&self) -> &str {
        self.listings.first().map_or("", |listing| &listing.module)
    }

    pub(crate) fn is_copy(&self) -> bool {
        self.copy().is_some()
    }

    /// The function that contains the entry.
    pub(crate) fn caller(&self) -> &str {
        self.copy().map_or(self.name(), |copy| &copy.caller)
    }

    /// Whether a copy is entered at an offset of that function, given as a probe name.
    pub(crate) fn is_entered_at(&self, probe: &str) -> bool {
        self.entry_at(probe).is_some()
    }

    /// The index of the entry at an offset.
    fn entry_at(&self, probe: &str) -> Option<usize> {
        self.copy()?.entries.iter().position(|entry| self.space().number(*entry) == probe)
    }

    fn copy(&self) -> Option<&Copy> {
        self.listings.first()?.copy.as_ref()
    }

    /// Returns the edge that a hit at the site proves, if it proves one.
    pub(crate) fn witness(&self, site: &Site) -> Option<u32> {
        self.by_site.get(site).copied()
    }

    /// Infers the path of a call that began at a probe. `None`: a required hit is missing.
    pub(crate) fn way(&self, probe: &str, passed: &[Passed], exit: Exit<'_>) -> Option<Vec<Piece>> {
        let left = self.left(exit)?;
        // A probe in place of an entry has another name.
        let entries = self.entry_at(probe).and_then(|at| self.entries.get(at..=at)).unwrap_or(&self.entries);
        let steps = entries.iter().find_map(|entry| self.flow.way(&self.routes, *entry, passed, left))?;
        Some(steps.into_iter().map(|step| self.piece(step)).collect())
    }

    pub(crate) fn insn(&self, (part, at): (usize, usize)) -> Option<&Listed> {
        self.listings.get(part)?.instructions.get(at)
    }

    /// The instruction at which a call ended.
    pub(crate) fn exit_insn(&self, exit: Exit<'_>) -> Option<&Listed> {
        let (Left::After(address) | Left::Before(address) | Left::Over(address)) = self.left(exit)?;
        self.insn(self.insn_at(address)?)
    }

    fn left(&self, exit: Exit<'_>) -> Option<Left> {
        match exit {
            // Offsets of parts that the compiler placed elsewhere count from the function too.
            Exit::Offset(offset) => {
                let first = self.listings.first()?;
                let run = first.address.wrapping_add(offset);
                let (listing, start) = self
                    .listings
                    .iter()
                    .zip(&self.starts)
                    .find(|(listing, _)| run.wrapping_sub(listing.address) < listing.size.max(1))?;
                Some(Left::After((*start)? + (run - listing.address)))
            }
            Exit::Site(site) => {
                let (_, start) = self.parts.iter().find(|(function, _)| *function == site.function)?;
                let address = start + site.offset;
                Some(match (&site.to, self.insn_at(address)) {
                    (Some(_), _) => Left::Over(address),
                    (None, Some(_)) => Left::After(address),
                    (None, None) => Left::Before(address),
                })
            }
        }
    }

    fn piece(&self, step: Step) -> Piece {
        match step {
            Step::Block(block) => Piece::Block(self.insns_of(block)),
            Step::Unknown => Piece::Unknown,
            Step::Edge { from, to, event } => {
                let (branch, target) = (self.flow.bounds(from).1, self.flow.bounds(to).0);
                let insn = self.insn_at(branch).unwrap_or_default();
                let next = self.insn(insn).map(|insn| branch + insn.bytes.len() as u64);
                Piece::Branch { insn, to: self.insn_at(target), jumps: next != Some(target), event }
            }
        }
    }

    /// The instructions of a block, as far as they are listed.
    fn insns_of(&self, block: u32) -> Vec<(usize, usize)> {
        let (first, last) = self.flow.bounds(block);
        let mut insns = Vec::new();
        for (part, (listing, start)) in self.listings.iter().zip(&self.starts).enumerate() {
            let Some(start) = start else { continue };
            let address = |insn: &Listed| start + u64::from(insn.offset);
            let from = listing.instructions.partition_point(|insn| address(insn) < first);
            let those = listing.instructions[from..].iter().take_while(|insn| address(insn) <= last);
            insns.extend((from..).zip(those).map(|(at, _)| (part, at)));
        }
        insns
    }

    fn insn_at(&self, address: u64) -> Option<(usize, usize)> {
        self.listings.iter().zip(&self.starts).enumerate().find_map(|(part, (listing, start))| {
            let offset = u32::try_from(address.checked_sub((*start)?)?).ok()?;
            let at = listing.instructions.binary_search_by_key(&offset, |insn| insn.offset).ok()?;
            Some((part, at))
        })
    }

    fn operands(&self, block: u32) -> Vec<Operand> {
        let insns: Vec<&Listed> =
            self.insns_of(block).into_iter().filter_map(|insn| self.insn(insn)).collect();
        members::deciding(&insns)
    }
}

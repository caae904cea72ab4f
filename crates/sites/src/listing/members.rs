//! sites/listing/members.rs: the functions or copies of a description, with their listings and graphs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::disas::{Disassembler, Listed, Lister, Listing, Meant};
use super::searched::Named;
use crate::code::decode::{self, Control};
use crate::flow::counts::Room;
use crate::flow::laps::Kind;
use crate::flow::points::Point;
use crate::flow::{Flow, Undecodable};
use crate::image::Image;
use crate::symtab::Symbol;
use crate::uprobe::Way;
use kinst_base::diag::Diagnostic;
use kinst_base::image::ImageId;
use kinst_base::probe::Site;
use kinst_dwarf::InlineCopy;

pub use crate::code::deciding::Operand;

/// The graph around a copy, and which of its instructions can have a probe.
pub struct Around {
    /// The graph, with addresses of the file; or why control cannot be followed.
    pub flow: Result<Rc<Flow>, Undecodable>,
    room: HashMap<u64, Room>,
    /// The successors of each instruction in memory. In another section of a module, the addresses differ
    /// from the graph's.
    next: HashMap<u64, Vec<u64>>,
    kinds: HashMap<u64, Kind>,
    /// The parts of the function: the start of each in memory, and in the graph.
    starts: HashMap<u64, u64>,
    /// The parts that the compiler put elsewhere.
    pub(super) elsewhere: Vec<Symbol>,
}

/// The successors of an instruction.
pub struct After {
    /// Addresses of the possible next instructions.
    pub ways: Vec<u64>,
    /// Whether it is a conditional branch.
    pub parts: bool,
}

impl After {
    /// Returns the successors of an instruction at an address of the graph; `None` if it does not decode.
    pub fn new(insn: &Listed, address: u64) -> Option<After> {
        let step = decode::step(insn.machine, &insn.bytes, address)?;
        Some(After { ways: decode::ways(&step), parts: matches!(step.control, Control::Branch(_)) })
    }
}

/// Returns the operands on which the last of these instructions, a branch, depends.
pub fn deciding(insns: &[&Listed]) -> Vec<Operand> {
    let Some(first) = insns.first() else { return Vec::new() };
    let code: Vec<u8> = insns.iter().flat_map(|insn| insn.bytes.clone()).collect();
    decode::of(first.machine).deciding(&code, first.address)
}

/// A function, or a copy of one.
pub struct Member<'m> {
    named: Named<'m>,
    /// For a copy, the containing function.
    pub around: &'m Around,
    /// One for each part made by the compiler.
    pub listings: Vec<Listing>,
    /// The copy; `None` for a whole function.
    pub copy: Option<&'m InlineCopy>,
    /// Instructions where it is entered.
    pub entries: Vec<u64>,
}

impl<'m> Member<'m> {
    /// Returns the code of a copy. A copy without instructions is entered at those of the surrounding code.
    pub fn ranges(&self) -> Option<Cow<'m, [Range<u64>]>> {
        let copy = self.copy?;
        Some(match copy.ranges.is_empty() {
            true => self.entries.iter().map(|entry| *entry..entry + 1).collect(),
            false => Cow::Borrowed(&copy.ranges),
        })
    }

    /// Returns the start of each listing's function, as an address of the graph.
    pub fn starts(&self) -> Vec<Option<u64>> {
        self.listings.iter().map(|listing| self.around.starts.get(&listing.address).copied()).collect()
    }

    /// Returns the site of a point in the graph, if it can be one.
    pub fn site(&self, point: Point) -> Option<Site> {
        Some(self.named.site(self.named.image.point(point).ok()?.site))
    }
}

impl Disassembler<'_> {
    /// Calls a function for each function or copy of a description, as in [`Disassembler::disassemble`], and
    /// collects the results.
    pub fn each<T, E: From<Box<Diagnostic>>>(
        &mut self,
        description: &str,
        make: impl Fn(Member<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let (images, meant) = self.meant(description)?;
        let lister = &mut self.lister;
        let mut all = Vec::new();
        match meant {
            Meant::Functions(functions) => {
                for (named, symbol) in functions {
                    let around = lister.around(named.image, &symbol)?;
                    let mut listings = vec![lister.function(named, &symbol)?];
                    for part in &around.elsewhere {
                        listings.push(lister.function(named, part)?);
                    }
                    let entries = vec![symbol.address];
                    all.push(make(Member { named, around: &around, listings, copy: None, entries })?);
                }
            }
            Meant::Copies { function, copies } => {
                let mut known: HashMap<(ImageId, u64), Rc<Around>> = HashMap::new();
                for (named, copy) in &copies {
                    let named = *named;
                    let image = named.image;
                    let listings = lister.copy(named, &function, copy)?;
                    let caller = caller(image, copy.entry());
                    let Some(caller) = caller.filter(|_| !listings.is_empty()) else { continue };
                    let around = match known.get(&(image.id(), caller.address)) {
                        Some(around) => Rc::clone(around),
                        None => {
                            let around = Rc::new(lister.around(image, &caller)?);
                            known.insert((image.id(), caller.address), Rc::clone(&around));
                            around
                        }
                    };
                    let (copy, entries) = (Some(copy), copy.entries.clone());
                    all.push(make(Member { named, around: &around, listings, copy, entries })?);
                }
                if all.is_empty() {
                    return Err(Box::new(lister.searched.no_function(&images, &function)).into());
                }
            }
        }
        Ok(all)
    }
}

impl<'k> Lister<'k> {
    pub(super) fn around(&mut self, image: Image<'k>, symbol: &Symbol) -> Result<Around, Box<Diagnostic>> {
        let flow = match image.callers() {
            Some(callers) if self.cuts_calls && image.all().calls_may_end() => {
                let pads = |address| image.all().landing_pads(image.id(), address);
                callers.flow_of_calls(symbol, &pads).map(Rc::new)
            }
            Some(callers) => callers.flow(symbol).map(Rc::new),
            None => Err(Undecodable::NoCode),
        };
        let parts: Vec<u64> = flow.iter().flat_map(|flow| flow.parts()).collect();
        let symbols = image.symbols();
        let part =
            |start: &u64| symbols?.containing(*start).filter(|part| part.address != symbol.address).copied();
        let elsewhere: Vec<Symbol> = parts.iter().filter_map(part).collect();
        let (mut room, mut next, mut starts) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut kinds = HashMap::new();
        for part in std::iter::once(symbol).chain(&elsewhere) {
            starts.insert(image.run_time(part.address).unwrap_or(part.address), part.address);
            let code = self.code(image, part)?;
            let fentry = fentry(image, part);
            for insn in &code.insns {
                let address = part.address + u64::from(insn.offset);
                let set = decode::of(insn.machine);
                let step = decode::step(insn.machine, &insn.bytes, address);
                let mut ways = step.map(|step| decode::ways(&step)).unwrap_or_default();
                ways.extend(image.callers().map(|callers| callers.table_of(address)).unwrap_or_default());
                next.insert(address, ways);
                let kind = Kind {
                    is_call: set.calls(&insn.bytes),
                    takes: set.takes(&insn.bytes),
                    is_emulated: code.way(insn) == Some(Ok(Way::Emulated)),
                    is_entry: false,
                };
                kinds.insert(address, kind);
                let refused = code.refused(insn).is_some();
                room.insert(
                    address,
                    match () {
                        () if set.fills(&insn.bytes) => Room::Padding,
                        () if refused || fentry.is_some_and(|fentry| address <= fentry) => Room::None,
                        () if code.way(insn) == Some(Ok(Way::Stepped)) => Room::Dear,
                        () => Room::Free,
                    },
                );
            }
        }
        Ok(Around { flow, room, next, kinds, starts, elsewhere })
    }
}

/// Returns the function around an address; for `f.cold`, this is `f`.
fn caller(image: Image<'_>, address: u64) -> Option<Symbol> {
    match image.callers() {
        Some(callers) => callers.caller(address).copied(),
        None => image.caller(address).ok().copied(),
    }
}

/// Returns the ftrace site of a function. Probes up to there are traced through ftrace, at the cost of a call.
fn fentry(image: Image<'_>, symbol: &Symbol) -> Option<u64> {
    let (_, start) = image.in_code(symbol.address)?;
    let site = image.tables().fentry(start..start.saturating_add(symbol.size.max(1)))?;
    Some(site - start + symbol.address)
}

impl Around {
    /// Whether an instruction executes only within calls of a copy: it belongs to the copy, and does not
    /// precede an entry.
    pub fn is_within(&self, copy: &InlineCopy, address: u64) -> bool {
        let is_before = |flow: &Rc<Flow>| {
            let in_block = |entry: &&u64| flow.block_over(**entry) == flow.block_over(address);
            copy.entries.iter().find(in_block).is_some_and(|entry| address < *entry)
        };
        let is_own =
            copy.entries.contains(&address) || copy.ranges.iter().any(|range| range.contains(&address));
        is_own && !self.flow.as_ref().is_ok_and(is_before)
    }

    /// Returns whether an instruction of the function can be counted.
    pub fn room(&self, address: u64) -> Room {
        self.room.get(&address).copied().unwrap_or(Room::None)
    }

    /// Returns the addresses of the instructions that are not padding.
    pub(super) fn addresses(&self) -> Vec<u64> {
        let all = self.room.iter().filter(|(_, room)| **room != Room::Padding);
        let mut all: Vec<u64> = all.map(|(address, _)| *address).collect();
        all.sort_unstable();
        all
    }

    /// Returns all possible next instructions of one; `None` if there may be others, or none: a call may not return.
    pub(super) fn after(&self, address: u64) -> Option<&[u64]> {
        let ways = self.next.get(&address)?;
        (!ways.is_empty() && !self.kind(address).is_call).then_some(ways)
    }

    /// Returns the kind of an instruction, for timing.
    pub fn kind(&self, address: u64) -> Kind {
        self.kinds.get(&address).copied().unwrap_or_default()
    }

    /// Returns whether a branch goes to an address in memory.
    pub fn leads(&self, flow: &Flow, from: u64, to: u64) -> Option<bool> {
        let next = self.next.get(&from)?;
        if flow.is_one_symbol(from, to) {
            return Some(next.contains(&to));
        }
        Some(next.iter().any(|next| *next == to || !flow.is_one_symbol(from, *next)))
    }
}

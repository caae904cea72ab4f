//! sites/flow/callers.rs: the functions that contain inlined copies, including parts that the compiler put elsewhere.

use std::ops::Range;

use foldhash::HashMap;
use rayon::prelude::*;

use super::building::Pads;
use super::bypassed::Call;
use super::copy::has;
use super::doubts::{Combined, Doubt, Signs};
use super::exits::{self, Exits};
use super::graph::Flow;
use super::part::{Marks, Part, Undecodable};
use super::points::Point;
use crate::code::decode::{self, Control};
use crate::symtab::{Symbol, Symbols};
use kinst_dwarf::{Evidence, InlineCopy};

/// Code of one module, for the [`Flow`]s of its functions. Shared by threads.
pub struct Callers<'a> {
    symbols: &'a Symbols,
    /// Executable sections, by address.
    code: Vec<(u64, &'a [u8])>,
    marks: &'a Marks,
}

/// The points where one copy is entered and exited, if known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// First instruction of the copy; if calls begin at several, the one with the lowest address.
    pub entry: u64,
    /// Unique points where it is entered. Substitutes replace instructions that cannot have a probe.
    pub entries: Vec<Point>,
    /// Unique points where it is exited, by address.
    pub sites: Vec<Point>,
    /// Number of exits that cannot have a probe.
    pub lost: u32,
    /// Why it may also be entered elsewhere.
    pub doubt: Option<Doubt>,
    /// An entry with several predecessors.
    pub joined: Option<u64>,
    /// Conditions with which it begins.
    pub conditions: Conditions,
    /// Why the caller's control flow is unknown; the sites are then the last instructions of the copy's ranges.
    pub unread: Option<Undecodable>,
    /// Number of those ranges that do not end at an instruction's end.
    pub missing: usize,
}

/// The conditions with which a call begins, if they exit it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// No branch exits it after an entry.
    #[default]
    None,
    /// A branch exits it after an entry.
    One,
    /// Two of one statement. The compiler also combines a condition of the caller with one of the function
    /// into one statement; then the first of the two decides whether the call takes place.
    Two {
        /// The first branch.
        at: u64,
        /// Whether the rest of the call leads to the target where both exit.
        joins: bool,
    },
}

/// Suffix of the symbol for a function's rarely executed part.
const COLD: &str = ".cold";

impl<'a> Callers<'a> {
    /// `code` has the executable sections, by address.
    pub fn new(symbols: &'a Symbols, code: Vec<(u64, &'a [u8])>, marks: &'a Marks) -> Callers<'a> {
        Callers { symbols, code, marks }
    }

    /// Returns the function that an address belongs to; for `f.cold`, this is `f`. Copies with one caller
    /// share one flow graph.
    pub fn caller(&self, address: u64) -> Option<&'a Symbol> {
        let symbol = self.symbols.containing(address)?;
        let name = self.symbols.name(symbol);
        let Some((name, _)) = name.split_once(COLD) else { return Some(symbol) };
        let namesakes = self.symbols.named(name);
        match &namesakes[..] {
            [one] => Some(one),
            _ => Some(namesakes.into_iter().find(|parent| self.goes_to(parent, symbol)).unwrap_or(symbol)),
        }
    }

    /// Whether the symbol's code is available.
    pub fn has_code(&self, symbol: &Symbol) -> bool {
        self.part(symbol).is_some()
    }

    /// Builds the control flow graph of the caller.
    pub fn flow(&self, caller: &Symbol) -> Result<Flow, Undecodable> {
        self.flow_cut(caller, &[])
    }

    /// Like [`Callers::flow`], for code whose calls may not return. `pads` returns where
    /// the code at an address catches exceptions.
    pub(crate) fn flow_of_calls(&self, caller: &Symbol, pads: Pads<'_>) -> Result<Flow, Undecodable> {
        let entry = self.part(caller).ok_or(Undecodable::NoCode)?;
        Flow::of_calls(entry, self.marks, pads, |address| self.part_of(caller, address))
    }

    /// Like [`Callers::flow`]; additionally, a block begins at each of `cuts`.
    fn flow_cut(&self, caller: &Symbol, cuts: &[u64]) -> Result<Flow, Undecodable> {
        let entry = self.part(caller).ok_or(Undecodable::NoCode)?;
        Flow::cut(entry, self.marks, cuts, |address| self.part_of(caller, address))
    }

    /// Returns the unlikely part of a function, if an address is in it.
    fn part_of(&self, caller: &Symbol, address: u64) -> Option<Part<'a>> {
        let target = self.symbols.containing(address)?;
        let (parent, _) = self.symbols.name(target).split_once(COLD)?;
        let is_ours = self.symbols.names_at(caller.address).any(|name| name == parent);
        is_ours.then(|| self.part(target))?
    }

    /// Computes the entries and exits of each of the copies, on all cores: a caller is read once for all
    /// copies in it.
    pub fn left(&self, copies: &[&InlineCopy]) -> Vec<Left> {
        let mut by_caller: Vec<(u64, usize)> = (0..copies.len())
            .into_par_iter()
            .map(|index| (self.caller(copies[index].entry()).map_or(0, |caller| caller.address), index))
            .collect();
        by_caller.par_sort_unstable();
        let groups: Vec<&[(u64, usize)]> = by_caller.chunk_by(|a, b| a.0 == b.0).collect();
        let answers: Vec<Vec<Left>> =
            groups.par_iter().map(|group| self.left_in_caller(copies, group)).collect();
        let mut left = vec![Left::default(); copies.len()];
        for (group, answers) in groups.into_iter().zip(answers) {
            for ((_, index), answer) in group.iter().zip(answers) {
                left[*index] = answer;
            }
        }
        left
    }

    fn left_in_caller(&self, copies: &[&InlineCopy], group: &[(u64, usize)]) -> Vec<Left> {
        let caller = group.first().and_then(|(_, first)| self.caller(copies[*first].entry()));
        let flow =
            |cuts: &[u64]| caller.map_or(Err(Undecodable::NoCode), |caller| self.flow_cut(caller, cuts));
        let mut whole = flow(&[]);
        let of_group = || group.iter().map(|(_, index)| copies[*index]);
        let cuts: Vec<u64> = of_group()
            .filter(|copy| copy.entries.len() > 1)
            .flat_map(|copy| &copy.entries)
            .copied()
            .collect();
        let mut cut = if cuts.is_empty() { None } else { Some(flow(&cuts)) };
        let mut of_function: HashMap<u64, Vec<&InlineCopy>> = HashMap::default();
        of_group().for_each(|copy| of_function.entry(copy.origin).or_default().push(copy));
        let answers = of_group().map(|copy| {
            let flow = match &mut cut {
                Some(cut) if copy.entries.len() > 1 => cut,
                _ => &mut whole,
            };
            let answer = match flow {
                Ok(flow) => self
                    .left_of(flow, copy, &of_function[&copy.origin])
                    .ok_or(Undecodable::Entry(copy.entry())),
                Err(error) => Err(*error),
            };
            answer.unwrap_or_else(|error| {
                let (sites, missing) = self.last_instructions(copy.entry(), &copy.ranges);
                let entries = copy.entries.iter().copied().map(Point::At).collect();
                Left { entry: copy.entry(), entries, sites, unread: Some(error), missing, ..Left::default() }
            })
        });
        answers.collect()
    }

    /// Returns the points of a copy according to its caller's control flow; `None` if an entry is not at an
    /// instruction. `of_function` has all copies of the function in this caller.
    fn left_of(&self, flow: &mut Flow, copy: &InlineCopy, of_function: &[&InlineCopy]) -> Option<Left> {
        let begins = self.entries_of(flow, copy);
        let again = (copy.evidence != Evidence::Marked).then(|| self.again(copy));
        let Exits { sites, lost, signs } = flow.exits(&begins, &copy.ranges, again.as_deref())?;
        let mut entries: Vec<Point> = begins.iter().flat_map(|entry| flow.reached(*entry)).collect();
        entries.sort_unstable();
        entries.dedup();
        let entry = begins.first().copied().unwrap_or(copy.entry());
        let conditions = self.conditions(flow, copy, &signs);
        let joined = begins.iter().copied().find(|entry| flow.is_joined(*entry));
        let doubt = self.doubt(flow, copy, &begins, signs, of_function);
        Some(Left { entry, entries, sites, lost, doubt, joined, conditions, ..Left::default() })
    }

    /// Weighs the signs that a copy is entered elsewhere than recorded.
    fn doubt(
        &self,
        flow: &Flow,
        copy: &InlineCopy,
        entries: &[u64],
        signs: Signs,
        of_function: &[&InlineCopy],
    ) -> Option<Doubt> {
        let is_marked = copy.evidence == Evidence::Marked;
        let Signs { bypassed, looped, reentered, again, decided, .. } = signs;
        let mut acting = bypassed.into_iter().filter(|address| self.acts(*address, is_marked)).peekable();
        if acting.peek().is_some() {
            let calls = of_function.iter().copied();
            let calls = calls.map(|copy| Call { entries: self.entries_of(flow, copy), ranges: &copy.ranges });
            let calls: Vec<Call<'_>> = calls.collect();
            let acts = |address| self.acts(address, true);
            if let Some(at) = flow.bypassing(entries, &calls, acting, is_marked, acts) {
                return Some(Doubt::Bypassed(at));
            }
        }
        let reentered = reentered.or_else(|| follows_another(flow, copy, entries, of_function));
        let found =
            looped.map(Doubt::Looped).or(reentered.map(Doubt::Reentered)).or(again.map(Doubt::Unrolled));
        let is_lost = copy.evidence == Evidence::Lost;
        let unmarked = || is_lost.then(|| Doubt::Unmarked(copy.entry()));
        let parting = || {
            let call = Call { entries: entries.to_vec(), ranges: &copy.ranges };
            if is_marked { None } else { flow.parting(&call, |address| self.acts(address, true)) }
        };
        found.or_else(unmarked).or(decided.map(Doubt::Combined)).or_else(|| parting().map(Doubt::Combined))
    }

    /// Returns the conditions with which a copy begins.
    fn conditions(&self, flow: &Flow, copy: &InlineCopy, signs: &Signs) -> Conditions {
        let is_free =
            |code: &Range<u64>| !flow.insns_in(code).any(|insn| self.acts(flow.address[insn as usize], true));
        // Statements and their parts have separate rows.
        let is_one = |from: u64, to: u64| {
            let after = copy.rows.partition_point(|row| *row <= from);
            copy.rows.get(after).is_some_and(|row| *row > to)
        };
        let is_sign =
            |branches: &&Combined| is_one(branches.before.end, branches.second) && is_free(&branches.before);
        match signs.combined.iter().find(is_sign) {
            Some(branches) => Conditions::Two { at: branches.before.end, joins: branches.joins },
            None if signs.decides => Conditions::One,
            None => Conditions::None,
        }
    }

    /// Returns pairs of equal instructions of a copy.
    fn again(&self, copy: &InlineCopy) -> Vec<(u64, u64)> {
        let mut again = copy.recurring.again.clone();
        if !copy.recurring.is_single {
            return again;
        }
        let set = decode::of(self.marks.machine);
        let mut last: HashMap<String, u64> = HashMap::default();
        for range in &copy.ranges {
            let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            let Some(code) = self.bytes(range.start).map(|code| &code[..len.min(code.len())]) else {
                continue;
            };
            for step in set.steps(code, range.start).filter(|step| self.acts(step.address, true)) {
                let bytes = &code[(step.address - range.start) as usize..];
                let text = set.text_with(bytes, step.address, &|_| None);
                again.extend(last.insert(text, step.address).map(|earlier| (earlier, step.address)));
            }
        }
        again
    }

    /// Whether an instruction has an effect that a compiler never moves to a path on which it was not
    /// executed. With markers, branches do not count: a branch before a marker may decide whether the call
    /// takes place.
    fn acts(&self, address: u64, marked: bool) -> bool {
        let Some(code) = self.bytes(address) else { return false };
        let set = decode::of(self.marks.machine);
        set.calls(code) || !marked && set.branch(code).is_some() || set.writes(code)
    }

    /// Returns the instructions where calls of a copy begin.
    fn entries_of(&self, flow: &Flow, copy: &InlineCopy) -> Vec<u64> {
        let set = decode::of(self.marks.machine);
        let fills = |address| self.bytes(address).is_some_and(|code| set.fills(code));
        match copy.evidence {
            Evidence::Lowest => vec![flow.entered(copy.entry(), &copy.ranges, fills)],
            Evidence::Marked | Evidence::Named | Evidence::Lost => copy.entries.clone(),
        }
    }

    /// The fallback for a copy in a caller without flow graph; see [`exits::last_instructions`].
    pub fn last_instructions(&self, entry: u64, ranges: &[Range<u64>]) -> (Vec<Point>, usize) {
        exits::last_instructions(self.marks.machine, entry, ranges, |range| self.bytes(range.start))
    }

    /// Returns the contents of the module's tables.
    pub fn marks(&self) -> &Marks {
        self.marks
    }

    /// Returns the successors of the instruction at an address, sorted, including the targets in the module's tables.
    pub fn ways(&self, address: u64) -> Vec<u64> {
        let Some(step) = self.step(address) else { return Vec::new() };
        let mut ways = decode::ways(&step);
        let marked = |marks: &[(u64, u64)]| {
            let first = marks.partition_point(|mark| mark.0 < address);
            marks[first..].iter().take_while(|mark| mark.0 == address).map(|mark| mark.1).collect::<Vec<_>>()
        };
        let labels = marked(&self.marks.jump_labels);
        if !labels.is_empty() {
            ways.push(address + u64::from(step.len));
        }
        ways.extend(labels);
        ways.extend(marked(&self.marks.switches));
        ways.sort_unstable();
        ways.dedup();
        ways
    }

    /// Returns the targets of the jump table that the instruction at an address uses.
    pub(crate) fn table_of(&self, address: u64) -> Vec<u64> {
        let jumps = &self.marks.indirect;
        let found = jumps.binary_search_by_key(&address, |jump| jump.at).ok();
        found.and_then(|at| jumps.get(at)).map(|jump| jump.targets.clone()).unwrap_or_default()
    }

    /// Whether the instruction only transfers control.
    pub(crate) fn is_branch(&self, address: u64) -> bool {
        self.step(address).is_some_and(|step| matches!(step.control, Control::Jump(_) | Control::Branch(_)))
    }

    fn step(&self, address: u64) -> Option<decode::Step> {
        decode::step(self.marks.machine, self.bytes(address)?, address)
    }

    /// Returns the static keys from which control reaches an instruction.
    pub(crate) fn keys_to(&self, address: u64) -> Vec<u64> {
        let labels = self.marks.jump_labels.iter();
        let leads = |(key, to): &&(u64, u64)| {
            *to == address || *key < address && address - *key <= 5 && self.ways(*key).contains(&address)
        };
        labels.filter(leads).map(|(key, _)| *key).collect()
    }

    fn goes_to(&self, from: &Symbol, to: &Symbol) -> bool {
        let mut found = false;
        let within = to.address..to.address.saturating_add(to.size);
        if let Some(part) = self.part(from) {
            let _ = Flow::of(part, self.marks, |address| {
                found |= within.contains(&address);
                None
            });
        }
        found
    }

    fn part(&self, symbol: &Symbol) -> Option<Part<'a>> {
        let code = self.bytes(symbol.address)?.get(..usize::try_from(symbol.size).ok()?)?;
        Some(Part { address: symbol.address, code })
    }

    /// Returns the bytes from an address to the end of its section.
    fn bytes(&self, address: u64) -> Option<&'a [u8]> {
        let after = self.code.partition_point(|(start, _)| *start <= address);
        let (start, code) = self.code[..after].last()?;
        code.get(usize::try_from(address - start).ok()?..)
    }
}

/// Returns an entry of a copy in the middle of another copy of the function, whose code is shared: one of
/// several entries directly after the other copy, or one to which the other's entry jumps.
fn follows_another(
    flow: &Flow,
    copy: &InlineCopy,
    entries: &[u64],
    of_function: &[&InlineCopy],
) -> Option<u64> {
    let is_beside = |other: &&&InlineCopy| {
        other.die != copy.die && !has(&other.ranges, copy.entry()) && !has(&copy.ranges, other.entry())
    };
    of_function.iter().filter(is_beside).find_map(|other| {
        entries.iter().copied().find(|entry| {
            entries.len() > 1 && flow.follows(*entry, &other.ranges)
                || other.entries.iter().any(|from| flow.hands_over(*from, *entry))
        })
    })
}

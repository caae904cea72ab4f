//! sites/flow/: the control flow graph of one function: basic blocks, the edges between them, and dominators.

mod bypassed;
pub mod callers;
mod copy;
pub mod counts;
pub mod covered;
pub mod doubts;
pub(super) mod entered;
pub mod exits;
pub mod laps;
pub(super) mod marks;
pub mod points;
pub mod routes;
pub(super) mod scratch;

use std::fmt;
use std::ops::Range;

use super::code::decode::{self, Control, IndirectJump};
use super::flow::scratch::Scratch;
use kinst_base::machine::Machine;

/// One range of a function's code: all of it, or a part that the compiler put elsewhere (`f.cold`).
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub address: u64,
    pub code: &'a [u8],
}

/// Facts that the bytes alone do not show, all sorted by address.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// The kind of machine that the code is for.
    pub machine: Machine,
    /// Instructions that the kernel turns from a nop into a jump and back (static keys), and their targets.
    pub jump_labels: Vec<(u64, u64)>,
    /// Instructions that may fault, and where control goes then (the exception table).
    pub faults: Vec<(u64, u64)>,
    /// Traps that control returns from: WARN().
    pub warnings: Vec<u64>,
    /// Ranges where no probe should go, because the kernel writes other instructions there: from, to.
    pub patched: Vec<(u64, u64)>,
    /// Instructions that the kernel may replace by jumps when it starts, and the targets.
    pub switches: Vec<(u64, u64)>,
    /// Functions that do not return.
    pub endless: Vec<u64>,
    /// The indirect jumps that may not leave their function.
    pub indirect: Vec<IndirectJump>,
    /// Whether every other indirect jump leaves the function.
    pub without_tables: bool,
}

/// Why there is no graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecodable {
    /// There are no instructions here.
    NoCode,
    /// Bytes that are not an instruction.
    Bytes(u64),
    /// A jump into the middle of an instruction: the jump, and its target.
    Inside(u64, u64),
    /// A jump to an unknown target: a jump table.
    Indirect(u64),
    /// No instruction of the caller begins where the copy is entered.
    Entry(u64),
}

/// The graph. Instructions and blocks are numbered from 0, in order of address within a part.
#[derive(Debug)]
pub struct Flow {
    /// The address of each instruction.
    pub(crate) address: Vec<u64>,
    /// The block of each instruction.
    pub(crate) block: Vec<u32>,
    pub(crate) blocks: Vec<Block>,
    /// Edges within the function, by [`Block::next`] and [`Block::previous`].
    ways: Vec<u32>,
    parts: Vec<Read>,
    /// The block that the function begins with.
    entry: u32,
    /// Instructions that cannot be probed, sorted.
    pub(crate) patched: Vec<u32>,
    /// The static keys among these, sorted.
    keys: Vec<u32>,
    /// For `Flow::exits`.
    pub(crate) scratch: Scratch,
}

/// A basic block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    pub first: u32,
    /// After its last instruction.
    pub end: u32,
    next: (u32, u32),
    previous: (u32, u32),
    /// The address outside the function that the last instruction goes to.
    pub outside: Option<u64>,
    /// Whether control can come from outside: the start of the function, or code without any visible predecessor.
    pub is_root: bool,
    pub ending: Ending,
    /// Its number in the dominator tree, and the end of the numbers below it.
    pub tree: (u32, u32),
}

/// The kind of a block's terminator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// An instruction that goes on, jumps, branches or returns.
    #[default]
    Plain,
    /// An instruction that may fault: its last edge is that of the fault, unless it equals the usual one.
    Fault,
    /// A trap, which is not meant to be executed.
    Trap,
}

const NONE: u32 = u32::MAX;

impl Flow {
    /// Reads a function from its entry on. `part_at` gets the targets of jumps outside of what has been read; it
    /// returns the part around that address if it belongs to the function too.
    pub fn of<'a>(
        entry: Part<'a>,
        marks: &Marks,
        part_at: impl FnMut(u64) -> Option<Part<'a>>,
    ) -> Result<Flow, Undecodable> {
        Flow::cut(entry, marks, &[], part_at)
    }

    /// Like [`Flow::of`]; a block begins at each of `cuts`, too.
    pub fn cut<'a>(
        entry: Part<'a>,
        marks: &Marks,
        cuts: &[u64],
        mut part_at: impl FnMut(u64) -> Option<Part<'a>>,
    ) -> Result<Flow, Undecodable> {
        let mut reader = Reader::new(&entry, marks);
        reader.read(&entry)?;
        let mut asked = 0;
        // Most functions have many exits to one address, the return thunk.
        let mut last = None;
        while let Some(turn) = reader.turns.get(asked) {
            let to = turn.to.filter(|to| last != Some(*to) && !holds(&reader.parts, *to));
            asked += 1;
            if let Some(part) = to.and_then(&mut part_at).filter(|part| reader.has_room_for(part)) {
                reader.read(&part)?;
            }
            last = to.or(last);
        }
        reader.finish(entry.address, cuts)
    }

    /// The instruction that begins at the address.
    pub(crate) fn insn_at(&self, address: u64) -> Option<u32> {
        insn_at(&self.parts, address)
    }

    /// The instructions that begin in a range.
    pub(crate) fn insns_in(&self, range: &Range<u64>) -> Range<u32> {
        let Some(part) = self.parts.iter().find(|part| part.holds(range.start)) else { return 0..0 };
        let insns = &self.address[part.insns.start as usize..part.insns.end as usize];
        let place = |address| part.insns.start + insns.partition_point(|insn| *insn < address) as u32;
        place(range.start)..place(range.end)
    }

    pub(crate) fn next(&self, block: u32) -> &[u32] {
        let (from, to) = self.blocks[block as usize].next;
        &self.ways[from as usize..to as usize]
    }

    pub(crate) fn previous(&self, block: u32) -> &[u32] {
        let (from, to) = self.blocks[block as usize].previous;
        &self.ways[from as usize..to as usize]
    }

    /// Whether control comes to an instruction on several ways.
    pub(crate) fn is_joined(&self, address: u64) -> bool {
        self.insn_at(address).is_some_and(|insn| {
            let number = self.block[insn as usize];
            self.blocks[number as usize].first == insn && self.previous(number).len() > 1
        })
    }

    /// Whether every path to `below` leads over `above`. A block dominates itself.
    pub(crate) fn dominates(&self, above: u32, below: u32) -> bool {
        let (from, to) = self.blocks[above as usize].tree;
        (from..to).contains(&self.blocks[below as usize].tree.0)
    }

    pub(crate) fn is_patched(&self, insn: u32) -> bool {
        self.patched.binary_search(&insn).is_ok()
    }

    /// Whether the kernel turns the instruction from a nop into a jump and back.
    pub(crate) fn is_key(&self, insn: u32) -> bool {
        self.keys.binary_search(&insn).is_ok()
    }

    /// Whether both instructions belong to one part of the code, whose offsets count from one symbol.
    pub(crate) fn is_one_symbol(&self, one: u64, other: u64) -> bool {
        self.parts.iter().any(|part| part.holds(one) && part.holds(other))
    }

    /// The number of instructions of the function.
    pub fn len(&self) -> usize {
        self.address.len()
    }

    pub fn is_empty(&self) -> bool {
        self.address.is_empty()
    }
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undecodable::NoCode => write!(f, "its instructions are not known"),
            Undecodable::Bytes(at) => write!(f, "there is no instruction at {at:#x}"),
            Undecodable::Inside(at, to) => {
                write!(f, "the jump at {at:#x} goes into the middle of an instruction, to {to:#x}")
            }
            Undecodable::Entry(at) => write!(f, "no instruction begins at {at:#x}"),
            Undecodable::Indirect(at) => write!(f, "where the indirect jump at {at:#x} goes is not known"),
        }
    }
}

/// A part that has been read.
#[derive(Debug)]
struct Read {
    address: u64,
    /// For each byte, the instruction that begins there.
    places: Vec<u32>,
    insns: Range<u32>,
}

impl Read {
    fn holds(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|at| at < self.places.len() as u64)
    }
}

/// Collects instructions until all have been read.
struct Reader<'m> {
    marks: &'m Marks,
    address: Vec<u64>,
    parts: Vec<Read>,
    /// One for each instruction that does more than go on to the next one.
    turns: Vec<Turn>,
    patched: Vec<u32>,
    keys: Vec<u32>,
    /// The last instruction of each part: no code of the function follows it.
    ends: Vec<u32>,
}

/// An instruction that ends a block.
struct Turn {
    insn: u32,
    falls_through: bool,
    to: Option<u64>,
    ending: Ending,
}

impl<'m> Reader<'m> {
    fn new(entry: &Part<'_>, marks: &'m Marks) -> Reader<'m> {
        let bytes = entry.code.len();
        Reader {
            marks,
            // x86-64 instructions of the kernel are 4.3 bytes long on average.
            address: Vec::with_capacity(bytes / 4),
            parts: Vec::with_capacity(2),
            turns: Vec::with_capacity(bytes / 16),
            patched: Vec::new(),
            keys: Vec::new(),
            ends: Vec::with_capacity(2),
        }
    }

    fn read(&mut self, part: &Part<'_>) -> Result<(), Undecodable> {
        if part.code.is_empty() {
            return Err(Undecodable::NoCode);
        }
        let first = self.address.len() as u32;
        let mut places = vec![NONE; part.code.len()];
        let mut local = Local::new(self.marks, part);
        let mut next = part.address;
        for step in decode::of(self.marks.machine).steps(part.code, part.address) {
            let insn = self.address.len() as u32;
            places[(step.address - part.address) as usize] = insn;
            self.address.push(step.address);
            next = step.address + u64::from(step.len);
            if local.is_patched(step.address) {
                self.patched.push(insn);
            }
            let turn = self.turn(insn, &step, &mut local)?;
            let mut switched = false;
            while let Some(to) = local.switch(step.address) {
                switched = true;
                self.turns.push(Turn { insn, falls_through: false, to: Some(to), ending: Ending::Plain });
            }
            // Without tables of jumps, a switch that leaves the part only goes to the code that makes its own decision once.
            let leaves = |turn: &Turn| {
                let tables = self.marks.machine.facts().has_jump_tables;
                !tables && turn.to.is_none_or(|to| !holds_byte(part, to))
            };
            match turn {
                Some(turn) if switched && leaves(&turn) => {}
                Some(turn) => self.turns.push(turn),
                None if switched => {
                    self.turns.push(Turn { insn, falls_through: true, to: None, ending: Ending::Plain })
                }
                None => {}
            }
        }
        if next != part.address + part.code.len() as u64 {
            return Err(Undecodable::Bytes(next));
        }
        self.ends.push(self.address.len() as u32 - 1);
        self.parts.push(Read { address: part.address, places, insns: first..self.address.len() as u32 });
        Ok(())
    }

    /// Whether a part may be added: parts are disjoint, and a function does not consist of thousands of them.
    fn has_room_for(&self, part: &Part<'_>) -> bool {
        const MOST: usize = 16;
        let end = part.address + part.code.len() as u64;
        let overlaps =
            |read: &Read| part.address < read.address + read.places.len() as u64 && read.address < end;
        self.parts.len() < MOST && !self.parts.iter().any(overlaps)
    }

    fn turn(
        &mut self,
        insn: u32,
        step: &decode::Step,
        local: &mut Local<'_>,
    ) -> Result<Option<Turn>, Undecodable> {
        let turn = |falls_through, to, ending| Ok(Some(Turn { insn, falls_through, to, ending }));
        let plain = Ending::Plain;
        if let Some(target) = local.jump_label(step.address) {
            self.keys.push(insn);
            return turn(true, Some(target), plain);
        }
        if let Some(fixup) = local.fault(step.address) {
            // An instruction that goes elsewhere anyway (`call *`, `jmp`) is not one that faults by design.
            if matches!(step.control, Control::Next) {
                return turn(true, Some(fixup), Ending::Fault);
            }
        }
        match step.control {
            Control::Next => Ok(None),
            Control::Call(to) if self.marks.endless.binary_search(&to).is_ok() => turn(false, None, plain),
            Control::Call(_) => Ok(None),
            Control::Jump(to) => turn(false, Some(to), plain),
            Control::Branch(to) => turn(true, Some(to), plain),
            Control::JumpThrough | Control::Return => turn(false, None, plain),
            Control::JumpIndirect => match local.indirect(step.address).map(|jump| jump.targets.split_last())
            {
                None if self.marks.without_tables => turn(false, None, plain),
                Some(Some((last, rest))) => {
                    let to = |to: &u64| Turn { insn, falls_through: false, to: Some(*to), ending: plain };
                    self.turns.extend(rest.iter().map(to));
                    turn(false, Some(*last), plain)
                }
                _ => Err(Undecodable::Indirect(step.address)),
            },
            Control::Trap if local.is_warning(step.address) => Ok(None),
            Control::Trap => turn(false, None, Ending::Trap),
        }
    }

    fn finish(self, entry: u64, cuts: &[u64]) -> Result<Flow, Undecodable> {
        let count = self.address.len();
        let Some(entry) = insn_at(&self.parts, entry) else { return Err(Undecodable::NoCode) };
        // Whether a block begins at each instruction.
        let mut begins = vec![false; count + 1];
        begins[entry as usize] = true;
        for cut in cuts.iter().filter_map(|cut| insn_at(&self.parts, *cut)) {
            begins[cut as usize] = true;
        }
        for end in &self.ends {
            begins[*end as usize + 1] = true;
        }
        for turn in &self.turns {
            begins[turn.insn as usize + 1] = true;
            if let Some(to) = turn.to {
                match insn_at(&self.parts, to) {
                    Some(insn) => begins[insn as usize] = true,
                    None if holds(&self.parts, to) => {
                        return Err(Undecodable::Inside(self.address[turn.insn as usize], to));
                    }
                    None => {}
                }
            }
        }
        let mut flow = Flow {
            block: Vec::with_capacity(count),
            blocks: Vec::with_capacity(2 * self.turns.len() + 1),
            ways: Vec::new(),
            address: self.address,
            parts: self.parts,
            entry: 0,
            patched: self.patched,
            keys: self.keys,
            scratch: Scratch::default(),
        };
        for insn in 0..count as u32 {
            if begins[insn as usize] || insn == 0 {
                flow.blocks.push(Block { first: insn, end: insn, ..Block::default() });
            }
            let current = flow.blocks.len() - 1;
            flow.blocks[current].end = insn + 1;
            flow.block.push(current as u32);
        }
        flow.forwards(&self.turns, &self.ends);
        flow.entry = flow.block[entry as usize];
        let Order { blocks, reached, roots } = flow.order();
        roots.iter().for_each(|root| flow.blocks[*root as usize].is_root = true);
        flow.backwards(&reached);
        flow.dominate(&blocks);
        Ok(flow)
    }
}

impl Flow {
    /// Collects the edges from block to block.
    fn forwards(&mut self, turns: &[Turn], ends: &[u32]) {
        let count = self.blocks.len();
        let mut turns = turns;
        let mut ways: Vec<u32> = Vec::with_capacity(4 * count);
        for number in 0..count {
            let last = self.blocks[number].end - 1;
            let first = turns;
            while let [turn, rest @ ..] = turns
                && turn.insn == last
            {
                turns = rest;
            }
            let mine = &first[..first.len() - turns.len()];
            let from = ways.len();
            // Another function follows the end of a part: the last instruction was a call that does not return.
            let goes_on = mine.is_empty() || mine.iter().any(|turn| turn.falls_through);
            if goes_on && ends.binary_search(&last).is_err() {
                ways.push(number as u32 + 1);
            }
            let mut outside = None;
            for to in mine.iter().filter_map(|turn| turn.to) {
                match insn_at(&self.parts, to).map(|insn| self.block[insn as usize]) {
                    // Both edges of a branch may lead to one place.
                    Some(to) if ways[from..].contains(&to) => {}
                    Some(to) => ways.push(to),
                    None => outside = Some(to),
                }
            }
            let block = &mut self.blocks[number];
            block.next = (from as u32, ways.len() as u32);
            block.outside = outside;
            block.ending = mine.last().map_or(Ending::Plain, |turn| turn.ending);
        }
        self.ways = ways;
    }

    /// Collects the same edges by their targets. Padding before an aligned block seems to fall through to it, but is
    /// never executed: only its edges to other unreached code count.
    fn backwards(&mut self, reached: &[bool]) {
        let counts = |from: usize, to: u32| reached[from] || !reached[to as usize];
        let forwards = self.ways.len();
        let mut degree = vec![0u32; self.blocks.len()];
        for from in 0..self.blocks.len() {
            for to in self.next(from as u32) {
                degree[*to as usize] += u32::from(counts(from, *to));
            }
        }
        let mut at = forwards as u32;
        for (block, degree) in self.blocks.iter_mut().zip(degree) {
            block.previous = (at, at);
            at += degree;
        }
        self.ways.resize(at as usize, 0);
        for from in 0..self.blocks.len() {
            let (first, end) = self.blocks[from].next;
            for way in first..end {
                let to = self.ways[way as usize];
                if counts(from, to) {
                    let place = &mut self.blocks[to as usize].previous.1;
                    self.ways[*place as usize] = from as u32;
                    *place += 1;
                }
            }
        }
    }

    /// The dominator tree (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm). Code without any visible
    /// predecessor is a root below the common one, as the entry is.
    fn dominate(&mut self, order: &[u32]) {
        let count = order.len();
        // By index in the order; index 0 is the common root.
        let mut place = vec![0u32; count];
        for (at, block) in (1..).zip(order) {
            place[*block as usize] = at;
        }
        let mut above = vec![NONE; count + 1];
        above[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for (at, number) in (1u32..).zip(order) {
                let mut new = if self.blocks[*number as usize].is_root { 0 } else { NONE };
                for previous in self.previous(*number) {
                    let previous = place[*previous as usize];
                    if above[previous as usize] != NONE {
                        new = if new == NONE { previous } else { meet(&above, new, previous) };
                    }
                }
                if above[at as usize] != new {
                    above[at as usize] = new;
                    changed = true;
                }
            }
        }
        // A block precedes those below it in the order: sizes are summed from the end, then numbers assigned from the
        // start.
        let mut size = vec![1u32; count + 1];
        for at in (1..=count).rev() {
            size[above[at] as usize] += size[at];
        }
        let mut free = vec![0u32; count + 1];
        free[0] = 1;
        for (at, number) in (1..).zip(order) {
            let parent = above[at] as usize;
            let mine = free[parent];
            free[parent] += size[at];
            free[at] = mine + 1;
            self.blocks[*number as usize].tree = (mine, mine + size[at]);
        }
    }

    fn order(&self) -> Order {
        let count = self.blocks.len();
        let mut seen = vec![false; count];
        let (mut reached, mut roots) = (Vec::new(), Vec::new());
        let mut order = Vec::with_capacity(count);
        let mut path: Vec<(u32, u32)> = Vec::new();
        // A tree precedes those that can lead into it; the whole order is reversed in the end.
        for root in std::iter::once(self.entry).chain(0..count as u32) {
            if std::mem::replace(&mut seen[root as usize], true) {
                continue;
            }
            roots.push(root);
            path.push((root, 0));
            while let Some((block, way)) = path.last_mut() {
                let next = self.next(*block).get(*way as usize).copied();
                *way += 1;
                match next {
                    Some(next) if !std::mem::replace(&mut seen[next as usize], true) => path.push((next, 0)),
                    Some(_) => {}
                    None => {
                        order.push(*block);
                        path.pop();
                    }
                }
            }
            if reached.is_empty() {
                reached.clone_from(&seen);
            }
        }
        order.reverse();
        Order { blocks: order, reached, roots }
    }
}

/// All blocks, each before its successors except for loops.
struct Order {
    blocks: Vec<u32>,
    /// Whether the entry leads to a block.
    reached: Vec<bool>,
    /// The entry, and code without any visible predecessor.
    roots: Vec<u32>,
}

/// The block where the two paths to the root meet.
fn meet(above: &[u32], mut one: u32, mut other: u32) -> u32 {
    while one != other {
        while one > other {
            one = above[one as usize];
        }
        while other > one {
            other = above[other as usize];
        }
    }
    one
}

fn insn_at(parts: &[Read], address: u64) -> Option<u32> {
    let part = parts.iter().find(|part| part.holds(address))?;
    Some(part.places[(address - part.address) as usize]).filter(|insn| *insn != NONE)
}

fn holds_byte(part: &Part<'_>, address: u64) -> bool {
    address.checked_sub(part.address).is_some_and(|at| at < part.code.len() as u64)
}

fn holds(parts: &[Read], address: u64) -> bool {
    parts.iter().any(|part| part.holds(address))
}

/// The marks of one part, looked up by ascending addresses, so that no search is needed.
struct Local<'m> {
    jump_labels: &'m [(u64, u64)],
    faults: &'m [(u64, u64)],
    warnings: &'m [u64],
    switches: &'m [(u64, u64)],
    patched: &'m [(u64, u64)],
    indirect: &'m [IndirectJump],
}

impl<'m> Local<'m> {
    fn new(marks: &'m Marks, part: &Part<'_>) -> Local<'m> {
        let end = part.address + part.code.len() as u64;
        fn cut<T>(all: &[T], start: u64, end: u64, address: impl Fn(&T) -> u64) -> &[T] {
            let first = all.partition_point(|mark| address(mark) < start);
            let count = all[first..].partition_point(|mark| address(mark) < end);
            &all[first..first + count]
        }
        Local {
            jump_labels: cut(&marks.jump_labels, part.address, end, |mark| mark.0),
            faults: cut(&marks.faults, part.address, end, |mark| mark.0),
            warnings: cut(&marks.warnings, part.address, end, |mark| *mark),
            switches: cut(&marks.switches, part.address, end, |mark| mark.0),
            patched: cut(&marks.patched, part.address, end, |mark| mark.0),
            indirect: cut(&marks.indirect, part.address, end, |jump| jump.at),
        }
    }

    fn jump_label(&mut self, address: u64) -> Option<u64> {
        take(&mut self.jump_labels, address, |mark| mark.0).map(|mark| mark.1)
    }

    fn fault(&mut self, address: u64) -> Option<u64> {
        take(&mut self.faults, address, |mark| mark.0).map(|mark| mark.1)
    }

    fn switch(&mut self, address: u64) -> Option<u64> {
        take(&mut self.switches, address, |mark| mark.0).map(|mark| mark.1)
    }

    fn indirect(&mut self, address: u64) -> Option<&'m IndirectJump> {
        take(&mut self.indirect, address, |jump| jump.at)
    }

    fn is_warning(&mut self, address: u64) -> bool {
        take(&mut self.warnings, address, |mark| *mark).is_some()
    }

    fn is_patched(&mut self, address: u64) -> bool {
        while let [(_, end), rest @ ..] = self.patched
            && *end <= address
        {
            self.patched = rest;
        }
        self.patched.first().is_some_and(|(start, _)| *start <= address)
    }
}

/// The mark at the address, if it is the next one.
fn take<'m, T>(marks: &mut &'m [T], address: u64, of: impl Fn(&T) -> u64) -> Option<&'m T> {
    while let [mark, rest @ ..] = *marks
        && of(mark) <= address
    {
        *marks = rest;
        if of(mark) == address {
            return Some(mark);
        }
    }
    None
}

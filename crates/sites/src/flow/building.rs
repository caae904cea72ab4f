//! sites/flow/building.rs: builds the graph: reads instructions part by part, and forms blocks.

use super::block::{Block, Ending, NONE, Turn};
use super::graph::{Flow, Order};
use super::part::{Marks, Part, Read, Undecodable, holds, insn_at};
use super::scratch::Scratch;
use crate::code::decode::{self, Control, IndirectJump};

impl Flow {
    /// Reads a function from its entry on. `part_at` is called with the targets of jumps out of the code read
    /// so far; it returns the part around that address if it belongs to the function too.
    pub fn of<'a>(
        entry: Part<'a>,
        marks: &Marks,
        part_at: impl FnMut(u64) -> Option<Part<'a>>,
    ) -> Result<Flow, Undecodable> {
        Flow::cut(entry, marks, &[], part_at)
    }

    /// Like [`Flow::of`]; additionally, a block begins at each of `cuts`.
    pub fn cut<'a>(
        entry: Part<'a>,
        marks: &Marks,
        cuts: &[u64],
        part_at: impl FnMut(u64) -> Option<Part<'a>>,
    ) -> Result<Flow, Undecodable> {
        Flow::build(entry, marks, (cuts, None), part_at)
    }

    /// Like [`Flow::of`], for code whose calls may not return: a block ends after each call, from where control may leave
    /// the function. `pads` returns the addresses where the part at an address catches exceptions.
    pub(crate) fn of_calls<'a>(
        entry: Part<'a>,
        marks: &Marks,
        pads: Pads<'_>,
        part_at: impl FnMut(u64) -> Option<Part<'a>>,
    ) -> Result<Flow, Undecodable> {
        Flow::build(entry, marks, (&[], Some(pads)), part_at)
    }

    fn build<'a>(
        entry: Part<'a>,
        marks: &Marks,
        (cuts, pads): (&[u64], Option<Pads<'_>>),
        mut part_at: impl FnMut(u64) -> Option<Part<'a>>,
    ) -> Result<Flow, Undecodable> {
        let mut reader = Reader::new(&entry, marks, pads.is_some());
        reader.read(&entry)?;
        let (mut asked, mut caught) = (0, Vec::new());
        for number in 0.. {
            reader.follow(&mut asked, &mut part_at)?;
            let (Some(part), Some(pads)) = (reader.parts.get(number), pads) else { break };
            let pads = pads(part.address).ok_or(Undecodable::Exceptions)?;
            // A part may be reached by exceptions only.
            for pad in &pads {
                if !holds(&reader.parts, *pad)
                    && let Some(part) = part_at(*pad).filter(|part| reader.has_room_for(part))
                {
                    reader.read(&part)?;
                }
            }
            caught.extend(pads);
        }
        reader.finish(entry.address, cuts, &caught)
    }
}

/// Returns the landing pads of the code at an address; `None` if they are unknown.
pub(crate) type Pads<'p> = &'p dyn Fn(u64) -> Option<Vec<u64>>;

/// Collects the instructions of all parts.
struct Reader<'m> {
    marks: &'m Marks,
    address: Vec<u64>,
    parts: Vec<Read>,
    /// One for each instruction that does not just fall through.
    turns: Vec<Turn>,
    patched: Vec<u32>,
    keys: Vec<u32>,
    /// Whether a block ends after each call; then these calls, and those that return again.
    at_calls: bool,
    stops: Vec<u32>,
    again: Vec<u32>,
    /// The last instruction of each part, which no code of the function follows.
    ends: Vec<u32>,
}

impl<'m> Reader<'m> {
    fn new(entry: &Part<'_>, marks: &'m Marks, at_calls: bool) -> Reader<'m> {
        let bytes = entry.code.len();
        Reader {
            marks,
            // The kernel's x86-64 instructions are 4.3 bytes long on average.
            address: Vec::with_capacity(bytes / 4),
            parts: Vec::with_capacity(2),
            turns: Vec::with_capacity(bytes / 16),
            patched: Vec::new(),
            keys: Vec::new(),
            at_calls,
            stops: Vec::new(),
            again: Vec::new(),
            ends: Vec::with_capacity(2),
        }
    }

    /// Reads the parts to which control jumps.
    fn follow<'a>(
        &mut self,
        asked: &mut usize,
        part_at: &mut impl FnMut(u64) -> Option<Part<'a>>,
    ) -> Result<(), Undecodable> {
        // Most functions have many exits to one address, the return thunk.
        let mut last = None;
        while let Some(turn) = self.turns.get(*asked) {
            let to = turn.to.filter(|to| last != Some(*to) && !holds(&self.parts, *to));
            *asked += 1;
            if let Some(part) = to.and_then(&mut *part_at).filter(|part| self.has_room_for(part)) {
                self.read(&part)?;
            }
            last = to.or(last);
        }
        Ok(())
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
            let turn = turn.or_else(|| self.stop(insn, &step, part));
            let mut switched = false;
            while let Some(to) = local.switch(step.address) {
                switched = true;
                self.turns.push(Turn { insn, falls_through: false, to: Some(to), ending: Ending::Plain });
            }
            // Without jump tables, an alternative that leaves the part only goes to auxiliary code, which
            // decides until the kernel has chosen.
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

    /// Ends a block after a call, if calls may not return.
    fn stop(&mut self, insn: u32, step: &decode::Step, part: &Part<'_>) -> Option<Turn> {
        let code = part.code.get((step.address - part.address) as usize..)?;
        if !self.at_calls || !decode::of(self.marks.machine).calls(code) {
            return None;
        }
        self.stops.push(insn);
        if matches!(step.control, Control::Call(to) if self.marks.again.binary_search(&to).is_ok()) {
            self.again.push(insn);
        }
        Some(Turn { insn, falls_through: true, to: None, ending: Ending::Plain })
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
            // An instruction that transfers control anyway (`call *`, `jmp`) does not fault by design.
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

    fn finish(self, entry: u64, cuts: &[u64], pads: &[u64]) -> Result<Flow, Undecodable> {
        let count = self.address.len();
        let Some(entry) = insn_at(&self.parts, entry) else { return Err(Undecodable::NoCode) };
        // Whether a block begins at each instruction.
        let mut begins = vec![false; count + 1];
        begins[entry as usize] = true;
        for cut in cuts.iter().chain(pads).filter_map(|cut| insn_at(&self.parts, *cut)) {
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
            stops: self.stops,
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
        let pads = pads.iter().filter_map(|pad| insn_at(&flow.parts, *pad));
        let again = self.again.iter().map(|call| call + 1).filter(|after| (*after as usize) < count);
        for entered in pads.chain(again).collect::<Vec<u32>>() {
            flow.blocks[flow.block[entered as usize] as usize].is_root = true;
        }
        Ok(flow)
    }
}

fn holds_byte(part: &Part<'_>, address: u64) -> bool {
    address.checked_sub(part.address).is_some_and(|at| at < part.code.len() as u64)
}

/// The marks of one part, consumed by ascending address, so that no search is needed.
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

/// Takes the mark at the address, if it is the next one.
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

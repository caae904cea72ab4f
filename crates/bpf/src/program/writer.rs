//! bpf/program/writer.rs: generates one program from the clauses of a probe.

use super::entries::Entries;
use super::place;
use super::prologue::Prologue;
use super::refusal::Refusal;
use crate::asm::{Assembler, Code, Label};
use crate::insn::Reg::{R0, R1, R2, R3, R4, R6, R7, R8, R9};
use crate::insn::{Cond, Helper, Width};
use crate::library::{Function, Functions};
use crate::memory::{HEADER, Map, Memory, cpu, globals};
use crate::missing::Missing;
use crate::object::{Object, ProbeKind, Shared};
use kinst_dif::layout::ClauseLayout;
use kinst_dif::{ActionKind, Program};
use std::collections::BTreeMap;

/// The probe ERROR, whose clauses are part of every program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorProbe {
    /// The clauses, each with the id of its enabling.
    pub clauses: Vec<(u32, usize)>,
    /// Its names and id, in the layout of a place.
    pub place: Vec<u64>,
}

/// The inputs to a program.
pub struct Writer<'a> {
    /// The objects and clauses of the session.
    pub program: &'a Program,
    /// Inputs to the beginning of the program.
    pub prologue: Prologue<'a>,
    /// Kind of the probes.
    pub kind: ProbeKind,
    /// Kind of the context; the same in the clauses of ERROR.
    pub context: ProbeKind,
    /// The clauses of ERROR, which run after a fault.
    pub error: &'a ErrorProbe,
    /// The layout of the maps.
    pub memory: &'a Memory,
    /// Record layouts, by clause.
    pub layouts: &'a [ClauseLayout],
    /// In the order of their maps.
    pub entries: &'a [Entries],
    /// Library functions called so far.
    pub functions: &'a Functions,
}

/// An offset in the CPU's memory, and a size.
pub(super) type Room = (u32, u32);

/// A frame slot.
pub(super) const INITIAL: i16 = -16;

pub(super) const INCREMENT: i16 = -24;

impl Writer<'_> {
    /// Writes the program of probes of one kind with the same enabled clauses.
    pub fn write(&self, clauses: &[usize]) -> Result<Code, Refusal> {
        let mut asm = Assembler::default();
        let mut used = Used::default();
        let out = asm.label();
        self.begin(&mut asm, out);
        let finished = asm.label();
        for (at, clause) in clauses.iter().enumerate() {
            self.clause(&mut asm, *clause, At::Place(at), &mut used, finished)?;
        }
        asm.bind(finished);
        self.give_back(&mut asm);
        asm.bind(out);
        asm.mov(R0, 0);
        asm.exit();
        self.objects(&mut asm, self.kind, &used)?;
        if let Some(label) = used.fault {
            self.fault_record(&mut asm, label);
        }
        if let Some(label) = used.error {
            let writer = Writer { kind: ProbeKind::Error, ..*self };
            let used = writer.error_clauses(&mut asm, label)?;
            self.objects(&mut asm, ProbeKind::Error, &used)?;
        }
        self.functions.write(&mut asm, self.memory);
        Ok(asm.finish()?)
    }

    /// Writes a clause, the `number`th at the probe. It jumps to `finished` after an exit().
    pub(super) fn clause(
        &self,
        asm: &mut Assembler,
        index: usize,
        number: At,
        used: &mut Used,
        finished: Label,
    ) -> Result<(), Refusal> {
        let clause = self.program.clauses.get(index).ok_or(Missing::Invalid)?;
        let layout = self.layouts.get(index).ok_or(Missing::Invalid)?;
        let end = asm.label();
        if self.prologue.computes {
            self.enabling(asm, number);
            asm.store(Width::Double, R7, cpu::USED, 0);
            asm.store(Width::Word, R7, cpu::FAULT, 0);
        }
        if let Some(predicate) = clause.predicate {
            self.value(asm, predicate, 0, used);
            asm.branch(Cond::Eq, R0, 0, end);
        }
        let kinds = || clause.actions.iter().map(|action| action.kind);
        let speculates = kinds().any(|kind| kind == ActionKind::Speculate);
        if speculates {
            asm.store(Width::Double, R7, cpu::SPECULATION, 0);
        }
        if kinds().any(|kind| kind == ActionKind::Tracemem) {
            asm.store(Width::Double, R7, cpu::LENGTH, -1);
        }
        if layout.size > 0 {
            asm.clear(self.memory.record + HEADER, layout.size);
        }
        self.actions(asm, index, layout, used)?;
        if clause.record || layout.size > 0 {
            self.output(asm, layout.size, speculates);
        }
        let fault_exits =
            !used.failed.is_empty() && self.error.clauses.iter().any(|(_, error)| self.exits(*error));
        self.faults(asm, end, used);
        asm.bind(end);
        if self.exits(index) || fault_exits || self.kind == ProbeKind::Error {
            // Nothing new runs after exit(), but END completes.
            asm.map_value(R1, Map::Globals as u32, globals::STATE);
            asm.load(Width::Double, R1, R1, 0);
            asm.branch(Cond::Eq, R1, globals::DRAINING, finished);
        }
        Ok(())
    }

    /// Whether a clause calls exit().
    fn exits(&self, clause: usize) -> bool {
        let clause = self.program.clauses.get(clause);
        clause.is_some_and(|clause| clause.actions.iter().any(|action| action.kind == ActionKind::Exit))
    }

    fn actions(
        &self,
        asm: &mut Assembler,
        index: usize,
        layout: &ClauseLayout,
        used: &mut Used,
    ) -> Result<(), Refusal> {
        let actions = &self.program.clauses[index].actions;
        let first = self.program.clauses[..index].iter().map(|clause| clause.actions.len()).sum::<usize>();
        for (at, action) in actions.iter().enumerate() {
            if action.kind.is_aggregating() {
                let keys = &actions[at.saturating_sub(action.ntuple.into())..at];
                self.aggregate(asm, action, keys, (first + at) as u32, at + 1, used)?;
                continue;
            }
            // Keys are written where they are used.
            if actions[at..].iter().enumerate().any(|(on, later)| usize::from(later.ntuple) >= on && on > 0) {
                continue;
            }
            let record = layout.records.get(at).copied().flatten();
            let record = record.map(|record| (self.memory.record + HEADER + record.offset, record.size));
            self.action(asm, action, record, at + 1, used)?;
        }
        Ok(())
    }

    /// Notes the running enabling, and the inlined copy that its place is in.
    fn enabling(&self, asm: &mut Assembler, at: At) {
        match at {
            At::Place(number) => {
                let word = place::CLAUSES + place::CLAUSE * number as i16;
                asm.load(Width::Double, R1, R9, word);
                asm.store(Width::Double, R7, cpu::EPID, R1);
                if self.prologue.inlined {
                    asm.load(Width::Double, R1, R9, word + 8);
                    asm.store(Width::Double, R7, cpu::INLINED, R1);
                }
            }
            At::Error(epid) => {
                asm.store(Width::Double, R7, cpu::EPID, epid as i32);
                asm.store(Width::Double, R7, cpu::INLINED, 0);
            }
        }
    }

    /// Writes the objects that the clauses call.
    fn objects(&self, asm: &mut Assembler, probe: ProbeKind, used: &Used) -> Result<(), Refusal> {
        let Writer { memory, context, functions, .. } = *self;
        let shared = Shared { memory, probe, context, functions };
        for (difo, label) in &used.objects {
            let object = self.program.difos.get(*difo as usize).ok_or(Missing::Invalid)?;
            Object::write(asm, &shared, *label, *difo as usize, object)?;
        }
        Ok(())
    }

    /// Calls an object; its value is in R0.
    pub(super) fn value(&self, asm: &mut Assembler, difo: u32, action: usize, used: &mut Used) {
        let function = used.object(asm, self.memory.alike.get(difo as usize).copied().unwrap_or(difo));
        asm.mov(R1, R6);
        asm.mov(R2, R7);
        asm.call_local(function);
        let bad = asm.label();
        used.failed.push((bad, action));
        asm.if_faulted(bad);
    }

    /// Outputs the record of the clause to the ring, or to a speculation if the clause speculates.
    fn output(&self, asm: &mut Assembler, size: u32, speculates: bool) {
        asm.point(R8, self.memory.record);
        asm.load(Width::Double, R1, R7, cpu::EPID);
        asm.store(Width::Word, R8, 0, R1);
        if speculates { self.speculate(asm, size) } else { self.send(asm, size) }
    }

    /// Sends the record at R8 with a payload of `size` bytes.
    pub(super) fn send(&self, asm: &mut Assembler, size: u32) {
        self.send_bytes(asm, (HEADER + size) as i32, false);
    }

    /// Fills in the CPU and time of the record at R8, and sends `size` bytes.
    pub(super) fn send_bytes(&self, asm: &mut Assembler, size: i32, wrapped: bool) {
        asm.load(Width::Double, R1, R7, cpu::CPU);
        asm.store(Width::Word, R8, 4, R1);
        asm.load(Width::Double, R1, R7, cpu::TIMESTAMP);
        asm.store(Width::Double, R8, 8, R1);
        asm.map(R1, Map::Records as u32);
        asm.mov(R2, R8);
        asm.mov(R3, size);
        asm.mov(R4, 0);
        asm.call(Helper::RingbufOutput);
        let sent = asm.label();
        asm.branch(Cond::Eq, R0, 0, sent);
        asm.mov(R1, i32::from(wrapped));
        asm.mov(R2, size);
        self.functions.call(asm, Function::Insist);
        asm.branch(Cond::Ne, R0, 0, sent);
        asm.count(R7, cpu::DROPS);
        asm.bind(sent);
    }
}

/// The enabling that a clause runs for: one of the place's, or one of ERROR's with a constant id.
#[derive(Clone, Copy)]
pub(super) enum At {
    Place(usize),
    Error(u32),
}

/// Code referenced by the code written so far.
#[derive(Default)]
pub(super) struct Used {
    objects: BTreeMap<u32, Label>,
    /// The function that sends a fault.
    pub(super) fault: Option<Label>,
    /// The clauses of ERROR.
    pub(super) error: Option<Label>,
    /// Labels where the actions of the clause continue after a fault, with the index of each.
    pub(super) failed: Vec<(Label, usize)>,
}

impl Used {
    fn object(&mut self, asm: &mut Assembler, difo: u32) -> Label {
        *self.objects.entry(difo).or_insert_with(|| asm.label())
    }
}

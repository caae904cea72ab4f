//! bpf/program/actions.rs: recording and effects of actions.

use super::refusal::Refusal;
use super::writer::{Room, Used, Writer};
use crate::asm::{Assembler, Label};
use crate::insn::Reg::{R0, R1, R2, R3, R7, R8};
use crate::insn::{Cond, Helper, Width};
use crate::memory::{Map, SCRATCH, cpu, globals};
use crate::missing::Missing;
use kinst_base::uapi;
use kinst_dif::action::Printm;
use kinst_dif::{Action, ActionKind, Type, TypeKind};

const SIGSTOP: i32 = 19;

impl Writer<'_> {
    pub(super) fn action(
        &self,
        asm: &mut Assembler,
        action: &Action,
        room: Option<Room>,
        number: usize,
        used: &mut Used,
    ) -> Result<(), Refusal> {
        let there = room.ok_or(Missing::Invalid);
        match action.kind {
            ActionKind::Exit => {
                self.value(asm, action.difo.ok_or(Missing::Invalid)?, number, used);
                self.exit(asm);
                asm.point(R1, there?.0);
                asm.store(Width::Word, R1, 0, R0);
            }
            ActionKind::Printa | ActionKind::Libact | ActionKind::TracememDyn => {
                match action.difo {
                    Some(difo) => self.value(asm, difo, number, used),
                    None => asm.number(R0, u64::from(action.agg)),
                }
                if action.kind == ActionKind::TracememDyn {
                    asm.store(Width::Double, R7, cpu::LENGTH, R0);
                }
                asm.point(R1, there?.0);
                asm.store(Width::Double, R1, 0, R0);
            }
            ActionKind::Tracemem => self.trace_memory(asm, action, there?, number, used)?,
            ActionKind::Printm => self.print_memory(asm, action, there?, number, used)?,
            ActionKind::Speculate | ActionKind::Commit | ActionKind::Discard => {
                self.value(asm, action.difo.ok_or(Missing::Invalid)?, number, used);
                self.end_speculation(asm, action.kind, number, used);
            }
            ActionKind::Raise | ActionKind::Stop => {
                match action.difo {
                    Some(difo) => self.value(asm, difo, number, used),
                    None => asm.mov(R0, SIGSTOP),
                }
                asm.mov(R1, R0);
                asm.call(Helper::SendSignal);
            }
            #[rustfmt::skip]
            ActionKind::DifExpr | ActionKind::Printf | ActionKind::System | ActionKind::Freopen | ActionKind::Sym
            | ActionKind::Mod | ActionKind::Usym | ActionKind::Umod | ActionKind::Uaddr | ActionKind::Stack
            | ActionKind::Ustack => self.record(asm, action, room, number, used)?,
            #[rustfmt::skip]
            ActionKind::Breakpoint | ActionKind::Panic | ActionKind::Chill
            | ActionKind::Count | ActionKind::Min | ActionKind::Max | ActionKind::Avg | ActionKind::Sum
            | ActionKind::Stddev | ActionKind::Quantize | ActionKind::Lquantize | ActionKind::Llquantize => {
                return Err(Missing::Action(action.kind).into());
            }
        }
        Ok(())
    }

    /// exit(): the first call decides, unless END calls it again.
    fn exit(&self, asm: &mut Assembler) {
        let done = asm.label();
        asm.map_value(R1, Map::Globals as u32, globals::STATE);
        asm.load(Width::Double, R2, R1, 0);
        asm.branch(Cond::Eq, R2, globals::DRAINING, done);
        asm.store(Width::Double, R1, 8, R0);
        asm.branch(Cond::Eq, R2, uapi::State::COOLDOWN.0 as i32, done);
        asm.store(Width::Double, R1, 0, globals::DRAINING);
        asm.bind(done);
    }

    /// Writes an action's data to its place in a record or a key, if it has one.
    pub(super) fn record(
        &self,
        asm: &mut Assembler,
        action: &Action,
        room: Option<Room>,
        number: usize,
        used: &mut Used,
    ) -> Result<(), Refusal> {
        let there = room.ok_or(Missing::Invalid);
        match action.kind {
            ActionKind::DifExpr | ActionKind::Printf | ActionKind::System | ActionKind::Freopen => {
                let difo = action.difo.ok_or(Missing::Invalid)?;
                self.value(asm, difo, number, used);
                let Some(room) = room else { return Ok(()) };
                let ty = self.program.difos.get(difo as usize).ok_or(Missing::Invalid)?.rtype;
                self.keep(asm, ty, room, number, used)
            }
            ActionKind::Sym | ActionKind::Mod => {
                self.value(asm, action.difo.ok_or(Missing::Invalid)?, number, used);
                asm.point(R1, there?.0);
                asm.store(Width::Double, R1, 0, R0);
                Ok(())
            }
            ActionKind::Usym | ActionKind::Umod | ActionKind::Uaddr => {
                self.value(asm, action.difo.ok_or(Missing::Invalid)?, number, used);
                asm.mov(R8, R0);
                self.process(asm, there?.0);
                asm.store(Width::Double, R1, 8, R8);
                Ok(())
            }
            ActionKind::Stack => {
                self.stack(asm, there?);
                Ok(())
            }
            ActionKind::Ustack => self.user_stack(asm, action, there?),
            #[rustfmt::skip]
            ActionKind::Exit | ActionKind::Printa | ActionKind::Libact | ActionKind::Tracemem | ActionKind::TracememDyn
            | ActionKind::Printm | ActionKind::Stop | ActionKind::Raise | ActionKind::Breakpoint | ActionKind::Panic
            | ActionKind::Chill | ActionKind::Speculate | ActionKind::Commit | ActionKind::Discard
            | ActionKind::Count | ActionKind::Min | ActionKind::Max | ActionKind::Avg | ActionKind::Sum
            | ActionKind::Stddev | ActionKind::Quantize | ActionKind::Lquantize | ActionKind::Llquantize => {
                Err(Missing::Action(action.kind).into())
            },
        }
    }

    /// Writes the value in R0 to a field of `size` bytes.
    fn keep(
        &self,
        asm: &mut Assembler,
        ty: Type,
        (at, size): Room,
        number: usize,
        used: &mut Used,
    ) -> Result<(), Refusal> {
        if !ty.by_ref && !ty.by_user_ref {
            let width = Width::of(size).ok_or(Missing::Invalid)?;
            asm.point(R1, at);
            asm.store(width, R1, 0, R0);
            return Ok(());
        }
        if size > SCRATCH {
            return Err(Missing::Other("a value of this size").into());
        }
        asm.mov(R8, R0);
        let helper = match (ty.kind, ty.by_user_ref) {
            (TypeKind::D, false) => Helper::ProbeReadKernel,
            (TypeKind::D, true) => Helper::ProbeReadUser,
            (TypeKind::String, false) => Helper::ProbeReadKernelStr,
            (TypeKind::String, true) => Helper::ProbeReadUserStr,
        };
        asm.point(R1, at);
        asm.mov(R2, size as i32);
        self.read(asm, helper, number, used);
        Ok(())
    }

    /// Copies R2 bytes from the address in R8 to R1; faults if they cannot be read.
    fn read(&self, asm: &mut Assembler, helper: Helper, number: usize, used: &mut Used) {
        asm.mov(R3, R8);
        asm.call(helper);
        let good = asm.label();
        asm.branch(Cond::SignedGe, R0, 0, good);
        self.fail(asm, uapi::Flt::BADADDR, R8, number, used);
        asm.bind(good);
    }

    /// tracemem(): records as many bytes as the optional last argument says.
    fn trace_memory(
        &self,
        asm: &mut Assembler,
        action: &Action,
        (at, size): Room,
        number: usize,
        used: &mut Used,
    ) -> Result<(), Refusal> {
        let difo = action.difo.ok_or(Missing::Invalid)?;
        if size > SCRATCH {
            return Err(Missing::Other("a value of this size").into());
        }
        let ty = self.program.difos.get(difo as usize).ok_or(Missing::Invalid)?.rtype;
        self.value(asm, difo, number, used);
        asm.mov(R8, R0);
        let asked = asm.label();
        asm.load(Width::Double, R2, R7, cpu::LENGTH);
        asm.branch(Cond::Le, R2, size as i32, asked);
        asm.mov(R2, size as i32);
        asm.bind(asked);
        asm.store(Width::Double, R7, cpu::LENGTH, -1);
        asm.point(R1, at);
        let helper = if ty.by_user_ref { Helper::ProbeReadUser } else { Helper::ProbeReadKernel };
        self.read(asm, helper, number, used);
        Ok(())
    }

    /// printm(): from a pair of address and length, records the length and as many bytes.
    fn print_memory(
        &self,
        asm: &mut Assembler,
        action: &Action,
        (at, size): Room,
        number: usize,
        used: &mut Used,
    ) -> Result<(), Refusal> {
        if !(8..=SCRATCH).contains(&size) {
            return Err(Missing::Other("a value of this size").into());
        }
        let (process, before) = (Printm::unpack(action.arg).process, used.failed.len());
        self.value(asm, action.difo.ok_or(Missing::Invalid)?, number, used);
        asm.mov(R8, R0);
        asm.point(R1, self.memory.frames);
        asm.mov(R2, 16);
        self.read(asm, Helper::ProbeReadKernel, number, used);
        asm.point(R1, self.memory.frames);
        asm.load(Width::Double, R8, R1, 0);
        asm.load(Width::Double, R2, R1, 8);
        asm.point(R1, at);
        if process {
            asm.store(Width::Double, R1, 0, R2);
        }
        let short = asm.label();
        asm.branch(Cond::Le, R2, size as i32 - 8, short);
        asm.mov(R2, size as i32 - 8);
        asm.bind(short);
        if !process {
            asm.store(Width::Double, R1, 0, R2);
        }
        asm.add(R1, 8);
        let helper = if process { Helper::ProbeReadUser } else { Helper::ProbeReadKernel };
        self.read(asm, helper, number, used);
        if process {
            self.go_on(asm, at, used.failed.split_off(before));
        }
        Ok(())
    }

    /// Continues after faults of an action: its record says that the memory could not be read.
    fn go_on(&self, asm: &mut Assembler, at: u32, failed: Vec<(Label, usize)>) {
        let good = asm.label();
        asm.jump(good);
        for (label, _) in failed {
            asm.bind(label);
        }
        asm.store(Width::Word, R7, cpu::FAULT, 0);
        asm.point(R1, at);
        asm.mov(R2, Printm::UNREADABLE as i32);
        asm.store(Width::Double, R1, 0, R2);
        asm.bind(good);
    }
}

//! bpf/program/begin.rs: the beginning of a program: tests the hit, finds its place, sets up the CPU's memory.

use super::place;
use super::writer::Writer;
use super::{event, ways};
use crate::asm::{Assembler, Label};
use crate::insn::Reg::{Frame, R0, R1, R2, R3, R6, R7, R8, R9};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::memory::{Map, cpu, globals};
use crate::object::{ProbeKind, place_of_hit};
use kinst_base::machine::PtRegs;

/// A frame slot: a key or a number.
pub(super) const SLOT: i16 = -8;

impl Writer<'_> {
    /// Writes the code before the clauses: R6 is the context, R7 the CPU's memory, R9 the probe's place.
    pub(super) fn begin(&self, asm: &mut Assembler, out: Label) {
        asm.mov(R6, R1);
        match self.kind.is_in_program() {
            true => self.hit_in_program(asm, out),
            false => self.hit_in_kernel(asm, out),
        }
        self.find(asm, out);
        if self.prologue.flags {
            ways::flags(asm, self.memory.machine, out);
        }
        if let Some(spot) = self.prologue.spot {
            ways::write(asm, self.memory.machine, spot, self.kind.is_in_program(), out);
        }
        if self.prologue.once && matches!(self.kind, ProbeKind::Insn | ProbeKind::UserInsn) {
            self.first(asm, out);
        }
        match self.kind.is_in_program() {
            true => self.take_lane(asm, out),
            false => self.take(asm, out),
        }
        self.set_up(asm);
    }

    /// Points R7 at the CPU's memory. Exits unless the hit is on the CPU to trace, and of the event.
    fn hit_in_kernel(&self, asm: &mut Assembler, out: Label) {
        if !self.kind.is_kprobe() {
            self.while_active(asm, out);
        }
        asm.call(Helper::GetSmpProcessorId);
        asm.store(Width::Word, Frame, SLOT, R0);
        if let Some(cpu) = self.prologue.cpu.filter(|_| !self.kind.is_kprobe()) {
            asm.branch(Cond::Ne, R0, cpu as i32, out);
        }
        asm.lookup(Map::Cpus as u32, SLOT);
        asm.branch(Cond::Eq, R0, 0, out);
        asm.mov(R7, R0);
        if self.kind.is_kprobe() {
            // All runs are counted, to derive the number of hits for which the kernel ran no program.
            asm.count(R7, cpu::RUNS);
            if let Some(cpu) = self.prologue.cpu {
                asm.load(Width::Word, R1, Frame, SLOT);
                asm.branch(Cond::Ne, R1, cpu as i32, out);
            }
            self.while_active(asm, out);
        }
        if let Some(number) = self.prologue.event {
            event::write(asm, number, self.prologue.kernel, out);
        }
    }

    /// Exits unless the session is active. BEGIN and END also run when it is not.
    pub(super) fn while_active(&self, asm: &mut Assembler, out: Label) {
        if self.kind != ProbeKind::Bare {
            asm.map_value(R1, Map::Globals as u32, globals::STATE);
            asm.load(Width::Double, R1, R1, 0);
            asm.branch(Cond::Ne, R1, globals::ACTIVE, out);
        }
    }

    /// Loads the address of the probe's place into R9.
    fn find(&self, asm: &mut Assembler, out: Label) {
        if let Some(offset) = self.prologue.alone {
            asm.map_value(R9, Map::Alone as u32, offset);
            asm.load(Width::Double, R1, R9, place::REFUSED);
            asm.branch(Cond::Ne, R1, 0, out);
            return;
        }
        match self.kind.is_in_program() {
            true => self.find_by_cookie(asm, out),
            false => self.find_among(asm, out),
        }
    }

    /// Looks up the place whose key the program was attached with: programs are at other addresses in each process.
    fn find_by_cookie(&self, asm: &mut Assembler, out: Label) {
        asm.mov(R1, R6);
        asm.call(Helper::GetAttachCookie);
        asm.store(Width::Double, Frame, SLOT, R0);
        asm.lookup(Map::Places as u32, SLOT);
        asm.branch(Cond::Eq, R0, 0, out);
        asm.mov(R9, R0);
    }

    /// Looks up the place in the map shared by several programs.
    fn find_among(&self, asm: &mut Assembler, out: Label) {
        let machine = self.memory.machine;
        let PtRegs { call, call_size, .. } = *machine.registers();
        let mark = machine.facts().mark;
        match self.kind {
            ProbeKind::Insn | ProbeKind::Entry | ProbeKind::Return => {
                place_of_hit(asm, machine, R1);
            }
            ProbeKind::MultiEntry | ProbeKind::MultiReturn | ProbeKind::Fentry | ProbeKind::Fexit => {
                asm.mov(R1, R6);
                asm.call(Helper::GetFuncIp);
                asm.mov(R1, R0);
            }
            ProbeKind::CallEntry => asm.load(Width::Double, R1, R6, 8),
            ProbeKind::CallReturn => {
                asm.load(Width::Double, R3, R6, 0);
                asm.add(R3, i32::from(call));
                asm.read(SLOT, call_size, out);
                asm.load(Width::Double, R1, Frame, SLOT);
            }
            ProbeKind::Timer
            | ProbeKind::Bare
            | ProbeKind::Error
            | ProbeKind::UserInsn
            | ProbeKind::UserEntry(_)
            | ProbeKind::UserReturn
            | ProbeKind::Trace(_)
            | ProbeKind::Event => {
                asm.number(R1, self.prologue.number.into());
            }
        }
        asm.number(R2, place::key(0, self.prologue.unit));
        asm.alu(Alu::Xor, R1, R2);
        asm.store(Width::Double, Frame, SLOT, R1);
        asm.lookup(Map::Places as u32, SLOT);
        if self.kind.is_kprobe() && !mark.is_empty() {
            // A kprobe at a function's first instruction may be after the instruction that marks an indirect
            // call's target.
            let found = asm.label();
            asm.branch(Cond::Ne, R0, 0, found);
            asm.load(Width::Double, R1, Frame, SLOT);
            asm.add(R1, -(mark.len() as i32));
            asm.store(Width::Double, Frame, SLOT, R1);
            asm.lookup(Map::Places as u32, SLOT);
            asm.bind(found);
        }
        asm.branch(Cond::Eq, R0, 0, out);
        asm.mov(R9, R0);
        if self.kind.is_call() {
            self.own_kind_of_call(asm, out);
        }
    }

    /// Exits if the system call is a 32-bit program's, whose calls have different numbers.
    fn own_kind_of_call(&self, asm: &mut Assembler, out: Label) {
        asm.call(Helper::GetCurrentTask);
        asm.mov(R3, R0);
        asm.add(R3, i32::from(self.prologue.kernel.status));
        asm.read(SLOT, 4, out);
        asm.load(Width::Double, R1, Frame, SLOT);
        asm.alu(Alu::And, R1, self.memory.machine.facts().compat.1);
        asm.branch(Cond::Ne, R1, 0, out);
    }

    /// Takes the CPU's memory. If a program that was interrupted holds it, counts the hit as lost.
    fn take(&self, asm: &mut Assembler, out: Label) {
        let free = asm.label();
        if self.kind.is_preempted() || !self.entries.is_empty() {
            // Programs at tracepoints and functions may preempt one another between any two instructions. The
            // reader of aggregations must see that this one runs before it reads which half to use.
            asm.mov(R1, 1);
            asm.exchange(R7, cpu::BUSY, R1);
            asm.branch(Cond::Eq, R1, 0, free);
        } else {
            let busy = asm.label();
            asm.load(Width::Double, R1, R7, cpu::BUSY);
            asm.branch(Cond::Ne, R1, 0, busy);
            asm.store(Width::Double, R7, cpu::BUSY, 1);
            asm.jump(free);
            asm.bind(busy);
        }
        self.lose(asm, out);
        asm.bind(free);
        self.choose_half(asm);
    }

    /// Counts the hit as lost, and exits.
    pub(super) fn lose(&self, asm: &mut Assembler, out: Label) {
        asm.mov(R1, 1);
        asm.point(R2, cpu::NESTED as u32);
        asm.atomic_add(R2, 0, R1);
        asm.jump(out);
    }

    /// Notes the half of the aggregations' maps to write.
    pub(super) fn choose_half(&self, asm: &mut Assembler) {
        if !self.entries.is_empty() {
            asm.map_value(R1, Map::Globals as u32, globals::HALF);
            asm.load(Width::Double, R1, R1, 0);
            asm.store(Width::Double, R7, cpu::HALF, R1);
        }
    }

    /// Releases the CPU's memory after all writes to it.
    pub(super) fn give_back(&self, asm: &mut Assembler) {
        if self.entries.is_empty() || self.memory.machine.facts().stores_in_order {
            asm.store(Width::Double, R7, cpu::BUSY, 0);
        } else {
            asm.mov(R1, 0);
            asm.exchange(R7, cpu::BUSY, R1);
        }
    }

    /// Exits if the place has fired before.
    fn first(&self, asm: &mut Assembler, out: Label) {
        asm.mov(R1, 1);
        asm.exchange(R9, place::FIRED, R1);
        asm.branch(Cond::Ne, R1, 0, out);
    }

    /// Writes the data for the clauses to the CPU's memory.
    fn set_up(&self, asm: &mut Assembler) {
        // All CPUs share the place: it is written once.
        let fired = asm.label();
        asm.load(Width::Double, R1, R9, place::FIRED);
        asm.branch(Cond::Ne, R1, 0, fired);
        asm.store(Width::Double, R9, place::FIRED, 1);
        asm.bind(fired);
        asm.count(R7, cpu::HITS);
        if self.prologue.timed {
            self.take_time(asm);
        }
        if !self.prologue.computes {
            return;
        }
        if self.prologue.level {
            self.level(asm);
        }
        asm.store(Width::Double, R7, cpu::SELF, R7);
        asm.map_value(R8, Map::Constants as u32, 0);
        asm.store(Width::Double, R7, cpu::CONSTANTS, R8);
        asm.map_value(R1, Map::Globals as u32, 0);
        asm.store(Width::Double, R7, cpu::GLOBALS, R1);
        asm.store(Width::Double, R7, cpu::TOKEN, 0);
        if self.prologue.named {
            asm.load(Width::Double, R8, R7, cpu::CONSTANTS);
            for field in 0..4 {
                asm.load(Width::Double, R1, R9, place::NAMES + 8 * field);
                asm.add(R1, R8);
                asm.store(Width::Double, R7, cpu::PROBE + 8 * field, R1);
            }
            asm.load(Width::Double, R1, R9, place::ID);
            asm.store(Width::Double, R7, cpu::PROBE + 32, R1);
        }
        self.arguments(asm);
    }

    pub(super) fn take_time(&self, asm: &mut Assembler) {
        asm.call(Helper::KtimeGetNs);
        asm.store(Width::Double, R7, cpu::TIMESTAMP, R0);
    }

    /// Writes the arguments that the context lacks.
    fn arguments(&self, asm: &mut Assembler) {
        match self.kind {
            ProbeKind::Return | ProbeKind::UserReturn => {
                asm.load(Width::Double, R1, R9, place::EXIT);
                asm.store(Width::Double, R7, cpu::ARGUMENTS, R1);
                asm.load(Width::Double, R1, R6, self.memory.machine.registers().returned);
                asm.store(Width::Double, R7, cpu::ARGUMENTS + 8, R1);
            }
            // The exit at which the function was left is unknown.
            ProbeKind::MultiReturn => {
                asm.load(Width::Double, R1, R6, self.memory.machine.registers().returned);
                asm.store(Width::Double, R7, cpu::ARGUMENTS, 0);
                asm.store(Width::Double, R7, cpu::ARGUMENTS + 8, R1);
            }
            ProbeKind::Fexit => {
                asm.store(Width::Double, Frame, SLOT, 0);
                asm.mov(R1, R6);
                asm.mov(R2, Frame);
                asm.add(R2, i32::from(SLOT));
                asm.call(Helper::GetFuncRet);
                asm.load(Width::Double, R1, Frame, SLOT);
                asm.store(Width::Double, R7, cpu::ARGUMENTS, 0);
                asm.store(Width::Double, R7, cpu::ARGUMENTS + 8, R1);
            }
            ProbeKind::CallEntry => {
                asm.load(Width::Double, R3, R6, 0);
                asm.add(R3, i32::from(self.memory.machine.registers().calls_from()));
                asm.point(R1, cpu::ARGUMENTS as u32);
                asm.mov(R2, 8 * cpu::ARGUMENT_WORDS as i32);
                asm.call(Helper::ProbeReadKernel);
            }
            ProbeKind::Event => {
                for (number, slot) in event::ARGUMENTS.into_iter().enumerate() {
                    asm.load(Width::Double, R1, Frame, slot);
                    asm.store(Width::Double, R7, cpu::ARGUMENTS + 8 * number as i16, R1);
                }
            }
            ProbeKind::Insn
            | ProbeKind::Entry
            | ProbeKind::Fentry
            | ProbeKind::MultiEntry
            | ProbeKind::UserInsn
            | ProbeKind::UserEntry(_)
            | ProbeKind::Timer
            | ProbeKind::Bare
            | ProbeKind::Error
            | ProbeKind::CallReturn
            | ProbeKind::Trace(_) => {}
        }
    }
}

//! bpf/program/stack.rs: stack() and ustack(): addresses, and the data for unwinding a process's stack.

use super::refusal::Refusal;
use super::writer::{Room, Writer};
use crate::asm::{Assembler, Label};
use crate::insn::Reg::{Frame, R0, R1, R2, R3, R6, R7, R8};
use crate::insn::{Alu, Cond, Helper, USER_STACK, Width};
use crate::library::Function;
use crate::memory::{FRAMES, OWN_FRAMES, cpu};
use crate::missing::Missing;
use crate::object::place_of_hit;
use crate::object::stack::{Walk, addresses, unless_own};
use kinst_base::uapi::{Plain as _, Ustack as Copy};
use kinst_dif::Action;
use kinst_dif::action::Ustack;

/// The task flag of a kernel thread.
const KERNEL_THREAD: i32 = 0x20_0000;
const PAGE: i32 = 4096;
/// A frame slot for reads.
const SLOT: i16 = -8;

impl Writer<'_> {
    /// Writes the kernel stack to a zeroed field; missing frames stay 0.
    pub(super) fn stack(&self, asm: &mut Assembler, (at, size): Room) {
        match Walk::of(self.kind, self.context) {
            Walk::Nowhere => {}
            Walk::Registers(skipped) if !self.context.is_kprobe() => addresses(asm, at, size, skipped),
            Walk::Registers(skipped) => {
                let machine = self.memory.machine;
                if let Some(link) = self.context.link(machine) {
                    addresses(asm, at, size, 0);
                    asm.load(Width::Double, R1, R6, link);
                    asm.point(R2, at);
                    return asm.store(Width::Double, R2, 0, R1);
                }
                let (own, done) = (asm.label(), asm.label());
                asm.load(Width::Double, R1, R7, cpu::INLINED);
                asm.branch(Cond::Eq, R1, 0, own);
                // An inlined copy is in the function that called it, at the probed address itself.
                place_of_hit(asm, machine, R1);
                asm.point(R2, at);
                asm.store(Width::Double, R2, 0, R1);
                if size > 8 {
                    addresses(asm, at + 8, size - 8, skipped);
                }
                asm.jump(done);
                asm.bind(own);
                addresses(asm, at, size, skipped);
                asm.bind(done);
            }
            Walk::Own => {
                let frames = self.memory.frames;
                asm.clear(frames, 8 * (FRAMES + OWN_FRAMES));
                addresses(asm, frames, 8 * FRAMES, 0);
                self.functions.call(asm, Function::OwnFrames);
                unless_own(asm, self.context, 1);
                asm.alu(Alu::And, R0, OWN_FRAMES as i32 - 1);
                asm.alu(Alu::Lsh, R0, 3);
                asm.load(Width::Double, R3, R7, cpu::SELF);
                asm.add(R3, frames as i32);
                asm.add(R3, R0);
                asm.point(R1, at);
                asm.mov(R2, size.min(8 * FRAMES) as i32);
                asm.call(Helper::ProbeReadKernel);
            }
        }
    }

    /// Writes the process and its user stack.
    pub(super) fn user_stack(
        &self,
        asm: &mut Assembler,
        action: &Action,
        (at, size): Room,
    ) -> Result<(), Refusal> {
        let ustack = Ustack::unpack(action.arg);
        let plain = u32::try_from(ustack.plain()).map_err(|_| Missing::Invalid)?.min(size);
        self.process(asm, at);
        addresses(asm, at + 8, plain - 8, USER_STACK);
        if ustack.copied > 0 {
            self.copy_stack(asm, at + plain, ustack.copied);
        }
        Ok(())
    }

    /// Writes the process's registers and its stack from the stack pointer on, as far as it is readable; `at`
    /// is zeroed.
    fn copy_stack(&self, asm: &mut Assembler, at: u32, most: u32) {
        let frames = self.memory.frames;
        let registers = self.memory.machine.registers();
        let none = asm.label();
        match self.context.is_in_program() {
            true => asm.mov(R3, R6),
            false => self.registers_of_process(asm, none),
        }
        asm.point(R1, frames);
        asm.mov(R2, 8 * registers.dwarf_words);
        asm.call(Helper::ProbeReadKernel);
        asm.branch(Cond::Ne, R0, 0, none);
        asm.point(R2, frames);
        asm.load(Width::Double, R1, R2, registers.narrow.register);
        asm.alu(Alu::And, R1, registers.narrow.bits);
        asm.branch(Cond::Eq, R1, registers.narrow.value, none);
        asm.point(R3, at);
        asm.mov(R1, registers.dwarf.len() as i32);
        asm.store(Width::Double, R3, 8, R1);
        for (word, register) in (2..).zip([&registers.instruction].into_iter().chain(registers.dwarf)) {
            asm.load(Width::Double, R1, R2, *register);
            asm.store(Width::Double, R3, 8 * word, R1);
        }
        self.copy_pages(asm, at, most, none);
        asm.bind(none);
    }

    /// Loads the address of the process's registers into R3; jumps to `none` in a kernel thread.
    fn registers_of_process(&self, asm: &mut Assembler, none: Label) {
        let kernel = self.prologue.kernel;
        asm.call(Helper::GetCurrentTask);
        asm.mov(R8, R0);
        asm.mov(R3, R8);
        asm.add(R3, i32::from(kernel.mm));
        asm.read(SLOT, 8, none);
        asm.load(Width::Double, R1, Frame, SLOT);
        asm.branch(Cond::Eq, R1, 0, none);
        asm.mov(R3, R8);
        asm.add(R3, i32::from(kernel.task_flags));
        asm.read(SLOT, 4, none);
        asm.load(Width::Double, R1, Frame, SLOT);
        asm.alu(Alu::And, R1, KERNEL_THREAD);
        asm.branch(Cond::Ne, R1, 0, none);
        asm.user_registers(R3);
    }

    /// Reads page by page. The first word at `at` is the number of bytes read.
    fn copy_pages(&self, asm: &mut Assembler, at: u32, most: u32, end: Label) {
        let registers = self.memory.machine.registers();
        let bytes = at + Copy::SIZE as u32;
        let pages = (most / PAGE as u32 + 2) as i32;
        asm.mov(R8, 0);
        let again = asm.here();
        asm.branch(Cond::Ge, R8, pages, end);
        asm.add(R8, 1);
        // R1 = bytes read, R2 = bytes to read now: up to the end of the page, and not more than wanted.
        asm.point(R1, at);
        asm.load(Width::Double, R1, R1, 0);
        asm.branch(Cond::Ge, R1, most as i32, end);
        asm.point(R3, self.memory.frames);
        asm.load(Width::Double, R3, R3, registers.stack_pointer);
        asm.add(R3, R1);
        asm.mov(R0, R3);
        asm.alu(Alu::And, R0, PAGE - 1);
        asm.mov(R2, PAGE);
        asm.alu(Alu::Sub, R2, R0);
        asm.mov(R0, most as i32);
        asm.alu(Alu::Sub, R0, R1);
        let page = asm.label();
        asm.branch(Cond::Le, R2, R0, page);
        asm.mov(R2, R0);
        asm.bind(page);
        asm.store(Width::Double, R7, cpu::ADDRESS, R2);
        asm.add(R1, R7);
        asm.add(R1, bytes as i32);
        asm.call(Helper::ProbeReadUser);
        // Clears a partial read.
        asm.branch(Cond::Ne, R0, 0, end);
        asm.point(R2, at);
        asm.load(Width::Double, R1, R2, 0);
        asm.load(Width::Double, R3, R7, cpu::ADDRESS);
        asm.add(R1, R3);
        asm.store(Width::Double, R2, 0, R1);
        asm.jump(again);
    }

    /// Writes the process at an offset, and points R1 there.
    pub(super) fn process(&self, asm: &mut Assembler, at: u32) {
        asm.call(Helper::GetCurrentPidTgid);
        asm.alu(Alu::Rsh, R0, 32);
        asm.point(R1, at);
        asm.store(Width::Double, R1, 0, R0);
    }
}

//! bpf/object/stack.rs: stackdepth, ustackdepth, caller and ucaller.

use super::function::{COPY, Object};
use super::probe::{ProbeKind, place_of_hit};
use crate::asm::Assembler;
use crate::insn::Reg::{Frame, R0, R1, R2, R3, R4, R6, R7, R8};
use crate::insn::{Alu, Cond, Helper, USER_STACK, Width};
use crate::library::Function;
use crate::memory::{FRAMES, OWN_FRAMES, cpu};

/// How the kernel stack of a probe is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// From registers, without this many of the first addresses.
    Registers(i32),
    /// From above the code that runs the program.
    Own,
    /// Not at all: the registers are a process's.
    Nowhere,
}

impl Walk {
    /// Returns the walk for a probe: at an instruction, the place itself is the probe's name and is skipped;
    /// at a timer it is not.
    pub fn of(probe: ProbeKind, context: ProbeKind) -> Walk {
        use ProbeKind as K;
        match context {
            K::Insn | K::Entry | K::Return | K::MultiEntry => Walk::Registers(1),
            // The function has returned: the first address is its caller's.
            K::MultiReturn => Walk::Registers(0),
            K::Timer => Walk::Registers(i32::from(probe == K::Error)),
            K::CallEntry | K::CallReturn if probe == K::Error => Walk::Nowhere,
            K::CallEntry | K::CallReturn | K::Trace(_) | K::Event | K::Bare | K::Fentry | K::Fexit => {
                Walk::Own
            }
            // The kernel was entered by the breakpoint: it has no functions below the handler's.
            K::UserInsn | K::UserEntry(_) | K::UserReturn => Walk::Nowhere,
            K::Error => Walk::Nowhere,
        }
    }
}

/// Copies the first `bytes` bytes of a stack's addresses to an offset of the CPU's memory; R0 is the size.
pub fn addresses(asm: &mut Assembler, at: u32, bytes: u32, flags: i32) {
    asm.mov(R1, R6);
    asm.point(R2, at);
    asm.mov(R3, bytes as i32);
    asm.mov(R4, flags);
    asm.call(Helper::GetStack);
}

/// Corrects R0, the number of a stack's own addresses, at a function's return if none was recognized: where
/// the kernel jumps to the trampoline, its own addresses are `functions` functions of the program and the
/// trampoline.
pub fn unless_own(asm: &mut Assembler, context: ProbeKind, functions: i32) {
    if context == ProbeKind::Fexit {
        let some = asm.label();
        asm.branch(Cond::Ne, R0, 0, some);
        asm.mov(R0, functions + 1);
        asm.bind(some);
    }
}

impl Object<'_, '_> {
    /// Copies the first addresses of a stack to `frames`; R0 is the size in bytes.
    fn stack(&mut self, addresses: u32, flags: i32) {
        self::addresses(self.asm, self.shared.memory.frames, 8 * addresses, flags);
    }

    fn walk(&self) -> Walk {
        Walk::of(self.shared.probe, self.shared.context)
    }

    /// Loads the second address of a stack, which is the return address of the first function.
    pub(super) fn frame(&mut self, flags: i32) {
        self.address(1, flags);
    }

    /// Loads the caller in the process. At a program's entry or exit the function has no frame, and its return
    /// address is in the link register or at the stack pointer.
    pub(super) fn user_caller(&mut self) {
        let (context, machine) = (self.shared.context, self.shared.memory.machine);
        if !matches!(context, ProbeKind::UserEntry(_) | ProbeKind::UserReturn) {
            return self.frame(USER_STACK);
        }
        if let Some(link) = context.link(machine) {
            return self.asm.load(Width::Double, R1, R6, link);
        }
        let absent = self.asm.label();
        self.asm.load(Width::Double, R3, R6, machine.registers().stack_pointer);
        self.asm.read_user(COPY, 8, absent);
        self.asm.bind(absent);
        self.asm.load(Width::Double, R1, Frame, COPY);
    }

    /// Loads an address of a stack; 0 if the stack is shorter.
    fn address(&mut self, index: u32, flags: i32) {
        let absent = self.asm.label();
        self.stack(index + 1, flags);
        self.asm.mov(R1, 0);
        self.asm.branch(Cond::SignedLt, R0, 8 * (index as i32 + 1), absent);
        self.asm.point(R1, self.shared.memory.frames + 8 * index);
        self.asm.load(Width::Double, R1, R1, 0);
        self.asm.bind(absent);
    }

    /// Loads the caller; for an inlined copy it is the containing function, at the probed address.
    pub(super) fn caller(&mut self) {
        match self.walk() {
            Walk::Nowhere => self.asm.mov(R1, 0),
            Walk::Own => {
                let frames = self.shared.memory.frames;
                self.asm.clear(frames, 8 * OWN_FRAMES);
                self.stack(OWN_FRAMES, 0);
                self.own_frames();
                self.asm.alu(Alu::And, R0, OWN_FRAMES as i32 - 1);
                self.asm.alu(Alu::Lsh, R0, 3);
                self.asm.point(R1, frames);
                self.asm.add(R1, R0);
                self.asm.load(Width::Double, R1, R1, 0);
            }
            Walk::Registers(_) if self.shared.context == ProbeKind::MultiReturn => self.address(0, 0),
            Walk::Registers(_) if !self.shared.context.is_kprobe() => self.frame(0),
            Walk::Registers(_) => {
                let machine = self.shared.memory.machine;
                let (copy, done) = (self.asm.label(), self.asm.label());
                self.asm.load(Width::Double, R1, R7, cpu::INLINED);
                self.asm.branch(Cond::Ne, R1, 0, copy);
                match self.shared.context.link(machine) {
                    Some(link) => self.asm.load(Width::Double, R1, R6, link),
                    None => self.frame(0),
                }
                self.asm.jump(done);
                self.asm.bind(copy);
                place_of_hit(self.asm, machine, R1);
                self.asm.bind(done);
            }
        }
    }

    /// Counts into R0 the addresses at the top of a stack that belong to the code that runs the program,
    /// including the object.
    fn own_frames(&mut self) {
        self.library(Function::OwnFrames);
        unless_own(self.asm, self.shared.context, 2);
    }

    /// Loads the depth of the process's stack.
    pub(super) fn user_depth(&mut self) {
        self.stack(FRAMES, USER_STACK);
        self.counted();
    }

    /// Converts R0, a size in bytes or a negative error, to a number of addresses in R1.
    fn counted(&mut self) {
        let some = self.asm.label();
        self.asm.mov(R1, R0);
        self.asm.branch(Cond::SignedGe, R1, 0, some);
        self.asm.mov(R1, 0);
        self.asm.bind(some);
        self.asm.alu(Alu::Rsh, R1, 3);
    }

    /// Loads the depth of the kernel stack as stack() shows it.
    pub(super) fn depth(&mut self) {
        match self.walk() {
            Walk::Nowhere => self.asm.mov(R1, 0),
            Walk::Own => {
                let some = self.asm.label();
                self.asm.clear(self.shared.memory.frames, 8 * OWN_FRAMES);
                self.stack(FRAMES, 0);
                self.counted();
                self.asm.mov(R8, R1);
                self.own_frames();
                self.asm.mov(R1, R8);
                self.asm.alu(Alu::Sub, R1, R0);
                self.asm.branch(Cond::SignedGe, R1, 0, some);
                self.asm.mov(R1, 0);
                self.asm.bind(some);
            }
            Walk::Registers(skipped) => {
                // The return address in a register replaces the function's own address.
                let linked = self.shared.context.link(self.shared.memory.machine).is_some();
                self.stack(FRAMES, if linked { 0 } else { skipped });
                self.counted();
                if self.shared.context.is_kprobe() {
                    // At an inlined copy, the probed address itself is a frame.
                    let own = self.asm.label();
                    self.asm.load(Width::Double, R2, R7, cpu::INLINED);
                    self.asm.branch(Cond::Eq, R2, 0, own);
                    self.asm.add(R1, 1);
                    self.asm.bind(own);
                }
            }
        }
    }
}

//! bpf/object/stack.rs: the stack of the kernel and that of the program: how deep they are, and who called.

use super::function::Object;
use super::probe::{ProbeKind, place_of_hit};
use crate::asm::Assembler;
use crate::insn::Reg::{R0, R1, R2, R3, R4, R6, R7, R8};
use crate::insn::{Alu, Cond, Helper, USER_STACK, Width};
use crate::library::Function;
use crate::memory::{FRAMES, OWN_FRAMES, cpu};

/// Where the kernel's stack begins that a probe shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// At registers, without so many of the first addresses.
    Registers(i32),
    /// Above what has run the program.
    Own,
    /// Nowhere: the registers are those of a program.
    Nowhere,
}

impl Walk {
    /// At the place itself there is the probe's name; at a clock there is none.
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
            K::Error => Walk::Nowhere,
        }
    }
}

/// Copies so many bytes of the first addresses of a stack to a place in the CPU's memory; R0 is how many there are.
pub fn addresses(asm: &mut Assembler, at: u32, bytes: u32, flags: i32) {
    asm.mov(R1, R6);
    asm.point(R2, at);
    asm.mov(R3, bytes as i32);
    asm.mov(R4, flags);
    asm.call(Helper::GetStack);
}

/// Makes R0, the number of a stack's own addresses, right at a function's return if there was none among them: where the
/// kernel goes to a trampoline by a jump, so many functions of the program and the trampoline are all.
pub fn unless_own(asm: &mut Assembler, context: ProbeKind, functions: i32) {
    if context == ProbeKind::Fexit {
        let some = asm.label();
        asm.branch(Cond::Ne, R0, 0, some);
        asm.mov(R0, functions + 1);
        asm.bind(some);
    }
}

impl Object<'_, '_> {
    /// Copies the first addresses of a stack to their place; R0 is how many bytes.
    fn stack(&mut self, addresses: u32, flags: i32) {
        self::addresses(self.asm, self.shared.memory.frames, 8 * addresses, flags);
    }

    fn walk(&self) -> Walk {
        Walk::of(self.shared.probe, self.shared.context)
    }

    /// Loads the second address of a stack, the place that the first function returns to.
    pub(super) fn frame(&mut self, flags: i32) {
        self.address(1, flags);
    }

    /// Loads an address of a stack; 0 if there are not so many.
    fn address(&mut self, index: u32, flags: i32) {
        let absent = self.asm.label();
        self.stack(index + 1, flags);
        self.asm.mov(R1, 0);
        self.asm.branch(Cond::SignedLt, R0, 8 * (index as i32 + 1), absent);
        self.asm.point(R1, self.shared.memory.frames + 8 * index);
        self.asm.load(Width::Double, R1, R1, 0);
        self.asm.bind(absent);
    }

    /// Loads the function that called this one; of a copy it is the function that it is in, at the place itself.
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

    /// Counts to R0 the first addresses of a stack that are of what runs the program: an object is called by it.
    fn own_frames(&mut self) {
        self.library(Function::OwnFrames);
        unless_own(self.asm, self.shared.context, 2);
    }

    /// Loads the number of addresses of the program's stack.
    pub(super) fn user_depth(&mut self) {
        self.stack(FRAMES, USER_STACK);
        self.counted();
    }

    /// Makes R1 the number of addresses in the bytes in R0, which are an error if they are negative.
    fn counted(&mut self) {
        let some = self.asm.label();
        self.asm.mov(R1, R0);
        self.asm.branch(Cond::SignedGe, R1, 0, some);
        self.asm.mov(R1, 0);
        self.asm.bind(some);
        self.asm.alu(Alu::Rsh, R1, 3);
    }

    /// Loads the number of addresses of the kernel's stack, as stack() shows them.
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
                // The caller's address in a register takes the place of the function's own.
                let linked = self.shared.context.link(self.shared.memory.machine).is_some();
                self.stack(FRAMES, if linked { 0 } else { skipped });
                self.counted();
                if self.shared.context.is_kprobe() {
                    // Of a copy, the place itself is one.
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

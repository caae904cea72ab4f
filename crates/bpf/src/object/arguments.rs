//! bpf/object/arguments.rs: the arguments of probes.

use super::function::{COPY, Object};
use super::probe::ProbeKind;
use crate::insn::Reg::{Frame, R0, R1, R2, R3, R6, R7};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::memory::cpu;
use crate::missing::Missing;
use kinst_base::machine::PtRegs;
use kinst_base::probe::Passing;
use kinst_base::uapi::Flt;
use kinst_dif::insn::Builtin;

/// Number of arguments that a program can name: `arg0` to `arg9`.
const NAMED: usize = 10;

impl Object<'_, '_> {
    pub(super) fn registers(&self) -> &'static PtRegs {
        self.shared.memory.machine.registers()
    }

    pub(super) fn array(&mut self, var: u8, index: u8, rd: u8) -> Result<(), Missing> {
        match Builtin::from_number(var.into()) {
            Some(Builtin::Args) => {
                let done = self.asm.label();
                for number in 0..NAMED {
                    let other = self.asm.label();
                    self.get(R2, index);
                    self.asm.branch(Cond::Ne, R2, number as i32, other);
                    self.argument(number);
                    self.asm.jump(done);
                    self.asm.bind(other);
                }
                self.asm.mov(R1, 0);
                self.asm.bind(done);
                self.set(rd, R1);
                Ok(())
            }
            Some(builtin @ (Builtin::Regs | Builtin::Uregs)) => {
                self.register(self.index, builtin == Builtin::Uregs)?;
                self.set(rd, R1);
                Ok(())
            }
            #[rustfmt::skip]
            Some(
                builtin @ (Builtin::Curthread | Builtin::Timestamp | Builtin::Vtimestamp | Builtin::Ipl | Builtin::Epid
                | Builtin::Id | Builtin::Arg0 | Builtin::Arg1 | Builtin::Arg2 | Builtin::Arg3 | Builtin::Arg4
                | Builtin::Arg5 | Builtin::Arg6 | Builtin::Arg7 | Builtin::Arg8 | Builtin::Arg9 | Builtin::Stackdepth
                | Builtin::Caller | Builtin::Probeprov | Builtin::Probemod | Builtin::Probefunc | Builtin::Probename
                | Builtin::Pid | Builtin::Tid | Builtin::Execname | Builtin::Zonename | Builtin::Walltimestamp
                | Builtin::Ustackdepth | Builtin::Ucaller | Builtin::Ppid | Builtin::Uid | Builtin::Gid
                | Builtin::Errno | Builtin::Execargs | Builtin::Jid | Builtin::Jailname | Builtin::Inlinefunc
                | Builtin::Cpu),
            ) => Err(Missing::Builtin(builtin)),
            None => Err(Missing::Invalid),
        }
    }

    /// Loads an argument of the probe into R1; 0 if it has none.
    pub(super) fn argument(&mut self, number: usize) {
        let word = |number: usize| cpu::ARGUMENTS + 8 * number as i16;
        let registers = self.registers();
        match self.shared.probe {
            ProbeKind::Entry | ProbeKind::MultiEntry | ProbeKind::UserEntry(Passing::C) => {
                self.argument_in(registers.arguments, number);
            }
            ProbeKind::UserEntry(Passing::Go) if number < registers.go_arguments.len() => {
                self.argument_in(registers.go_arguments, number);
            }
            ProbeKind::UserEntry(Passing::GoStack) => self.argument_in(&[], number),
            ProbeKind::Timer if number < 2 => self.interrupted(number),
            ProbeKind::Fentry => self.argument_of_function(number),
            ProbeKind::Return | ProbeKind::Fexit | ProbeKind::MultiReturn | ProbeKind::UserReturn
                if number < 2 =>
            {
                self.asm.load(Width::Double, R1, R7, word(number));
            }
            ProbeKind::Event if number < 3 => self.asm.load(Width::Double, R1, R7, word(number)),
            ProbeKind::CallEntry if number < registers.call_arguments.len() => {
                let copied = registers.call_arguments[number] - registers.calls_from();
                self.asm.load(Width::Double, R1, R7, cpu::ARGUMENTS + copied);
            }
            ProbeKind::CallReturn if number < 2 => self.asm.load(Width::Double, R1, R6, 8),
            ProbeKind::Trace(count) if number < count.into() => {
                self.asm.load(Width::Double, R1, R6, 8 * number as i16);
            }
            ProbeKind::Error if number < 6 => {
                self.asm.load(Width::Double, R1, R7, cpu::ERROR + 8 * number as i16);
            }
            ProbeKind::Insn
            | ProbeKind::Return
            | ProbeKind::Fexit
            | ProbeKind::MultiReturn
            | ProbeKind::UserInsn
            | ProbeKind::UserEntry(Passing::Go | Passing::GoUnknown)
            | ProbeKind::UserReturn
            | ProbeKind::Timer
            | ProbeKind::Bare
            | ProbeKind::Error
            | ProbeKind::CallEntry
            | ProbeKind::CallReturn
            | ProbeKind::Trace(_)
            | ProbeKind::Event => self.asm.mov(R1, 0),
        }
    }

    /// Loads an argument saved by a trampoline; 0 if the function has none.
    fn argument_of_function(&mut self, number: usize) {
        self.asm.store(Width::Double, Frame, COPY, 0);
        self.asm.mov(R1, R6);
        self.asm.mov(R2, number as i32);
        self.asm.mov(R3, Frame);
        self.asm.add(R3, i32::from(COPY));
        self.asm.call(Helper::GetFuncArg);
        self.asm.load(Width::Double, R1, Frame, COPY);
    }

    /// Loads a function's argument at its entry from one of these registers; those after them are on the stack.
    fn argument_in(&mut self, arguments: &[i16], number: usize) {
        match arguments.get(number) {
            Some(offset) => self.asm.load(Width::Double, R1, R6, *offset),
            None => self.argument_on_stack(number - arguments.len()),
        }
    }

    /// Loads one of a function's arguments on the stack at its entry.
    fn argument_on_stack(&mut self, number: usize) {
        let PtRegs { on_stack, stack_pointer, .. } = *self.registers();
        let above = on_stack + 8 * number as i32;
        let bad = self.fault(Flt::BADADDR);
        let read = self.asm.label();
        self.asm.load(Width::Double, R3, R6, stack_pointer);
        self.asm.add(R3, above);
        self.asm.mov(R1, Frame);
        self.asm.add(R1, i32::from(COPY));
        self.asm.mov(R2, 8);
        let in_program = self.shared.probe.is_in_program();
        self.asm.call(if in_program { Helper::ProbeReadUser } else { Helper::ProbeReadKernel });
        self.asm.branch(Cond::Eq, R0, 0, read);
        self.asm.load(Width::Double, R1, R6, stack_pointer);
        self.asm.add(R1, above);
        self.asm.jump(bad);
        self.asm.bind(read);
        self.asm.load(Width::Double, R1, Frame, COPY);
    }

    /// Loads the interrupted address, in the kernel or in the program, for a timer.
    fn interrupted(&mut self, number: usize) {
        let (other, done) = (self.asm.label(), self.asm.label());
        let PtRegs { privilege, instruction, .. } = *self.registers();
        self.asm.load(Width::Double, R1, R6, privilege.register);
        self.asm.alu(Alu::And, R1, privilege.bits);
        let wants_zero = (number != 0) == privilege.zero_is_user;
        self.asm.branch(if wants_zero { Cond::Ne } else { Cond::Eq }, R1, 0, other);
        self.asm.load(Width::Double, R1, R6, instruction);
        self.asm.jump(done);
        self.asm.bind(other);
        self.asm.mov(R1, 0);
        self.asm.bind(done);
    }
}

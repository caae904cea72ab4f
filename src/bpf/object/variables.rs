//! bpf/object/variables.rs: variables of D and of the system.

use super::{KEY, Object, ProbeKind, place_of_hit};
use crate::bpf::insn::Reg::{Frame, R0, R1, R2, R3, R4, R6, R7};
use crate::bpf::insn::{Alu, Cond, Helper, USER_STACK, Width};
use crate::bpf::library::Function;
use crate::bpf::memory::{FRAMES, Map, cpu, globals};
use crate::bpf::missing::Missing;
use crate::dif::Scope;
use crate::dif::insn::{Builtin, FIRST_USER_VARIABLE, Opcode};
use crate::uapi::Flt;

impl Object<'_, '_> {
    pub(super) fn load_variable(&mut self, op: Opcode, id: u32, rd: u8) -> Result<(), Missing> {
        if op == Opcode::Ldgs && id < FIRST_USER_VARIABLE {
            self.builtin(Builtin::from_number(id).ok_or(Missing::Invalid)?)?;
            self.set(rd, R1);
            return Ok(());
        }
        match op {
            Opcode::Ldls => self.load_static(Scope::Local, id)?,
            Opcode::Ldgs => self.load_static(Scope::Global, id)?,
            Opcode::Ldts | Opcode::Ldtaa => self.load_dynamic(Scope::Thread, id)?,
            _ => self.load_dynamic(Scope::Global, id)?,
        }
        self.set(rd, R1);
        Ok(())
    }

    pub(super) fn store_variable(&mut self, op: Opcode, id: u32, rs: u8) -> Result<(), Missing> {
        match op {
            Opcode::Stls => self.store_static(Scope::Local, id, rs),
            Opcode::Stgs => self.store_static(Scope::Global, id, rs),
            Opcode::Stts | Opcode::Sttaa => self.store_dynamic(Scope::Thread, id, rs),
            _ => self.store_dynamic(Scope::Global, id, rs),
        }
    }

    /// Loads a built-in variable to R1.
    fn builtin(&mut self, builtin: Builtin) -> Result<(), Missing> {
        use Builtin::*;
        match builtin {
            Arg0 | Arg1 | Arg2 | Arg3 | Arg4 | Arg5 | Arg6 | Arg7 | Arg8 | Arg9 => {
                self.argument((builtin.number() - Arg0.number()) as usize);
            }
            Timestamp => self.asm.load(Width::Double, R1, R7, cpu::TIMESTAMP),
            Epid => self.asm.load(Width::Double, R1, R7, cpu::EPID),
            Pid => self.half(Helper::GetCurrentPidTgid, true),
            Tid => self.half(Helper::GetCurrentPidTgid, false),
            Gid => self.half(Helper::GetCurrentUidGid, true),
            Uid => self.half(Helper::GetCurrentUidGid, false),
            Cpu => {
                self.asm.call(Helper::GetSmpProcessorId);
                self.asm.mov(R1, R0);
            }
            Curthread => {
                self.asm.call(Helper::GetCurrentTask);
                self.asm.mov(R1, R0);
            }
            Execname => {
                // The name, in scratch memory.
                self.temporary(16);
                self.asm.mov(R2, 16);
                self.asm.call(Helper::GetCurrentComm);
                self.asm.load(Width::Double, R1, Frame, KEY);
            }
            Probeprov | Probemod | Probefunc | Probename => {
                let field = (builtin.number() - Probeprov.number()) as i16;
                self.asm.load(Width::Double, R1, R7, cpu::PROBE + 8 * field);
            }
            Inlinefunc => {
                let (inlined, own) = (self.asm.label(), self.asm.label());
                self.asm.load(Width::Double, R2, R7, cpu::INLINED);
                self.asm.load(Width::Double, R1, R7, cpu::CONSTANTS);
                self.asm.branch(Cond::Ne, R2, 0, inlined);
                self.asm.load(Width::Double, R1, R7, cpu::PROBE + 16);
                self.asm.jump(own);
                self.asm.bind(inlined);
                self.asm.add(R1, R2);
                self.asm.bind(own);
            }
            Caller | Stackdepth | Ustackdepth | Ucaller if !self.shared.probe.has_stack() => {
                return Err(Missing::Builtin(builtin));
            }
            Caller => self.caller(),
            Stackdepth => self.depth(0),
            Ustackdepth => self.depth(USER_STACK),
            Ucaller => self.frame(USER_STACK),
            Walltimestamp => {
                self.asm.call(Helper::KtimeGetTaiNs);
                self.asm.map_value(R1, Map::Globals as u32, globals::AHEAD);
                self.asm.load(Width::Double, R1, R1, 0);
                self.asm.alu(Alu::Sub, R0, R1);
                self.asm.mov(R1, R0);
            }
            Ppid | Execargs => {
                self.library(if builtin == Ppid { Function::Ppid } else { Function::Execargs });
                self.asm.mov(R1, R0);
            }
            Errno => self.error(),
            Id => self.asm.load(Width::Double, R1, R7, cpu::PROBE + 32),
            other => return Err(Missing::Builtin(other)),
        }
        Ok(())
    }

    /// Loads the number of the error that a system call returns, −1 to −4095; 0 elsewhere.
    fn error(&mut self) {
        const LAST: i32 = -4095;
        let (good, done) = (self.asm.label(), self.asm.label());
        if self.shared.probe == ProbeKind::CallReturn {
            self.asm.load(Width::Double, R1, R6, 8);
            self.asm.branch(Cond::SignedLt, R1, LAST, good);
            self.asm.branch(Cond::SignedGe, R1, 0, good);
            self.asm.neg(R1);
            self.asm.jump(done);
        }
        self.asm.bind(good);
        self.asm.mov(R1, 0);
        self.asm.bind(done);
    }

    /// Loads one of the two numbers that a helper returns.
    fn half(&mut self, helper: Helper, upper: bool) {
        self.asm.call(helper);
        self.asm.mov(R1, R0);
        if !upper {
            self.asm.alu(Alu::Lsh, R1, 32);
        }
        self.asm.alu(Alu::Rsh, R1, 32);
    }

    /// Copies the first addresses of a stack to their place; R0 is how many bytes.
    fn stack(&mut self, bytes: u32, flags: i32) {
        self.asm.mov(R1, R6);
        self.asm.point(R2, self.shared.memory.frames);
        self.asm.mov(R3, bytes as i32);
        self.asm.mov(R4, flags);
        self.asm.call(Helper::GetStack);
    }

    /// Loads the second address of a stack, the place that the first function returns to.
    fn frame(&mut self, flags: i32) {
        let absent = self.asm.label();
        self.stack(16, flags);
        self.asm.mov(R1, 0);
        self.asm.branch(Cond::SignedLt, R0, 16, absent);
        self.asm.point(R1, self.shared.memory.frames + 8);
        self.asm.load(Width::Double, R1, R1, 0);
        self.asm.bind(absent);
    }

    /// Loads the function that called this one; of a copy it is the function that it is in, at the place itself.
    fn caller(&mut self) {
        let (copy, done) = (self.asm.label(), self.asm.label());
        self.asm.load(Width::Double, R1, R7, cpu::INLINED);
        self.asm.branch(Cond::Ne, R1, 0, copy);
        let machine = self.shared.memory.machine;
        match self.shared.probe.link(machine) {
            Some(link) => self.asm.load(Width::Double, R1, R6, link),
            None => self.frame(0),
        }
        self.asm.jump(done);
        self.asm.bind(copy);
        place_of_hit(self.asm, machine, R1);
        self.asm.bind(done);
    }

    /// Loads the number of addresses of a stack.
    fn depth(&mut self, flags: i32) {
        let some = self.asm.label();
        self.stack(8 * FRAMES, flags);
        self.asm.mov(R1, R0);
        self.asm.branch(Cond::SignedGe, R1, 0, some);
        self.asm.mov(R1, 0);
        self.asm.bind(some);
        self.asm.alu(Alu::Rsh, R1, 3);
    }

    /// Loads a register of the place to R1.
    pub(super) fn register(&mut self, index: Option<u64>) -> Result<(), Missing> {
        let index = index.ok_or(Missing::Other("regs[] of what is no constant"))?;
        let offset = self.registers().elements.get(index as usize).copied().flatten();
        match (offset, self.shared.probe) {
            (None, _) => {
                let bad = self.fault(Flt::ILLOP);
                self.asm.number(R1, index);
                // The code after it has to be led to by something.
                self.asm.branch(Cond::Eq, R7, R7, bad);
            }
            (Some(offset), kind) if kind.is_text() || kind == ProbeKind::Timer => {
                self.asm.load(Width::Double, R1, R6, offset);
            }
            // An event has no registers.
            (Some(_), _) => self.asm.mov(R1, 0),
        }
        Ok(())
    }
}

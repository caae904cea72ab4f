//! bpf/object/variables.rs: user-defined and built-in variables.

use super::function::{KEY, Object};
use super::probe::{ProbeKind, place_of_hit};
use crate::insn::Reg::{Frame, R0, R1, R2, R6, R7};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::library::Function;
use crate::memory::{Map, ZONE, cpu, globals};
use crate::missing::Missing;
use crate::support::REGISTERS;
use kinst_base::probe::Passing;
use kinst_base::uapi::Flt;
use kinst_dif::Scope;
use kinst_dif::insn::{Builtin, FIRST_USER_VARIABLE, Opcode};

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
            Opcode::Ldgaa => self.load_dynamic(Scope::Global, id)?,
            _ => return Err(Missing::Invalid),
        }
        self.set(rd, R1);
        Ok(())
    }

    pub(super) fn store_variable(&mut self, op: Opcode, id: u32, rs: u8) -> Result<(), Missing> {
        match op {
            Opcode::Stls => self.store_static(Scope::Local, id, rs),
            Opcode::Stgs => self.store_static(Scope::Global, id, rs),
            Opcode::Stts | Opcode::Sttaa => self.store_dynamic(Scope::Thread, id, rs),
            Opcode::Stgaa => self.store_dynamic(Scope::Global, id, rs),
            _ => Err(Missing::Invalid),
        }
    }

    /// Loads a built-in variable into R1.
    fn builtin(&mut self, builtin: Builtin) -> Result<(), Missing> {
        use Builtin::*;
        match builtin {
            // On the stack, results are among the arguments.
            Arg9 if self.shared.probe == ProbeKind::UserEntry(Passing::Go) => {
                return Err(Missing::GoArgument);
            }
            Arg0 | Arg1 | Arg2 | Arg3 | Arg4 | Arg5 | Arg6 | Arg7 | Arg8 | Arg9
                if self.shared.probe == ProbeKind::UserEntry(Passing::GoUnknown) =>
            {
                return Err(Missing::GoAssembly);
            }
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
                // The name is copied to scratch memory.
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
            Caller => self.caller(),
            Stackdepth => self.depth(),
            Ustackdepth => self.user_depth(),
            Ucaller => self.user_caller(),
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
            Ipl if self.shared.memory.kernel.interrupts.unknown => return Err(Missing::Interrupts),
            Ipl => self.asm.load(Width::Double, R1, R7, cpu::LEVEL),
            Vtimestamp => {
                self.library(Function::Vtimestamp);
                self.asm.mov(R1, R0);
            }
            Zonename => {
                self.asm.load(Width::Double, R1, R7, cpu::CONSTANTS);
                self.asm.add(R1, ZONE as i32);
            }
            Id => self.asm.load(Width::Double, R1, R7, cpu::PROBE + 32),
            // The first three are arrays; the others belong to systems with jails.
            Args | Regs | Uregs | Jid | Jailname => return Err(Missing::Builtin(builtin)),
        }
        Ok(())
    }

    /// Loads the error that a system call returns, −1 to −4095, as a positive number; 0 elsewhere.
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

    /// Loads one half of the 64-bit result of a helper.
    fn half(&mut self, helper: Helper, upper: bool) {
        self.asm.call(helper);
        self.asm.mov(R1, R0);
        if !upper {
            self.asm.alu(Alu::Lsh, R1, 32);
        }
        self.asm.alu(Alu::Rsh, R1, 32);
    }

    /// Loads a register of the kernel or of the process into R1.
    pub(super) fn register(&mut self, index: Option<u64>, user: bool) -> Result<(), Missing> {
        let index = index.ok_or(Missing::Other(REGISTERS))?;
        let registers = self.registers();
        let offset = registers.elements.get(index as usize).copied().flatten();
        match (offset, self.shared.context) {
            (None, _) => {
                let bad = self.fault(Flt::ILLOP);
                self.asm.number(R1, index);
                // The code that follows has to be reachable.
                self.asm.branch(Cond::Eq, R7, R7, bad);
            }
            // In a program, both arrays are the registers of the hit.
            (Some(offset), kind) if kind.is_in_program() => self.asm.load(Width::Double, R1, R6, offset),
            // At a system call, these are the process's registers.
            (Some(offset), kind) if user || matches!(kind, ProbeKind::CallEntry | ProbeKind::CallReturn) => {
                self.asm.mov(R1, i32::from(offset));
                self.library(Function::UserRegister);
                self.asm.mov(R1, R0);
            }
            (Some(offset), kind) if kind.is_kprobe() && offset == registers.instruction => {
                place_of_hit(self.asm, self.shared.memory.machine, R1);
            }
            (Some(offset), kind) if kind.is_kprobe() || kind == ProbeKind::Timer => {
                self.asm.load(Width::Double, R1, R6, offset);
            }
            // An event has no registers.
            (Some(_), _) => self.asm.mov(R1, 0),
        }
        Ok(())
    }
}

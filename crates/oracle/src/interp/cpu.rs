//! oracle/interp/cpu.rs: registers, flags, and execution of instructions.

use super::machine::{Fault, Machine, Space, Trouble};
use super::memory::{self, State};
use kinst_base::uapi::Flt;
use kinst_dif::insn::{
    Builtin, FIRST_USER_VARIABLE, Insn, Opcode, PUSH_STRING, REGISTERS, Subr, TUPLE_ENTRIES,
};
use kinst_dif::{Difo, Scope, Type, TypeKind};

/// Runs a verified object to its `ret`; the value is an address if the type is by reference.
///
/// An object that was not verified ends in ILLOP where the verifier would have refused it.
pub fn run(difo: &Difo, state: &mut State, machine: &mut dyn Machine) -> Result<u64, Fault> {
    state.enter(difo);
    let mut cpu = Cpu {
        difo,
        memory: state,
        machine,
        registers: [0; REGISTERS as usize],
        flags: Flags::default(),
        tuple: Vec::new(),
    };
    let mut pc = 0u32;
    loop {
        let offset = i32::try_from(u64::from(pc) * 4).unwrap_or(-1);
        let fault = |trouble: Trouble| Fault { code: trouble.code, offset, value: trouble.value };
        let word = difo.insns.get(pc as usize).ok_or(fault(Flt::ILLOP.into()))?;
        let insn = Insn::decode(*word).map_err(|_| fault(Flt::ILLOP.into()))?;
        match cpu.step(insn).map_err(fault)? {
            Next::Following => pc += 1,
            // Only forward, so that an unverified program terminates too.
            Next::Label(label) if label > pc => pc = label,
            Next::Label(_) => return Err(fault(Flt::ILLOP.into())),
            Next::Return(value) => return Ok(value),
        }
    }
}

/// Returns the bytes that an action records for a value: little-endian, copied, or a string padded with zeros.
pub fn recorded(
    ty: &Type,
    value: u64,
    state: &mut State,
    machine: &mut dyn Machine,
) -> Result<Vec<u8>, Fault> {
    let fault = |trouble: Trouble| Fault { code: trouble.code, offset: -1, value: trouble.value };
    let space = if ty.by_user_ref { Space::User } else { Space::Kernel };
    match (ty.by_ref || ty.by_user_ref, ty.kind) {
        (false, _) => Ok(value.to_le_bytes().into_iter().take(ty.size as usize).collect()),
        (true, TypeKind::String) => {
            let size = if ty.size == 0 { state.strsize } else { ty.size };
            let mut bytes = state.string(machine, space, value, u64::from(size) - 1).map_err(fault)?;
            bytes.resize(size as usize, 0);
            Ok(bytes)
        }
        (true, TypeKind::D) => state.load(machine, space, value, u64::from(ty.size)).map_err(fault),
    }
}

#[derive(Clone, Copy, Default)]
struct Flags {
    /// Signed "less": sign xor overflow of the difference, as no branch tests either separately.
    negative: bool,
    zero: bool,
    carry: bool,
}

impl Flags {
    fn holds(self, branch: Opcode) -> bool {
        let Flags { negative, zero, carry } = self;
        match branch {
            Opcode::Ba => true,
            Opcode::Be => zero,
            Opcode::Bne => !zero,
            Opcode::Bg => !(zero || negative),
            Opcode::Bgu => !(carry || zero),
            Opcode::Bge => !negative,
            Opcode::Bgeu => !carry,
            Opcode::Bl => negative,
            Opcode::Blu => carry,
            Opcode::Ble => zero || negative,
            Opcode::Bleu => carry || zero,
            _ => false,
        }
    }
}

/// An entry of the tuple stack.
#[derive(Clone, Copy)]
pub(super) struct Pushed {
    pub(super) value: u64,
    /// The size of the memory that the value points at; 0 for a plain value.
    size: u64,
    /// Whether the last byte is replaced with a NUL.
    string: bool,
}

enum Next {
    Following,
    Label(u32),
    Return(u64),
}

pub(super) struct Cpu<'a> {
    difo: &'a Difo,
    pub(super) memory: &'a mut State,
    pub(super) machine: &'a mut dyn Machine,
    registers: [u64; REGISTERS as usize],
    flags: Flags,
    pub(super) tuple: Vec<Pushed>,
}

impl Cpu<'_> {
    fn step(&mut self, insn: Insn) -> Result<Next, Trouble> {
        match insn {
            Insn::Ret { rd } => return Ok(Next::Return(self.get(rd)?)),
            Insn::Branch { op, label } if self.flags.holds(op) => return Ok(Next::Label(label)),
            Insn::Branch { .. } => {}
            Insn::Three { op: Opcode::Copys, r1, r2, rd } => {
                let (from, size, to) = (self.get(r1)?, self.get(r2)?, self.get(rd)?);
                self.copy(from, size, to)?;
            }
            Insn::Three { op, r1, r2, rd } => {
                let value = arithmetic(op, self.get(r1)?, self.get(r2)?)?;
                self.set(rd, value)?;
            }
            Insn::Two { op, r1, rd } => {
                let value = self.get(r1)?;
                let result = match op {
                    Opcode::Not => !value,
                    Opcode::Mov => value,
                    _ => self.memory.allocate(value)?,
                };
                self.set(rd, result)?;
            }
            Insn::Compare { op, r1, r2 } => self.compare(op, r1, r2)?,
            Insn::Test { r1 } => {
                self.flags = Flags { zero: self.get(r1)? == 0, ..Flags::default() };
            }
            Insn::Load { op, r1, rd } => {
                let value = self.load(op, self.get(r1)?)?;
                self.set(rd, value)?;
            }
            Insn::Store { op, rs, rd } => self.store(op, self.get(rs)?, self.get(rd)?)?,
            Insn::Plain { op } => self.plain(op),
            Insn::Int { index, rd } => {
                let value = self.difo.ints.get(usize::from(index)).copied().ok_or(Flt::ILLOP)?;
                self.set(rd, value)?;
            }
            Insn::Str { offset, rd } => self.set(rd, memory::STRINGS + u64::from(offset))?,
            Insn::Array { op, var, index, rd } => {
                let value = self.array(op, var, self.get(index)?)?;
                self.set(rd, value)?;
            }
            Insn::LoadVar { op, var, rd } => {
                let value = self.load_variable(op, u32::from(var))?;
                self.set(rd, value)?;
            }
            Insn::StoreVar { op, var, rs } => self.store_variable(op, u32::from(var), self.get(rs)?)?,
            Insn::Call { subr, rd } => {
                let subr = Subr::from_number(u32::from(subr)).ok_or(Flt::ILLOP)?;
                let value = self.call(subr)?;
                self.set(rd, value)?;
            }
            Insn::PushRef { ty, size, rs } => self.push_ref(ty, self.get(size)?, self.get(rs)?)?,
            Insn::PushVal { rs, .. } => {
                let value = self.get(rs)?;
                self.push(Pushed { value, size: 0, string: false })?;
            }
            Insn::Xlate { .. } => return Err(Flt::ILLOP.into()),
        }
        Ok(Next::Following)
    }

    fn get(&self, register: u8) -> Result<u64, Trouble> {
        self.registers.get(usize::from(register)).copied().ok_or(Flt::ILLOP.into())
    }

    fn set(&mut self, register: u8, value: u64) -> Result<(), Trouble> {
        match self.registers.get_mut(usize::from(register)) {
            Some(slot) if register != 0 => *slot = value,
            _ => return Err(Flt::ILLOP.into()),
        }
        Ok(())
    }

    fn plain(&mut self, op: Opcode) {
        match op {
            Opcode::Popts => drop(self.tuple.pop()),
            Opcode::Flushts => self.tuple.clear(),
            _ => {}
        }
    }

    fn compare(&mut self, op: Opcode, r1: u8, r2: u8) -> Result<(), Trouble> {
        let (a, b) = (self.get(r1)?, self.get(r2)?);
        if op == Opcode::Bound {
            return if a < b { Ok(()) } else { Err(Trouble { code: Flt::BADINDEX, value: a }) };
        }
        self.flags = if op == Opcode::Scmp {
            let order = self.memory.compare_strings(self.machine, a, b)?;
            Flags { negative: order.is_lt(), zero: order.is_eq(), carry: false }
        } else {
            Flags { negative: (a as i64) < (b as i64), zero: a == b, carry: a < b }
        };
        Ok(())
    }

    /// Loads a value. Loads may be unaligned, as in packed structures.
    fn load(&mut self, op: Opcode, address: u64) -> Result<u64, Trouble> {
        use Opcode::*;
        let user = op.reads_process();
        let space = if user { Space::User } else { Space::Kernel };
        let size = match op {
            Ldsb | Ldub | Uldsb | Uldub | Rldsb | Rldub => 1,
            Ldsh | Lduh | Uldsh | Ulduh | Rldsh | Rlduh => 2,
            Ldsw | Lduw | Uldsw | Ulduw | Rldsw | Rlduw => 4,
            _ => 8,
        };
        let signed = matches!(op, Ldsb | Ldsh | Ldsw | Uldsb | Uldsh | Uldsw | Rldsb | Rldsh | Rldsw);
        let mut bytes = self.memory.load(self.machine, space, address, size)?;
        let fill = if signed && bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
        bytes.resize(8, fill);
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn store(&mut self, op: Opcode, value: u64, address: u64) -> Result<(), Trouble> {
        let size = match op {
            Opcode::Stb => 1,
            Opcode::Sth => 2,
            Opcode::Stw => 4,
            _ => 8,
        };
        if !address.is_multiple_of(size) {
            return Err(Trouble { code: Flt::BADALIGN, value: address });
        }
        let bytes: Vec<u8> = value.to_le_bytes().into_iter().take(size as usize).collect();
        self.memory.store(address, &bytes)
    }

    /// Copies memory; the destination is checked first.
    pub(super) fn copy(&mut self, from: u64, size: u64, to: u64) -> Result<(), Trouble> {
        if size == 0 {
            return Ok(());
        }
        self.memory.check_storable(to, size)?;
        let bytes = self.memory.load(self.machine, Space::Kernel, from, size)?;
        self.memory.store(to, &bytes)
    }

    fn array(&mut self, op: Opcode, var: u8, index: u64) -> Result<u64, Trouble> {
        match Builtin::from_number(u32::from(var)).filter(|_| op == Opcode::Ldga) {
            Some(Builtin::Args) => Ok(self.machine.argument(index)),
            Some(Builtin::Regs) => Ok(self.machine.register(Space::Kernel, index)?),
            Some(Builtin::Uregs) => Ok(self.machine.register(Space::User, index)?),
            _ => Err(Flt::ILLOP.into()),
        }
    }

    fn load_variable(&mut self, op: Opcode, id: u32) -> Result<u64, Trouble> {
        if op == Opcode::Ldgs && id < FIRST_USER_VARIABLE {
            let builtin = Builtin::from_number(id).ok_or(Flt::ILLOP)?;
            return Ok(self.machine.builtin(builtin)?);
        }
        let key = self.key(op, id)?;
        Ok(self.memory.variable(&key))
    }

    fn store_variable(&mut self, op: Opcode, id: u32, value: u64) -> Result<(), Trouble> {
        let key = self.key(op, id)?;
        self.memory.set_variable(self.machine, key, value)
    }

    /// Returns the instance of a variable for an instruction: of this thread, with this key.
    fn key(&mut self, op: Opcode, id: u32) -> Result<memory::Key, Trouble> {
        use Opcode::*;
        let scope = match op {
            Ldgs | Stgs | Ldgaa | Stgaa => Scope::Global,
            Ldls | Stls => Scope::Local,
            _ => Scope::Thread,
        };
        let thread = (scope == Scope::Thread).then(|| self.machine.thread());
        let element = match op {
            Ldgaa | Stgaa | Ldtaa | Sttaa => {
                let tuple = self.tuple.clone();
                let parts = tuple.iter().map(|pushed| self.part(*pushed));
                Some(parts.collect::<Result<Vec<_>, _>>()?)
            }
            _ => None,
        };
        Ok(memory::Key { scope, id, thread, element })
    }

    /// Returns one component of a key: its size and its bytes.
    fn part(&mut self, pushed: Pushed) -> Result<(u64, Vec<u8>), Trouble> {
        let Pushed { value, size, string } = pushed;
        let bytes = match size {
            0 => value.to_le_bytes().to_vec(),
            _ if string => {
                let mut text = self.memory.string(self.machine, Space::Kernel, value, size - 1)?;
                text.push(0);
                text
            }
            _ => self.memory.load(self.machine, Space::Kernel, value, size)?,
        };
        Ok((size, bytes))
    }

    /// Pushes a reference. A string includes its NUL and is cut off at the limit; 0 means strsize.
    fn push_ref(&mut self, ty: u8, size: u64, value: u64) -> Result<(), Trouble> {
        if self.tuple.len() == TUPLE_ENTRIES {
            return Err(Flt::TUPOFLOW.into());
        }
        let (mut bytes, string) = (size, ty == PUSH_STRING);
        if string {
            let strsize = u64::from(self.memory.strsize);
            let limit = if size == 0 { strsize } else { size.min(strsize) };
            let text = self.memory.string(self.machine, Space::Kernel, value, limit - 1)?;
            bytes = text.len() as u64 + 1;
        }
        self.push(Pushed { value, size: bytes, string })
    }

    fn push(&mut self, pushed: Pushed) -> Result<(), Trouble> {
        if self.tuple.len() == TUPLE_ENTRIES {
            return Err(Flt::TUPOFLOW.into());
        }
        self.tuple.push(pushed);
        Ok(())
    }
}

/// Computes modulo 2^64, with shift counts modulo 64.
fn arithmetic(op: Opcode, a: u64, b: u64) -> Result<u64, Trouble> {
    let divides = matches!(op, Opcode::Sdiv | Opcode::Udiv | Opcode::Srem | Opcode::Urem);
    if divides && b == 0 {
        return Err(Flt::DIVZERO.into());
    }
    let (signed_a, signed_b) = (a as i64, b as i64);
    let value = match op {
        Opcode::Or => a | b,
        Opcode::Xor => a ^ b,
        Opcode::And => a & b,
        Opcode::Sll => a.wrapping_shl(b as u32),
        Opcode::Srl => a.wrapping_shr(b as u32),
        Opcode::Sra => signed_a.wrapping_shr(b as u32) as u64,
        Opcode::Sub => a.wrapping_sub(b),
        Opcode::Add => a.wrapping_add(b),
        Opcode::Mul => a.wrapping_mul(b),
        Opcode::Sdiv => signed_a.wrapping_div(signed_b) as u64,
        Opcode::Udiv => a / b,
        Opcode::Srem => signed_a.wrapping_rem(signed_b) as u64,
        Opcode::Urem => a % b,
        _ => return Err(Flt::ILLOP.into()),
    };
    Ok(value)
}

//! bpf/object/function.rs: one DIF object as a BPF function: slots, faults and instructions.

use super::probe::ProbeKind;
use crate::asm::{Assembler, FunctionKind, Label};
use crate::insn::Reg::{self, Frame, R0, R1, R2, R3, R6, R7, R8};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::library::{Function, Functions};
use crate::memory::{Memory, cpu};
use crate::missing::Missing;
use crate::tuple::{self, Pushed};
use kinst_base::uapi::Flt;
use kinst_dif::Difo;
use kinst_dif::insn::{Insn, Opcode, Subr};
use std::collections::{BTreeSet, HashMap};

/// Code of all objects, and the functions that they share.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// The layout of the maps.
    pub memory: &'a Memory,
    /// Kind of the probe whose arguments the objects load.
    pub probe: ProbeKind,
    /// Kind of the context: in clauses of ERROR, that of the probe that faulted; else equal to `probe`.
    pub context: ProbeKind,
    /// Library functions called so far.
    pub functions: &'a Functions,
}

/// Returns the offset of a DIF register's slot from the end of the frame.
fn slot(register: u8) -> i16 {
    -8 * i16::from(register)
}

/// The last comparison: its two operands, or numbers in the same order.
const LEFT: i16 = -64;

const RIGHT: i16 = -72;

/// Source of a copy.
pub(super) const COPY: i16 = -80;

/// Key of a map.
pub(super) const KEY: i16 = -96;

/// The first entry of the tuple stack.
pub(super) const TUPLE: i16 = -104;

/// State that an object may read before it is written.
#[derive(Default)]
struct Unset {
    registers: BTreeSet<u8>,
    /// The operands of a comparison.
    comparison: bool,
}

impl Unset {
    /// A value written before the first branch is defined everywhere after it.
    fn of(difo: &Difo) -> Unset {
        let (mut unset, mut written) = (Unset::default(), BTreeSet::from([0]));
        let (mut compared, mut branched) = (false, false);
        for insn in difo.insns.iter().filter_map(|word| Insn::decode(*word).ok()) {
            let (read, wrote) = insn.registers();
            unset.registers.extend(read.into_iter().filter(|register| !written.contains(register)));
            unset.comparison |= matches!(insn, Insn::Branch { op, .. } if op != Opcode::Ba) && !compared;
            branched |= matches!(insn, Insn::Branch { .. });
            if !branched {
                written.extend(wrote);
                compared |= matches!(insn, Insn::Compare { .. } | Insn::Test { .. });
            }
        }
        unset
    }
}

struct Fault {
    at: Label,
    /// `None` if a library function has noted it.
    code: Option<Flt>,
    /// Bytes from the first instruction of the object.
    offset: i32,
}

/// Writes one object.
pub struct Object<'a, 'b> {
    pub(super) asm: &'a mut Assembler,
    pub(super) shared: &'a Shared<'b>,
    difo: &'a Difo,
    /// Offset of its strings in the constants.
    strings: u32,
    labels: Vec<Label>,
    faults: Vec<Fault>,
    /// Exit of the function after a fault.
    failed: Label,
    offset: i32,
    /// The entries of the tuple stack before the current instruction, and the entry that it pushes.
    pub(super) tuple: Vec<Pushed>,
    pushes: Option<(Pushed, bool)>,
    /// The current index into a built-in array, if constant.
    pub(super) index: Option<u64>,
    /// Number of loads so far, by variable with noted addresses.
    pub(super) loaded: HashMap<u32, usize>,
}

impl<'a, 'b> Object<'a, 'b> {
    /// Writes an object as a function.
    pub fn write(
        asm: &'a mut Assembler,
        shared: &'a Shared<'b>,
        start: Label,
        index: usize,
        difo: &'a Difo,
    ) -> Result<(), Missing> {
        asm.function(start, FunctionKind::Static);
        let labels = difo.insns.iter().map(|_| asm.label()).collect();
        let failed = asm.label();
        let strings = shared.memory.strings.get(index).copied().ok_or(Missing::Invalid)?;
        let (faults, tuple) = (Vec::new(), Vec::new());
        let mut object = Object {
            asm,
            shared,
            difo,
            strings,
            labels,
            faults,
            failed,
            offset: 0,
            tuple,
            pushes: None,
            index: None,
            loaded: HashMap::new(),
        };
        object.body()
    }

    fn body(&mut self) -> Result<(), Missing> {
        self.asm.mov(R6, R1);
        self.asm.mov(R7, R2);
        let difo = self.difo;
        let Unset { registers, comparison } = Unset::of(difo);
        for register in registers {
            self.asm.store(Width::Double, Frame, slot(register), 0);
        }
        if comparison {
            // Before any comparison, "equal" and "less" are false.
            self.asm.store(Width::Double, Frame, LEFT, 1);
            self.asm.store(Width::Double, Frame, RIGHT, 0);
        }
        let stacks = tuple::stacks(difo)?;
        let entries = stacks.entries.into_iter().zip(stacks.pushes);
        let mut indices = stacks.indices.into_iter();
        for (index, (word, (stack, push))) in difo.insns.iter().zip(entries).enumerate() {
            self.offset = index as i32 * 4;
            self.asm.bind(self.labels[index]);
            self.index = indices.next().flatten();
            // The kernel refuses programs with unreachable code.
            let Some(stack) = stack else { continue };
            (self.tuple, self.pushes) = (stack, push);
            self.insn(Insn::decode(*word).map_err(|_| Missing::Invalid)?)?;
        }
        if self.faults.is_empty() {
            return Ok(());
        }
        for fault in std::mem::take(&mut self.faults) {
            self.asm.bind(fault.at);
            if let Some(code) = fault.code {
                self.asm.store(Width::Word, R7, cpu::FAULT, code.0 as i32);
                self.asm.store(Width::Double, R7, cpu::FAULT_VALUE, R1);
            }
            self.asm.store(Width::Word, R7, cpu::FAULT_OFFSET, fault.offset);
            self.asm.jump(self.failed);
        }
        self.asm.bind(self.failed);
        self.asm.mov(R0, 0);
        self.asm.exit();
        Ok(())
    }

    /// Returns a label, to be reached with the fault's value in R1, where the object ends with that fault.
    pub(super) fn fault(&mut self, code: Flt) -> Label {
        let at = self.asm.label();
        self.faults.push(Fault { at, code: Some(code), offset: self.offset });
        at
    }

    /// Returns a label where the object ends with the fault noted by a library function.
    pub(super) fn failed_call(&mut self) -> Label {
        let at = self.asm.label();
        self.faults.push(Fault { at, code: None, offset: self.offset });
        at
    }

    pub(super) fn get(&mut self, into: Reg, register: u8) {
        match register {
            0 => self.asm.mov(into, 0),
            _ => self.asm.load(Width::Double, into, Frame, slot(register)),
        }
    }

    pub(super) fn set(&mut self, register: u8, from: Reg) {
        self.asm.store(Width::Double, Frame, slot(register), from);
    }

    fn insn(&mut self, insn: Insn) -> Result<(), Missing> {
        match insn {
            Insn::Ret { rd } => {
                self.get(R0, rd);
                self.asm.exit();
            }
            Insn::Branch { op, label } => self.jump(op, label)?,
            Insn::Three { op: Opcode::Copys, r1, r2, rd } => self.copy(r1, r2, rd),
            Insn::Three { op, r1, r2, rd } => self.arithmetic(op, r1, r2, rd)?,
            Insn::Two { op: Opcode::Allocs, r1, rd } => self.allocate(r1, rd),
            Insn::Two { op, r1, rd } => {
                self.get(R1, r1);
                if op == Opcode::Not {
                    self.asm.alu(Alu::Xor, R1, -1);
                }
                self.set(rd, R1);
            }
            Insn::Compare { op: Opcode::Scmp, r1, r2 } => self.compare_strings(r1, r2),
            Insn::Compare { op: Opcode::Bound, r1, r2 } => self.bound(r1, r2),
            Insn::Compare { r1, r2, .. } => {
                self.get(R1, r1);
                self.get(R2, r2);
                self.compared(R1, R2);
            }
            // Compares (value != 0) with 0.
            Insn::Test { r1 } => {
                self.get(R1, r1);
                let zero = self.asm.label();
                self.asm.branch(Cond::Eq, R1, 0, zero);
                self.asm.mov(R1, 1);
                self.asm.bind(zero);
                self.asm.mov(R2, 0);
                self.compared(R1, R2);
            }
            Insn::Load { op, r1, rd } => self.load(op, r1, rd)?,
            Insn::Store { op, rs, rd } => self.store(op, rs, rd)?,
            // The tuple stack's entries are known statically.
            Insn::Plain { .. } => {}
            Insn::Int { index, rd } => {
                let value = self.difo.ints.get(usize::from(index)).copied().ok_or(Missing::Invalid)?;
                self.asm.number(R1, value);
                self.set(rd, R1);
            }
            Insn::Str { offset, rd } => {
                self.asm.load(Width::Double, R1, R7, cpu::CONSTANTS);
                self.asm.add(R1, (self.strings + u32::from(offset)) as i32);
                self.set(rd, R1);
            }
            Insn::Array { var, index, rd, .. } => self.array(var, index, rd)?,
            Insn::LoadVar { op, var, rd } => self.load_variable(op, var.into(), rd)?,
            Insn::StoreVar { op, var, rs } => self.store_variable(op, var.into(), rs)?,
            Insn::Call { subr, rd } => {
                let subr = Subr::from_number(subr.into()).ok_or(Missing::Invalid)?;
                self.call(subr, rd)?;
            }
            Insn::PushVal { rs, .. } | Insn::PushRef { rs, .. } => self.push(rs)?,
            Insn::Xlate { .. } => return Err(Missing::Invalid),
        }
        Ok(())
    }

    fn push(&mut self, rs: u8) -> Result<(), Missing> {
        let Some((entry, key)) = self.pushes else {
            let full = self.fault(Flt::TUPOFLOW);
            self.asm.mov(R1, 0);
            self.asm.jump(full);
            return Ok(());
        };
        self.get(R1, rs);
        self.asm.store(Width::Double, Frame, TUPLE - 8 * self.tuple.len() as i16, R1);
        match (entry, key) {
            (entry, true) => self.push_key(entry)?,
            // An address that is not a string faults here; the rest is read where it is used.
            (Pushed::String(_), false) => {
                self.asm.mov(R3, R1);
                self.asm.mov(R8, R1);
                self.read(Helper::ProbeReadKernel, Width::Byte);
            }
            (Pushed::Number | Pushed::Bytes(_), false) => {}
        }
        Ok(())
    }

    fn compare_strings(&mut self, r1: u8, r2: u8) {
        self.get(R1, r1);
        self.get(R2, r2);
        self.library(Function::Compare);
        self.asm.mov(R3, 0);
        self.compared(R0, R3);
    }

    fn compared(&mut self, left: Reg, right: Reg) {
        self.asm.store(Width::Double, Frame, LEFT, left);
        self.asm.store(Width::Double, Frame, RIGHT, right);
    }

    fn jump(&mut self, op: Opcode, label: u32) -> Result<(), Missing> {
        let to = *self.labels.get(label as usize).ok_or(Missing::Invalid)?;
        let cond = match op {
            Opcode::Ba => Cond::Always,
            Opcode::Be => Cond::Eq,
            Opcode::Bne => Cond::Ne,
            Opcode::Bg => Cond::SignedGt,
            Opcode::Bgu => Cond::Gt,
            Opcode::Bge => Cond::SignedGe,
            Opcode::Bgeu => Cond::Ge,
            Opcode::Bl => Cond::SignedLt,
            Opcode::Blu => Cond::Lt,
            Opcode::Ble => Cond::SignedLe,
            Opcode::Bleu => Cond::Le,
            _ => return Err(Missing::Invalid),
        };
        if cond == Cond::Always {
            self.asm.jump(to);
            return Ok(());
        }
        self.asm.load(Width::Double, R1, Frame, LEFT);
        self.asm.load(Width::Double, R2, Frame, RIGHT);
        self.asm.branch(cond, R1, R2, to);
        Ok(())
    }
}

//! dif/asm.rs: assembly of one DIF object: labels, interned constants, and used variables.

use super::insn::{
    FIRST_USER_VARIABLE, Insn, MAX_DIFO_BYTES, MAX_INDEX, MAX_LABEL, Opcode, Reg, Shape, Subr,
};
use super::program::{Difo, Scope, Type, Variable};
use std::collections::HashMap;

/// Collects instructions. The first error is deferred until [`Assembler::finish`], so that emitting stays simple.
#[derive(Debug, Default)]
pub struct Assembler {
    insns: Vec<Insn>,
    ints: Vec<u64>,
    int_index: HashMap<u64, u16>,
    strings: Vec<u8>,
    string_offset: HashMap<Vec<u8>, u16>,
    variables: Vec<Variable>,
    variable_index: HashMap<(Scope, u32), usize>,
    /// The position at which each label is bound.
    labels: Vec<Option<u32>>,
    /// The instruction and label of each branch.
    branches: Vec<(usize, Label)>,
    error: Option<AsmError>,
}

/// A branch target in the program; made by [`Assembler::label`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// A mistake in the use of an [`Assembler`], or a limit that the object exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AsmError {
    /// A label that was never bound, or belongs to another assembler.
    #[error("a branch goes to an unbound label")]
    Unbound,
    /// A second [`Assembler::bind`] of the same label.
    #[error("a label is bound twice")]
    BoundTwice,
    /// A backward branch. DIF has no loops.
    #[error("instruction {from} branches to {to}, which is not after it")]
    Backward {
        /// Index of the branch.
        from: u32,
        /// Index of the target instruction.
        to: u32,
    },
    /// A label that is bound after the last instruction, or above [`MAX_LABEL`].
    #[error("instruction {from} branches past the end")]
    PastEnd {
        /// Index of the branch.
        from: u32,
    },
    /// The integer table has 16-bit indices.
    #[error("more than 65536 different integer constants")]
    TooManyInts,
    /// The string table has 16-bit offsets.
    #[error("more than 64 KiB of string constants")]
    TooManyStrings,
    /// An id outside the range of its instruction: built-in arrays, scalars, or variables that can be stored to.
    #[error("variable id {0} does not fit its instruction")]
    VariableId(u32),
    /// An opcode of another shape, by its mnemonic; or a clause-local array.
    #[error("invalid operands for {0}")]
    Operands(&'static str),
    /// An object whose last instruction is not ret.
    #[error("the last instruction is not ret")]
    NoRet,
    /// Bytes of instructions, tables and variables, exceeding [`MAX_DIFO_BYTES`].
    #[error("the object has {0} bytes, but an object is at most 256 KiB")]
    TooLarge(usize),
}

impl Assembler {
    /// Makes an assembler without instructions.
    pub fn new() -> Assembler {
        Assembler::default()
    }

    /// Returns the index of the next instruction.
    pub fn here(&self) -> u32 {
        self.insns.len() as u32
    }

    /// Emits any instruction except branches, which go through [`Assembler::branch`].
    pub fn emit(&mut self, insn: Insn) {
        self.insns.push(insn);
    }

    /// or xor and sll srl sra sub add mul sdiv udiv srem urem copys
    pub fn three(&mut self, op: Opcode, r1: Reg, r2: Reg, rd: Reg) {
        self.shaped(op, Shape::Three, Insn::Three { op, r1, r2, rd });
    }

    /// not mov allocs
    pub fn two(&mut self, op: Opcode, r1: Reg, rd: Reg) {
        self.shaped(op, Shape::Two, Insn::Two { op, r1, rd });
    }

    /// rd = r1
    pub fn mov(&mut self, r1: Reg, rd: Reg) {
        self.two(Opcode::Mov, r1, rd);
    }

    /// cmp scmp bound
    pub fn compare(&mut self, op: Opcode, r1: Reg, r2: Reg) {
        self.shaped(op, Shape::Compare, Insn::Compare { op, r1, r2 });
    }

    /// Sets the flags for a branch: be is taken if r1 is 0, bne if it is not.
    pub fn tst(&mut self, r1: Reg) {
        self.emit(Insn::Test { r1 });
    }

    /// rd = the value at the address in r1
    pub fn load(&mut self, op: Opcode, r1: Reg, rd: Reg) {
        self.shaped(op, Shape::Load, Insn::Load { op, r1, rd });
    }

    /// \[rd\] = the value of rs
    pub fn store(&mut self, op: Opcode, rs: Reg, rd: Reg) {
        self.shaped(op, Shape::Store, Insn::Store { op, rs, rd });
    }

    /// nop popts flushts
    pub fn plain(&mut self, op: Opcode) {
        self.shaped(op, Shape::Plain, Insn::Plain { op });
    }

    /// Returns the value of rd from the object.
    pub fn ret(&mut self, rd: Reg) {
        self.emit(Insn::Ret { rd });
    }

    /// rd = the result of the subroutine, whose arguments are on the tuple stack.
    pub fn call(&mut self, subr: Subr, rd: Reg) {
        self.emit(Insn::Call { subr: subr as u16, rd });
    }

    /// Pushes the memory at `rs`; `size` holds its size in bytes. `ty` is `PUSH_D` or `PUSH_STRING`.
    pub fn push_ref(&mut self, ty: u8, size: Reg, rs: Reg) {
        self.emit(Insn::PushRef { ty, size, rs });
    }

    /// Pushes the value of rs.
    pub fn push_value(&mut self, rs: Reg) {
        self.emit(Insn::PushVal { ty: super::insn::PUSH_D, size: 0, rs });
    }

    /// rd = a constant
    pub fn setx(&mut self, value: u64, rd: Reg) {
        let index = match self.int_index.get(&value) {
            Some(&index) => index,
            None if self.ints.len() > MAX_INDEX => return self.fail(AsmError::TooManyInts),
            None => {
                let index = self.ints.len() as u16;
                self.ints.push(value);
                self.int_index.insert(value, index);
                index
            }
        };
        self.emit(Insn::Int { index, rd });
    }

    /// rd = the address of a string constant; bytes after a NUL are invisible and are dropped.
    pub fn sets(&mut self, text: &[u8], rd: Reg) {
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        if let Some(offset) = self.intern(text) {
            self.emit(Insn::Str { offset, rd });
        }
    }

    /// Makes a label, to be bound later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds the label to the next instruction.
    pub fn bind(&mut self, label: Label) {
        let here = self.here();
        match self.labels.get_mut(label.0) {
            Some(place @ None) => *place = Some(here),
            Some(Some(_)) => self.fail(AsmError::BoundTwice),
            None => self.fail(AsmError::Unbound),
        }
    }

    /// ba be bne bg bgu bge bgeu bl blu ble bleu
    pub fn branch(&mut self, op: Opcode, to: Label) {
        self.branches.push((self.insns.len(), to));
        self.shaped(op, Shape::Branch, Insn::Branch { op, label: 0 });
    }

    /// rd = a scalar variable, built-in or user-defined; its scope selects the instruction.
    pub fn load_scalar(&mut self, variable: &Variable, rd: Reg) {
        let op = match variable.scope {
            Scope::Global => Opcode::Ldgs,
            Scope::Thread => Opcode::Ldts,
            Scope::Local => Opcode::Ldls,
        };
        self.load_variable(op, variable, rd);
    }

    /// A user-defined scalar variable = rs; its scope selects the instruction.
    pub fn store_scalar(&mut self, rs: Reg, variable: &Variable) {
        let op = match variable.scope {
            Scope::Global => Opcode::Stgs,
            Scope::Thread => Opcode::Stts,
            Scope::Local => Opcode::Stls,
        };
        self.store_variable(op, variable, rs);
    }

    /// rd = the element of an associative array whose key is on the tuple stack.
    pub fn load_element(&mut self, variable: &Variable, rd: Reg) {
        match variable.scope {
            Scope::Global => self.load_variable(Opcode::Ldgaa, variable, rd),
            Scope::Thread => self.load_variable(Opcode::Ldtaa, variable, rd),
            Scope::Local => self.fail(AsmError::Operands("a clause-local variable")),
        }
    }

    /// The element of an associative array whose key is on the tuple stack = rs
    pub fn store_element(&mut self, rs: Reg, variable: &Variable) {
        match variable.scope {
            Scope::Global => self.store_variable(Opcode::Stgaa, variable, rs),
            Scope::Thread => self.store_variable(Opcode::Sttaa, variable, rs),
            Scope::Local => self.fail(AsmError::Operands("a clause-local variable")),
        }
    }

    /// rd = an element of a built-in array: args, regs, uregs.
    pub fn load_array(&mut self, variable: &Variable, index: Reg, rd: Reg) {
        let op = match variable.scope {
            Scope::Global => Opcode::Ldga,
            Scope::Thread => Opcode::Ldta,
            Scope::Local => return self.fail(AsmError::Operands("a clause-local variable")),
        };
        match u8::try_from(variable.id) {
            Ok(var) => {
                self.touch(variable, true, false);
                self.emit(Insn::Array { op, var, index, rd });
            }
            Err(_) => self.fail(AsmError::VariableId(variable.id)),
        }
    }

    /// Returns the object. Branches are resolved here; the kernel's verifier makes all other checks.
    pub fn finish(mut self, rtype: Type) -> Result<Difo, AsmError> {
        self.resolve();
        if !matches!(self.insns.last(), Some(Insn::Ret { .. })) {
            self.fail(AsmError::NoRet);
        }
        let bytes =
            self.insns.len() * 4 + self.ints.len() * 8 + self.strings.len() + self.variables.len() * 20;
        if bytes > MAX_DIFO_BYTES {
            self.fail(AsmError::TooLarge(bytes));
        }
        match self.error {
            Some(error) => Err(error),
            None => Ok(Difo {
                insns: self.insns.iter().map(|insn| insn.encode()).collect(),
                ints: self.ints,
                strings: self.strings,
                variables: self.variables,
                rtype,
            }),
        }
    }

    fn resolve(&mut self) {
        let end = self.here();
        for (from, label) in std::mem::take(&mut self.branches) {
            let to = self.labels.get(label.0).copied().flatten();
            let at = from as u32;
            match to {
                None => self.fail(AsmError::Unbound),
                Some(to) if to <= at => self.fail(AsmError::Backward { from: at, to }),
                Some(to) if to >= end || to > MAX_LABEL => self.fail(AsmError::PastEnd { from: at }),
                Some(to) => {
                    if let Some(Insn::Branch { label, .. }) = self.insns.get_mut(from) {
                        *label = to;
                    }
                }
            }
        }
    }

    fn shaped(&mut self, op: Opcode, shape: Shape, insn: Insn) {
        if op.shape() != shape {
            self.fail(AsmError::Operands(op.mnemonic()));
        }
        self.emit(insn);
    }

    fn load_variable(&mut self, op: Opcode, variable: &Variable, rd: Reg) {
        if let Some(var) = self.wide_id(variable) {
            self.touch(variable, true, false);
            self.emit(Insn::LoadVar { op, var, rd });
        }
    }

    fn store_variable(&mut self, op: Opcode, variable: &Variable, rs: Reg) {
        if variable.id < FIRST_USER_VARIABLE {
            return self.fail(AsmError::VariableId(variable.id));
        }
        if let Some(var) = self.wide_id(variable) {
            self.touch(variable, false, true);
            self.emit(Insn::StoreVar { op, var, rs });
        }
    }

    fn wide_id(&mut self, variable: &Variable) -> Option<u16> {
        match u16::try_from(variable.id) {
            Ok(id) if id >= 0x100 => Some(id),
            _ => {
                self.fail(AsmError::VariableId(variable.id));
                None
            }
        }
    }

    /// Adds the variable to the object's table, and marks it as read or written.
    fn touch(&mut self, variable: &Variable, read: bool, written: bool) {
        let index = *self.variable_index.entry((variable.scope, variable.id)).or_insert_with(|| {
            self.variables.push(Variable { read: false, written: false, ..variable.clone() });
            self.variables.len() - 1
        });
        if let Some(entry) = self.variables.get_mut(index) {
            entry.read |= read;
            entry.written |= written;
        }
    }

    fn intern(&mut self, text: &[u8]) -> Option<u16> {
        if self.strings.is_empty() {
            self.strings.push(0);
            self.string_offset.insert(Vec::new(), 0);
        }
        if let Some(offset) = self.string_offset.get(text) {
            return Some(*offset);
        }
        let Ok(offset) = u16::try_from(self.strings.len()) else {
            self.fail(AsmError::TooManyStrings);
            return None;
        };
        self.strings.extend_from_slice(text);
        self.strings.push(0);
        self.string_offset.insert(text.to_vec(), offset);
        Some(offset)
    }

    /// Records the first error; later ones are often its consequences.
    fn fail(&mut self, error: AsmError) {
        self.error.get_or_insert(error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CtfKind, VariableKind};

    fn user(name: &str, scope: Scope) -> Variable {
        Variable {
            name: name.to_string(),
            id: FIRST_USER_VARIABLE,
            kind: VariableKind::Scalar,
            scope,
            read: false,
            written: false,
            ty: Type::by_value(CtfKind::Integer, 4),
        }
    }

    #[test]
    fn constants_are_interned() {
        let mut asm = Assembler::new();
        asm.setx(7, 1);
        asm.setx(7, 2);
        asm.sets(b"ab", 3);
        asm.sets(b"", 4);
        asm.sets(b"ab\0c", 5);
        asm.ret(1);
        let difo = asm.finish(Type::VOID).unwrap();
        assert_eq!(difo.ints, [7]);
        assert_eq!(difo.strings, b"\0ab\0");
        assert_eq!(
            difo.insns,
            [0x2500_0001, 0x2500_0002, 0x2600_0103, 0x2600_0004, 0x2600_0105, 0x2300_0001]
        );
    }

    #[test]
    fn branches_go_forward() {
        let mut asm = Assembler::new();
        let end = asm.label();
        asm.tst(1);
        asm.branch(Opcode::Be, end);
        asm.setx(1, 1);
        asm.bind(end);
        asm.ret(1);
        assert_eq!(asm.finish(Type::VOID).unwrap().insns[1], 0x1200_0003);

        let mut asm = Assembler::new();
        let back = asm.label();
        asm.bind(back);
        asm.branch(Opcode::Ba, back);
        asm.ret(0);
        assert_eq!(asm.finish(Type::VOID), Err(AsmError::Backward { from: 0, to: 0 }));

        let mut asm = Assembler::new();
        let nowhere = asm.label();
        asm.branch(Opcode::Ba, nowhere);
        asm.ret(0);
        assert_eq!(asm.finish(Type::VOID), Err(AsmError::Unbound));
    }

    #[test]
    fn variables_carry_what_is_done_to_them() {
        let (global, thread) = (user("x", Scope::Global), user("y", Scope::Thread));
        let mut asm = Assembler::new();
        asm.load_scalar(&global, 1);
        asm.store_scalar(1, &thread);
        asm.store_scalar(1, &global);
        asm.ret(1);
        let difo = asm.finish(Type::VOID).unwrap();
        assert_eq!(difo.variables.len(), 2);
        assert!(difo.variables[0].read && difo.variables[0].written);
        assert!(!difo.variables[1].read && difo.variables[1].written);
    }

    #[test]
    fn tables_have_limits() {
        let mut asm = Assembler::new();
        for value in 0..=0x1_0000 {
            asm.setx(value, 1);
        }
        asm.ret(1);
        assert_eq!(asm.finish(Type::VOID), Err(AsmError::TooManyInts));
        assert_eq!(Assembler::new().finish(Type::VOID), Err(AsmError::NoRet));
    }
}

//! codegen/place.rs: reading and writing variables, elements and memory.

use super::element::Entry;
use super::error::Result;
use super::expr::{Object, opcode};
use super::regs::Held;
use crate::typeck::typed::{ArithOp, Bits, Expr, Place, Scope, VariableId};
use kinst_dif::Variable;
use kinst_dif::insn::{Opcode, Reg};
use kinst_types::Type;

/// A place with its keys or address evaluated, to be read and then written.
enum Open {
    Variable(Variable),
    Element(Variable, Vec<Entry>),
    Memory { address: Held },
    Bits { bits: Bits, address: Held },
}

impl Object<'_, '_> {
    pub(super) fn load(&mut self, place: &Place, ty: &Type) -> Result<Reg> {
        match place {
            Place::Variable(id) => {
                let variable = self.variable(*id);
                let reg = self.allocate()?;
                self.asm.load_scalar(&variable, reg);
                self.ensure(*id, &variable, false, reg, ty)?;
                Ok(reg)
            }
            Place::Element { array, keys } => {
                let variable = self.variable(*array);
                let keys = self.hold_all(keys)?;
                self.push_all(keys)?;
                let reg = self.allocate()?;
                self.asm.load_element(&variable, reg);
                self.ensure(*array, &variable, true, reg, ty)?;
                Ok(reg)
            }
            Place::Memory(memory) => {
                let reg = self.eval(&memory.address)?;
                self.load_memory(ty, memory.user, reg, reg);
                Ok(reg)
            }
            Place::Bits(bits) => {
                let reg = self.eval(&bits.memory.address)?;
                self.load_bits(bits, ty, reg)
            }
        }
    }

    /// Allocates a struct or array in dynamic memory at its first use: its address must exist.
    fn ensure(
        &mut self,
        id: VariableId,
        variable: &Variable,
        element: bool,
        reg: Reg,
        ty: &Type,
    ) -> Result<()> {
        let dynamic = element || self.generator.program.variables[id.0].scope == Scope::Thread;
        if !dynamic || !ty.is_by_ref() || ty.is_string() {
            return Ok(());
        }
        let size = self.generator.program.layout.size(ty).unwrap_or(0);
        let there = self.asm.label();
        let held = self.regs.hold(reg);
        let made = self.allocate()?;
        let reg = self.take(held)?;
        self.asm.tst(reg);
        self.asm.branch(Opcode::Bne, there);
        self.asm.setx(size, made);
        self.asm.two(Opcode::Allocs, made, made);
        if element {
            self.asm.store_element(made, variable);
            self.asm.load_element(variable, reg);
        } else {
            self.asm.store_scalar(made, variable);
            self.asm.load_scalar(variable, reg);
        }
        self.asm.bind(there);
        self.asm.plain(Opcode::Nop);
        self.regs.free(made);
        Ok(())
    }

    pub(super) fn assign(&mut self, place: &Place, value: &Expr, ty: &Type) -> Result<Reg> {
        let reg = self.eval(value)?;
        let reg = self.stored(reg, value, ty)?;
        match place {
            Place::Variable(id) => {
                let variable = self.variable(*id);
                self.asm.store_scalar(reg, &variable);
                Ok(reg)
            }
            Place::Element { array, keys } => {
                let variable = self.variable(*array);
                let held = self.regs.hold(reg);
                let keys = self.hold_all(keys)?;
                self.push_all(keys)?;
                let reg = self.take(held)?;
                self.asm.store_element(reg, &variable);
                Ok(reg)
            }
            Place::Memory(memory) => {
                let held = self.regs.hold(reg);
                let address = self.eval(&memory.address)?;
                let address = self.regs.hold(address);
                self.store_memory(ty, held, address)
            }
            Place::Bits(bits) => {
                let held = self.regs.hold(reg);
                let address = self.eval(&bits.memory.address)?;
                let address = self.regs.hold(address);
                self.store_bits(bits, ty, held, address)
            }
        }
    }

    /// Stores the value; it stays in an owned register.
    fn store_memory(&mut self, ty: &Type, value: Held, address: Held) -> Result<Reg> {
        let size = self.generator.program.layout.size(ty).unwrap_or(0);
        if !ty.is_by_ref() {
            let reg = self.take(value)?;
            let to = self.take(address)?;
            self.asm.store(store_opcode(size), reg, to);
            self.regs.free(to);
            return Ok(reg);
        }
        let size = self.constant(size)?;
        let reg = self.take(value)?;
        let to = self.take(address)?;
        self.asm.three(Opcode::Copys, reg, size, to);
        self.regs.free(size);
        self.regs.free(to);
        Ok(reg)
    }

    pub(super) fn update(&mut self, op: ArithOp, place: &Place, value: &Expr, ty: &Type) -> Result<Reg> {
        let (open, current) = self.open(place, ty)?;
        let current = self.regs.hold(current);
        let value = self.eval(value)?;
        let current = self.take(current)?;
        self.asm.three(opcode(op, ty.is_signed()), current, value, current);
        self.regs.free(value);
        self.close(open, current, ty)
    }

    pub(super) fn step(&mut self, place: &Place, by: i64, postfix: bool, ty: &Type) -> Result<Reg> {
        let (open, old) = self.open(place, ty)?;
        let held = self.regs.hold(old);
        let amount = self.constant(by.unsigned_abs())?;
        let old = self.take(held)?;
        let op = if by < 0 { Opcode::Sub } else { Opcode::Add };
        if !postfix {
            self.asm.three(op, old, amount, old);
            self.regs.free(amount);
            return self.close(open, old, ty);
        }
        self.asm.three(op, old, amount, amount);
        let held = self.regs.hold(old);
        let stored = self.close(open, amount, ty)?;
        self.regs.free(stored);
        self.take(held)
    }

    /// Returns the value of a place, and the place for a later write.
    fn open(&mut self, place: &Place, ty: &Type) -> Result<(Open, Reg)> {
        match place {
            Place::Variable(id) => {
                let variable = self.variable(*id);
                let reg = self.allocate()?;
                self.asm.load_scalar(&variable, reg);
                Ok((Open::Variable(variable), reg))
            }
            Place::Element { array, keys } => {
                let variable = self.variable(*array);
                let keys = self.hold_all(keys)?;
                let keys = self.push_again(keys)?;
                let reg = self.allocate()?;
                self.asm.load_element(&variable, reg);
                Ok((Open::Element(variable, keys), reg))
            }
            Place::Memory(memory) => {
                let address = self.eval(&memory.address)?;
                let held = self.regs.hold(address);
                let reg = self.allocate()?;
                let address = self.take(held)?;
                self.load_memory(ty, memory.user, address, reg);
                let address = self.regs.hold(address);
                Ok((Open::Memory { address }, reg))
            }
            Place::Bits(bits) => {
                let address = self.eval(&bits.memory.address)?;
                let held = self.regs.hold(address);
                let reg = self.allocate()?;
                let address = self.take(held)?;
                self.asm.mov(address, reg);
                let address = self.regs.hold(address);
                let reg = self.load_bits(bits, ty, reg)?;
                Ok((Open::Bits { bits: bits.clone(), address }, reg))
            }
        }
    }

    /// Writes the value; it stays in an owned register.
    fn close(&mut self, open: Open, value: Reg, ty: &Type) -> Result<Reg> {
        let value = self.narrowed(value, ty)?;
        match open {
            Open::Variable(variable) => {
                self.asm.store_scalar(value, &variable);
                Ok(value)
            }
            Open::Element(variable, keys) => {
                let held = self.regs.hold(value);
                self.push_all(keys)?;
                let value = self.take(held)?;
                self.asm.store_element(value, &variable);
                Ok(value)
            }
            Open::Memory { address } => {
                let held = self.regs.hold(value);
                self.store_memory(ty, held, address)
            }
            Open::Bits { bits, address } => {
                let held = self.regs.hold(value);
                self.store_bits(&bits, ty, held, address)
            }
        }
    }

    /// Loads a value; a by-reference value stays in memory, and its value is its address.
    fn load_memory(&mut self, ty: &Type, user: bool, address: Reg, rd: Reg) {
        if ty.is_by_ref() {
            if address != rd {
                self.asm.mov(address, rd);
            }
            return;
        }
        let size = self.generator.program.layout.size(ty).unwrap_or(8);
        self.asm.load(load_opcode(size, ty.is_signed(), user), address, rd);
    }

    fn variable(&self, id: VariableId) -> Variable {
        self.generator.variables[id.0].clone()
    }
}

pub(super) fn load_opcode(size: u64, signed: bool, user: bool) -> Opcode {
    match (size, signed, user) {
        (1, true, false) => Opcode::Ldsb,
        (1, false, false) => Opcode::Ldub,
        (2, true, false) => Opcode::Ldsh,
        (2, false, false) => Opcode::Lduh,
        (4, true, false) => Opcode::Ldsw,
        (4, false, false) => Opcode::Lduw,
        (1, true, true) => Opcode::Uldsb,
        (1, false, true) => Opcode::Uldub,
        (2, true, true) => Opcode::Uldsh,
        (2, false, true) => Opcode::Ulduh,
        (4, true, true) => Opcode::Uldsw,
        (4, false, true) => Opcode::Ulduw,
        (_, _, true) => Opcode::Uldx,
        (_, _, false) => Opcode::Ldx,
    }
}

pub(super) fn store_opcode(size: u64) -> Opcode {
    match size {
        1 => Opcode::Stb,
        2 => Opcode::Sth,
        4 => Opcode::Stw,
        _ => Opcode::Stx,
    }
}

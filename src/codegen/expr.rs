//! codegen/expr.rs: generation of one DIF object from one expression.

use super::error::{Error, Result};
use super::generator::Generator;
use super::layout;
use super::need::{is_pure, need};
use super::regs::{Held, Location, Registers};
use crate::typeck::narrow;
use crate::typeck::typed::{ArithOp, CompareClass, CompareOp, Expr, ExprKind};
use kinst_base::source::Span;
use kinst_dif::DifoIndex;
use kinst_dif::asm::Assembler;
use kinst_dif::insn::{Opcode, Reg};
use kinst_types::{Layout, Type};

impl Generator<'_> {
    /// Generates an object that computes the value of the expression.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<DifoIndex> {
        let rtype = layout::dif_type(&expr.ty, &self.program.layout);
        self.object(expr, rtype)
    }

    /// Generates an object that is run for its effect.
    pub(super) fn effect(&mut self, expr: &Expr) -> Result<DifoIndex> {
        self.object(expr, kinst_dif::Type::VOID)
    }

    fn object(&mut self, expr: &Expr, rtype: kinst_dif::Type) -> Result<DifoIndex> {
        let mut object =
            Object { generator: self, asm: Assembler::new(), regs: Registers::default(), span: expr.span };
        let reg = object.eval(expr)?;
        object.asm.ret(reg);
        let finished = object.asm.finish(rtype);
        let difo = finished.map_err(|error| Box::new(Error::Object { error, span: expr.span }))?;
        self.difos.push(difo);
        Ok(self.difos.len() as DifoIndex - 1)
    }
}

/// A DIF object under construction.
pub(super) struct Object<'g, 'p> {
    pub generator: &'g mut Generator<'p>,
    pub asm: Assembler,
    pub regs: Registers,
    /// The whole expression, for errors.
    pub span: Span,
}

impl Object<'_, '_> {
    /// Evaluates an expression into a register that the caller owns. No register is owned during the call:
    /// the caller holds the values that it still needs.
    pub(super) fn eval(&mut self, expr: &Expr) -> Result<Reg> {
        match &expr.kind {
            ExprKind::Int(value) => self.constant(*value),
            ExprKind::Str(text) => {
                let reg = self.allocate()?;
                self.asm.sets(text, reg);
                Ok(reg)
            }
            ExprKind::Builtin(builtin) => {
                let ty = layout::dif_type(&expr.ty, &self.generator.program.layout);
                let reg = self.allocate()?;
                self.asm.load_scalar(&layout::builtin(*builtin, ty), reg);
                Ok(reg)
            }
            ExprKind::BuiltinElement { array, index } => {
                let ty = layout::dif_type(&expr.ty, &self.generator.program.layout);
                let reg = self.eval(index)?;
                self.asm.load_array(&layout::builtin(*array, ty), reg, reg);
                Ok(reg)
            }
            ExprKind::Place(place) => self.load(place, &expr.ty),
            ExprKind::Negate(value) => {
                let reg = self.eval(value)?;
                self.asm.three(Opcode::Sub, 0, reg, reg);
                Ok(reg)
            }
            ExprKind::Complement(value) => {
                let reg = self.eval(value)?;
                self.asm.two(Opcode::Not, reg, reg);
                Ok(reg)
            }
            ExprKind::Not(value) => self.not(value),
            ExprKind::Arith { op, left, right } => {
                let (left, right) = self.pair(left, right)?;
                self.asm.three(opcode(*op, expr.ty.is_signed()), left, right, left);
                self.regs.free(right);
                Ok(left)
            }
            ExprKind::Compare { op, class, left, right } => self.compare(*op, *class, left, right),
            ExprKind::Logic { op, left, right } => self.logic(*op, left, right),
            ExprKind::Conditional { condition, then, otherwise } => {
                self.conditional(condition, then, otherwise)
            }
            ExprKind::Comma { left, right } => {
                let reg = self.eval(left)?;
                self.regs.free(reg);
                self.eval(right)
            }
            ExprKind::Bounded { index, length } => {
                let index = self.eval(index)?;
                let held = self.regs.hold(index);
                let length = self.constant(*length)?;
                let index = self.take(held)?;
                self.asm.compare(Opcode::Bound, index, length);
                self.regs.free(length);
                Ok(index)
            }
            ExprKind::Convert(value) => self.convert(value, &expr.ty),
            ExprKind::Call { subroutine, args } => {
                let args = self.hold_all(args)?;
                self.push_all(args)?;
                let reg = self.allocate()?;
                self.asm.call(*subroutine, reg);
                Ok(reg)
            }
            ExprKind::Assign { place, value } => self.assign(place, value, &expr.ty),
            ExprKind::Update { op, place, value } => self.update(*op, place, value, &expr.ty),
            ExprKind::Step { place, by, postfix } => self.step(place, *by, *postfix, &expr.ty),
        }
    }

    pub(super) fn constant(&mut self, value: u64) -> Result<Reg> {
        let reg = self.allocate()?;
        self.asm.setx(value, reg);
        Ok(reg)
    }

    /// Evaluates both operands into owned registers. The left one is evaluated first, unless only the
    /// reverse order fits the free registers and makes no observable difference.
    pub(super) fn pair(&mut self, left: &Expr, right: &Expr) -> Result<(Reg, Reg)> {
        let (l, r) = (need(left), need(right));
        if l.max(r + 1) > self.regs.free_count() && r > l && is_pure(left) && is_pure(right) {
            let (right, left) = self.in_order(right, left)?;
            return Ok((left, right));
        }
        self.in_order(left, right)
    }

    fn in_order(&mut self, first: &Expr, second: &Expr) -> Result<(Reg, Reg)> {
        let first = self.eval(first)?;
        let first = self.regs.hold(first);
        let second = self.eval(second)?;
        Ok((self.take(first)?, second))
    }

    /// Returns a free register; if none is free, moves the oldest held value to its slot.
    pub(super) fn allocate(&mut self) -> Result<Reg> {
        if let Some(reg) = self.regs.allocate() {
            return Ok(reg);
        }
        self.spill()?;
        self.regs.allocate().ok_or_else(|| Box::new(Error::NoRegisters { span: self.span }))
    }

    fn spill(&mut self) -> Result<()> {
        let Some((reg, slot)) = self.regs.spill() else {
            return Err(Box::new(Error::NoRegisters { span: self.span }));
        };
        let slot = self.generator.slot(slot);
        self.asm.store_scalar(reg, &slot);
        Ok(())
    }

    /// Returns the held value in an owned register.
    pub(super) fn take(&mut self, held: Held) -> Result<Reg> {
        // The slot is freed only after the value has left it: allocating a register may need another one.
        let reg = match self.regs.location(held) {
            Some(Location::Register(reg)) => reg,
            Some(Location::Slot(slot)) => {
                let slot = self.generator.slot(slot);
                let reg = self.allocate()?;
                self.asm.load_scalar(&slot, reg);
                reg
            }
            None => return Err(Box::new(Error::NoRegisters { span: self.span })),
        };
        self.regs.release(held);
        Ok(reg)
    }

    /// Spills held values as needed before conditional code, which may not move them: on the other path the
    /// value would not be in its slot.
    pub(super) fn before_branch(&mut self, conditional: &Expr) -> Result<()> {
        let room = self.regs.free_count();
        if need(conditional) <= room {
            return Ok(());
        }
        while self.regs.has_held_register() {
            self.spill()?;
        }
        Ok(())
    }

    fn compare(&mut self, op: CompareOp, class: CompareClass, left: &Expr, right: &Expr) -> Result<Reg> {
        let (left, right) = self.pair(left, right)?;
        let compare = if class == CompareClass::String { Opcode::Scmp } else { Opcode::Cmp };
        self.asm.compare(compare, left, right);
        self.regs.free(right);
        self.truth(branch(op, class), left);
        Ok(left)
    }

    /// Sets rd to 1 if the branch is taken, else to 0.
    pub(super) fn truth(&mut self, branch: Opcode, rd: Reg) {
        let (yes, end) = (self.asm.label(), self.asm.label());
        self.asm.branch(branch, yes);
        self.asm.mov(0, rd);
        self.asm.branch(Opcode::Ba, end);
        self.asm.bind(yes);
        self.asm.setx(1, rd);
        self.asm.bind(end);
        self.asm.plain(Opcode::Nop);
    }

    fn convert(&mut self, value: &Expr, to: &Type) -> Result<Reg> {
        let reg = self.eval(value)?;
        let layout = self.generator.program.layout;
        if !value.ty.is_scalar() || !to.is_scalar() {
            return Ok(reg);
        }
        let [from, to] = [&value.ty, to].map(|ty| Width::of(ty, layout));
        if to.bytes < 8 {
            return self.fit(reg, value, to);
        }
        // Widening: drop only what arithmetic left beyond the narrower type.
        if from.bytes >= 8 || is_exact(value, from, layout) { Ok(reg) } else { self.narrow(reg, from) }
    }

    /// Converts the value of an expression, in this register, to one that a variable of the type can hold.
    pub(super) fn stored(&mut self, reg: Reg, value: &Expr, ty: &Type) -> Result<Reg> {
        let to = Width::of(ty, self.generator.program.layout);
        if value.ty.is_scalar() && ty.is_scalar() && to.bytes < 8 {
            self.fit(reg, value, to)
        } else {
            Ok(reg)
        }
    }

    /// Drops the bits beyond the width of the type.
    pub(super) fn narrowed(&mut self, reg: Reg, ty: &Type) -> Result<Reg> {
        let width = Width::of(ty, self.generator.program.layout);
        if ty.is_scalar() && width.bytes < 8 { self.narrow(reg, width) } else { Ok(reg) }
    }

    fn fit(&mut self, reg: Reg, value: &Expr, to: Width) -> Result<Reg> {
        let layout = self.generator.program.layout;
        let from = Width::of(&value.ty, layout);
        if from.is_within(to) && is_exact(value, from, layout) { Ok(reg) } else { self.narrow(reg, to) }
    }

    fn narrow(&mut self, reg: Reg, to: Width) -> Result<Reg> {
        let held = self.regs.hold(reg);
        let shift = self.constant(64 - 8 * to.bytes)?;
        let reg = self.take(held)?;
        self.asm.three(Opcode::Sll, reg, shift, reg);
        self.asm.three(if to.signed { Opcode::Sra } else { Opcode::Srl }, reg, shift, reg);
        self.regs.free(shift);
        Ok(reg)
    }
}

/// The range of an integer type.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Width {
    bytes: u64,
    signed: bool,
}

impl Width {
    fn of(ty: &Type, layout: Layout) -> Width {
        Width { bytes: layout.size(ty).unwrap_or(8), signed: ty.is_signed() }
    }

    fn holds(self, value: u64) -> bool {
        narrow(value, self.bytes, self.signed) == value
    }

    /// Whether every value of this range is in the other one.
    fn is_within(self, other: Width) -> bool {
        self == other || self.bytes < other.bytes && (!self.signed || other.signed)
    }
}

/// Whether the register always holds a value of the type. Arithmetic does not narrow.
fn is_exact(value: &Expr, width: Width, layout: Layout) -> bool {
    // The branches of a condition keep their types.
    let branch = |value: &Expr| {
        if let ExprKind::Int(value) = value.kind {
            return width.holds(value);
        }
        let own = Width::of(&value.ty, layout);
        own.is_within(width) && is_exact(value, own, layout)
    };
    match &value.kind {
        _ if width.bytes >= 8 => true,
        ExprKind::Int(value) => width.holds(*value),
        ExprKind::Builtin(_)
        | ExprKind::BuiltinElement { .. }
        | ExprKind::Place(_)
        | ExprKind::Not(_)
        | ExprKind::Compare { .. }
        | ExprKind::Logic { .. }
        | ExprKind::Convert(_)
        | ExprKind::Call { .. }
        | ExprKind::Assign { .. }
        | ExprKind::Update { .. }
        | ExprKind::Step { .. } => true,
        ExprKind::Conditional { then, otherwise, .. } => branch(then) && branch(otherwise),
        ExprKind::Comma { right: value, .. } | ExprKind::Bounded { index: value, .. } => {
            is_exact(value, width, layout)
        }
        ExprKind::Str(_) | ExprKind::Negate(_) | ExprKind::Complement(_) | ExprKind::Arith { .. } => false,
    }
}

pub(super) fn opcode(op: ArithOp, signed: bool) -> Opcode {
    match op {
        ArithOp::Or => Opcode::Or,
        ArithOp::Xor => Opcode::Xor,
        ArithOp::And => Opcode::And,
        ArithOp::Shl => Opcode::Sll,
        ArithOp::Shr if signed => Opcode::Sra,
        ArithOp::Shr => Opcode::Srl,
        ArithOp::Add => Opcode::Add,
        ArithOp::Sub => Opcode::Sub,
        ArithOp::Mul => Opcode::Mul,
        ArithOp::Div if signed => Opcode::Sdiv,
        ArithOp::Div => Opcode::Udiv,
        ArithOp::Rem if signed => Opcode::Srem,
        ArithOp::Rem => Opcode::Urem,
    }
}

fn branch(op: CompareOp, class: CompareClass) -> Opcode {
    let unsigned = class == CompareClass::Unsigned;
    match op {
        CompareOp::Eq => Opcode::Be,
        CompareOp::Ne => Opcode::Bne,
        CompareOp::Lt if unsigned => Opcode::Blu,
        CompareOp::Lt => Opcode::Bl,
        CompareOp::Le if unsigned => Opcode::Bleu,
        CompareOp::Le => Opcode::Ble,
        CompareOp::Gt if unsigned => Opcode::Bgu,
        CompareOp::Gt => Opcode::Bg,
        CompareOp::Ge if unsigned => Opcode::Bgeu,
        CompareOp::Ge => Opcode::Bge,
    }
}

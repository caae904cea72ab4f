//! bpf/program/aggregate.rs: aggregating actions: the key, the entry, and the update by a value.

use super::refusal::Refusal;
use super::writer::{INCREMENT, INITIAL, Used, Writer};
use crate::asm::{Assembler, Label};
use crate::insn::Reg::{self, Frame, R0, R1, R2, R3, R4, R5, R7};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::memory::{Map, cpu};
use crate::missing::Missing;
use kinst_dif::layout::{Llquantize, Lquantize};
use kinst_dif::{Action, ActionKind};

impl Writer<'_> {
    pub(super) fn aggregate(
        &self,
        asm: &mut Assembler,
        action: &Action,
        keys: &[Action],
        map: u32,
        number: usize,
        used: &mut Used,
    ) -> Result<(), Refusal> {
        let known = self.entries.iter().enumerate().find(|(_, entries)| entries.actions.contains(&map));
        let (index, entries) = known.ok_or(Missing::Invalid)?;
        let maps = [0, 1].map(|half| Map::COUNT + 2 * index as u32 + half);
        let key = cpu::KEY;
        if entries.has_key() {
            asm.clear(key, entries.keys_size());
        }
        for (at, (action, record)) in keys.iter().zip(&entries.layout.keys).enumerate() {
            let place = (key + record.offset, record.size);
            self.record(asm, action, Some(place), number - keys.len() + at, used)?;
        }
        if let Some(difo) = action.difo {
            self.value(asm, difo, number, used);
            asm.store(Width::Double, Frame, INITIAL, R0);
        }
        asm.store(Width::Double, Frame, INCREMENT, 1);
        if let Some(difo) = action.incr {
            self.value(asm, difo, number, used);
            asm.store(Width::Double, Frame, INCREMENT, R0);
        }
        let (there, drop, done) = (asm.label(), asm.label(), asm.label());
        entry(asm, maps, there);
        if entries.has_key() {
            new_entry(asm, maps, drop);
            entry(asm, maps, there);
        }
        asm.bind(drop);
        asm.count(R7, cpu::AGGREGATION_DROPS);
        asm.jump(done);
        asm.bind(there);
        match action.difo {
            Some(_) => asm.load(Width::Double, R1, Frame, INITIAL),
            None => asm.mov(R1, 1),
        }
        self.update(asm, action, entries.layout.value.size as i16)?;
        asm.bind(done);
        Ok(())
    }

    /// Adds the value in R1 to the entry at R0; the word at `filled` says that the entry has a value.
    fn update(&self, asm: &mut Assembler, action: &Action, filled: i16) -> Result<(), Refusal> {
        match action.kind {
            ActionKind::Count => {
                asm.mov(R1, 1);
                add(asm, 0, R1);
            }
            ActionKind::Sum => add(asm, 0, R1),
            ActionKind::Avg => average(asm),
            ActionKind::Stddev => {
                asm.mov(R5, R1);
                average(asm);
                square(asm);
            }
            ActionKind::Min | ActionKind::Max => {
                let (replace, keep) = (asm.label(), asm.label());
                asm.load(Width::Double, R2, R0, filled);
                asm.branch(Cond::Eq, R2, 0, replace);
                asm.load(Width::Double, R2, R0, 0);
                let worse = if action.kind == ActionKind::Min { Cond::SignedGe } else { Cond::SignedLe };
                asm.branch(worse, R1, R2, keep);
                asm.bind(replace);
                asm.store(Width::Double, R0, 0, R1);
                asm.bind(keep);
            }
            ActionKind::Quantize => {
                bucket(asm);
                add_to_bucket(asm, 126);
            }
            ActionKind::Lquantize => {
                let Lquantize { base, step, levels } = Lquantize::unpack(action.arg);
                linear_bucket(asm, base, step, levels);
                self.parameters(asm, action, u32::from(levels) + 1);
            }
            ActionKind::Llquantize => {
                let parameters = Llquantize::unpack(action.arg);
                logarithmic_bucket(asm, parameters);
                self.parameters(asm, action, parameters.buckets() as u32 - 1);
            }
            #[rustfmt::skip]
            ActionKind::DifExpr | ActionKind::Exit | ActionKind::Printf | ActionKind::Printa | ActionKind::Libact
            | ActionKind::Tracemem | ActionKind::TracememDyn | ActionKind::Printm | ActionKind::Ustack
            | ActionKind::Usym | ActionKind::Umod | ActionKind::Uaddr | ActionKind::Stop | ActionKind::Raise
            | ActionKind::System | ActionKind::Freopen | ActionKind::Stack | ActionKind::Sym | ActionKind::Mod
            | ActionKind::Breakpoint | ActionKind::Panic | ActionKind::Chill | ActionKind::Speculate
            | ActionKind::Commit | ActionKind::Discard => return Err(Missing::Action(action.kind).into()),
        }
        asm.store(Width::Double, R0, filled, 1);
        Ok(())
    }

    /// Counts the bucket in R2, of buckets 0 to `last`, after the word with the parameters.
    fn parameters(&self, asm: &mut Assembler, action: &Action, last: u32) {
        asm.number(R1, action.arg);
        asm.store(Width::Double, R0, 0, R1);
        asm.mov(R4, R0);
        asm.add(R0, 8);
        add_to_bucket(asm, last);
        asm.mov(R0, R4);
    }
}

/// Makes an entry for the key; jumps to `drop` if the map is full.
fn new_entry(asm: &mut Assembler, maps: [u32; 2], drop: Label) {
    // A new entry is zeros, or the value that any number replaces.
    let (other, chosen) = (asm.label(), asm.label());
    asm.load(Width::Double, R1, R7, cpu::HALF);
    asm.branch(Cond::Ne, R1, 0, other);
    asm.map(R1, maps[0]);
    asm.jump(chosen);
    asm.bind(other);
    asm.map(R1, maps[1]);
    asm.bind(chosen);
    asm.point(R2, cpu::NUMBER as u32);
    asm.map_value(R3, Map::Constants as u32, 0);
    asm.mov(R4, 0);
    asm.call(Helper::MapUpdateElem);
    asm.branch(Cond::Ne, R0, 0, drop);
}

/// Looks up the key's entry in the map of this run; jumps to `there` if it exists.
fn entry(asm: &mut Assembler, maps: [u32; 2], there: Label) {
    let (other, absent) = (asm.label(), asm.label());
    asm.load(Width::Double, R1, R7, cpu::HALF);
    asm.branch(Cond::Ne, R1, 0, other);
    for (half, map) in maps.into_iter().enumerate() {
        asm.map(R1, map);
        asm.point(R2, cpu::NUMBER as u32);
        asm.call(Helper::MapLookupElem);
        asm.branch(Cond::Ne, R0, 0, there);
        if half == 0 {
            asm.jump(absent);
            asm.bind(other);
        }
    }
    asm.bind(absent);
}

/// Adds a value to a word of the entry at R0; clobbers R2.
fn add(asm: &mut Assembler, off: i16, value: Reg) {
    asm.load(Width::Double, R2, R0, off);
    asm.add(R2, value);
    asm.store(Width::Double, R0, off, R2);
}

/// Adds the value in R1 to the count and the sum.
fn average(asm: &mut Assembler) {
    add(asm, 8, R1);
    asm.mov(R1, 1);
    add(asm, 0, R1);
}

/// Adds the 128-bit square of the value in R5 to two words of the entry.
fn square(asm: &mut Assembler) {
    let (positive, inside, carried) = (asm.label(), asm.label(), asm.label());
    asm.branch(Cond::SignedGe, R5, 0, positive);
    asm.neg(R5);
    asm.bind(positive);
    // The halves of the magnitude; R3 = their product, R2 and R1 = the lower and the upper word of the square.
    asm.mov(R1, R5);
    asm.alu(Alu::Rsh, R1, 32);
    asm.mov(R2, R5);
    asm.alu(Alu::Lsh, R2, 32);
    asm.alu(Alu::Rsh, R2, 32);
    asm.mov(R3, R1);
    asm.alu(Alu::Mul, R3, R2);
    asm.alu(Alu::Mul, R1, R1);
    asm.alu(Alu::Mul, R2, R2);
    asm.mov(R4, R3);
    asm.alu(Alu::Rsh, R4, 31);
    asm.add(R1, R4);
    asm.alu(Alu::Lsh, R3, 33);
    asm.add(R2, R3);
    asm.branch(Cond::Ge, R2, R3, inside);
    asm.add(R1, 1);
    asm.bind(inside);
    asm.load(Width::Double, R3, R0, 16);
    asm.add(R3, R2);
    asm.branch(Cond::Ge, R3, R2, carried);
    asm.add(R1, 1);
    asm.bind(carried);
    asm.store(Width::Double, R0, 16, R3);
    add(asm, 24, R1);
}

/// Adds the increment to the bucket in R2, of buckets 0 to `last` from R0 on.
fn add_to_bucket(asm: &mut Assembler, last: u32) {
    // The check bounds the index for the verifier. The smallest number, whose magnitude has 64 bits, has index −1.
    let inside = asm.label();
    asm.branch(Cond::Le, R2, last as i32, inside);
    asm.mov(R2, 0);
    asm.bind(inside);
    asm.alu(Alu::Lsh, R2, 3);
    asm.mov(R3, R0);
    asm.add(R3, R2);
    asm.load(Width::Double, R1, Frame, INCREMENT);
    asm.load(Width::Double, R2, R3, 0);
    asm.add(R2, R1);
    asm.store(Width::Double, R3, 0, R2);
}

/// Computes the bucket of the value in R1: R2 is 63 for 0, plus one for each bit of a positive number, minus
/// one for each bit of a negative one.
fn bucket(asm: &mut Assembler) {
    let (negative, known, down) = (asm.label(), asm.label(), asm.label());
    asm.mov(R2, 63);
    asm.branch(Cond::Eq, R1, 0, known);
    asm.mov(R4, R1);
    asm.branch(Cond::SignedGe, R1, 0, negative);
    asm.neg(R1);
    asm.bind(negative);
    asm.mov(R3, 1);
    for bits in [32, 16, 8, 4, 2, 1] {
        let less = asm.label();
        asm.mov(R5, R1);
        asm.alu(Alu::Rsh, R5, bits);
        asm.branch(Cond::Eq, R5, 0, less);
        asm.mov(R1, R5);
        asm.add(R3, bits);
        asm.bind(less);
    }
    asm.branch(Cond::SignedLt, R4, 0, down);
    asm.add(R2, R3);
    asm.jump(known);
    asm.bind(down);
    asm.alu(Alu::Sub, R2, R3);
    asm.bind(known);
}

/// Computes the bucket of the 32-bit value in R1: R2 is 0 below the base, plus one for each step.
fn linear_bucket(asm: &mut Assembler, base: i32, step: u16, levels: u16) {
    let (known, inside) = (asm.label(), asm.label());
    asm.alu(Alu::Lsh, R1, 32);
    asm.alu(Alu::Arsh, R1, 32);
    asm.mov(R2, 0);
    asm.branch(Cond::SignedLt, R1, base, known);
    asm.mov(R2, base);
    asm.alu(Alu::Sub, R1, R2);
    asm.mov(R2, R1);
    asm.alu(Alu::Div, R2, i32::from(step.max(1)));
    asm.branch(Cond::Lt, R2, i32::from(levels), inside);
    asm.mov(R2, i32::from(levels));
    asm.bind(inside);
    asm.add(R2, 1);
    asm.bind(known);
}

/// Computes the bucket of the value in R1: R2 is 0 below the lowest magnitude; each magnitude has the same
/// number of steps.
fn logarithmic_bucket(asm: &mut Assembler, parameters: Llquantize) {
    let factor = u64::from(parameters.factor).max(2);
    let steps = u64::from(parameters.steps).max(1);
    let known = asm.label();
    let mut last = factor.saturating_pow(parameters.low.into());
    asm.mov(R2, 0);
    asm.number(R3, last);
    asm.branch(Cond::SignedLt, R1, R3, known);
    let (mut base, mut this) = (1u64, last.saturating_mul(factor));
    for _ in parameters.low..=parameters.high {
        let count = steps.min(this);
        let above = asm.label();
        asm.number(R3, this);
        asm.branch(Cond::Ge, R1, R3, above);
        asm.number(R3, last);
        asm.mov(R2, R1);
        asm.alu(Alu::Sub, R2, R3);
        asm.number(R3, (this / count).max(1));
        asm.alu(Alu::Div, R2, R3);
        asm.add(R2, base as i32);
        asm.jump(known);
        asm.bind(above);
        base += count - count / factor;
        (last, this) = (this, this.saturating_mul(factor));
    }
    asm.mov(R2, base as i32);
    asm.bind(known);
}

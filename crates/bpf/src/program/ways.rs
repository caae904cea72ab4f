//! bpf/program/ways.rs: tests of a probe's edge: by the flags, an operand, and jump labels in memory.

use super::place;
use crate::asm::{Assembler, Label};
use crate::insn::Reg::{self, Frame, R1, R2, R3, R6, R9};
use crate::insn::{Alu, Cond, Width};
use crate::machine::Machine;
use kinst_base::probe::{Jump, Spot, When};

/// A frame slot for reads.
const SLOT: i16 = -8;

/// Returns a mask for the flags; the hit counts if any of its bits is set (or, if inverted, none).
pub fn test(machine: &dyn Machine, when: When) -> (u32, bool) {
    let (condition, taken) = match when {
        When::Taken(condition) => (condition, true),
        When::NotTaken(condition) => (condition, false),
        When::Always | When::Zero { .. } | When::Goes(..) | When::Leaves(..) => return (0, true),
    };
    let (bits, inverted) = machine.condition(condition);
    (bits, inverted == taken)
}

/// Exits unless the flags match the place at R9.
pub fn flags(asm: &mut Assembler, machine: &dyn Machine, out: Label) {
    machine.flags(asm);
    asm.load(Width::Double, R2, R9, place::BITS);
    asm.alu(Alu::And, R1, R2);
    asm.load(Width::Double, R2, R9, place::INVERTED);
    let (none, goes) = (asm.label(), asm.label());
    asm.branch(Cond::Eq, R1, 0, none);
    asm.branch(Cond::Ne, R2, 0, out);
    asm.jump(goes);
    asm.bind(none);
    asm.branch(Cond::Eq, R2, 0, out);
    asm.bind(goes);
}

/// Exits unless the operand selects the spot's edge, and the jump labels along the edge lead on. In a program, the
/// spot's addresses are those of the file's layout.
pub fn write(asm: &mut Assembler, machine: &dyn Machine, spot: &Spot, in_program: bool, out: Label) {
    let layout = in_program.then_some(spot.address);
    match spot.when {
        When::Zero { register: number, bits, is } => {
            register(asm, machine, R1, number);
            asm.number(R2, bits);
            asm.alu(Alu::And, R1, R2);
            asm.branch(if is { Cond::Ne } else { Cond::Eq }, R1, 0, out);
        }
        When::Goes(jump, to) => {
            target(asm, machine, jump, layout, out);
            asm.number(R2, to);
            asm.branch(Cond::Ne, R3, R2, out);
        }
        When::Leaves(jump, parts) => {
            target(asm, machine, jump, layout, out);
            for (number, (start, end)) in parts.into_iter().enumerate() {
                let outside = asm.label();
                asm.number(R2, start);
                // A jump to the start of the function itself is a call.
                asm.branch(if number == 0 { Cond::Le } else { Cond::Lt }, R3, R2, outside);
                asm.number(R2, end);
                asm.branch(Cond::Lt, R3, R2, out);
                asm.bind(outside);
            }
        }
        When::Always | When::Taken(_) | When::NotTaken(_) => {}
    }
    for key in &spot.keys {
        machine.label(asm, key, SLOT, out);
    }
}

/// Loads a register by its number in instructions; 0 if it does not exist.
fn register(asm: &mut Assembler, machine: &dyn Machine, into: Reg, number: u8) {
    match machine.registers().numbered.get(usize::from(number)) {
        Some(offset) => asm.load(Width::Double, into, R6, *offset),
        None => asm.mov(into, 0),
    }
}

/// Loads the target of an indirect jump into R3. For the jump at the address `layout` of a file, the target is an
/// address in the file's layout too: the distance from the hit is the same in each process.
fn target(asm: &mut Assembler, machine: &dyn Machine, jump: Jump, layout: Option<u64>, out: Label) {
    let instruction = machine.registers().instruction;
    match (layout, jump.base, jump.index) {
        // The displacement is an address of the layout.
        (Some(address), None, None) => {
            asm.number(R3, jump.by.wrapping_sub(address));
            asm.load(Width::Double, R1, R6, instruction);
            asm.add(R3, R1);
        }
        _ => asm.number(R3, jump.by),
    }
    if let Some(index) = jump.index {
        register(asm, machine, R1, index);
        asm.alu(Alu::Lsh, R1, i32::from(jump.shift));
        asm.add(R3, R1);
    }
    if let Some(base) = jump.base {
        register(asm, machine, R1, base);
        asm.add(R3, R1);
    }
    if jump.memory {
        match layout {
            Some(_) => asm.read_user(SLOT, 8, out),
            None => asm.read(SLOT, 8, out),
        }
        asm.load(Width::Double, R3, Frame, SLOT);
    }
    if let Some(address) = layout {
        asm.load(Width::Double, R1, R6, instruction);
        asm.alu(Alu::Sub, R3, R1);
        asm.number(R1, address);
        asm.add(R3, R1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{ARM64, X86_64};
    use kinst_base::probe::Condition;

    #[test]
    fn a_branch_goes_either_way() {
        for (machine, condition) in [(X86_64, 0x74), (X86_64, 0x75), (ARM64, 0), (ARM64, 13)] {
            let condition = Condition(condition);
            let (bits, inverted) = test(machine, When::Taken(condition));
            assert_eq!(test(machine, When::NotTaken(condition)), (bits, !inverted));
            assert_eq!((bits, inverted), machine.condition(condition), "{machine:?}");
        }
        assert_eq!(test(X86_64, When::Always), (0, true));
    }
}

//! sites/code/decode.rs: decoding of a function's instructions on any kind of machine.

use std::ops::Range;

use super::arm64::Arm64;
pub use super::set::Takes;
pub(crate) use super::set::{Control, FtraceEntry, IndirectJump, InstructionSet, Step, Unhandled};
use super::x86::X86;
use kinst_base::machine::Machine;

pub(crate) fn of(machine: Machine) -> &'static dyn InstructionSet {
    match machine {
        Machine::X86_64 => &X86,
        Machine::Aarch64 => &Arm64,
    }
}

/// One instruction of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insn {
    /// Bytes from the start of the code.
    pub offset: u32,
    pub len: u8,
    pub bytes: Vec<u8>,
    pub machine: Machine,
}

/// Decodes the first instruction of `code`.
pub(crate) fn step(machine: Machine, code: &[u8], address: u64) -> Option<Step> {
    of(machine).steps(code, address).next()
}

/// Returns the successors, except those that depend on a register or memory.
pub(crate) fn ways(step: &Step) -> Vec<u64> {
    let next = step.next();
    match step.control {
        Control::Next | Control::Call(_) => vec![next],
        Control::Jump(to) => vec![to],
        Control::Branch(to) if to == next => vec![next],
        Control::Branch(to) => vec![next, to],
        Control::JumpThrough | Control::JumpIndirect | Control::Return | Control::Trap => Vec::new(),
    }
}

/// Decodes the instructions of `code` up to the first bytes that do not decode. `address` is where the code runs.
pub(crate) fn instructions(machine: Machine, code: &[u8], address: u64) -> Vec<Insn> {
    of(machine)
        .steps(code, address)
        .map(|step| {
            let offset = step.address.wrapping_sub(address) as usize;
            let bytes = code.get(offset..offset + usize::from(step.len)).unwrap_or_default().to_vec();
            Insn { offset: offset as u32, len: step.len, bytes, machine }
        })
        .collect()
}

/// Returns the address of the last instruction of a range; `None` if the range does not end at an instruction's end.
pub(crate) fn last_instruction(machine: Machine, code: &[u8], range: &Range<u64>) -> Option<u64> {
    let len = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
    let steps = of(machine).steps(code.get(..len)?, range.start);
    steps.last().filter(|step| step.next() == range.end).map(|step| step.address)
}

/// Disassembles the instruction in the GNU assembler's syntax.
pub fn text(machine: Machine, bytes: &[u8], address: u64) -> String {
    of(machine).text_with(bytes, address, &|_| None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86_64: Machine = Machine::X86_64;
    // push %rbp; mov %rsp,%rbp; nopl 0x0(%rax,%rax,1); ret
    const CODE: [u8; 10] = [0x55, 0x48, 0x89, 0xe5, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3];

    #[test]
    fn boundaries() {
        let offsets: Vec<u32> = instructions(X86_64, &CODE, 0x1000).iter().map(|insn| insn.offset).collect();
        assert_eq!(offsets, [0, 1, 4, 9]);
        assert_eq!(instructions(X86_64, &CODE[..6], 0x1000).len(), 2, "a cut instruction is none");
    }

    #[test]
    fn the_last_instruction_of_a_range() {
        let last = |range| last_instruction(X86_64, &CODE, &range);
        assert_eq!(last(0x1000..0x1009), Some(0x1004));
        assert_eq!(last(0x1000..0x1001), Some(0x1000));
        assert_eq!(last(0x1000..0x1007), None, "ends inside an instruction");
        assert_eq!(last(0x1000..0x2000), None, "beyond the code");
    }

    #[test]
    fn the_text_is_as_objdump_has_it() {
        assert_eq!(text(X86_64, &CODE[1..], 0x1001), "mov %rsp, %rbp");
        assert_eq!(text(X86_64, &[0xe8, 0, 0, 0, 0], 0x1000), "call 0x1005");
        assert_eq!(text(X86_64, &[0x06], 0), "(bad)");
    }
}

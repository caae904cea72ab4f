//! sites/code/x86/deciding.rs: the values on which a branch depends, if they are still where they were compared.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

use crate::code::deciding::Operand;
use kinst_base::machine::Machine;
use kinst_dwarf::variables::term::Register as Named;

/// Returns the operands that decide the branch at the end of a block; empty if unknown. `code` is the block.
pub(super) fn deciding(code: &[u8], address: u64) -> Vec<Operand> {
    let insns: Vec<Instruction> =
        Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter().collect();
    let Some((branch, before)) = insns.split_last() else { return Vec::new() };
    if branch.flow_control() != FlowControl::ConditionalBranch {
        return Vec::new();
    }
    if matches!(branch.mnemonic(), Mnemonic::Jrcxz | Mnemonic::Jecxz) {
        let bytes = if branch.mnemonic() == Mnemonic::Jrcxz { 8 } else { 4 };
        let register = general(Register::RCX).map(|register| Operand::Register { register, bytes });
        return register.into_iter().collect();
    }
    let sets = |insn: &Instruction| {
        insn.rflags_modified() & branch.rflags_read() != 0 || insn.flow_control() != FlowControl::Next
    };
    let Some(at) = before.iter().rposition(sets) else { return Vec::new() };
    let (test, after) = (&before[at], &before[at + 1..]);
    if test.flow_control() != FlowControl::Next {
        return Vec::new();
    }
    let mut operands = Vec::new();
    for number in 0..test.op_count().min(2) {
        let found = operand(test, number).filter(|found| is_kept(found, test, after));
        operands.extend(found.filter(|found| !operands.contains(found)));
    }
    operands
}

fn operand(insn: &Instruction, number: u32) -> Option<Operand> {
    match insn.op_kind(number) {
        OpKind::Register => {
            let register = insn.op_register(number);
            // %ah is not one of the lowest bytes.
            let high = matches!(register, Register::AH | Register::BH | Register::CH | Register::DH);
            let bytes = register.size() as u8;
            general(register).filter(|_| !high).map(|register| Operand::Register { register, bytes })
        }
        OpKind::Memory => {
            let plain = insn.memory_index() == Register::None && insn.segment_prefix() == Register::None;
            let base = general(insn.memory_base()).filter(|_| plain)?;
            let bytes = insn.memory_size().size();
            let bytes = u8::try_from(bytes).ok().filter(|bytes| [1, 2, 4, 8].contains(bytes))?;
            Some(Operand::Memory { base, by: insn.memory_displacement64().cast_signed(), bytes })
        }
        _ => None,
    }
}

/// Whether the value is unchanged between the comparison and the branch, or, if the comparison itself changes
/// it, after that.
fn is_kept(operand: &Operand, test: &Instruction, after: &[Instruction]) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let writes = |access: OpAccess| {
        matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    };
    let (Operand::Register { register, .. } | Operand::Memory { base: register, .. }) = *operand;
    let mut changes = |insn: &Instruction, of_register: bool| {
        let info = factory.info(insn);
        let memory = matches!(operand, Operand::Memory { .. });
        of_register
            && info
                .used_registers()
                .iter()
                .any(|used| writes(used.access()) && general(used.register()) == Some(register))
            || memory && info.used_memory().iter().any(|used| writes(used.access()))
    };
    // A source that the comparison overwrites is lost, except for the result, which decides.
    let is_result = matches!(operand, Operand::Register { .. }) && self::operand(test, 0) == Some(*operand);
    !changes(test, !is_result) && !after.iter().any(|insn| changes(insn, true))
}

/// Returns the register number in debug information, from figure 3.36 of the System V ABI for x86-64.
pub(super) fn general(register: Register) -> Option<Named> {
    const ORDER: [Register; 16] = [
        Register::RAX,
        Register::RDX,
        Register::RCX,
        Register::RBX,
        Register::RSI,
        Register::RDI,
        Register::RBP,
        Register::RSP,
        Register::R8,
        Register::R9,
        Register::R10,
        Register::R11,
        Register::R12,
        Register::R13,
        Register::R14,
        Register::R15,
    ];
    let at = ORDER.iter().position(|one| *one == register.full_register())?;
    Named::new(Machine::X86_64, u16::try_from(at).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_that_are_still_there() {
        let named = |number| Named::new(Machine::X86_64, number).unwrap();
        let register = |number, bytes| Operand::Register { register: named(number), bytes };
        let memory = |base, by, bytes| Operand::Memory { base: named(base), by, bytes };
        // Each is followed by je +0.
        let cases: [(&[u8], Vec<Operand>); 9] = [
            // test %eax,%eax
            (&[0x85, 0xc0], vec![register(0, 4)]),
            // cmp %rsi,%rdi; then mov %rax,%rsi
            (&[0x48, 0x39, 0xf7], vec![register(5, 8), register(4, 8)]),
            (&[0x48, 0x39, 0xf7, 0x48, 0x89, 0xc6], vec![register(5, 8)]),
            // cmpl $0,16(%rdi); then mov %eax,(%rbx)
            (&[0x83, 0x7f, 0x10, 0x00], vec![memory(5, 16, 4)]),
            (&[0x83, 0x7f, 0x10, 0x00, 0x89, 0x03], vec![]),
            // testb $1,8(%rsp)
            (&[0xf6, 0x44, 0x24, 0x08, 0x01], vec![memory(7, 8, 1)]),
            // dec %edx; sub %rax,%rcx
            (&[0xff, 0xca], vec![register(1, 4)]),
            (&[0x48, 0x29, 0xc1], vec![register(2, 8), register(0, 8)]),
            // test %eax,%eax; call
            (&[0x85, 0xc0, 0xe8, 0, 0, 0, 0], vec![]),
        ];
        for (code, expected) in cases {
            let code = [code, &[0x74, 0x00]].concat();
            assert_eq!(deciding(&code, 0x1000), expected, "{code:x?}");
        }
        assert_eq!(deciding(&[0x85, 0xc0, 0xeb, 0x00], 0), []);
        assert_eq!(deciding(&[], 0), []);
    }
}

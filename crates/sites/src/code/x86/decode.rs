//! sites/code/x86/decode.rs: instruction boundaries, control flow, and disassembly.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter, GasFormatter, Instruction, Mnemonic, OpKind, Register,
};

use crate::code::set::{Control, Step, Takes};
use kinst_base::probe::Jump;

/// Returns the control flow of `code`, instruction by instruction, up to the first bytes that do not decode.
pub(super) fn steps(code: &[u8], address: u64) -> impl Iterator<Item = Step> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut insn = Instruction::default();
    std::iter::from_fn(move || {
        if !decoder.can_decode() {
            return None;
        }
        decoder.decode_out(&mut insn);
        let step = Step { address: insn.ip(), len: insn.len() as u8, control: control(&insn) };
        (!insn.is_invalid()).then_some(step)
    })
}

fn control(insn: &Instruction) -> Control {
    match insn.flow_control() {
        FlowControl::Next | FlowControl::IndirectCall => Control::Next,
        FlowControl::Call if is_near(insn) => Control::Call(insn.near_branch_target()),
        // syscall, far calls, and instructions that only resemble a call.
        FlowControl::Call | FlowControl::XbeginXabortXend => Control::Next,
        FlowControl::UnconditionalBranch if is_near(insn) => Control::Jump(insn.near_branch_target()),
        FlowControl::UnconditionalBranch => Control::Return,
        FlowControl::ConditionalBranch => Control::Branch(insn.near_branch_target()),
        FlowControl::IndirectBranch if is_fixed(insn) => Control::JumpThrough,
        FlowControl::IndirectBranch => Control::JumpIndirect,
        FlowControl::Return => Control::Return,
        // int $0x80 returns; padding and traps consist of int3 and int1.
        FlowControl::Interrupt if insn.op0_kind() == OpKind::Immediate8 => Control::Next,
        FlowControl::Interrupt | FlowControl::Exception => Control::Trap,
    }
}

fn is_near(insn: &Instruction) -> bool {
    matches!(insn.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64)
}

/// `jmp *pointer(%rip)`: without an index it is not a jump table.
fn is_fixed(insn: &Instruction) -> bool {
    insn.op0_kind() == OpKind::Memory
        && insn.memory_index() == Register::None
        && matches!(insn.memory_base(), Register::RIP | Register::None)
}

/// Whether an instruction is padding between others: a nop or int3.
pub(super) fn fills(bytes: &[u8]) -> bool {
    decode(bytes, 0).next().is_some_and(|insn| matches!(insn.mnemonic(), Mnemonic::Nop | Mnemonic::Int3))
}

/// Returns the operand of an indirect jump; `None` for another instruction, or if it is relative to a segment.
pub(super) fn jump(bytes: &[u8], address: u64) -> Option<Jump> {
    let insn = decode(bytes, address).next()?;
    if insn.flow_control() != FlowControl::IndirectBranch || insn.segment_prefix() != Register::None {
        return None;
    }
    let number = |register: Register| match register {
        Register::None | Register::RIP => Some(None),
        register if register.size() == 8 && register.is_gpr() => Some(Some(register.number() as u8)),
        _ => None,
    };
    match insn.op0_kind() {
        OpKind::Register => Some(Jump { base: number(insn.op0_register())?, ..Jump::default() }),
        OpKind::Memory => Some(Jump {
            base: number(insn.memory_base())?,
            index: number(insn.memory_index())?,
            shift: insn.memory_index_scale().trailing_zeros() as u8,
            by: insn.memory_displacement64(),
            memory: true,
        }),
        _ => None,
    }
}

/// Returns the opcode of a conditional jump in its short form.
pub(super) fn condition(bytes: &[u8]) -> Option<u8> {
    let prefix =
        |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf2 | 0xf3);
    let rest = &bytes[bytes.iter().position(|byte| !prefix(byte))?..];
    match *rest {
        [opcode @ (0x70..=0x7f | 0xe0..=0xe3), ..] => Some(opcode),
        [0x0f, opcode @ 0x80..=0x8f, ..] => Some(opcode - 0x10),
        _ => None,
    }
}

/// Whether an instruction calls a function.
pub(super) fn calls(bytes: &[u8]) -> bool {
    let of = |insn: Instruction| insn.flow_control();
    decode(bytes, 0)
        .next()
        .is_some_and(|insn| matches!(of(insn), FlowControl::Call | FlowControl::IndirectCall))
}

pub(super) fn takes(bytes: &[u8]) -> Takes {
    use Mnemonic as M;
    let Some(insn) = decode(bytes, 0).next() else { return Takes::More };
    let is_plain = (0..insn.op_count()).all(|number| match insn.op_kind(number) {
        OpKind::Register => insn.op_register(number).is_gpr(),
        kind => kind == OpKind::Memory || is_immediate(kind),
    });
    let moves = matches!(insn.mnemonic(), M::Mov | M::Movzx | M::Movsx | M::Movsxd | M::Lea | M::Push);
    let adds = matches!(insn.mnemonic(), M::Add | M::Sub | M::Cmp | M::Shl | M::Shr | M::Sar);
    let is_short = moves || adds || matches!(insn.mnemonic(), M::And | M::Or | M::Xor | M::Test);
    let has_memory = (0..insn.op_count()).any(|number| insn.op_kind(number) == OpKind::Memory);
    match is_plain && is_short && !insn.has_lock_prefix() {
        false => Takes::More,
        true if has_memory && insn.mnemonic() != M::Lea => Takes::Memory,
        true => Takes::Nothing,
    }
}

fn is_immediate(kind: OpKind) -> bool {
    use OpKind as K;
    matches!(kind, K::Immediate8 | K::Immediate16 | K::Immediate32 | K::Immediate64)
        || matches!(kind, K::Immediate8to16 | K::Immediate8to32 | K::Immediate8to64 | K::Immediate32to64)
}

/// Disassembles in AT&T syntax; `name` returns the name of the target of a jump or call.
pub(super) fn text_with(bytes: &[u8], address: u64, name: &dyn Fn(u64) -> Option<String>) -> String {
    let Some(insn) = decode(bytes, address).next() else { return "(bad)".to_owned() };
    let mut formatter = GasFormatter::new();
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_uppercase_hex(false);
    formatter.options_mut().set_space_after_operand_separator(true);
    let mut text = String::new();
    formatter.format(&insn, &mut text);
    match name(insn.near_branch_target()).filter(|_| is_near(&insn)) {
        // The target of a branch is everything after the mnemonic.
        Some(name) => match text.rsplit_once(' ') {
            Some((mnemonic, _)) => format!("{mnemonic} {name}"),
            None => text,
        },
        None => text,
    }
}

fn decode(code: &[u8], address: u64) -> impl Iterator<Item = Instruction> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    std::iter::from_fn(move || {
        let insn = decoder.can_decode().then(|| decoder.decode())?;
        (!insn.is_invalid()).then_some(insn)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_by_the_short_form() {
        assert_eq!(condition(&[0x74, 2]), Some(0x74));
        assert_eq!(condition(&[0x0f, 0x8f, 0, 0, 0, 0]), Some(0x7f));
        assert_eq!(condition(&[0x2e, 0x0f, 0x82, 0, 0, 0, 0]), Some(0x72));
        assert_eq!(condition(&[0xe3, 2]), Some(0xe3));
        assert_eq!(condition(&[0xeb, 2]), None);
        assert_eq!(condition(&[]), None);
    }

    #[test]
    fn operands_of_indirect_jumps() {
        let register = |base| Jump { base: Some(base), ..Jump::default() };
        assert_eq!(jump(&[0xff, 0xe0], 0), Some(register(0)));
        assert_eq!(jump(&[0x41, 0xff, 0xe3], 0), Some(register(11)));
        // jmp *0x18(%rdi,%r9,8); jmp *0x10(%rip)
        let memory = Jump { base: Some(7), index: Some(9), shift: 3, by: 0x18, memory: true };
        assert_eq!(jump(&[0x42, 0xff, 0x64, 0xcf, 0x18], 0), Some(memory));
        let fixed = Jump { by: 0x1016, memory: true, ..Jump::default() };
        assert_eq!(jump(&[0xff, 0x25, 0x10, 0, 0, 0], 0x1000), Some(fixed));
        assert_eq!(jump(&[0x65, 0xff, 0x24, 0x25, 0, 0, 0, 0], 0), None, "%gs");
        assert_eq!(jump(&[0xff, 0xd0], 0), None, "a call");
    }
}

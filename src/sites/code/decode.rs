//! sites/code/decode.rs: instruction boundaries of a function, and its text for messages.

use std::ops::Range;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter, GasFormatter, Instruction, OpKind, Register,
};

/// One instruction of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insn {
    /// Bytes from the start of the code.
    pub offset: u32,
    pub len: u8,
    pub bytes: Vec<u8>,
}

/// The control flow after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Next,
    /// Goes to the address and comes back.
    Call(u64),
    Jump(u64),
    /// Goes to the address or to the next instruction.
    Branch(u64),
    /// Goes through a pointer at a fixed address, never into the middle of a function.
    JumpThrough,
    /// Goes to an unknown target.
    JumpIndirect,
    Return,
    /// An instruction that is not meant to be executed: ud2, int3.
    Trap,
}

/// An instruction's address, its length, and where control goes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub address: u64,
    pub len: u8,
    pub control: Control,
}

/// The control flow of `code`, instruction by instruction, up to the first bytes that do not decode.
pub fn steps(code: &[u8], address: u64) -> impl Iterator<Item = Step> {
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

/// The successors, without those that depend on a register or memory.
pub fn ways(step: &Step) -> Vec<u64> {
    let next = step.address + u64::from(step.len);
    match step.control {
        Control::Next | Control::Call(_) => vec![next],
        Control::Jump(to) => vec![to],
        Control::Branch(to) if to == next => vec![next],
        Control::Branch(to) => vec![next, to],
        Control::JumpThrough | Control::JumpIndirect | Control::Return | Control::Trap => Vec::new(),
    }
}

fn control(insn: &Instruction) -> Control {
    match insn.flow_control() {
        FlowControl::Next | FlowControl::IndirectCall => Control::Next,
        FlowControl::Call if is_near(insn) => Control::Call(insn.near_branch_target()),
        // syscall, far calls, and what only looks like a call.
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

/// `jmp *pointer(%rip)`: without an index it is no jump table.
fn is_fixed(insn: &Instruction) -> bool {
    insn.op0_kind() == OpKind::Memory
        && insn.memory_index() == Register::None
        && matches!(insn.memory_base(), Register::RIP | Register::None)
}

/// The instructions of `code`, up to the first bytes that do not decode. `address` is where the code runs.
pub fn instructions(code: &[u8], address: u64) -> Vec<Insn> {
    decode(code, address)
        .map(|insn| {
            let offset = (insn.ip() - address) as usize;
            let bytes = code.get(offset..offset + insn.len()).unwrap_or_default().to_vec();
            Insn { offset: offset as u32, len: insn.len() as u8, bytes }
        })
        .collect()
}

/// The address of the last instruction of a range; `None` if the range does not end with an instruction.
pub fn last_instruction(code: &[u8], range: &Range<u64>) -> Option<u64> {
    let len = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
    let code = code.get(..len)?;
    decode(code, range.start).last().filter(|insn| insn.next_ip() == range.end).map(|insn| insn.ip())
}

/// The instruction as AT&T text.
pub fn text(bytes: &[u8], address: u64) -> String {
    text_with(bytes, address, &|_| None)
}

/// The instruction as AT&T text; `name` returns the name of the target of a jump or call.
pub fn text_with(bytes: &[u8], address: u64, name: &dyn Fn(u64) -> Option<String>) -> String {
    let Some(insn) = decode(bytes, address).next() else { return "(bad)".to_owned() };
    let mut formatter = GasFormatter::new();
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_uppercase_hex(false);
    formatter.options_mut().set_space_after_operand_separator(true);
    let mut text = String::new();
    formatter.format(&insn, &mut text);
    match name(insn.near_branch_target()).filter(|_| is_near(&insn)) {
        // The target of a branch is all that follows the mnemonic.
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

    // push %rbp; mov %rsp,%rbp; nopl 0x0(%rax,%rax,1); ret
    const CODE: [u8; 10] = [0x55, 0x48, 0x89, 0xe5, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3];

    #[test]
    fn boundaries() {
        let offsets: Vec<u32> = instructions(&CODE, 0x1000).iter().map(|insn| insn.offset).collect();
        assert_eq!(offsets, [0, 1, 4, 9]);
        assert_eq!(instructions(&CODE[..6], 0x1000).len(), 2, "a cut instruction is none");
    }

    #[test]
    fn the_last_instruction_of_a_range() {
        assert_eq!(last_instruction(&CODE, &(0x1000..0x1009)), Some(0x1004));
        assert_eq!(last_instruction(&CODE, &(0x1000..0x1001)), Some(0x1000));
        assert_eq!(last_instruction(&CODE, &(0x1000..0x1007)), None, "ends inside an instruction");
        assert_eq!(last_instruction(&CODE, &(0x1000..0x2000)), None, "beyond the code");
    }

    #[test]
    fn the_text_is_as_objdump_has_it() {
        assert_eq!(text(&CODE[1..], 0x1001), "mov %rsp, %rbp");
        assert_eq!(text(&[0xe8, 0, 0, 0, 0], 0x1000), "call 0x1005");
        assert_eq!(text(&[0x06], 0), "(bad)");
    }
}

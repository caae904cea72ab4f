//! sites/code/x86/shape.rs: properties of one instruction that decide whether a copy of it can be single-stepped.

use iced_x86::{Decoder, DecoderOptions, EncodingKind, FlowControl, Instruction, Mnemonic};

/// Properties of a valid instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub len: u8,
    pub encoding: Encoding,
    /// Whether control may go elsewhere than to the next instruction: a branch, a call, a system call, a trap.
    pub leaves: bool,
    /// Whether it has a memory operand relative to the instruction pointer.
    pub is_relative: bool,
    /// Whether it faults in a program, except that a program may own ports and the interrupt flag.
    pub is_privileged: bool,
    /// Whether it is a string instruction, which a prefix can repeat.
    pub is_string: bool,
    /// Whether it begins, ends or aborts a transaction.
    pub is_transaction: bool,
}

/// The encoding of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Legacy,
    /// VEX or EVEX.
    Vector,
    /// Encodings of AMD alone.
    Amd,
}

/// Decodes the first instruction of `code`; `None` if it is not valid.
pub(crate) fn shape(code: &[u8]) -> Option<Shape> {
    let insn = Decoder::new(64, code, DecoderOptions::NONE).decode();
    (!insn.is_invalid()).then(|| Shape {
        len: insn.len() as u8,
        encoding: encoding(&insn),
        leaves: insn.flow_control() != FlowControl::Next,
        is_relative: insn.is_ip_rel_memory_operand(),
        is_privileged: insn.is_privileged(),
        is_string: insn.is_string_instruction(),
        is_transaction: matches!(insn.mnemonic(), Mnemonic::Xbegin | Mnemonic::Xabort | Mnemonic::Xend),
    })
}

fn encoding(insn: &Instruction) -> Encoding {
    match insn.encoding() {
        EncodingKind::Legacy => Encoding::Legacy,
        EncodingKind::VEX | EncodingKind::EVEX => Encoding::Vector,
        _ => Encoding::Amd,
    }
}

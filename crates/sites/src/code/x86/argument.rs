//! sites/code/x86/argument.rs: the value that an instruction in a driver's note moves.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register as Iced};

use kinst_base::machine::Machine;
use kinst_dwarf::variables::term::{Binary, Register, Term};

/// Returns the value that a `mov` to the accumulator would load.
pub(super) fn value(code: &[u8], at: u64, bytes: u8) -> Option<Term> {
    let insn: Instruction = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
    if insn.mnemonic() != Mnemonic::Mov || insn.len() != code.len() || insn.op0_kind() != OpKind::Register {
        return None;
    }
    match insn.op1_kind() {
        OpKind::Register => register(insn.op1_register()),
        OpKind::Memory if insn.segment_prefix() == Iced::None => Some(Term::load(address(&insn)?, bytes)),
        OpKind::Memory => None,
        _ => insn.try_immediate(1).ok().map(Term::Constant),
    }
}

fn address(insn: &Instruction) -> Option<Term> {
    let displacement = insn.memory_displacement64();
    if insn.is_ip_rel_memory_operand()
        || insn.memory_base() == Iced::None && insn.memory_index() == Iced::None
    {
        return Some(Term::Address(displacement));
    }
    let mut sum = Term::Constant(0);
    if insn.memory_base() != Iced::None {
        sum = register(insn.memory_base())?;
    }
    if insn.memory_index() != Iced::None {
        let scale = Term::Constant(insn.memory_index_scale().into());
        let index = Term::binary(Binary::Mul, register(insn.memory_index())?, scale);
        sum = Term::binary(Binary::Add, sum, index);
    }
    Some(Term::binary(Binary::Add, sum, Term::Constant(displacement)))
}

/// Returns a general register; the argument's type says how much of it counts.
fn register(register: Iced) -> Option<Term> {
    use Iced as R;
    let number = match register.full_register() {
        _ if matches!(register, R::AH | R::BH | R::CH | R::DH) => return None,
        R::RAX => 0,
        R::RDX => 1,
        R::RCX => 2,
        R::RBX => 3,
        R::RSI => 4,
        R::RDI => 5,
        R::RBP => 6,
        R::RSP => 7,
        other if (R::R8..=R::R15).contains(&other) => 8 + (other as u16 - R::R8 as u16),
        _ => return None,
    };
    Register::new(Machine::X86_64, number).map(Term::Register)
}

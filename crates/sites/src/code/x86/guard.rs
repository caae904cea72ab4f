//! sites/code/x86/guard.rs: the register in which gcc's stack protector has the guard.

use super::deciding::general;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register as Name};

/// The longest beginning of the check: `mov %gs:0x28,%rdx` and `mov %rdx,0x100(%rsp)`.
const LONGEST: usize = 17;

fn in_segment(insn: &Instruction) -> bool {
    matches!(insn.segment_prefix(), Name::GS | Name::FS)
}

/// Whether it reads the place of the guard in the segment, which older kernels and all programs have.
fn at_guard(insn: &Instruction) -> bool {
    insn.memory_base() == Name::None && insn.memory_displacement64() == 0x28
}

fn on_stack(insn: &Instruction) -> bool {
    matches!(insn.memory_base(), Name::RSP | Name::RBP) && insn.segment_prefix() == Name::None
}

/// The register of `mov MEMORY,REGISTER`.
fn loads(insn: &Instruction) -> Option<Name> {
    let is_load = insn.mnemonic() == Mnemonic::Mov && insn.op1_kind() == OpKind::Memory;
    (is_load && insn.op0_kind() == OpKind::Register).then(|| insn.op0_register())
}

/// Returns the register that has the guard or its copy at the instruction `at` bytes into `code`, by number.
pub(super) fn guarded(code: &[u8], at: usize) -> Vec<u8> {
    let starts = (at.saturating_sub(LONGEST)..at).filter(|start| *start < code.len());
    starts.filter_map(|start| check(&code[start..], at - start)).collect()
}

/// The register, if `code` begins with a check that has an instruction at `at`.
fn check(code: &[u8], at: usize) -> Option<u8> {
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let (first, second, third) = (decoder.decode(), decoder.decode(), decoder.decode());
    let register = loads(&first)?;
    let is_cleared = third.mnemonic() == Mnemonic::Xor
        && third.op0_register() == third.op1_register()
        && third.op0_register().full_register() == register;
    // The compiler may replace the clearing by the next write to the register.
    let is_copied = in_segment(&first)
        && second.mnemonic() == Mnemonic::Mov
        && second.op0_kind() == OpKind::Memory
        && on_stack(&second)
        && second.op1_register() == register
        && (is_cleared || at_guard(&first));
    let is_compared = on_stack(&first)
        && matches!(second.mnemonic(), Mnemonic::Sub | Mnemonic::Xor)
        && second.op0_register() == register
        && second.op1_kind() == OpKind::Memory
        && in_segment(&second);
    let at = at as u64;
    let inside = is_copied && (at == second.ip() || at == third.ip()) || is_compared && at == second.ip();
    inside.then(|| general(register)).flatten().map(|register| register.number())
}

#[cfg(test)]
mod tests {
    use super::guarded;

    fn places(code: &[u8]) -> Vec<(usize, u8)> {
        (0..code.len()).flat_map(|at| guarded(code, at).into_iter().map(move |number| (at, number))).collect()
    }

    #[test]
    fn the_guard_is_copied_and_compared() {
        // nop; mov %gs:0x28,%rdx; mov %rdx,0x10(%rsp); xor %edx,%edx; nop
        let copied = [
            &[0x90][..],
            &[0x65, 0x48, 0x8b, 0x14, 0x25, 0x28, 0, 0, 0],
            &[0x48, 0x89, 0x54, 0x24, 0x10],
            &[0x31, 0xd2, 0x90],
        ];
        assert_eq!(places(&copied.concat()), [(10, 1), (15, 1)]);
        // mov %gs:0x28,%rsi; mov %rsi,0x10(%rsp); mov %rcx,%rsi
        let replaced = [
            &[0x65, 0x48, 0x8b, 0x34, 0x25, 0x28, 0, 0, 0][..],
            &[0x48, 0x89, 0x74, 0x24, 0x10],
            &[0x48, 0x89, 0xce],
        ];
        assert_eq!(places(&replaced.concat()), [(9, 4), (14, 4)]);
        // mov 0x10(%rsp),%rax; sub %gs:0x28,%rax; jne
        let compared = [
            &[0x48, 0x8b, 0x44, 0x24, 0x10][..],
            &[0x65, 0x48, 0x2b, 0x04, 0x25, 0x28, 0, 0, 0],
            &[0x75, 0x10],
        ];
        assert_eq!(places(&compared.concat()), [(5, 0)]);
    }

    #[test]
    fn other_code() {
        // mov %gs:0x30,%rdx; mov %rdx,0x10(%rsp); xor %eax,%eax
        let other = [
            &[0x65, 0x48, 0x8b, 0x14, 0x25, 0x30, 0, 0, 0][..],
            &[0x48, 0x89, 0x54, 0x24, 0x10],
            &[0x31, 0xc0],
        ];
        assert!(places(&other.concat()).is_empty());
        assert!(guarded(&[], 0).is_empty() && guarded(&[0x90], 4000).is_empty());
    }
}

//! sites/code/x86/classes.rs: instructions that the kernel module cannot relocate, and ones that write.

use iced_x86::{
    Decoder, DecoderOptions, EncodingKind, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

use crate::code::refusal::Refusal;

/// Returns why the first instruction of `code` cannot have a breakpoint. The module applies the same rules
/// (kmod/arch/x86/insn.c) and decides.
pub(super) fn refusal(code: &[u8], address: u64) -> Option<Refusal> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let insn = decoder.decode();
    if insn.is_invalid() {
        return Some(Refusal::Undecodable);
    }
    if insn.encoding() != EncodingKind::Legacy {
        return None;
    }
    // After sti, one instruction runs before an interrupt can occur; for hlt, that must not change.
    if insn.mnemonic() == Mnemonic::Sti && decoder.can_decode() && is_wait(decoder.decode().mnemonic()) {
        return Some(Refusal::StiHlt);
    }
    // Relative to a 32-bit address, or of a size that vendors interpret differently.
    if insn.is_ip_rel_memory_operand() && insn.memory_base() == Register::EIP {
        return Some(Refusal::Reach);
    }
    let bytes = code.get(..insn.len()).unwrap_or_default();
    if is_branch(&insn) && (has_prefix(bytes, 0x66) || is_jcx(&insn) && has_prefix(bytes, 0x67)) {
        return Some(Refusal::Undecodable);
    }
    of_instruction(&insn, bytes)
}

fn of_instruction(insn: &Instruction, bytes: &[u8]) -> Option<Refusal> {
    use Mnemonic as M;
    Some(match insn.mnemonic() {
        M::Hlt | M::Mwait | M::Mwaitx => Refusal::StiHlt,
        M::Int | M::Int1 | M::Int3 | M::Into => Refusal::Int,
        M::Iret | M::Iretd | M::Iretq | M::Retf | M::Syscall | M::Sysret | M::Sysretq => Refusal::Iret,
        M::Sysenter | M::Sysexit | M::Sysexitq | M::Erets | M::Eretu => Refusal::Iret,
        M::Ud0 | M::Ud1 | M::Ud2 => Refusal::Undefined,
        M::Endbr32 | M::Endbr64 => Refusal::Endbr,
        M::Lss => Refusal::StackSegment,
        M::Mov if insn.op0_register() == Register::SS => Refusal::StackSegment,
        M::Call | M::Jmp if is_far(insn) => Refusal::Iret,
        M::Call if uses_rsp(insn) => Refusal::Rsp,
        M::Vmread | M::Vmwrite | M::Vmptrld | M::Vmptrst | M::Vmclear | M::Vmxon | M::Vmxoff => {
            Refusal::Privileged
        }
        M::Invept | M::Invvpid | M::Rsm | M::Xbegin | M::Xabort | M::Senduipi => Refusal::Privileged,
        // Register forms of 0f 01: only those known to be harmless pass.
        M::Clac | M::Monitor | M::Stac | M::Xgetbv | M::Xsetbv | M::Serialize => return None,
        M::Rdpkru | M::Wrpkru | M::Rdtscp | M::Monitorx => return None,
        _ if is_group_0f01(bytes) => Refusal::Privileged,
        _ => return None,
    })
}

/// Whether the instruction writes memory not addressed through the stack pointer, or is privileged.
pub(super) fn writes(bytes: &[u8]) -> bool {
    let insn = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    let mut factory = InstructionInfoFactory::new();
    let is_write = |access| {
        matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    };
    insn.is_privileged()
        || factory
            .info(&insn)
            .used_memory()
            .iter()
            .any(|memory| is_write(memory.access()) && memory.base() != Register::RSP)
}

fn is_wait(mnemonic: Mnemonic) -> bool {
    matches!(mnemonic, Mnemonic::Hlt | Mnemonic::Mwait | Mnemonic::Mwaitx)
}

fn is_branch(insn: &Instruction) -> bool {
    insn.is_jcc_short_or_near()
        || insn.is_jmp_short_or_near()
        || insn.is_call_near()
        || insn.is_jmp_near_indirect()
        || insn.is_call_near_indirect()
        || is_jcx(insn)
}

fn is_jcx(insn: &Instruction) -> bool {
    insn.is_jcx_short() || insn.is_loop() || insn.is_loopcc()
}

fn is_far(insn: &Instruction) -> bool {
    insn.is_jmp_far() || insn.is_jmp_far_indirect() || insn.is_call_far() || insn.is_call_far_indirect()
}

/// Whether the operand uses rsp: in a slot, the return address is pushed first and changes it.
fn uses_rsp(insn: &Instruction) -> bool {
    insn.op0_register() == Register::RSP
        || insn.op0_kind() == OpKind::Memory && insn.memory_base() == Register::RSP
}

/// Whether it is one of the instructions for virtual machines, enclaves and the like, each encoded by a ModRM
/// byte. Those with a memory operand, smsw and lmsw are ordinary ones.
fn is_group_0f01(bytes: &[u8]) -> bool {
    let opcode = bytes.iter().position(|byte| !is_prefix(*byte) && !matches!(byte, 0x40..=0x4f));
    match opcode.and_then(|at| bytes.get(at..at + 3)) {
        Some([0x0f, 0x01, modrm]) => *modrm >= 0xc0 && !matches!((modrm >> 3) & 7, 4 | 6),
        _ => false,
    }
}

/// Whether the prefix precedes the opcode.
fn has_prefix(bytes: &[u8], prefix: u8) -> bool {
    bytes.iter().take_while(|byte| is_prefix(**byte)).any(|byte| *byte == prefix)
}

fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3)
}

#[cfg(test)]
mod tests {
    use super::{Refusal, refusal, writes};

    #[test]
    fn stores() {
        assert!(writes(&[0x48, 0x89, 0x07]), "mov %rax, (%rdi)");
        assert!(writes(&[0xf0, 0xff, 0x0f]), "lock decl (%rdi)");
        assert!(writes(&[0x48, 0xff, 0x05, 0, 0, 0, 0]), "incq 0(%rip)");
        assert!(writes(&[0xfa]), "cli");
        assert!(!writes(&[0x48, 0x8b, 0x07]), "mov (%rdi), %rax");
        assert!(!writes(&[0x48, 0x89, 0x44, 0x24, 8]), "mov %rax, 8(%rsp)");
        assert!(!writes(&[0x55]) && !writes(&[0x90]), "push, nop");
    }

    #[test]
    fn classes() {
        let cases: &[(&[u8], Option<Refusal>)] = &[
            (&[0x55], None),
            (&[0xe8, 0, 0, 0, 0], None),
            (&[0x66, 0xe8, 0, 0, 0, 0], Some(Refusal::Undecodable)),
            (&[0x06], Some(Refusal::Undecodable)),
            (&[0xf4], Some(Refusal::StiHlt)),
            (&[0xfb, 0xf4], Some(Refusal::StiHlt)),
            (&[0xfb, 0x90], None),
            (&[0xfb], None),
            (&[0xcc], Some(Refusal::Int)),
            (&[0xcd, 0x80], Some(Refusal::Int)),
            (&[0x48, 0xcf], Some(Refusal::Iret)),
            (&[0xcb], Some(Refusal::Iret)),
            (&[0x0f, 0x05], Some(Refusal::Iret)),
            (&[0x0f, 0x0b], Some(Refusal::Undefined)),
            (&[0xf3, 0x0f, 0x1e, 0xfa], Some(Refusal::Endbr)),
            (&[0x8e, 0xd0], Some(Refusal::StackSegment)),
            (&[0x8e, 0xd8], None),
            (&[0x0f, 0x01, 0xf8], Some(Refusal::Privileged)), // swapgs
            (&[0x0f, 0x01, 0xc1], Some(Refusal::Privileged)), // vmcall
            (&[0x0f, 0x01, 0xca], None),                      // clac
            (&[0x0f, 0x01, 0x18], None),                      // lidt
            (&[0x0f, 0x01, 0x38], None),                      // invlpg
            (&[0x0f, 0x78, 0xc0], Some(Refusal::Privileged)), // vmread
            (&[0xc7, 0xf8, 0, 0, 0, 0], Some(Refusal::Privileged)), // xbegin
            (&[0xff, 0xd4], Some(Refusal::Rsp)),              // call *%rsp
            (&[0xff, 0x14, 0x24], Some(Refusal::Rsp)),        // call *(%rsp)
            (&[0xff, 0xd0], None),
            (&[0x67, 0x8b, 0x05, 0, 0, 0, 0], Some(Refusal::Reach)), // mov 0(%eip), %eax
        ];
        for (code, expected) in cases {
            assert_eq!(refusal(code, 0x1000), *expected, "{code:02x?}");
        }
    }
}

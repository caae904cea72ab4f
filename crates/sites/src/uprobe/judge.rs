//! sites/uprobe/judge.rs: the decision whether an instruction can have a uprobe.

use super::kernel::{self, Read};
use super::refused::Refused;
use crate::code::x86::{Encoding, Shape, shape};
use kinst_base::machine::Machine;
use kinst_os::uprobe::Nop5;

/// How the kernel executes the instruction that a probe displaced. The first is about ten times faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// By changing the registers itself: relative jumps and calls, pushes of registers, and `nop`, in all
    /// kernels since 6.1. Later ones emulate more.
    Emulated,
    /// As a copy in another page, in a single step.
    Stepped,
}

/// Decides whether the first instruction of `bytes` can have a uprobe in all kernels since 6.1. `nop5` is the
/// running kernel's behaviour at nops of five bytes.
///
/// Refused are the instructions that the kernel refuses, and those that it accepts but does not execute as
/// the processor does. The x87 instructions are accepted, although the address of the last one, which
/// `fnstenv` stores, is then that of the copy. On kernels that do not maintain shadow stacks at probed
/// calls, programs with a shadow stack cannot have probes there, which is not visible in the bytes.
pub fn judge(machine: Machine, bytes: &[u8], nop5: Nop5) -> Result<Way, Refused> {
    if machine != Machine::X86_64 {
        return Err(Refused::Machine);
    }
    let shape = shape(bytes).ok_or(Refused::Undecodable)?;
    let bytes = bytes.get(..usize::from(shape.len)).ok_or(Refused::Undecodable)?;
    let read = Read::of(bytes)?;
    if let Some(refused) = read.bad_prefix() {
        return Err(refused);
    }
    match shape.encoding {
        Encoding::Legacy => legacy(&read, &shape, nop5),
        Encoding::Vector => vector(&read),
        // The kernel's decoder does not have them.
        Encoding::Amd => Err(Refused::Vector),
    }
}

fn vector(read: &Read<'_>) -> Result<Way, Refused> {
    let (encoding, code) = read.vector().ok_or(Refused::Undecodable)?;
    let opcode = *code.first().ok_or(Refused::Undecodable)?;
    match opcode {
        _ if kernel::is_refused(opcode) || kernel::is_unknown(encoding, opcode) => Err(Refused::Vector),
        // The kernel sees a load of %ss.
        0x8e if code.get(1).is_some_and(|modrm| kernel::reg(*modrm) == 2) => Err(Refused::Vector),
        _ if kernel::is_mistaken(opcode) => Err(Refused::Mistaken),
        _ => Ok(Way::Stepped),
    }
}

fn legacy(read: &Read<'_>, shape: &Shape, nop5: Nop5) -> Result<Way, Refused> {
    if let Some(refused) = never(read, shape) {
        return Err(refused);
    }
    let is_repeated =
        read.has_repeat() && (shape.is_string || matches!(read.opcode, [0x0f, 0xa6 | 0xa7, ..]));
    if is_repeated {
        return Err(Refused::Repeated);
    }
    if read.has(0x66) && is_branch(read) {
        return Err(Refused::Word);
    }
    if read.opcode[0] == 0x90 && read.rex & 1 != 0 {
        // xchg %r8, %rax
        return Err(Refused::Mistaken);
    }
    if shape.is_relative
        && let [0x0f, map @ (0x38 | 0x3a), opcode, ..] = *read.opcode
        && !kernel::is_known(map, opcode)
    {
        return Err(Refused::Relative);
    }
    if nop5 != Nop5::Kept && shape.len == 5 && may_become_a_call(read) {
        return Err(Refused::RedZone);
    }
    Ok(way(read, shape.len))
}

/// Returns why an instruction cannot be executed elsewhere, or by a program at all.
fn never(read: &Read<'_>, shape: &Shape) -> Option<Refused> {
    if shape.is_transaction {
        return Some(Refused::Transaction);
    }
    Some(match *read.opcode {
        [0xcc | 0xcd | 0xf1, ..] => Refused::Interrupt,
        [0xca | 0xcb | 0xcf, ..] => Refused::Far,
        [0xff, modrm, ..] if matches!(kernel::reg(modrm), 3 | 5) => Refused::Far,
        [0x0f, 0x05 | 0x34, ..] => Refused::SystemCall,
        [0x9c, ..] => Refused::Flags,
        [0x8e, modrm, ..] if kernel::reg(modrm) == 2 => Refused::StackSegment,
        [0x0f, 0xb2, ..] => Refused::StackSegment,
        _ if shape.is_privileged => Refused::Privileged,
        [0x0f, 0x00, ..] => Refused::System,
        [0x0f, 0x01, modrm, ..] if read.has(0x66) || read.has_repeat() || !is_ordinary(modrm) => {
            Refused::System
        }
        [opcode, ..] if kernel::is_refused(opcode) => Refused::Privileged,
        // extrq and insertq of AMD, which the kernel's decoder takes for parts of AVX-512.
        [0x0f, 0x78 | 0x79, ..] => Refused::Vector,
        _ => return None,
    })
}

/// Whether an instruction of the group 0f 01 needs no privilege and no emulation: xgetbv, xtest, serialize,
/// rdpkru, wrpkru, rdtscp, clzero, rdpru.
fn is_ordinary(modrm: u8) -> bool {
    matches!(modrm, 0xd0 | 0xd6 | 0xe8 | 0xee | 0xef | 0xf9 | 0xfc | 0xfd)
}

/// Whether a branch has 16 bits with an operand-size prefix, on one vendor's processors at least. The kernel
/// refuses the relative ones with that prefix even if REX.W overrides it.
fn is_branch(read: &Read<'_>) -> bool {
    let is_wide = read.rex & 8 != 0;
    match *read.opcode {
        [0x70..=0x7f | 0xe8 | 0xe9 | 0xeb, ..] | [0x0f, 0x80..=0x8f, ..] => true,
        [0xc2 | 0xc3 | 0xe0..=0xe3, ..] => !is_wide,
        [0xff, modrm, ..] => matches!(kernel::reg(modrm), 2 | 4) && !is_wide,
        _ => false,
    }
}

/// Whether a kernel takes an instruction of five bytes for a nop that it replaces by a call: in 6.18, `nop`
/// and `nopl` with any prefixes; later also moves and jumps without effect.
fn may_become_a_call(read: &Read<'_>) -> bool {
    match *read.opcode {
        [0x90, ..] => true,
        [0x0f, 0x1f, modrm, ..] => kernel::reg(modrm) == 0,
        [0x89, modrm, ..] => modrm >= 0xc0 && kernel::reg(modrm) == modrm & 7,
        // A register's own address, without an index.
        [0x8d, modrm @ 0x40..0xc0, ref rest @ .., 0] => match (modrm & 7, rest) {
            (4, [sib, ..]) => sib & 7 == kernel::reg(modrm) && sib >> 3 & 7 == 4,
            (base, _) => base == kernel::reg(modrm),
        },
        [0xe9, ref to @ ..] | [0xeb, ref to @ ..] => to.iter().all(|byte| *byte == 0),
        _ => false,
    }
}

fn way(read: &Read<'_>, len: u8) -> Way {
    match *read.opcode {
        [0x70..=0x7f | 0xe8 | 0xe9 | 0xeb, ..] | [0x0f, 0x80..=0x8f, ..] => Way::Emulated,
        // With the prefix it is `pause`, which later kernels step.
        [0x90, ..] if !read.has(0xf3) => Way::Emulated,
        [0x50..=0x57, ..] if len == 1 || len == 2 && read.rex == 0x41 => Way::Emulated,
        _ => Way::Stepped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(bytes: &[u8]) -> Result<Way, Refused> {
        judge(Machine::X86_64, bytes, Nop5::Overwritten)
    }

    #[test]
    fn emulated_and_stepped() {
        use Way::{Emulated as E, Stepped as S};
        let cases: &[(&[u8], Way)] = &[
            (&[0x55], E),                                      // push %rbp
            (&[0x41, 0x57], E),                                // push %r15
            (&[0x40, 0x55], S),                                // rex push %rbp
            (&[0x66, 0x55], S),                                // push %bp
            (&[0x6a, 0x01], S),                                // push $1
            (&[0x90], E),                                      // nop
            (&[0x66, 0x90], E),                                // xchg %ax, %ax
            (&[0xf3, 0x90], S),                                // pause
            (&[0x0f, 0x1f, 0x40, 0x00], S),                    // nopl 0(%rax)
            (&[0xe8, 0, 0, 0, 0], E),                          // call
            (&[0xf2, 0xe8, 0, 0, 0, 0], E),                    // bnd call
            (&[0xe9, 1, 0, 0, 0], E),                          // jmp
            (&[0xeb, 0xfe], E),                                // jmp .
            (&[0x75, 0x10], E),                                // jne
            (&[0x0f, 0x85, 0, 1, 0, 0], E),                    // jne
            (&[0xe3, 0x10], S),                                // jrcxz
            (&[0xe2, 0x10], S),                                // loop
            (&[0xc3], S),                                      // ret
            (&[0xf3, 0xc3], S),                                // repz ret
            (&[0xff, 0xd0], S),                                // call *%rax
            (&[0xff, 0x15, 0, 0, 0, 0], S),                    // call *0(%rip)
            (&[0x66, 0x48, 0xff, 0x15, 0, 0, 0, 0], S),        // data16 rex.W call *0(%rip)
            (&[0xff, 0x25, 0, 0, 0, 0], S),                    // jmp *0(%rip)
            (&[0x48, 0x89, 0xe5], S),                          // mov %rsp, %rbp
            (&[0xf3, 0x0f, 0x1e, 0xfa], S),                    // endbr64
            (&[0x64, 0x48, 0x8b, 0x04, 0x25, 40, 0, 0, 0], S), // mov %fs:40, %rax
            (&[0xaa], S),                                      // stosb, once
            (&[0xf2, 0x0f, 0x10, 0x05, 0, 0, 0, 0], S),        // movsd 0(%rip), %xmm0
            (&[0x9d], S),                                      // popf
            (&[0x0f, 0x0b], S),                                // ud2
            (&[0x0f, 0x31], S),                                // rdtsc
            (&[0x0f, 0x01, 0xd0], S),                          // xgetbv
            (&[0xc5, 0xf0, 0x58, 0xc0], S),                    // vaddps %xmm0, %xmm1, %xmm0
            (&[0xc4, 0xe3, 0x71, 0x0f, 0xc0, 4], S),           // vpalignr $4, %xmm0, %xmm1, %xmm0
            (&[0x62, 0xf1, 0x74, 0x48, 0x58, 0xc0], S),        // vaddps %zmm0, %zmm1, %zmm0
            (&[0x66, 0x0f, 0x38, 0x00, 0x05, 0, 0, 0, 0], S),  // pshufb 0(%rip), %xmm0
        ];
        for (bytes, way) in cases {
            assert_eq!(decision(bytes), Ok(*way), "{bytes:02x?}");
            // The bytes after it have no influence.
            assert_eq!(decision(&[bytes, &[0xcc; 4][..]].concat()), Ok(*way), "{bytes:02x?}");
        }
    }

    #[test]
    fn refused_by_the_kernel() {
        let cases: &[(&[u8], Refused)] = &[
            (&[], Refused::Undecodable),
            (&[0x06], Refused::Undecodable),
            (&[0x48, 0x8b], Refused::Undecodable),
            (&[0xf0, 0x48, 0x0f, 0xc1, 0x07], Refused::Lock), // lock xadd %rax, (%rdi)
            (&[0x3e, 0xff, 0xe0], Refused::Segment),          // notrack jmp *%rax
            (&[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], Refused::Segment), // cs nopw
            (&[0xcc], Refused::Interrupt),
            (&[0xcd, 0x80], Refused::Interrupt),
            (&[0xf1], Refused::Interrupt),
            (&[0xf4], Refused::Privileged),                         // hlt
            (&[0xfa], Refused::Privileged),                         // cli
            (&[0xec], Refused::Privileged),                         // in %dx, %al
            (&[0x6c], Refused::Privileged),                         // insb
            (&[0x48, 0xcf], Refused::Far),                          // iretq
            (&[0x8e, 0xd0], Refused::StackSegment),                 // mov %eax, %ss
            (&[0x66, 0xe8, 0, 0, 0, 0], Refused::Word),             // data16 call
            (&[0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0], Refused::Word), // data16 rex.W call
            (&[0xc5, 0xf1, 0xef, 0xc0], Refused::Vector),           // vpxor %xmm0, %xmm1, %xmm0
            (&[0xc4, 0xe2, 0x7f, 0xcc, 0xc1], Refused::Vector),     // vsha512msg1 %xmm1, %ymm0
            (&[0xc5, 0xfe, 0x6f, 0x06], Refused::Vector),           // vmovdqu (%rsi), %ymm0
            (&[0x66, 0x0f, 0x79, 0xc1], Refused::Vector),           // extrq %xmm1, %xmm0
            (&[0xc4, 0xe3, 0xf9, 0x6b, 0xc1, 0], Refused::Vector),  // vfmaddsd (FMA4)
            (&[0x8f, 0xe9, 0x78, 0xe1, 0xc0], Refused::Vector),     // vphaddbw %xmm0, %xmm0 (XOP)
        ];
        for (bytes, refused) in cases {
            assert_eq!(decision(bytes), Err(*refused), "{bytes:02x?}");
        }
    }

    #[test]
    fn executed_differently_by_the_kernel() {
        let cases: &[(&[u8], Refused)] = &[
            (&[0x9c], Refused::Flags),                                  // pushf
            (&[0xf3, 0xaa], Refused::Repeated),                         // rep stosb
            (&[0xf2, 0xae], Refused::Repeated),                         // repnz scasb
            (&[0x0f, 0x05], Refused::SystemCall),                       // syscall
            (&[0x49, 0x90], Refused::Mistaken),                         // xchg %r8, %rax
            (&[0xc5, 0xfe, 0x7f, 0x06], Refused::Mistaken),             // vmovdqu %ymm0, (%rsi)
            (&[0xc5, 0xf8, 0x77], Refused::Mistaken),                   // vzeroupper
            (&[0xc5, 0xf1, 0xeb, 0xc0], Refused::Mistaken),             // vpor %xmm0, %xmm1, %xmm0
            (&[0xc5, 0xf0, 0xc2, 0xc0, 0], Refused::Mistaken),          // vcmpeqps %xmm0, %xmm1, %xmm0
            (&[0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x06], Refused::Mistaken), // vmovdqu64 %zmm0, (%rsi)
            (&[0xcb], Refused::Far),                                    // lret
            (&[0x48, 0xff, 0x1f], Refused::Far),                        // rex.W lcall *(%rdi)
            (&[0x0f, 0xb2, 0x07], Refused::StackSegment),               // lss (%rdi), %eax
            (&[0xc7, 0xf8, 0, 0, 0, 0], Refused::Transaction),          // xbegin
            (&[0x0f, 0x01, 0x07], Refused::System),                     // sgdt (%rdi)
            (&[0x0f, 0x01, 0xd7], Refused::System),                     // enclu
            (&[0x48, 0x66, 0x8b, 0x05, 0, 0, 0, 0], Refused::Prefixes), // a REX prefix without effect
            (&[0x26, 0x64, 0x66, 0x67, 0xf2, 0xa4], Refused::Prefixes),
            (&[0x66, 0xc3], Refused::Word),                             // retw
            (&[0x0f, 0x38, 0xfc, 0x05, 0, 0, 0, 0], Refused::Relative), // aadd %eax, 0(%rip)
        ];
        for (bytes, refused) in cases {
            assert_eq!(decision(bytes), Err(*refused), "{bytes:02x?}");
        }
    }

    #[test]
    fn nops_of_five_bytes() {
        let nops: [&[u8]; 6] = [
            &[0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x67, 0x0f, 0x1f, 0x40, 0x00],
            &[0x66, 0x66, 0x66, 0x66, 0x90],
            &[0x48, 0x8d, 0x64, 0x24, 0x00], // lea 0(%rsp), %rsp
            &[0xe9, 0, 0, 0, 0],
            &[0xf2, 0x66, 0x48, 0x89, 0xc0],
        ];
        for nop in nops {
            assert_eq!(decision(nop), Err(Refused::RedZone), "{nop:02x?}");
            assert!(judge(Machine::X86_64, nop, Nop5::Kept).is_ok(), "{nop:02x?}");
            let unknown = Nop5::Unknown(kinst_os::uprobe::Untested::NoProbe);
            assert_eq!(judge(Machine::X86_64, nop, unknown), Err(Refused::RedZone));
        }
        // Other lengths, other effects.
        let others: [&[u8]; 5] = [
            &[0x0f, 0x1f, 0x40, 0x00],
            &[0xe9, 1, 0, 0, 0],
            &[0x48, 0x8d, 0x64, 0x24, 8],
            &[0x43, 0x8d, 0x44, 0x6d, 0], // lea 0(%r13,%r13,2), %eax
            &[0x48, 0x8d, 0x44, 0x24, 0], // lea 0(%rsp), %rax
        ];
        for other in others {
            assert!(decision(other).is_ok(), "{other:02x?}");
        }
    }

    #[test]
    fn other_machines() {
        assert_eq!(judge(Machine::Aarch64, &[0x1f, 0x20, 0x03, 0xd5], Nop5::Kept), Err(Refused::Machine));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_a_decision(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..18)) {
            // A decision depends on the instruction alone.
            let cut = shape(&bytes).map_or(bytes.len(), |shape| shape.len.into());
            assert_eq!(decision(&bytes), decision(&bytes[..cut]));
        }
    }
}

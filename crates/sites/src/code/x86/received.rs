//! sites/code/x86/received.rs: the registers in which the code of a function gets values from its caller.

use super::deciding::general;
use iced_x86::{Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, OpAccess};
use kinst_dwarf::variables::term::Register;

/// The limit on instructions: a function that is not optimised stores its arguments first.
const MOST: usize = 256;

/// Returns the registers that the code reads before it writes to them, up to the first call or jump that is always taken.
pub(super) fn received(code: &[u8], address: u64) -> Vec<Register> {
    let mut factory = InstructionInfoFactory::new();
    let (mut read, mut written) = (Vec::new(), Vec::new());
    for insn in Decoder::with_ip(64, code, address, DecoderOptions::NONE).iter().take(MOST) {
        let reads = |access| {
            matches!(
                access,
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            )
        };
        let used = factory.info(&insn).used_registers();
        let named = |wanted: &dyn Fn(OpAccess) -> bool| -> Vec<Register> {
            let used = used.iter().filter(|used| wanted(used.access()));
            used.filter_map(|used| general(used.register())).collect()
        };
        read.extend(named(&reads).into_iter().filter(|register| !written.contains(register)));
        written.extend(named(&|access| !reads(access)));
        if !matches!(insn.flow_control(), FlowControl::Next | FlowControl::ConditionalBranch) {
            break;
        }
    }
    read.sort_by_key(|register| register.number());
    read.dedup();
    read
}

#[cfg(test)]
mod tests {
    use super::received;

    #[test]
    fn registers_that_are_read_first() {
        let numbers = |code: &[&[u8]]| -> Vec<u8> {
            received(&code.concat(), 0x1000).into_iter().map(|register| register.number()).collect()
        };
        let (push, frame) = (&[0x55][..], &[0x48, 0x89, 0xe5][..]);
        let store_rdi = &[0x48, 0x89, 0x7d, 0xf8][..];
        let store_esi = &[0x89, 0x75, 0xf4][..];
        // The frame's own registers are read too: 6 is %rbp, 7 is %rsp.
        assert_eq!(numbers(&[push, frame, store_rdi, store_esi]), [4, 5, 6, 7]);
        // lea 0(%rip),%rdi and xor %esi,%esi come first.
        let (lea, zero) = (&[0x48, 0x8d, 0x3d, 0, 0, 0, 0][..], &[0x31, 0xf6][..]);
        assert_eq!(numbers(&[lea, store_rdi, zero, store_esi]), [6]);
        // A call and all after it.
        let call = &[0xe8, 0, 0, 0, 0][..];
        assert_eq!(numbers(&[call, store_rdi]), [7]);
        // A branch that may not be taken.
        assert_eq!(numbers(&[&[0x75, 0xf6], store_rdi]), [5, 6]);
        assert!(numbers(&[&[0x06]]).is_empty());
    }
}

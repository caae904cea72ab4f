//! sites/code/arm64/words.rs: code as 32-bit words, and branch targets.

use super::flow;
use crate::code::set::Control;

pub(super) const LEN: u8 = 4;

/// Returns the words of `code`; an incomplete last one is dropped.
pub(super) fn words(code: &[u8]) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator {
    code.chunks_exact(LEN.into()).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

pub(super) fn first(code: &[u8]) -> Option<u32> {
    words(code).next()
}

/// Returns the target of a direct jump, branch or call, if the word is one.
pub(super) fn target(word: u32, address: u64) -> Option<u64> {
    match flow::control(word, address) {
        Control::Jump(to) | Control::Branch(to) | Control::Call(to) => Some(to),
        _ => None,
    }
}

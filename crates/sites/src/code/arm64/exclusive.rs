//! sites/code/arm64/exclusive.rs: the instructions from an exclusive load to the store that ends it, which the module
//! refuses (kmod/places/exclusive.c): a trap there makes the store fail, and the loop around both never ends.

use super::flow;
use super::words::words;
use crate::code::set::Control;
use std::collections::BTreeSet;

/// The most instructions of a sequence.
const MOST: usize = 64;
/// The most instructions that are looked at for one load, on all of its paths.
const STEPS: usize = 1 << 12;

/// Returns the indices of the instructions in sequences.
pub(super) fn indices(code: &[u8]) -> BTreeSet<usize> {
    let words: Vec<u32> = words(code).collect();
    let mut found = BTreeSet::new();
    for (first, _) in words.iter().enumerate().filter(|(_, word)| begins(**word)) {
        Sequences { words: &words, steps: STEPS }.mark(first, MOST, &mut found);
    }
    found
}

/// ldxr, stxr and their kin; not ldar (bit 23) and casp (bit 21, not 31).
pub(super) fn is_exclusive(word: u32) -> bool {
    word & 0x3f00_0000 == 0x0800_0000 && word & 1 << 23 == 0 && (word & 1 << 21 == 0 || word >> 31 == 1)
}

fn begins(word: u32) -> bool {
    is_exclusive(word) && word & 1 << 22 != 0
}

/// A store, or clrex.
fn ends(word: u32) -> bool {
    is_exclusive(word) && word & 1 << 22 == 0 || word & 0xffff_f0ff == 0xd503_305f
}

struct Sequences<'w> {
    words: &'w [u32],
    steps: usize,
}

impl Sequences<'_> {
    /// Returns how many instructions from an index on, in the order of the text, belong to a sequence: all up to the
    /// last from which its store can be reached.
    fn length(&mut self, from: usize, room: usize) -> usize {
        let mut last = 0;
        for n in 1..=room {
            let Some(word) = self.words.get(from + n - 1).copied().filter(|_| self.steps > 0) else { break };
            self.steps -= 1;
            if ends(word) {
                return n;
            }
            if n > 1 && begins(word) {
                break;
            }
            if self.forward(word, from + n - 1).is_some_and(|to| self.length(to, room - n) > 0) {
                last = n;
            }
            if flow::calls(word) || !matches!(flow::control(word, 0), Control::Next | Control::Branch(_)) {
                break;
            }
        }
        last
    }

    /// Adds a sequence, and the parts of it to which its branches lead.
    fn mark(&mut self, from: usize, room: usize, found: &mut BTreeSet<usize>) {
        let length = self.length(from, room);
        let end = from + length;
        for at in from..end {
            found.insert(at);
            let is_branch = matches!(flow::control(self.words[at], 0), Control::Branch(_));
            if let Some(to) = self.forward(self.words[at], at).filter(|to| is_branch && *to >= end) {
                self.mark(to, room - length, found);
            }
        }
    }

    /// The index of the instruction that a branch goes to, further on in the function.
    fn forward(&self, word: u32, at: usize) -> Option<usize> {
        let (Control::Branch(to) | Control::Jump(to)) = flow::control(word, 4 * at as u64) else {
            return None;
        };
        let to = usize::try_from(to / 4).ok()?;
        (at + 1..self.words.len()).contains(&to).then_some(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LDXR: u32 = 0x885f_7c00;
    const STXR: u32 = 0x8801_7c02;
    const NOP: u32 = 0xd503_201f;
    const RET: u32 = 0xd65f_03c0;

    fn of(words: &[u32]) -> Vec<usize> {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        indices(&code).into_iter().collect()
    }

    #[test]
    fn from_a_load_to_its_store() {
        // A loop: cbnz w1, .-8.
        assert_eq!(of(&[NOP, LDXR, NOP, STXR, 0x35ff_ffc1, NOP, RET]), [1, 2, 3]);
        // cbz w0 over the store, and clrex there.
        assert_eq!(of(&[LDXR, 0x3400_0060, STXR, RET, 0xd503_3f5f, RET]), [0, 1, 2, 4]);
        // The store is at the end of the function, where a branch leads.
        assert_eq!(of(&[LDXR, 0x3400_0080, NOP, RET, NOP, STXR, RET]), [0, 1, 5]);
        // A load without a store, and an acquiring load.
        assert_eq!(of(&[LDXR, NOP, RET, STXR]), [0; 0]);
        assert_eq!(of(&[0x88df_fc00, NOP, STXR]), [0; 0]);
    }

    /// Branches that all lead forward, where no store is.
    #[test]
    fn many_paths_end() {
        let mut words = vec![LDXR];
        words.extend([0x3400_0040; 4096]);
        assert_eq!(of(&words), [0; 0]);
    }
}

//! sites/code/arm64/guard.rs: the registers in which gcc's stack protector has the guard.

use super::words::words;

/// `ldr x0, [x1, #8]`: a load with any registers and any offset.
fn loads(word: u32) -> Option<u32> {
    (word & 0xffc0_0000 == 0xf940_0000).then_some(word & 31)
}

/// `str x0, [sp, #8]`, or with x29.
fn stores(word: u32, register: u32) -> bool {
    matches!(word & 0xffc0_03ff, word if word == 0xf900_03e0 | register || word == 0xf900_03a0 | register)
}

/// `mov x0, #0`
fn clears(word: u32, register: u32) -> bool {
    word == 0xd280_0000 | register
}

/// Returns the registers that have the guard or its copy at the instruction `at` bytes into `code`, by number.
pub(super) fn guarded(code: &[u8], at: usize) -> Vec<u8> {
    let at = at / 4;
    let begin = at.saturating_sub(3);
    let Some(code) = code.get(4 * begin..) else { return Vec::new() };
    let code: Vec<u32> = words(&code[..code.len().min(28)]).collect();
    let mut found = Vec::new();
    for (first, window) in code.windows(3).enumerate() {
        // The instruction in question, counted from the first of the check.
        let Some(step) = at.checked_sub(begin + first).filter(|step| *step > 0) else { break };
        let Some(one) = loads(window[0]) else { continue };
        // The guard is copied to the stack.
        if step <= 2 && stores(window[1], one) && clears(window[2], one) {
            found.push(one as u8);
        }
        // The copy is compared with it: subs, or eor.
        let Some(other) = loads(window[1]) else { continue };
        let compares = [0xeb00_0000, 0xca00_0000].map(|compare| compare | other << 16 | one << 5 | one);
        let ends = code.get(first + 3).is_some_and(|word| clears(*word, other));
        if step <= 3 && compares.contains(&window[2]) && ends {
            found.push(one as u8);
            found.extend((step > 1).then_some(other as u8));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::guarded;

    fn each(words: &[u32]) -> Vec<Vec<u8>> {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        (0..words.len()).map(|at| guarded(&code, 4 * at)).collect()
    }

    #[test]
    fn the_guard_is_copied_and_compared() {
        // nop; ldr x0, [x4, #1384]; str x0, [sp, #88]; mov x0, #0; nop
        let copied = each(&[0xd503_201f, 0xf942_b480, 0xf900_2fe0, 0xd280_0000, 0xd503_201f]);
        assert_eq!(copied, [&[][..], &[], &[0], &[0], &[]]);
        // ldr x2, [sp, #88]; ldr x1, [x0, #1384]; subs x2, x2, x1; mov x1, #0; nop
        let compared = each(&[0xf940_2fe2, 0xf942_b401, 0xeb01_0042, 0xd280_0001, 0xd503_201f]);
        assert_eq!(compared, [&[][..], &[2], &[2, 1], &[2, 1], &[]]);
    }

    #[test]
    fn other_code() {
        // The register that is cleared is another one; a store of another register.
        assert!(each(&[0xf942_b480, 0xf900_2fe0, 0xd280_0001]).concat().is_empty());
        assert!(each(&[0xf942_b480, 0xf900_2fe1, 0xd280_0000]).concat().is_empty());
        assert!(
            guarded(&[], 0).is_empty() && guarded(&[0; 6], 4).is_empty() && guarded(&[0; 8], 4000).is_empty()
        );
    }
}

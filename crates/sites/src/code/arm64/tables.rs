//! sites/code/arm64/tables.rs: the targets of jumps through tables, as gcc compiles a `switch`.
//!
//! `cmp w0, #4; b.hi other; adrp x1, table; add x1, x1, :lo12:table; ldrb w1, [x1, w0, uxtw]; adr x2, here;
//! add x1, x2, w1, sxtb #2; br x1`: the entries are distances from `here`, of one, two or four bytes, in
//! units of four.

use super::flow;
use crate::code::set::{Control, IndirectJump};

/// How far to search for the inputs of a jump, in instructions.
const FAR: usize = 64;
/// Maximum distance of a branch to the code of a jump, in instructions.
const REACH: usize = 1 << 12;
/// Maximum number of successive branches on the path to a jump.
const DEEP: usize = 4;

/// A function that reads the data at an address.
pub(super) type Data<'d> = dyn Fn(u64, usize) -> Option<Vec<u8>> + 'd;

/// Returns the indirect jumps of a section that stay in their function, by address.
pub(super) fn indirect_jumps(code: &[u8], address: u64, data: &Data<'_>) -> Vec<IndirectJump> {
    let code = Code { words: super::words::words(code).collect(), address };
    let jumps = (0..code.words.len()).filter(|at| {
        let word = code.words[*at];
        flow::control(word, 0) == Control::JumpIndirect
    });
    jumps
        .filter(|at| code.is_computed(*at))
        .map(|at| {
            let targets = code.targets(at, data).unwrap_or_default();
            IndirectJump { at: code.address_of(at), targets }
        })
        .collect()
}

/// The instructions of a section, by index.
struct Code {
    words: Vec<u32>,
    address: u64,
}

/// Fields of an instruction. Registers are in the same bits in all relevant encodings.
fn rd(word: u32) -> u32 {
    word & 0x1f
}

fn rn(word: u32) -> u32 {
    (word >> 5) & 0x1f
}

fn rm(word: u32) -> u32 {
    (word >> 16) & 0x1f
}

/// Matches `add x, x, w, sxtb #2` and its variants, and returns the size of an entry.
fn adds_entry(word: u32) -> Option<usize> {
    // Option and shift: sxtb, sxth or sxtw.
    match word & 0xffe0_fc00 {
        0x8b20_8800 => Some(1),
        0x8b20_a800 => Some(2),
        0x8b20_c800 => Some(4),
        _ => None,
    }
}

/// Whether it loads one, two or four bytes with an index extended from 32 bits, scaled by the size.
fn loads_entry(word: u32, bytes: usize) -> bool {
    let plain = match bytes {
        1 => 0x3860_4800,
        2 => 0x7860_5800,
        _ => 0xb860_5800,
    };
    // A 64-bit index differs only in the option.
    matches!(word & 0xffe0_fc00, masked if masked == plain || masked == plain | 0x2000)
}

/// Whether the instruction writes the register, according to the position of the destination in most encodings.
fn writes(word: u32, register: u32) -> bool {
    let is_load_or_store = word & 0x0a00_0000 == 0x0800_0000;
    let is_pair = word & 0x3a00_0000 == 0x2800_0000;
    match word {
        _ if is_pair => word & (1 << 22) != 0 && (rd(word) == register || (word >> 10) & 0x1f == register),
        _ if is_load_or_store && word & 0x3b00_0000 == 0x1800_0000 => rd(word) == register,
        _ if is_load_or_store => word & 0x00c0_0000 != 0 && rd(word) == register,
        // Branches and system instructions.
        _ if word & 0x1c00_0000 == 0x1400_0000 => word & 0xfff0_0000 == 0xd530_0000 && rd(word) == register,
        _ => rd(word) == register,
    }
}

impl Code {
    fn address_of(&self, at: usize) -> u64 {
        self.address.wrapping_add(at as u64 * 4)
    }

    /// Returns the last instruction before another one that writes the register, ignoring incoming branches.
    fn writer(&self, before: usize, register: u32) -> Option<usize> {
        (before.saturating_sub(FAR)..before).rev().find(|at| writes(self.words[*at], register))
    }

    /// Whether the target was computed by an addition or read from an array; any other is a tail call.
    fn is_computed(&self, jump: usize) -> bool {
        let Some(from) = self.writer(jump, rn(self.words[jump])) else { return false };
        let word = self.words[from];
        let is_sum = word & 0x7f20_0000 == 0x0b00_0000 || word & 0x7fe0_0000 == 0x0b20_0000;
        let is_array = word & 0xffe0_0c00 == 0xf860_0800;
        is_sum || is_array
    }

    fn targets(&self, jump: usize, data: &Data<'_>) -> Option<Vec<u64>> {
        let add = self.writer(jump, rn(self.words[jump]))?;
        let bytes = adds_entry(self.words[add])?;
        let from = self.address_in(add, rn(self.words[add]))?;
        let load = self.writer(add, rm(self.words[add])).filter(|at| loads_entry(self.words[*at], bytes))?;
        let table = self.address_in(load, rn(self.words[load]))?;
        let count = self.bound(load, rm(self.words[load]), DEEP)?;
        let entries = data(table, count.checked_mul(bytes)?)?;
        let end = self.address_of(self.words.len());
        let target = |entry: &[u8]| {
            let mut wide = if entry.last()? & 0x80 != 0 { [0xff; 8] } else { [0; 8] };
            wide.get_mut(..bytes)?.copy_from_slice(entry);
            let to = from.wrapping_add_signed(i64::from_le_bytes(wide).checked_mul(4)?);
            (self.address..end).contains(&to).then_some(to)
        };
        let mut targets = entries.chunks_exact(bytes).map(target).collect::<Option<Vec<u64>>>()?;
        targets.sort_unstable();
        targets.dedup();
        Some(targets)
    }

    /// Returns the constant in a register before an instruction: from `adr`, or `adrp` and `add`.
    fn address_in(&self, before: usize, register: u32) -> Option<u64> {
        let at = self.writer(before, register)?;
        let word = self.words[at];
        if word & 0x9f00_0000 == 0x1000_0000 {
            return Some(self.address_of(at).wrapping_add_signed(adr(word)));
        }
        // add, immediate, unshifted.
        if word & 0xffc0_0000 != 0x9100_0000 {
            return None;
        }
        let page = self.writer(at, rn(word)).filter(|at| self.words[*at] & 0x9f00_0000 == 0x9000_0000)?;
        let base = self.address_of(page) & !0xfff;
        let base = base.wrapping_add_signed(adr(self.words[page]).wrapping_mul(0x1000));
        Some(base.wrapping_add(((word >> 10) & 0xfff).into()))
    }

    /// Returns the number of possible index values at an instruction; `None` if some path to it does not
    /// compare the index.
    fn bound(&self, before: usize, index: u32, deep: usize) -> Option<usize> {
        let mut most = None;
        let mut start = before;
        while start > 0 && before - start < FAR {
            let word = self.words[start - 1];
            if flow::calls(word) || writes(word, index) {
                return None;
            }
            let control = flow::control(word, self.address_of(start - 1));
            let bounded = match control {
                Control::Branch(_) => self.compared(start - 1, index, false),
                _ => None,
            };
            if bounded.is_some() {
                most = bounded;
                break;
            }
            if !matches!(control, Control::Next | Control::Call(_) | Control::Branch(_)) {
                break;
            }
            start -= 1;
        }
        let run = self.address_of(start)..=self.address_of(before);
        let first = start.saturating_sub(REACH);
        for at in first..before.saturating_add(REACH).min(self.words.len()) {
            let known = match flow::control(self.words[at], self.address_of(at)) {
                Control::Branch(to) if run.contains(&to) && !(start..before).contains(&at) => {
                    self.compared(at, index, true)
                }
                Control::Jump(to) if run.contains(&to) && deep > 0 => self.bound(at, index, deep - 1),
                _ => continue,
            };
            most = Some(most.unwrap_or(0).max(known?));
        }
        most
    }

    /// Returns the number of index values with which a branch is taken (or not), if it follows a comparison
    /// of the index.
    fn compared(&self, branch: usize, index: u32, taken: bool) -> Option<usize> {
        let word = self.words[branch];
        if word & 0xff00_0010 != 0x5400_0000 {
            return None;
        }
        // Additions, subtractions and bit operations all set flags with this bit.
        let sets_flags = |word: u32| word & 0x3f00_0000 == 0x3100_0000 || word & 0x3f00_0000 == 0x2b00_0000;
        let from = (branch.saturating_sub(FAR)..branch).rev().find(|at| sets_flags(self.words[*at]))?;
        let test = self.words[from];
        // cmp, immediate.
        let is_same = test & 0x7fc0_001f == 0x7100_001f && rn(test) == index;
        if !is_same || (from + 1..branch).any(|at| writes(self.words[at], index)) {
            return None;
        }
        let number = ((test >> 10) & 0xfff) as usize;
        match (word & 0xf, taken) {
            // Unsigned higher; unsigned lower or same.
            (8, false) | (9, true) => Some(number + 1),
            // Unsigned higher or same; unsigned lower.
            (2, false) | (3, true) => Some(number),
            _ => None,
        }
    }
}

/// The immediate of adr and adrp.
fn adr(word: u32) -> i64 {
    let field = i64::from(((word >> 5) & 0x7_ffff) << 2 | (word >> 29) & 3);
    (field ^ (1 << 20)) - (1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 0x1_0000;
    const TABLE: u64 = 0x3_0010;

    /// cmp w0, #2; b.hi +36; adrp x1, TABLE; add x1, x1, #0x10; ldrb w1, [x1, w0, uxtw]; adr x2, +12;
    /// add x1, x2, w1, sxtb #2; br x1; nop; nop; ret
    const CODE: [u32; 11] = [
        0x7100_081f,
        0x5400_0128,
        0x9000_0101,
        0x9100_4021,
        0x3860_4821,
        0x1000_0062,
        0x8b21_8841,
        0xd61f_0020,
        0xd503_201f,
        0xd503_201f,
        0xd65f_03c0,
    ];

    fn jumps(words: &[u32], table: &[u8]) -> Vec<IndirectJump> {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let data = |at: u64, len: usize| {
            assert_eq!(at, TABLE);
            table.get(..len).map(<[u8]>::to_vec)
        };
        indirect_jumps(&code, AT, &data)
    }

    #[test]
    fn a_table_of_three_entries() {
        let jump = |targets: &[u64]| vec![IndirectJump { at: AT + 28, targets: targets.to_vec() }];
        assert_eq!(jumps(&CODE, &[0, 1, 2]), jump(&[AT + 32, AT + 36, AT + 40]));
        assert_eq!(jumps(&CODE, &[2, 2, 0xff]), jump(&[AT + 28, AT + 40]));
        assert_eq!(jumps(&CODE, &[0, 1]), jump(&[]), "it ends too early");
        assert_eq!(jumps(&CODE, &[0, 1, 0x7f]), jump(&[]), "beyond the section");
        let mut other = CODE;
        other[0] = 0x7100_083f;
        assert_eq!(jumps(&other, &[0, 1, 2]), jump(&[]), "another register is compared");
    }

    #[test]
    fn a_call_at_the_end_is_no_table() {
        // ldr x16, [x0, #8]; br x16
        assert_eq!(jumps(&[0xf940_0410, 0xd61f_0200], &[]), []);
        // ldr x1, [x2, w3, sxtw #3]; br x1
        let array = [0xf863_d841, 0xd61f_0020];
        assert_eq!(jumps(&array, &[]), [IndirectJump { at: AT + 4, targets: vec![] }]);
    }
}

//! sites/code/arm64/deciding.rs: the registers on which a branch depends, compared by itself or just before it.

use super::words::words;
use crate::code::deciding::Operand;
use kinst_base::machine::Machine;
use kinst_dwarf::variables::term::Register;

/// Returns the compared registers; `code` is a basic block.
pub(super) fn deciding(code: &[u8]) -> Vec<Operand> {
    let mut words = words(code).rev();
    let Some(branch) = words.next() else { return Vec::new() };
    // cbz, cbnz, tbz, tbnz.
    if branch & 0x7c00_0000 == 0x3400_0000 {
        let is_test = branch & 0x0200_0000 != 0;
        return operand(branch, 0, is_test || branch >> 31 != 0).into_iter().collect();
    }
    let (true, Some(test)) = (branch & 0xff00_0000 == 0x5400_0000, words.next()) else { return Vec::new() };
    let is_wide = test >> 31 != 0;
    // A comparison discards its result; other instructions of the kind may overwrite their operand.
    let registers: &[u32] = match test {
        _ if test & 0x1f != 31 => &[],
        // subs, adds, ands, immediate.
        _ if test & 0x1f80_0000 == 0x1100_0000 || test & 0x7f80_0000 == 0x7200_0000 => &[5],
        // With a register, shifted or extended.
        _ if test & 0x1f00_0000 == 0x0b00_0000 || test & 0x7f00_0000 == 0x6a00_0000 => &[5, 16],
        _ => &[],
    };
    let sets_flags = test & 0x2000_0000 != 0;
    let operands = registers.iter().filter(|_| sets_flags).filter_map(|at| operand(test, *at, is_wide));
    let mut found: Vec<Operand> = Vec::new();
    for operand in operands {
        if !found.contains(&operand) {
            found.push(operand);
        }
    }
    found
}

/// Returns the register whose number begins at this bit; `None` for 31, which is zero or the stack pointer
/// and not of interest.
fn operand(word: u32, at: u32, is_wide: bool) -> Option<Operand> {
    let number = (word >> at) & 0x1f;
    let register = Register::new(Machine::Aarch64, number as u16).filter(|_| number != 31)?;
    Some(Operand::Register { register, bytes: if is_wide { 8 } else { 4 } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_that_are_still_there() {
        let register = |number, bytes| {
            let register = Register::new(Machine::Aarch64, number).unwrap();
            Operand::Register { register, bytes }
        };
        let cases: [(&[u32], Vec<Operand>); 7] = [
            (&[0xb400_0043], vec![register(3, 8)]),              // cbz x3
            (&[0x3500_0040], vec![register(0, 4)]),              // cbnz w0
            (&[0xf100_041f, 0x5400_0040], vec![register(0, 8)]), // cmp x0, #1; b.eq
            (&[0x6b02_003f, 0x5400_0041], vec![register(1, 4), register(2, 4)]), // cmp w1, w2; b.ne
            (&[0x7200_001f, 0x5400_0040], vec![register(0, 4)]), // tst w0, #1; b.eq
            (&[0xf100_0400, 0x5400_0040], vec![]),               // subs x0, x0, #1; b.eq
            (&[0x1400_0002], vec![]),                            // b
        ];
        for (words, expected) in cases {
            let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(deciding(&code), expected, "{words:x?}");
        }
        assert_eq!(deciding(&[]), []);
    }
}

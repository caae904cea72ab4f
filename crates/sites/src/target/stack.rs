//! sites/target/stack.rs: unwinds the stack of a program, from a copy of it and the files that were mapped.

use std::rc::Rc;

use super::program::Program;
use kinst_dwarf::{Caller, Registers};

/// The state of a thread: its registers and its stack.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'c> {
    /// By DWARF register number, the instruction pointer last; each machine has another number of them.
    pub registers: &'c [u64],
    /// The copied bytes of the stack from the stack pointer upwards.
    pub bytes: &'c [u8],
}

/// The code at an address of a process.
pub enum Code {
    /// A byte of a file, by offset.
    File(Rc<Program>, u64),
    /// Instructions without a file.
    Undescribed,
    /// Instructions of a file that cannot be read.
    Unreadable,
    /// No instructions.
    Nowhere,
}

/// The addresses on a stack: an instruction, then return addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// Addresses, the innermost first.
    pub addresses: Vec<u64>,
    /// Whether the last address is in the function in which the program or thread begins.
    pub complete: bool,
}

/// Follows the call frame information of the files, and frame pointers in code that has none. Stops where
/// that leads nowhere, or out of the copy: the result may be incomplete, but is never wrong.
pub fn walk(copied: &Copied<'_>, most: usize, code: &dyn Fn(u64) -> Code) -> Walk {
    let mut walk = Walk::default();
    let Some(mut registers) = Registers::all(copied.registers) else { return walk };
    let Some(bottom) = registers.sp() else { return walk };
    let memory = |address| copied.word(bottom, address);
    // A return address may belong to the next function: the call was the last instruction.
    let mut instruction = true;
    while let Some(ip) = registers.ip().filter(|_| walk.addresses.len() < most) {
        let place = code(if instruction { ip } else { ip.wrapping_sub(1) });
        let caller = match &place {
            Code::File(program, offset) => program
                .caller(*offset, &registers, &memory)
                .or_else(|| program.interrupted(code_offset(*offset, instruction), &registers, &memory)),
            Code::Undescribed => registers
                .by_frame_pointer(&memory)
                .map(|registers| Caller::Found { registers, interrupted: false }),
            Code::Unreadable => None,
            Code::Nowhere => break,
        };
        walk.addresses.push(ip);
        match caller {
            // A handler may run on an alternate stack.
            Some(Caller::Found { registers: next, interrupted })
                if interrupted || next.can_call(&registers, instruction) =>
            {
                (registers, instruction) = (unsigned(next, code), interrupted);
            }
            Some(Caller::Outermost) => {
                walk.complete = true;
                break;
            }
            Some(Caller::Found { .. }) | None => break,
        }
    }
    walk
}

/// The offset of the instruction itself, given the offset that was looked up.
fn code_offset(offset: u64, instruction: bool) -> u64 {
    if instruction { offset } else { offset.wrapping_add(1) }
}

/// Removes the signature of a return address: the bits above those of the process's addresses, whose number depends on
/// the kernel. No code is at an address with some of these bits.
fn unsigned(registers: Registers, code: &dyn Fn(u64) -> Code) -> Registers {
    const ADDRESSES: [u32; 6] = [52, 48, 47, 42, 39, 36];
    let Some(ip) = registers.ip().filter(|_| registers.machine().facts().signs_addresses) else {
        return registers;
    };
    let is_code = |ip: &u64| !matches!(code(ip.wrapping_sub(1)), Code::Nowhere);
    let shorter = ADDRESSES.iter().map(|bits| ip & ((1 << bits) - 1)).filter(|shorter| *shorter != ip);
    match is_code(&ip) {
        true => registers,
        false => shorter.into_iter().find(is_code).map_or(registers, |ip| registers.with_ip(ip)),
    }
}

impl Copied<'_> {
    /// Returns the 64-bit word at an address of the process; `bottom` is the stack pointer.
    fn word(&self, bottom: u64, address: u64) -> Option<u64> {
        let from = usize::try_from(address.checked_sub(bottom)?).ok()?;
        let bytes = self.bytes.get(from..from.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses of arm64 without and with a signature, in address spaces of two sizes.
    #[test]
    fn return_addresses_lose_their_signatures() {
        const BOTTOM: u64 = 0x10_0000;
        for (bits, signed) in [(48, 0x002a_0000_4000_1234), (39, 0x005f_ff80_4000_1234), (48, 0x4000_1234)] {
            let code = |address: u64| match address >> bits {
                0 if address != 0 => Code::Undescribed,
                _ => Code::Nowhere,
            };
            let words = [BOTTOM + 16, signed, 0, 0];
            let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
            let mut registers = [0; 33];
            (registers[29], registers[31], registers[32]) = (BOTTOM, BOTTOM, 0x4000_0000);
            let walk = walk(&Copied { registers: &registers, bytes: &bytes }, 8, &code);
            assert_eq!(walk.addresses, [0x4000_0000, 0x4000_1234]);
        }
    }

    #[test]
    fn no_machine_has_that_many_registers() {
        let walk = walk(&Copied { registers: &[0; 3], bytes: &[] }, 8, &|_| Code::Undescribed);
        assert_eq!(walk, Walk::default());
    }
}

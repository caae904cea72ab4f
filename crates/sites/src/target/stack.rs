//! sites/target/stack.rs: unwinds the stack of a program, from a copy of it and the files that were mapped.

use std::rc::Rc;

use super::program::Program;
use kinst_dwarf::{Caller, Registers};

/// The state of a thread: its registers by their numbers in debug information, rip last, and its stack from
/// rsp upwards.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'c> {
    /// rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip: the index is the DWARF register number.
    pub registers: [u64; 17],
    /// The copied bytes of the stack from rsp upwards.
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
    let memory = |address| copied.word(address);
    let mut registers = Registers::all(copied.registers);
    let mut walk = Walk::default();
    // A return address may belong to the next function: the call was the last instruction.
    let mut instruction = true;
    while let Some(ip) = registers.ip().filter(|_| walk.addresses.len() < most) {
        let place = code(if instruction { ip } else { ip.wrapping_sub(1) });
        let caller = match &place {
            Code::File(program, offset) => program.caller(*offset, &registers, &memory),
            Code::Undescribed => registers
                .by_frame_pointer(&memory)
                .map(|registers| Caller::Found { registers, interrupted: false }),
            Code::Unreadable => None,
            Code::Nowhere => break,
        };
        walk.addresses.push(ip);
        match caller {
            // A handler may run on an alternate stack; a call always leaves something on the stack.
            Some(Caller::Found { registers: next, interrupted })
                if interrupted || next.sp() > registers.sp() =>
            {
                (registers, instruction) = (next, interrupted);
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

impl Copied<'_> {
    /// Returns the 64-bit word at an address of the process.
    fn word(&self, address: u64) -> Option<u64> {
        let from = usize::try_from(address.checked_sub(self.registers[7])?).ok()?;
        let bytes = self.bytes.get(from..from.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
}

//! dwarf/registers.rs: the registers of a function in a program, and those of its caller by convention.

use kinst_base::machine::{Frames, Machine};

/// Returns the 64-bit word at an address; `None` if it is unknown.
pub type Memory<'m> = dyn Fn(u64) -> Option<u64> + 'm;

/// The registers of a program, indexed by DWARF number, the instruction pointer last; some may be unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    machine: Machine,
    values: [u64; MOST],
    /// A bit for each known register; the others are 0.
    known: u64,
}

/// The number of registers of the machine with the most of them.
const MOST: usize = 33;

impl Registers {
    /// Registers of which none is known.
    pub fn none(machine: Machine) -> Registers {
        Registers { machine, values: [0; MOST], known: 0 }
    }

    /// Registers that are all known. `None` if no machine has that many.
    pub fn all(values: &[u64]) -> Option<Registers> {
        let mut registers = Registers::none(Machine::with_registers(values.len())?);
        values.iter().enumerate().for_each(|(number, value)| registers.set(number, Some(*value)));
        Some(registers)
    }

    /// The machine that has these registers.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    pub(super) fn frames(&self) -> &'static Frames {
        &self.machine.facts().frames
    }

    /// The number of the instruction pointer.
    pub(super) fn ip_number(&self) -> usize {
        self.machine.facts().registers.len() - 1
    }

    /// The number of the register that holds the return address of a function without a frame.
    pub(super) fn link(&self) -> Option<usize> {
        Some(self.frames().return_address).filter(|number| *number != self.ip_number())
    }

    /// The register with this DWARF number; `None` if it is unknown, or not among these.
    pub fn get(&self, number: usize) -> Option<u64> {
        let value = self.values.get(number)?;
        (self.known & 1 << number != 0).then_some(*value)
    }

    pub(super) fn set(&mut self, number: usize, value: Option<u64>) {
        if let Some(place) = self.values.get_mut(number) {
            *place = value.unwrap_or(0);
            self.known = self.known & !(1 << number) | u64::from(value.is_some()) << number;
        }
    }

    /// The address of the instruction: rip, pc.
    pub fn ip(&self) -> Option<u64> {
        self.get(self.ip_number())
    }

    /// The stack pointer: rsp, sp.
    pub fn sp(&self) -> Option<u64> {
        self.get(self.frames().stack_pointer)
    }

    /// The same registers with another instruction pointer.
    pub fn with_ip(mut self, ip: u64) -> Registers {
        self.set(self.ip_number(), Some(ip));
        self
    }

    /// Whether these can be the registers of the caller, given those of the function: its frame is further up. A
    /// function that has called nothing, or was interrupted before, may have no frame if its return address is in a
    /// register.
    pub fn can_call(&self, function: &Registers, called_nothing: bool) -> bool {
        match (self.sp(), function.sp()) {
            (Some(caller), Some(own)) if called_nothing && self.link().is_some() => caller >= own,
            (Some(caller), Some(own)) => caller > own,
            // The frame pointers led here.
            _ => self.get(self.frames().frame_pointer) > function.get(self.frames().frame_pointer),
        }
    }

    /// The caller's registers by the frame pointer; only that, the instruction pointer and perhaps the stack pointer are
    /// known.
    pub fn by_frame_pointer(&self, memory: &Memory<'_>) -> Option<Registers> {
        let frames = self.frames();
        let frame = self.get(frames.frame_pointer).filter(|at| self.sp().is_none_or(|sp| *at >= sp))?;
        let above = |by: u64| frame.checked_add(by);
        let mut caller = Registers::none(self.machine);
        caller.set(frames.frame_pointer, Some(memory(frame)?));
        caller.set(self.ip_number(), Some(memory(above(8)?)?));
        caller.set(frames.stack_pointer, frames.above_record.and_then(above));
        Some(caller)
    }

    /// The caller's registers by the size of the frame: from the stack pointer to the return address or, where that is in a
    /// register, to the caller's frame. Only the stack pointer and the instruction pointer are known.
    pub fn by_frame_size(&self, bytes: u64, memory: &Memory<'_>) -> Option<Registers> {
        let sp = self.sp()?;
        let end = sp.checked_add(bytes)?;
        let (returns, above) = match self.link() {
            None => (memory(end)?, end.checked_add(8)?),
            // The register is stored at the bottom of the frame.
            Some(link) if bytes == 0 => (self.get(link)?, end),
            Some(_) => (memory(sp)?, end),
        };
        let mut caller = Registers::none(self.machine);
        caller.set(self.ip_number(), Some(returns));
        caller.set(self.frames().stack_pointer, Some(above));
        Some(caller)
    }

    /// The registers that a signal interrupted, if the code at the instruction pointer ends the handler and no call frame
    /// information describes it. `None` for other code.
    pub fn interrupted(&self, code: &[u8], memory: &Memory<'_>) -> Option<Registers> {
        let signals = self.machine.facts().frames.signals.as_ref()?;
        let base = self.sp().filter(|_| code.starts_with(signals.code))?.checked_add(signals.registers)?;
        let mut caller = Registers::none(self.machine);
        for number in 0..=self.ip_number() {
            caller.set(number, base.checked_add(8 * number as u64).and_then(memory));
        }
        caller.ip()?;
        Some(caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_pointers() {
        let mut registers = Registers::all(&[0x700; 17]).unwrap();
        let stack = |address| (0x700..0x900).contains(&address).then_some(address);
        let caller = registers.by_frame_pointer(&stack).unwrap();
        assert_eq!(
            (caller.ip(), caller.sp(), caller.get(6), caller.get(3)),
            (Some(0x708), Some(0x710), Some(0x700), None)
        );
        for wrong in [0, 0x6f8, 0x8fc, u64::MAX] {
            registers.set(6, Some(wrong));
            assert_eq!(registers.by_frame_pointer(&stack), None);
        }
    }

    /// The frame of a signal on arm64: siginfo_t, ucontext up to the registers, and these.
    #[test]
    fn registers_that_a_signal_interrupted() {
        const CODE: [u8; 8] = [0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4];
        let of = |count: u64| Registers::all(&(0..count).map(|n| 0x100 * n).collect::<Vec<_>>()).unwrap();
        let saved = 0x1f00 + 312..0x1f00 + 312 + 33 * 8;
        let stack = |at| saved.contains(&at).then(|| 0x5000 + (at - saved.start) / 8);
        let found = of(33).interrupted(&CODE, &stack).unwrap();
        assert_eq!((found.get(0), found.get(30)), (Some(0x5000), Some(0x501e)));
        assert_eq!((found.sp(), found.ip()), (Some(0x501f), Some(0x5020)));
        assert_eq!(of(33).interrupted(&CODE[..4], &stack), None);
        assert_eq!(of(33).interrupted(&CODE, &|_| None), None);
        assert_eq!(of(17).interrupted(&CODE, &|_| Some(1)), None);
    }
}

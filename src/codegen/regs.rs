//! codegen/regs.rs: register allocation: the register of each value, and the values spilled to slots.

use kinst_dif::insn::{REGISTERS, Reg};

/// The registers %r1 to %r7, and the values that wait while others are computed.
///
/// A register is *owned* by the code that allocated it until it is freed or held. A *held* value waits to be used,
/// and may be moved to a slot. No register is owned while a subexpression is generated.
#[derive(Debug, Default)]
pub(super) struct Registers {
    used: [bool; REGISTERS as usize],
    /// Held values in the order of their creation; a released one leaves a gap.
    held: Vec<Option<Location>>,
    slots: Vec<bool>,
    /// The number of values that were held before the current conditional code; these may not move.
    floor: usize,
}

/// A value that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Register(Reg),
    Slot(usize),
}

impl Registers {
    /// Allocates the first free register; the caller owns it.
    pub(super) fn allocate(&mut self) -> Option<Reg> {
        let reg = (1..REGISTERS).find(|reg| !self.used[usize::from(*reg)])?;
        self.used[usize::from(reg)] = true;
        Some(reg)
    }

    /// Allocates the given register, which must be free.
    pub(super) fn claim(&mut self, reg: Reg) {
        if let Some(used) = self.used.get_mut(usize::from(reg)) {
            *used = true;
        }
    }

    pub(super) fn free(&mut self, reg: Reg) {
        if let Some(used) = self.used.get_mut(usize::from(reg)) {
            *used = false;
        }
    }

    pub(super) fn free_count(&self) -> usize {
        self.used[1..].iter().filter(|used| !**used).count()
    }

    pub(super) fn hold(&mut self, reg: Reg) -> Held {
        self.held.push(Some(Location::Register(reg)));
        Held(self.held.len() - 1)
    }

    pub(super) fn location(&self, held: Held) -> Option<Location> {
        self.held.get(held.0).copied().flatten()
    }

    /// Releases a held value: the caller owns its register, or its slot is free again.
    pub(super) fn release(&mut self, held: Held) {
        let location = self.held.get_mut(held.0).and_then(Option::take);
        if let Some(Location::Slot(slot)) = location
            && let Some(used) = self.slots.get_mut(slot)
        {
            *used = false;
        }
        while let Some(None) = self.held.last() {
            self.held.pop();
        }
    }

    pub(super) fn has_held_register(&self) -> bool {
        self.held.iter().skip(self.floor).any(|location| matches!(location, Some(Location::Register(_))))
    }

    /// Enters conditional code; the result must be passed to [`Registers::leave_branch`].
    pub(super) fn enter_branch(&mut self) -> usize {
        std::mem::replace(&mut self.floor, self.held.len())
    }

    pub(super) fn leave_branch(&mut self, floor: usize) {
        self.floor = floor;
    }

    /// Moves the oldest held value out of its register; returns the register to store, and the slot for it.
    pub(super) fn spill(&mut self) -> Option<(Reg, usize)> {
        let (index, reg) =
            self.held.iter().enumerate().skip(self.floor).find_map(|(index, location)| match location {
                Some(Location::Register(reg)) => Some((index, *reg)),
                _ => None,
            })?;
        let slot = match self.slots.iter().position(|used| !used) {
            Some(slot) => slot,
            None => {
                self.slots.push(false);
                self.slots.len() - 1
            }
        };
        self.slots[slot] = true;
        self.held[index] = Some(Location::Slot(slot));
        self.free(reg);
        Some((reg, slot))
    }
}

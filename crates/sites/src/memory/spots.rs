//! sites/memory/spots.rs: the instructions at which probes of places in the text fire, and which of their hits count.

use super::error::SpotError;
use super::text::{Function, Spots, Text};
use crate::code::decode::{self, Control, Step};
use crate::code::leaving::{Leaving, Unclear};
use kinst_base::machine::Machine;
use kinst_base::probe::{Jump, Key, Place, Spot, When};

impl Spots for Text {
    fn machine(&self) -> Machine {
        self.kernel.machine()
    }

    fn spots(&self, place: &Place) -> Result<Vec<Spot>, SpotError> {
        let at = |address| Spot { address, exit: 0, when: When::Always, keys: Vec::new() };
        match *place {
            Place::Insn { func, offset, .. } => Ok(vec![at(func.wrapping_add(offset.into()))]),
            Place::Driver { func, offset } => Ok(vec![at(func.wrapping_add(offset.into()))]),
            Place::FbtEntry { func } => Ok(vec![at(func)]),
            Place::FbtReturn { func } => self.exits(func),
            Place::Edge { func, offset, over, to, .. } => {
                let target = |to: u32| func.wrapping_add_signed(to.cast_signed().into());
                self.edge(func, offset, over, target(to)).map(|spot| vec![spot])
            }
            Place::Program(ref place) => Ok(place.spots.clone()),
            _ => Ok(Vec::new()),
        }
    }
}

impl Text {
    /// Returns the instructions that leave a function: returns, and jumps to other functions or to its own
    /// start, which is a recursive call. A part that the compiler moved elsewhere belongs to the function.
    fn exits(&self, func: u64) -> Result<Vec<Spot>, SpotError> {
        let function = self.function(func)?;
        let cold = self.cold(&function)?;
        let bounds =
            [Some(&function), cold.as_ref()].map(|part| part.map_or((0, 0), |part| (part.start, part.end())));
        let leaving = Leaving { function: func, bounds, set: function.set };
        // If thunks exist, compilers have made no jump tables.
        let leaves = |jump: &Jump| !jump.memory && self.has_thunks();
        let mut spots = Vec::new();
        for part in std::iter::once(&function).chain(&cold) {
            let found = leaving.exits(part.code(), part.start, &leaves);
            spots.extend(found.map_err(|unclear| match unclear {
                Unclear::Branch => SpotError::HasUnknownBranch,
                Unclear::Jump => SpotError::UnknownJump,
            })?);
        }
        match spots.is_empty() {
            true => Err(SpotError::NoExit),
            false => Ok(spots),
        }
    }

    /// Whether compiled indirect jumps go through thunks.
    fn has_thunks(&self) -> bool {
        self.kernel
            .machine()
            .facts()
            .thunks
            .first()
            .is_some_and(|name| self.kernel.address_of(&name).is_some())
    }

    /// Returns the part of a function with a separate symbol, `f.cold`, located by the first jump into it.
    fn cold(&self, function: &Function) -> Result<Option<Function>, SpotError> {
        for step in function.steps() {
            let (Control::Jump(to) | Control::Branch(to)) = step.control else { continue };
            if function.has(to) {
                continue;
            }
            let Some((name, start, _)) = self.kernel.function_around(to) else { continue };
            if name.strip_prefix(&function.name).is_some_and(|rest| rest.starts_with(".cold")) {
                return self.function(start).map(Some);
            }
        }
        Ok(None)
    }

    fn edge(&self, func: u64, offset: u32, over: [u32; 2], end: u64) -> Result<Spot, SpotError> {
        let function = self.function(func)?;
        let steps: Vec<Step> = function.steps().collect();
        let find = |offset: u32| {
            let address = func + u64::from(offset);
            steps.iter().find(|step| step.address == address).ok_or(SpotError::NoInstruction)
        };
        let mut keys: Vec<Key> = Vec::new();
        for offset in over.into_iter().filter(|offset| *offset != 0) {
            let step = find(offset)?;
            keys.push(Key { address: step.address, len: step.len, to: end });
        }
        for at in 1..keys.len() {
            keys[at - 1].to = keys[at].address;
        }
        let step = find(offset)?;
        let to = keys.first().map_or(end, |key| key.address);
        let when = self.way(&function, step, to)?;
        Ok(Spot { address: step.address, exit: 0, when, keys })
    }

    /// Returns the hits of an instruction at which control goes to the address.
    fn way(&self, function: &Function, step: &Step, to: u64) -> Result<When, SpotError> {
        let next = step.address + u64::from(step.len) == to;
        let not = || Err(SpotError::NoEdge);
        let bytes = function.bytes(step);
        match step.control {
            // A call to ftrace continues after it, whatever it calls.
            Control::Next | Control::Call(_) => {
                if next {
                    Ok(When::Always)
                } else {
                    not()
                }
            }
            Control::Branch(taken) if taken == to && next => Ok(When::Always),
            Control::Branch(taken) if taken == to || next => {
                let [taken, not_taken] = function.set.branch(bytes).ok_or(SpotError::UnknownBranch)?;
                Ok(if next { not_taken } else { taken })
            }
            Control::Jump(target) if target == to => Ok(When::Always),
            Control::Jump(target) => match self.thunk(target) {
                Some(base) => Ok(When::Goes(Jump { base: Some(base), ..Jump::default() }, to)),
                None => not(),
            },
            Control::JumpIndirect | Control::JumpThrough => match function.set.jump(bytes, step.address) {
                Some(jump) => Ok(When::Goes(jump, to)),
                None => Err(SpotError::UnknownJump),
            },
            _ => not(),
        }
    }

    /// Returns the register through which a thunk jumps. A thunk made at run time has no name and is
    /// recognized by its code.
    pub(super) fn thunk(&self, target: u64) -> Option<u8> {
        let Some(name) = self.name_at(target) else {
            let code = self.memory.read(target, 16)?;
            return decode::of(self.kernel.machine()).jump(&code, target).filter(|jump| !jump.memory)?.base;
        };
        let name = name.strip_prefix("__pi_").unwrap_or(&name);
        self.kernel.machine().facts().thunks.register(name)
    }
}

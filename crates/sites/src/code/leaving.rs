//! sites/code/leaving.rs: the instructions that leave a function, found one by one, without its control flow.

use super::decode::Control;
use super::set::InstructionSet;
use kinst_base::probe::{Jump, Spot, When};

/// A function of one or two parts, whose exits are looked for.
pub(crate) struct Leaving {
    /// Address of its first instruction: a jump there is a recursive call.
    pub function: u64,
    /// Start and end of each part.
    pub bounds: [(u64, u64); 2],
    pub set: &'static dyn InstructionSet,
}

/// Why the exits of a function are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unclear {
    /// The conditions of a branch out of the function.
    Branch,
    /// The target of an indirect jump.
    Jump,
}

impl Leaving {
    /// Returns the exits in one part: returns, and jumps to other functions or to the function's own start. An
    /// indirect jump is compared with the bounds at each hit, unless `leaves` says that it always leaves.
    pub(crate) fn exits(
        &self,
        code: &[u8],
        address: u64,
        leaves: &dyn Fn(&Jump) -> bool,
    ) -> Result<Vec<Spot>, Unclear> {
        let inside = |to: u64| self.bounds.iter().any(|(start, end)| (*start..*end).contains(&to));
        let goes_out = |to: u64| !inside(to) || to == self.function;
        let mut spots = Vec::new();
        for step in self.set.steps(code, address) {
            let from = usize::try_from(step.address.wrapping_sub(address)).unwrap_or(usize::MAX);
            let bytes = code.get(from..).unwrap_or_default();
            let when = match step.control {
                Control::Return => When::Always,
                Control::Jump(to) if goes_out(to) => When::Always,
                Control::Branch(to) if goes_out(to) => self.set.branch(bytes).ok_or(Unclear::Branch)?[0],
                Control::JumpIndirect | Control::JumpThrough => {
                    let jump = self.set.jump(bytes, step.address).ok_or(Unclear::Jump)?;
                    if leaves(&jump) { When::Always } else { When::Leaves(jump, self.bounds) }
                }
                _ => continue,
            };
            let exit = step.address.wrapping_sub(self.function);
            spots.push(Spot { address: step.address, exit, when, keys: Vec::new() });
        }
        Ok(spots)
    }
}

//! support/here.rs: a kernel without places, for programs that are never loaded or run.

use kinst::probe::{Place, Spot, When};
use kinst::sites::{Ftraced, SpotError, Spots, Symbols};

/// One instruction for each place, and no variables.
pub(crate) struct Here;

impl Symbols for Here {
    fn symbol(&self, _: &str) -> Option<u64> {
        Some(8)
    }

    fn room(&self, _: u64) -> u64 {
        8
    }

    fn bytes(&self, _: u64, len: usize) -> Option<Vec<u8>> {
        Some(vec![0; len])
    }

    fn ftraced(&self, functions: &[u64]) -> Vec<Option<Ftraced>> {
        vec![None; functions.len()]
    }

    fn function_at(&self, _: u64) -> Option<String> {
        None
    }

    fn is_sole(&self, _: &str, _: &str) -> bool {
        false
    }
}

impl Spots for Here {
    fn spots(&self, place: &Place) -> Result<Vec<Spot>, SpotError> {
        let address = match place {
            Place::Insn { func, offset, .. } => func + u64::from(*offset),
            Place::FbtEntry { func } | Place::FbtReturn { func } => *func,
            _ => return Ok(Vec::new()),
        };
        Ok(vec![Spot { address, exit: 0, when: When::Always, keys: Vec::new() }])
    }
}

//! backend/bpf/no_kernel.rs: the kernel's text where it cannot be read, for a plan without places in it.

use kinst_base::probe::{Place, Spot};
use kinst_sites::{Ftraced, SpotError, Spots, Symbols};

/// A kernel without known symbols or instructions.
#[derive(Clone, Copy, Debug)]
pub struct NoKernel;

impl Symbols for NoKernel {
    fn symbol(&self, _: &str) -> Option<u64> {
        None
    }

    fn room(&self, _: u64) -> u64 {
        0
    }

    fn bytes(&self, _: u64, _: usize) -> Option<Vec<u8>> {
        None
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

impl Spots for NoKernel {
    /// No place has an instruction of the kernel.
    fn spots(&self, _: &Place) -> Result<Vec<Spot>, SpotError> {
        Ok(Vec::new())
    }
}

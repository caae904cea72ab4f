//! sites/catalog/reach.rs: the reach of the back end: the functions that it can probe.

/// Why a function cannot be probed.
pub type Unreachable = Box<dyn std::error::Error + Send + Sync>;

/// The reach of the back end: the functions that it can probe.
pub trait Reach: Send + Sync {
    /// Returns for each function why it cannot be probed, or `None` if it can.
    fn refusals(&self, functions: &[Begun<'_>]) -> Vec<Option<Unreachable>>;
}

/// The beginning of a function.
#[derive(Clone, Copy, Debug)]
pub struct Begun<'a> {
    /// Run-time address of its symbol; 0 if unknown.
    pub address: u64,
    /// Its module; `vmlinux` for the kernel proper.
    pub module: &'a str,
    /// Its name; empty if unknown.
    pub name: &'a str,
}

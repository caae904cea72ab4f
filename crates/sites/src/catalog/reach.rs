//! sites/catalog/reach.rs: the reach of the back end: which functions can have probes.

/// The reason why a function can have no probe.
pub type Unreachable = Box<dyn std::error::Error + Send + Sync>;

/// The reach of the back end: which functions can have probes.
pub trait Reach: Send + Sync {
    /// For each function, why no probe can be there; `None` for one that can be traced.
    fn refusals(&self, functions: &[Begun<'_>]) -> Vec<Option<Unreachable>>;
}

/// The beginning of a function.
#[derive(Clone, Copy, Debug)]
pub struct Begun<'a> {
    /// The run-time address of its symbol; 0 if it is not known.
    pub address: u64,
    /// The module that has it; `vmlinux` for the kernel proper.
    pub module: &'a str,
    /// Empty if it is not known.
    pub name: &'a str,
}

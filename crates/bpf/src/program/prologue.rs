//! bpf/program/prologue.rs: what the beginning of a program depends on.

use crate::kernel::Layout;
use kinst_base::probe::Spot;

/// The data that the beginning of a program depends on.
#[derive(Clone, Copy, Debug)]
pub struct Prologue<'a> {
    /// Of the probe, where it shares its program with none.
    pub number: u32,
    /// Of the program.
    pub unit: usize,
    /// Where the program's only place is among those that share with none.
    pub alone: Option<u32>,
    /// Whether the flags say which hits count.
    pub flags: bool,
    /// The only place of the program, if not only flags say which hits count.
    pub spot: Option<&'a Spot>,
    /// The number of the event.
    pub event: Option<u64>,
    /// The only CPU to trace.
    pub cpu: Option<u32>,
    /// Offsets in the kernel's structures.
    pub kernel: &'a Layout,
    /// Whether the clauses ask what the hit has interrupted.
    pub level: bool,
    /// Whether places fire once.
    pub once: bool,
    /// Whether the clauses do more than count.
    pub computes: bool,
    /// Whether something asks when the hit was, and what the probe is called.
    pub timed: bool,
    /// Whether something asks for the probe's names or number.
    pub named: bool,
    /// Whether something asks whose copy a place is meant as, as names and stacks do.
    pub inlined: bool,
}

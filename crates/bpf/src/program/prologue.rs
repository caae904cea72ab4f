//! bpf/program/prologue.rs: the inputs to the beginning of a program.

use super::lanes::Lanes;
use crate::kernel::Layout;
use kinst_base::probe::Spot;

/// The inputs to the beginning of a program.
#[derive(Clone, Copy, Debug)]
pub struct Prologue<'a> {
    /// Number of the probe, if it does not share its program.
    pub number: u32,
    /// Index of the program.
    pub unit: usize,
    /// Offset of the program's only place among those that do not share a program.
    pub alone: Option<u32>,
    /// Whether the flags say which hits count.
    pub flags: bool,
    /// The program's only place, if more than flags decides which hits count.
    pub spot: Option<&'a Spot>,
    /// Number of the event.
    pub event: Option<u64>,
    /// The only CPU to trace.
    pub cpu: Option<u32>,
    /// The only process to trace, at places in programs.
    pub process: Option<u32>,
    /// Values of the CPUs' memory that programs at such places use.
    pub lanes: Lanes,
    /// Offsets in the kernel's structures.
    pub kernel: &'a Layout,
    /// Whether the clauses use the interrupted context.
    pub level: bool,
    /// Whether places fire once.
    pub once: bool,
    /// Whether the clauses do more than count.
    pub computes: bool,
    /// Whether something uses the time of the hit or the probe's names.
    pub timed: bool,
    /// Whether something uses the probe's names or id.
    pub named: bool,
    /// Whether something depends on the inlined copy that a place is in, as names and stacks do.
    pub inlined: bool,
}

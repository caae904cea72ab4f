//! bpf/found.rs: facts about the running kernel, from which programs are generated.

use super::kernel::Layout;
use super::machine::Machine;
use kinst_base::probe::Spot;

/// The facts about the running kernel.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The machine to generate code for.
    pub machine: &'static dyn Machine,
    /// By probe, the instructions at which it fires; `None` for a probe that is left out.
    pub spots: Vec<Option<Vec<Spot>>>,
    /// By probe, the number of arguments of its tracepoint.
    pub arguments: Vec<u8>,
    /// By probe, how the kernel runs its program, if it is at a function.
    pub by: Vec<By>,
    /// Offsets in the structures that the program needs.
    pub kernel: Layout,
    /// Address ranges of the code that runs programs at tracepoints, BEGIN and END.
    pub own: Vec<(u64, u64)>,
    /// Number of possible CPUs.
    pub cpus: u32,
}

/// How the kernel runs the program of a probe at a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Kprobes at the entry or at each exit.
    #[default]
    Kprobe,
    /// A BPF trampoline: fentry or fexit.
    Trampoline,
    /// A kprobe.multi at many functions.
    Multi,
}

//! sites/uprobe/refused.rs: why an instruction of a program gets no uprobe.

/// Why an instruction gets no uprobe: the kernel refuses it, or executes it differently from the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Refused {
    /// Another kind of machine.
    #[error("programs are traced on x86-64 only")]
    Machine,
    /// The address is not the start of an instruction of the function.
    #[error("no instruction begins there")]
    Inside,
    /// Bytes that are not an instruction.
    #[error("the bytes are not a valid instruction")]
    Undecodable,
    /// A lock prefix.
    #[error("the kernel refuses a probe at an instruction with a lock prefix")]
    Lock,
    /// A prefix of the segments that 64-bit code does not have: also `notrack` and hints for branches.
    #[error("the kernel refuses a probe at an instruction with a cs, ds, es or ss prefix, such as notrack")]
    Segment,
    /// More than four prefixes, or one after a REX prefix.
    #[error("the kernel misreads an instruction with these prefixes")]
    Prefixes,
    /// `int`, `int1`, `int3`.
    #[error("the kernel refuses a probe at a software interrupt")]
    Interrupt,
    /// An instruction that a program may not execute.
    #[error("the instruction is privileged")]
    Privileged,
    /// `syscall` and `sysenter`: they store the address of the copy, and signals wait for the step's end.
    #[error("the kernel cannot execute a copy of a system call")]
    SystemCall,
    /// Far jumps, calls and returns.
    #[error("the kernel cannot execute a copy of a far transfer")]
    Far,
    /// Instructions that read the system's registers (the kernel may emulate them), or are for enclaves,
    /// guests, and user interrupts.
    #[error("the kernel cannot execute a copy of a system instruction")]
    System,
    /// A load of `%ss`, after which the processor does not trap.
    #[error("the kernel refuses a probe at a load of the stack segment")]
    StackSegment,
    /// A branch of 16 bits, which vendors interpret differently.
    #[error("the kernel refuses a probe at a branch with an operand-size prefix")]
    Word,
    /// `xbegin`, `xend`, `xabort`: a step aborts the transaction.
    #[error("a transaction ends at a probe")]
    Transaction,
    /// `pushf`, which would store the trap flag of the step.
    #[error("a copy of pushf stores the kernel's trap flag")]
    Flags,
    /// A repeated string instruction: the probe would fire at each repetition.
    #[error("the kernel executes one repetition at a time, with a hit for each")]
    Repeated,
    /// A vector instruction whose opcode is in the kernel's list of those without probes.
    #[error("the kernel refuses a probe at this vector instruction")]
    Vector,
    /// An instruction that the kernel executes as another one with the same opcode byte.
    #[error("the kernel takes this instruction for another one, and does not execute it")]
    Mistaken,
    /// An instruction relative to its own address that the kernel does not recognize as such.
    #[error("the kernel cannot execute a copy of this instruction: it is relative to its address")]
    Relative,
    /// A nop of five bytes, on a kernel that replaces it by a call, which overwrites the stack below `%rsp`.
    #[error("this kernel overwrites the red zone of the stack at a probed nop of five bytes")]
    RedZone,
}

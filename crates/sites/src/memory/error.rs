//! sites/memory/error.rs: why the instructions at a place in the kernel's text are unavailable.

/// Why the instructions of a place or a function are unavailable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpotError {
    /// No function's symbol contains the address, or the function is larger than 1 MiB.
    #[error("no function begins there")]
    NoFunction,
    /// The kernel does not let the memory be read.
    #[error("its text cannot be read")]
    Unreadable,
    /// The function ends with bytes that are neither an instruction nor zero.
    #[error("its text cannot be decoded")]
    Undecodable,
    /// A breakpoint or jump of a kprobe covers an instruction that is in no file.
    #[error("a kprobe covers {function}+{offset}, and no file has the original instruction")]
    Covered {
        /// Name of the function.
        function: String,
        /// Offset of the first covered byte in the function.
        offset: usize,
    },
    /// No instruction returns or leaves the function by a jump.
    #[error("it has no exit")]
    NoExit,
    /// A conditional branch out of the function has conditions that cannot be evaluated.
    #[error("it has a branch of an unknown kind")]
    HasUnknownBranch,
    /// The conditions of the edge's branch cannot be evaluated.
    #[error("it is a branch of an unknown kind")]
    UnknownBranch,
    /// The target of an indirect jump cannot be computed.
    #[error("its jump target cannot be computed")]
    UnknownJump,
    /// The edge's offset is inside an instruction or beyond the function.
    #[error("no instruction begins there")]
    NoInstruction,
    /// The instruction does not lead to the end of the edge.
    #[error("control does not take this edge")]
    NoEdge,
}

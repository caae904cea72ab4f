//! sites/memory/error.rs: why the instructions of a place in the kernel's text are not known.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpotError {
    #[error("it is in a program, and not in the kernel")]
    NotKernel,
    #[error("no function begins there")]
    NoFunction,
    #[error("its text cannot be read")]
    Unreadable,
    #[error("its text cannot be decoded")]
    Undecodable,
    /// A breakpoint or a jump of a kprobe, whose original instruction is in no file.
    #[error("a kprobe covers {function}+{offset}, and no file has what is there")]
    Covered { function: String, offset: usize },
    #[error("it has no exit")]
    NoExit,
    #[error("it has a branch of an unknown kind")]
    HasUnknownBranch,
    #[error("it is a branch of an unknown kind")]
    UnknownBranch,
    #[error("it jumps in a way that cannot be followed")]
    UnknownJump,
    #[error("no instruction begins there")]
    NoInstruction,
    #[error("control does not go this way")]
    NoEdge,
}

//! analysis/whose.rs: the threads whose executions are recorded.

/// The threads whose executions are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    All,
    /// The threads of the process of -p.
    Target,
    /// The threads of the command of -c and of its child processes.
    Progeny,
}

impl Whose {
    /// The condition in D; `None` if all threads are recorded.
    pub(crate) fn condition(self) -> Option<&'static str> {
        match self {
            Whose::All => None,
            Whose::Target => Some("pid == $target"),
            Whose::Progeny => Some("progenyof($target)"),
        }
    }
}

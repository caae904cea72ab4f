//! analysis/whose.rs: the threads whose executions are meant.

/// The threads whose executions are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    All,
    /// The threads of the process of -p.
    Target,
    /// The threads of the command of -c and of what it starts.
    Progeny,
}

impl Whose {
    /// The condition in D, unless all are meant.
    pub(crate) fn condition(self) -> Option<&'static str> {
        match self {
            Whose::All => None,
            Whose::Target => Some("pid == $target"),
            Whose::Progeny => Some("progenyof($target)"),
        }
    }
}

//! base/space.rs: the code that a description is about: the kernel, one process, or a file in all processes.

/// The provider of the instructions of a file in every process that maps it.
pub const UPROBE: &str = "uprobe";

/// The prefix of the provider of one process's instructions: `pid1234`.
const PID: &str = "pid";

/// The code that a site is in, as its provider says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// The kernel: provider `kinst`, whose offsets are decimal.
    #[default]
    Kernel,
    /// One process: provider `pid1234`, whose offsets are hexadecimal.
    Process(u32),
    /// Every process that maps a file, now or later: provider `uprobe`, whose offsets are hexadecimal.
    File,
}

impl Space {
    /// Returns the space of a program that a provider names; `None` for the providers of the kernel.
    pub fn of_program(provider: &str) -> Option<Space> {
        if provider == UPROBE {
            return Some(Space::File);
        }
        let digits = provider.strip_prefix(PID)?;
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?;
        number.map(Space::Process)
    }

    /// Whether a provider is that of programs, without the number of one process: `pid`, `pid*`.
    pub fn is_of_many(provider: &str) -> bool {
        let rest = provider.strip_prefix(PID);
        rest.is_some_and(|rest| rest.is_empty() || rest.bytes().all(|byte| b"0123456789*?".contains(&byte)))
            && Space::of_program(provider).is_none()
    }

    /// The provider of the instructions.
    pub fn provider(self) -> String {
        match self {
            Space::Kernel => "kinst".to_owned(),
            Space::Process(pid) => format!("{PID}{pid}"),
            Space::File => UPROBE.to_owned(),
        }
    }

    /// An offset as descriptions write it.
    pub fn number(self, offset: u64) -> String {
        match self {
            Space::Kernel => offset.to_string(),
            Space::Process(_) | Space::File => format!("{offset:x}"),
        }
    }

    /// The only process whose hits count.
    pub fn process(self) -> Option<u32> {
        match self {
            Space::Process(pid) => Some(pid),
            Space::Kernel | Space::File => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Space;

    #[test]
    fn providers_of_programs() {
        assert_eq!(Space::of_program("pid17"), Some(Space::Process(17)));
        assert_eq!(Space::of_program("uprobe"), Some(Space::File));
        for other in ["pid", "pid*", "pidx", "kinst", "pid99999999999", "pid+1", ""] {
            assert_eq!(Space::of_program(other), None, "{other}");
        }
        assert!(Space::is_of_many("pid*") && Space::is_of_many("pid") && Space::is_of_many("pid1*"));
        assert!(!Space::is_of_many("pid1") && !Space::is_of_many("*") && !Space::is_of_many("pidgin"));
    }

    #[test]
    fn offsets_in_programs_are_hexadecimal() {
        assert_eq!(Space::Kernel.number(63), "63");
        assert_eq!(Space::Process(1).number(63), "3f");
    }
}

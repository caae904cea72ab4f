//! base/space.rs: the code that a description is about: the kernel, one process, or a file in all processes.

/// The provider of the instructions of a file in every process that maps it.
pub const UPROBE: &str = "uprobe";

/// The provider of the static probes of a file in every process that maps it.
pub const USDT: &str = "usdt";

/// The provider of the instructions of the process of -c or -p, before its number is known.
pub const TARGET: &str = "pid$target";

/// The name of a process's program in descriptions.
pub const PROGRAM: &str = "a.out";

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

    /// Returns the static probes' provider and the process that the name of a provider may mean: `python1234` is
    /// `python` in process 1234. A provider whose name ends with a digit makes several readings, the shortest name first.
    pub fn of_static_probes(provider: &str) -> Vec<(&str, u32)> {
        let first = provider.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if first == 0 || !provider.chars().all(is_plain) {
            return Vec::new();
        }
        let splits = (first..provider.len()).map(|at| provider.split_at(at));
        let known = splits.filter(|(_, digits)| digits.len() == 1 || !digits.starts_with('0'));
        known.filter_map(|(name, digits)| Some((name, digits.parse().ok()?))).collect()
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
    fn providers_of_static_probes() {
        let of = Space::of_static_probes;
        assert_eq!(of("python17"), [("python", 17), ("python1", 7)]);
        assert_eq!(of("v807"), [("v", 807), ("v80", 7)]);
        assert_eq!(of("python0"), [("python", 0)]);
        for other in ["python", "17", "py*17", "", "fbt", "py thon1"] {
            assert_eq!(of(other), [], "{other}");
        }
    }

    #[test]
    fn offsets_in_programs_are_hexadecimal() {
        assert_eq!(Space::Kernel.number(63), "63");
        assert_eq!(Space::Process(1).number(63), "3f");
    }
}

//! debuginfo/machine.rs: the kinds of machines whose code can be read, as the header of a file names them.

/// A kind of machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Machine {
    #[default]
    X86_64,
    Aarch64,
}

impl Machine {
    /// The machine that this program itself was compiled for.
    pub const HERE: Machine = if cfg!(target_arch = "aarch64") { Machine::Aarch64 } else { Machine::X86_64 };

    /// `None` for all others.
    pub(super) fn of(architecture: object::Architecture) -> Option<Machine> {
        match architecture {
            object::Architecture::X86_64 => Some(Machine::X86_64),
            object::Architecture::Aarch64 => Some(Machine::Aarch64),
            _ => None,
        }
    }

    /// As `uname -m` has it.
    pub fn name(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86_64",
            Machine::Aarch64 => "aarch64",
        }
    }
}

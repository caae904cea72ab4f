//! options/error.rs: reasons why an option cannot be set.

/// The reason why an option cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The table has no option of this name.
    #[error("Invalid option name")]
    Unknown {
        /// The option with the most similar name; `None` if no name is similar.
        nearest: Option<&'static str>,
    },
    /// The value has the wrong kind, or is out of range.
    #[error("Invalid value for specified option")]
    Value {
        /// The permitted values: `a size such as 512, 64k, 4m or 1g`.
        expected: String,
    },
    /// A pragma sets an option that only -x can set.
    #[error("Option cannot be set by a D program")]
    NotInProgram,
    /// setopt() sets an option that must be set before tracing starts.
    #[error("Option cannot be set while tracing")]
    TooLate,
    /// setopt() sets an option of another DTrace that is refused for this reason.
    #[error("Option is not supported on Linux")]
    Refused(&'static str),
}

impl Error {
    /// The next step for the user.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::Unknown { nearest: Some(name) } => Some(format!("did you mean '{name}'?")),
            Error::Unknown { nearest: None } => Some("-x help lists the options".to_owned()),
            Error::Value { expected } => Some(format!("expected {expected}")),
            Error::NotInProgram => Some("give it on the command line, with -x".to_owned()),
            Error::Refused(reason) => Some((*reason).to_owned()),
            Error::TooLate => None,
        }
    }
}

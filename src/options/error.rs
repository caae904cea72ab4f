//! options/error.rs: why an option is not set.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("Invalid option name")]
    Unknown { nearest: Option<&'static str> },
    #[error("Invalid value for specified option")]
    Value { expected: String },
    #[error("Option cannot be set by a D program")]
    NotInProgram,
    #[error("Option cannot be set while tracing")]
    TooLate,
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

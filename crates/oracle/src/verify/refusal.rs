//! oracle/verify/refusal.rs: why an image is refused.

use kinst_base::uapi::{self, Verify};

/// Why an image is refused, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Refusal {
    /// The check that failed.
    pub code: Verify,
    /// The DIFO's index in its table; `None` if the refusal is about something else.
    pub difo: Option<u32>,
    /// Index of the instruction in the DIFO, or of a table's entry.
    pub index: Option<u32>,
}

impl Refusal {
    /// Converts a refusal reported by the kernel; `None` if it reports none.
    pub fn from_kernel(error: &uapi::Error) -> Option<Refusal> {
        let known = |index: u32| (index != uapi::NONE).then_some(index);
        let refusal =
            Refusal { code: Verify(error.code), difo: known(error.difo), index: known(error.index) };
        (refusal.code != Verify::OK).then_some(refusal)
    }

    pub(super) fn of(code: Verify) -> Refusal {
        Refusal { code, difo: None, index: None }
    }

    pub(super) fn at(code: Verify, index: u32) -> Refusal {
        Refusal { code, difo: None, index: Some(index) }
    }

    pub(super) fn in_difo(code: Verify, difo: u32, index: Option<u32>) -> Refusal {
        Refusal { code, difo: Some(difo), index }
    }

    fn text(&self) -> String {
        let mut text = match self.code {
            Verify::HEADER => "not an image of this ABI",
            Verify::TABLE => "a table is misaligned or outside the image",
            Verify::STRTAB => "the string table does not begin and end with NUL",
            Verify::INDEX => "a reference to an entry that does not exist",
            Verify::RESERVED => "a reserved field is not zero",
            Verify::OPCODE => "unknown instruction",
            Verify::REGISTER => "no such register",
            Verify::DEST_R0 => "%r0 cannot be the destination",
            Verify::BRANCH => "a branch that is not forward, or leaves the program",
            Verify::INT => "no such integer constant",
            Verify::STR => "no such string constant",
            Verify::VARIABLE => "an unknown variable, or not of this scope or kind",
            Verify::SUBR => "unknown or unsupported subroutine",
            Verify::TYPE => "not a valid type",
            Verify::NO_RET => "the last instruction is not ret",
            Verify::ACTION => "an action that is not supported, or whose expression does not fit",
            Verify::TUPLE => "not the key of an aggregation",
            Verify::DESTRUCTIVE => "destructive actions are not allowed (-w)",
            Verify::LIMIT => "a limit is exceeded",
            Verify::PROBE => "not a valid probe",
            Verify::OPTION => "an option is out of its range",
            _ => "refused for an unknown reason",
        }
        .to_string();
        let name = self.code.name().map_or_else(|| self.code.0.to_string(), |name| name.to_lowercase());
        text.push_str(&format!(" ({name}"));
        if let Some(difo) = self.difo {
            text.push_str(&format!(", DIFO {difo:#x}"));
        }
        if let Some(index) = self.index {
            text.push_str(&format!(", entry {index}"));
        }
        text + ")"
    }
}

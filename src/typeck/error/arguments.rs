//! typeck/error/arguments.rs: messages about args[].

use super::text::{because, error};
use kinst_base::diag::{Diagnostic, Tag, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// A use of `args[]` without a single meaning: outside of a clause, of several probes, or out of range.
#[derive(Clone, Debug, PartialEq)]
pub enum Args {
    Subscript {
        tag: Tag,
        span: Span,
    },
    Outside {
        span: Span,
    },
    Unstable {
        span: Span,
        probe: Span,
    },
    Differ {
        span: Span,
        probe: Span,
        notes: Vec<String>,
    },
    /// The description matches this driver's static probe, and probes of other kinds.
    Driver {
        driver: String,
        span: Span,
    },
    Index {
        number: u64,
        count: u64,
        span: Span,
    },
    WithoutType {
        function: String,
        why: Option<String>,
        span: Span,
    },
    /// The number of a vector register, which no probe in a program can read.
    InVector {
        what: String,
        ty: Type,
        register: usize,
        span: Span,
    },
}

impl Args {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Subscript { tag, span } => {
                error(*tag, "the index of `args[]` must be one integer constant")
                    .at(*span, "not such a constant")
            }
            Self::Outside { span } => {
                error(tags::ARGS_NONE, "`args[]` is only available in a clause").at(*span, "not in a clause")
            }
            Self::Unstable { span, probe } => error(
                tags::ARGS_MULTI,
                "the probes of this description, and so the types of `args[]`, are unknown",
            )
            .at(*span, "of which probe?")
            .and(*probe, "may match several probes")
            .help("name provider, function and probe in full, or use the raw arguments `arg0` to `arg9`"),
            Self::Differ { span, probe, notes } => {
                let title = "the description matches probes with different arguments";
                let mut diagnostic = error(tags::ARGS_MULTI, title)
                    .at(*span, "of which probe?")
                    .and(*probe, "matches several")
                    .help("write a clause for each probe, or use the raw arguments `arg0` to `arg9`");
                diagnostic.notes.extend(notes.iter().cloned());
                diagnostic
            }
            Self::Driver { driver, span } => {
                let title = "the description matches static probes of a driver and other probes";
                error(tags::ARGS_MULTI, title)
                    .at(*span, format!("{driver} is a static probe of a driver"))
                    .help("name the provider, or write a clause for each")
            }
            Self::Index { number, count, span } => {
                let title = match count {
                    0 => "the probe has no typed arguments".to_string(),
                    1 => format!("args[{number}] does not exist: the probe has one argument"),
                    count => format!("args[{number}] does not exist: the probe has {count} arguments"),
                };
                error(tags::ARGS_IDX, title).at(*span, "out of range")
            }
            Self::InVector { what, ty, register, span } => {
                let title =
                    format!("{what} is in the vector register %xmm{register}, which a probe cannot read");
                error(tags::ARGS_TYPE, title).at(*span, format!("this is {ty}")).help(
                    "probe a line at which it is in memory: -lv shows where the variables of a place are",
                )
            }
            Self::WithoutType { function, why, span } => {
                let title = format!("the type of this argument of {function}() is unknown");
                because(error(tags::ARGS_TYPE, title).at(*span, "argument without a type"), why)
                    .help("use the raw arguments `arg0` to `arg9`, which are 64-bit integers")
            }
        }
    }
}

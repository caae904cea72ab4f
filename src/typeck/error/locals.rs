//! typeck/error/locals.rs: messages about variables of the kernel's code.

use super::text::{did_you_mean, error};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// The number of places that a message lists.
const SHOWN: usize = 5;
const ZERO: &str = "probe an instruction where it is live, or, where it is not, take 0 (-x missinglocals=zero) or leave the clause out (-x missinglocals=skip)";

/// A use of `locals->`, or of `args[]` at an instruction, that has no value.
#[derive(Clone, Debug, PartialEq)]
pub enum Local {
    Alone { span: Span },
    Outside { what: &'static str, probe: Option<Span>, span: Span },
    Undefined { unknown: Unknown, span: Span },
    LargeZero { what: String, place: String, bytes: u64, most: u64, span: Span },
    Type { what: String, found: Type, span: Span },
    Absent { absence: Absence, zero: bool },
    NoScope { what: String, place: String, why: String, probe: Span, several: bool, span: Span },
    LeftOut { total: usize, places: Vec<String>, span: Span },
    NoPlace { probe: String, span: Span },
    Description { diagnostic: Box<Diagnostic>, span: Span },
}

/// A variable that is not in scope at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    pub name: String,
    pub similar: Option<String>,
    /// The names of the variables in scope there.
    pub known: Vec<String>,
    pub place: String,
    /// Another place of the clause where it is in scope.
    pub elsewhere: Option<String>,
}

/// A variable that has no value at some places of a clause; one for each name in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Absence {
    /// `locals->count`, `args[1]`
    pub what: String,
    /// The places, each with the reason.
    pub places: Vec<(String, String)>,
    pub span: Span,
}

impl Local {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Alone { span } => error(tags::LOCALS, "`locals` by itself is not a value")
                .at(*span, "a variable must follow")
                .help(
                    "write `locals->name`, of a variable of the kernel's code that is in scope at the probe, or `print(locals)` for all",
                ),
            Self::Outside { what, probe, span } => {
                let title = format!("`{what}` exists only at instructions of the kernel");
                let diagnostic = error(tags::LOCALS, title).at(*span, "of which code?");
                let diagnostic = match probe {
                    Some(probe) => diagnostic.and(*probe, "this probe is not at an instruction"),
                    None => diagnostic,
                };
                diagnostic.help("use it at probes of kinst: `kinst::FUNCTION:entry` of an inlined function, or `kinst::FUNCTION:OFFSET`")
            }
            Self::Undefined { unknown, span } => undefined(unknown, *span),
            Self::LargeZero { what, place, bytes, most, span } => error(
                tags::LOCALS,
                format!("{what} is not available at {place}, and too large to be 0 there"),
            )
            .at(*span, format!("this has {bytes} bytes, and a placeholder {most} at most"))
            .help("probe an instruction where it is live"),
            Self::Type { what, found, span } => {
                error(tags::LOCALS, format!("{what} has no value that D can hold"))
                    .at(*span, format!("this is {found}"))
            }
            Self::Absent { absence, zero } => absent(absence, *zero),
            Self::NoScope { what, place, why, probe, several, span } => {
                let diagnostic = error(tags::LOCALS, format!("{what} is not known at {place}"))
                    .at(*span, "variable of the kernel's code")
                    .and(*probe, "at this probe")
                    .note(why.clone())
                    .help("`regs[]` has the registers, also without debug information");
                match several {
                    true => diagnostic.help("-x missinglocals=skip leaves the clause out at such places"),
                    false => diagnostic,
                }
            }
            Self::LeftOut { total, places, span } => {
                let title = format!("the clause is left out at {} of {total} places", places.len());
                let diagnostic = Diagnostic::warning(tags::LOCALS, title)
                    .at(*span, "some of its variables are not available at these places");
                with_first(diagnostic, places.iter().cloned())
            }
            Self::NoPlace { probe, span } => {
                error(tags::PDESC_ZERO, format!("probe description {probe} does not match any probes"))
                    .at(*span, "no such probe")
                    .help("-l lists all probes")
            }
            Self::Description { diagnostic, span } => match diagnostic.labels.is_empty() {
                true => diagnostic.as_ref().clone().at(*span, "no such probe"),
                false => diagnostic.as_ref().clone(),
            },
        }
    }
}

fn undefined(unknown: &Unknown, span: Span) -> Diagnostic {
    let Unknown { name, similar, known, place, elsewhere } = unknown;
    let title = format!("no variable `{name}` is in scope at {place}");
    let diagnostic = error(tags::LOCALS, title).at(span, "unknown variable of the kernel's code");
    let similar = similar.as_ref().map(|similar| format!("locals->{similar}"));
    let diagnostic = did_you_mean(diagnostic, &similar);
    let diagnostic = match known.is_empty() {
        true => diagnostic.note("no variable is in scope there"),
        false => diagnostic.note(format!("in scope there: {}", known.join(", "))),
    };
    match elsewhere {
        Some(place) => diagnostic.note(format!("`{name}` is in scope at {place}")).help(ZERO),
        None => diagnostic,
    }
}

/// A warning if the value is `zero` at those places, an error otherwise.
fn absent(absence: &Absence, zero: bool) -> Diagnostic {
    let count = absence.places.len();
    let what = absence.what.as_str();
    let title = match (&absence.places[..], zero) {
        ([(place, _)], false) => format!("{what} is not available at {place}"),
        ([(place, _)], true) => format!("{what} is not available at {place} and is 0 there"),
        (_, false) => format!("{what} is not available at {count} places"),
        (_, true) => format!("{what} is not available at {count} places and is 0 there"),
    };
    let mut diagnostic = match zero {
        true => Diagnostic::warning(tags::LOCALS, title),
        false => error(tags::LOCALS, title),
    };
    diagnostic = diagnostic.at(absence.span, "variable of the kernel's code");
    match &absence.places[..] {
        [(_, why)] => diagnostic = diagnostic.note(why.clone()),
        places => {
            diagnostic = with_first(diagnostic, places.iter().map(|(place, why)| format!("{place}: {why}")));
        }
    }
    match zero {
        true => diagnostic,
        false => diagnostic.help(ZERO),
    }
}

/// Lists the first places and the number of the others.
fn with_first(diagnostic: Diagnostic, mut places: impl ExactSizeIterator<Item = String>) -> Diagnostic {
    let diagnostic = places.by_ref().take(SHOWN).fold(diagnostic, Diagnostic::note);
    match places.len() {
        0 => diagnostic,
        1 => diagnostic.note("and 1 more place"),
        more => diagnostic.note(format!("and {more} more places")),
    }
}

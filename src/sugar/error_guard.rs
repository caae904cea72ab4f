//! sugar/error_guard.rs: `self->%error`: skips the rest of a split clause after a fault.

use super::plain;
use super::synth;
use crate::parser::ast::{ProbeDesc, ProbeDescKind};
use crate::probe::Fields;
use crate::source::Span;

type Clause = plain::Clause<ProbeDesc>;

/// Whether a run has the clause on `dtrace:::ERROR`; once is enough, however many programs need it.
#[derive(Default)]
pub struct Guard {
    made: bool,
}

/// Makes `dtrace:::ERROR { self->%error = 1; }`, unless the run has it already.
pub fn on_error(guard: &mut Guard, origin: Span) -> Option<Clause> {
    if std::mem::replace(&mut guard.made, true) {
        return None;
    }
    let fields = Fields { provider: "dtrace".to_owned(), name: "ERROR".to_owned(), ..Fields::default() };
    // The program has no text for this description.
    let nowhere = Span { end: origin.start, ..origin };
    let probes = vec![ProbeDesc { kind: ProbeDescKind::Fields(Box::new(fields)), span: nowhere }];
    Some(set_flag(probes, 1, origin))
}

/// Makes `P { self->%error = 0; }`: a new firing has not failed yet.
pub fn reset(probes: Vec<ProbeDesc>, origin: Span) -> Clause {
    set_flag(probes, 0, origin)
}

fn set_flag(probes: Vec<ProbeDesc>, value: u64, origin: Span) -> Clause {
    let set = synth::assign(synth::error_flag(origin), synth::integer(value, origin), origin);
    Clause { probes, predicate: None, body: Some(vec![set]), part: true, span: origin }
}

//! sugar/error_guard.rs: `self->%error`: skips the rest of a split clause after a fault.

use super::plain::Clause;
use super::stage::Stage;
use super::synth;
use kinst_base::source::Span;

/// Whether a run has the clause on `dtrace:::ERROR`; one is enough for all programs.
#[derive(Default)]
pub(super) struct Guard {
    made: bool,
}

/// Makes `dtrace:::ERROR { self->%error = 1; }`, unless the run has it already.
pub(super) fn on_error<P: Stage>(guard: &mut Guard, origin: Span) -> Option<Clause<P>> {
    if std::mem::replace(&mut guard.made, true) {
        return None;
    }
    // The program has no text for this description.
    let nowhere = Span { end: origin.start, ..origin };
    Some(set_flag(vec![P::on_error(nowhere)], 1, origin))
}

/// Makes `P { self->%error = 0; }`: a new firing has not failed yet.
pub(super) fn reset<P>(probes: Vec<P>, origin: Span) -> Clause<P> {
    set_flag(probes, 0, origin)
}

fn set_flag<P>(probes: Vec<P>, value: u64, origin: Span) -> Clause<P> {
    let set = synth::assign(synth::error_flag(origin), synth::integer(value, origin), origin);
    Clause { probes, predicate: None, body: Some(vec![set]), part: true, span: origin }
}

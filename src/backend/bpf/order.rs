//! backend/bpf/order.rs: the order of several programs at one instruction of a traced program.

use kinst_base::probe::{Place, Probe, When};
use kinst_bpf::Unit;
use kinst_bpf::object::ProbeKind;

/// Returns when a program is attached, compared with others at the same instruction of a program. The kernel runs first
/// what was attached last: a call has to begin before the instruction counts as its own, and the instruction counts
/// before an edge from it, or a return, ends the call.
pub(super) fn turn(unit: &Unit, probes: &[Probe]) -> u8 {
    let first = || {
        let place = unit.places.first()?;
        match &probes.get(place.probe as usize)?.place {
            Place::Program(program) => program.spots.iter().find(|spot| spot.address == place.at),
            _ => None,
        }
    };
    match unit.kind {
        ProbeKind::UserReturn => 1,
        ProbeKind::UserInsn if first().is_some_and(|spot| spot.when != When::Always) => 2,
        ProbeKind::UserInsn => 3,
        ProbeKind::UserEntry(_) => 4,
        // These are elsewhere.
        _ => 0,
    }
}

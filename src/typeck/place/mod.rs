//! typeck/place/: what a clause means at each of its probes: variables of the place, arguments, one clause a place.

pub(super) mod arguments;
pub(super) mod fan_out;
pub(super) mod locals;

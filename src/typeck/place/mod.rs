//! typeck/place/: the meaning of a clause at each of its probes: variables, arguments, one clause per place.

pub(super) mod arguments;
mod described;
mod driven;
pub(super) mod fan_out;
pub(super) mod locals;
mod passing;
pub(super) mod print_all;

//! typeck/state/place.rs: the places of a clause that names their variables.

use std::sync::Arc;

use crate::sugar::plain::ProbeDesc;
use crate::typeck::error::Error;
use kinst_sites::{Driven, InScope};

/// A place whose variables a clause names.
#[derive(Clone, Debug)]
pub(in crate::typeck) struct Place {
    pub probe: ProbeDesc,
    pub in_scope: InScope,
    /// At a driver's static probe: its arguments.
    pub driven: Option<Arc<Driven>>,
}

/// A place at which a clause is left out.
#[derive(Clone, Debug)]
pub(in crate::typeck) struct LeftOut {
    pub probe: ProbeDesc,
    pub why: Box<Error>,
    /// The number of the clause's places.
    pub total: usize,
}

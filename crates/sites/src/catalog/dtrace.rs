//! sites/catalog/dtrace.rs: the probes of the provider dtrace.

use super::fields::are_nameless;
use super::store::Catalog;
use kinst_base::glob::Pattern;
use kinst_base::probe::{Fields, Place, Probe};

/// BEGIN, END and ERROR, with their places.
pub const DTRACE: [(&str, Place); 3] =
    [("BEGIN", Place::Begin), ("END", Place::End), ("ERROR", Place::Error)];

pub(super) fn dtrace_probe(id: u32, name: &str, place: Place) -> Probe {
    Probe { id, name: Fields::new("dtrace", "", "", name), place }
}

impl Catalog {
    pub(super) fn dtrace(&self, fields: &Fields) -> Vec<Probe> {
        let name = Pattern::new(&fields.name);
        let nameless = are_nameless(fields);
        let ids = (1..).zip(DTRACE);
        ids.filter(|(_, (probe, _))| nameless && name.matches(probe))
            .map(|(id, (name, place))| dtrace_probe(id, name, place))
            .collect()
    }
}

//! typeck/state/ahead.rs: the associative arrays that clauses read before the first assignment, over the passes of a check.

use std::collections::{HashMap, HashSet};

use super::names::Name;
use crate::typeck::error::{self, Error};
use crate::typeck::typed::Scope;
use kinst_base::source::Span;
use kinst_types::Type;

/// An array's scope and name.
pub(in crate::typeck) type Array = (Scope, String);

/// The arrays that are read first. As in libdtrace an array exists from its first use, which fixes its keys; the first
/// assignment says what its elements are. Until that is known they pass for integers, and the program is checked
/// again with what a pass has found, until one finds what it began with.
#[derive(Clone, Debug, Default)]
pub(in crate::typeck) struct Ahead {
    /// The arrays that the program assigns somewhere.
    pub assigned: HashSet<Array>,
    /// The types that the pass before this one has found.
    pub types: HashMap<Array, Type>,
    /// The arrays that this pass has read first, in their order.
    pub read: Vec<(Array, Span)>,
    pub found: HashMap<Array, Type>,
    /// The first error, and the first one of an assignment that would have said a type.
    pub error: Option<Box<Error>>,
    pub failed: Option<Box<Error>>,
}

impl Ahead {
    /// Whether nothing has said the type of this array so far.
    pub(crate) fn is_open(&self, name: &Name<'_>) -> bool {
        let array = (name.scope, name.name.to_owned());
        self.read.iter().any(|(read, _)| *read == array) && !self.found.contains_key(&array)
    }

    /// The error of a clause is looked at again after the pass, as it may follow from a type that is not known yet.
    pub(crate) fn keep(&mut self, error: Box<Error>) {
        self.error.get_or_insert(error);
    }

    /// Whether this pass began with the types that it found.
    pub(crate) fn is_settled(&self) -> bool {
        let settled = |array: &Array| match (self.types.get(array), self.found.get(array)) {
            (Some(before), Some(found)) => before.same(found),
            _ => false,
        };
        self.read.iter().all(|(array, _)| settled(array))
    }

    pub(crate) fn without_type(&self) -> Option<Box<Error>> {
        let open = self.read.iter().find(|(array, _)| !self.found.contains_key(array));
        let ((scope, name), span) = open.or(self.read.first())?;
        let name = format!("{}{name}", scope.prefix());
        let unknown = error::Name::ElementsUnknown { name, span: *span };
        Some(self.failed.clone().unwrap_or_else(|| unknown.into()))
    }
}

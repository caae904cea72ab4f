//! typeck/state/ahead.rs: the associative arrays that clauses read before the first assignment, over the passes of a check.

use std::collections::{HashMap, HashSet};

use super::names::Name;
use crate::typeck::error::{self, Error};
use crate::typeck::typed::Scope;
use kinst_base::source::Span;
use kinst_types::Type;

/// An array's scope and name.
pub(in crate::typeck) type Array = (Scope, String);

/// The arrays that are read first. As in libdtrace, an array exists from its first use, which fixes its
/// keys; the first assignment fixes the type of its elements. Until then the elements count as integers,
/// and the program is checked again with the types that a pass finds, until a pass ends with the types that
/// it began with.
#[derive(Clone, Debug, Default)]
pub(in crate::typeck) struct Ahead {
    /// The arrays that the program assigns somewhere.
    pub assigned: HashSet<Array>,
    /// The types that the previous pass found.
    pub types: HashMap<Array, Type>,
    /// The arrays that this pass read first, in order.
    pub read: Vec<(Array, Span)>,
    pub found: HashMap<Array, Type>,
    /// The first error, and the first error of an assignment that would have fixed a type.
    pub error: Option<Box<Error>>,
    pub failed: Option<Box<Error>>,
}

impl Ahead {
    /// Whether the type of this array is still unknown.
    pub(crate) fn is_open(&self, name: &Name<'_>) -> bool {
        let array = (name.scope, name.name.to_owned());
        self.read.iter().any(|(read, _)| *read == array) && !self.found.contains_key(&array)
    }

    /// Keeps the error of a clause until the pass ends, as it may follow from a type that is not known yet.
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

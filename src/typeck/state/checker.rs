//! typeck/state/checker.rs: the state of one check, which all parts of the checker share.

use std::collections::HashMap;

use super::ahead::Ahead;
use super::declared::{Frame, Inline, Provider, Translators};
use super::names::Names;
use super::place::{LeftOut, Place};
use crate::sugar::plain::ProbeDesc;
use crate::typeck::env::Env;
use crate::typeck::error;
use crate::vocabulary::builtin::{self, Entry};
use kinst_base::attributes::{self, Attributes};
use kinst_base::diag::Diagnostic;
use kinst_base::source::Span;
use kinst_types::declared::Declared;
use kinst_types::{Layout, Type};

/// The state of one check.
pub(in crate::typeck) struct Checker<'a> {
    pub env: &'a Env<'a>,
    pub layout: Layout,
    pub names: Names,
    pub ahead: Ahead,
    /// The probes of the clause being checked; `None` outside all clauses.
    pub probes: Option<Vec<ProbeDesc>>,
    /// The program's declarations other than variables.
    pub declared: Declared,
    pub externs: HashMap<String, (Type, Span)>,
    pub inlines: HashMap<String, Inline>,
    pub translators: Translators,
    pub providers: HashMap<String, Provider>,
    /// The attributes of the program's names, as its pragmas give them.
    pub attributes: HashMap<String, Attributes>,
    /// The attributes of providers, as pragmas give them.
    pub provider_attributes: HashMap<String, attributes::Provider>,
    /// The names of the libraries that were loaded; a program that is not a library may not depend on one.
    pub loaded: Vec<String>,
    pub in_library: bool,
    /// Whether the declaration being checked comes from a file that the preprocessor included.
    pub in_header: bool,
    /// The parameters of the inlines and translators that are being expanded; only the last frame is visible.
    pub frames: Vec<Frame>,
    pub expansions: u32,
    /// The first action of the statement that is used where a value is required.
    pub misplaced: Option<error::Misplaced>,
    /// The first feature that the DIF machine does not support yet. It is reported last: errors of the
    /// program itself take precedence.
    pub unsupported: Option<error::Unavailable>,
    /// The current place of the clause being checked, if the clause names variables of that place.
    pub place: Option<Place>,
    /// All places of that clause.
    pub places: Vec<Place>,
    /// Variables that the clause names and that some of its places lack.
    pub absences: Vec<error::Absence>,
    /// The places at which the clause, and the clauses split from the same one, are left out.
    pub left_out: Vec<LeftOut>,
    pub warnings: Vec<Diagnostic>,
    pub remarks: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    pub(in crate::typeck) fn new(env: &'a Env<'a>) -> Checker<'a> {
        Checker {
            env,
            layout: Layout { strsize: env.strsize },
            names: Names::default(),
            ahead: Ahead::default(),
            probes: None,
            declared: Declared::default(),
            externs: HashMap::new(),
            inlines: HashMap::new(),
            translators: Translators::default(),
            providers: HashMap::new(),
            attributes: HashMap::new(),
            provider_attributes: HashMap::new(),
            loaded: Vec::new(),
            in_library: false,
            in_header: false,
            frames: Vec::new(),
            expansions: 0,
            misplaced: None,
            unsupported: None,
            place: None,
            places: Vec::new(),
            absences: Vec::new(),
            left_out: Vec::new(),
            warnings: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Looks up a name that every program has. Libraries and their definitions have all of them.
    pub(in crate::typeck) fn builtin(&self, name: &str) -> Option<&'static Entry> {
        let own = !self.in_library && self.frames.is_empty();
        builtin::lookup_in(name, self.env.version.filter(|_| own))
    }

    /// Adds a warning once; a clause may be checked several times.
    pub(in crate::typeck) fn warn(&mut self, warning: Diagnostic) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

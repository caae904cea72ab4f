//! dif/record.rs: one record of a ring: the firing of one enabling, and the layout of its values.

use super::action::ActionKind;
use super::program::{Action, Options, Program};
use crate::action::Ustack;
use crate::layout::{self, AggregationLayout, ClauseLayout, LayoutError};
use std::collections::HashMap;
use std::ops::Range;

/// A record in a ring, without the header.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The CPU on which the probe fired.
    pub cpu: u32,
    /// The enabling, from 1, or `KINST_EPID_FAULT`.
    pub epid: u32,
    /// Nanoseconds, as in the D variable `timestamp`.
    pub timestamp: u64,
    /// Values in the layout of the clause's [`ClauseLayout`], or `struct kinst_fault`.
    pub payload: &'a [u8],
}

/// The layouts of a program's records and aggregations.
#[derive(Debug)]
pub struct Layouts {
    /// Parallel to the program's clauses.
    clauses: Vec<ClauseLayout>,
    /// The recorded user stacks with a copy; parallel to the program's clauses.
    copies: Vec<Vec<(layout::Record, Ustack)>>,
    /// By the index of the action in the image.
    aggregations: HashMap<u32, AggregationEntry>,
}

/// The meaning of the entries of one aggregating action.
#[derive(Debug)]
pub struct AggregationEntry {
    /// The id of the aggregation, from 1.
    pub aggregation: u32,
    /// Layout of keys and value in an entry.
    pub layout: AggregationLayout,
    /// User stacks recorded with a copy; parallel to the keys.
    pub copies: Vec<Option<Ustack>>,
}

impl Layouts {
    /// Computes the layouts of all clauses; fails if an action has none.
    pub fn new(program: &Program, options: &Options) -> Result<Layouts, LayoutError> {
        let clauses = program.clauses.iter().map(|clause| layout::clause_layout(program, clause, options));
        let clauses: Vec<ClauseLayout> = clauses.collect::<Result<_, _>>()?;
        let copies = program.clauses.iter().zip(&clauses).map(|(clause, layout)| {
            let records = layout.records.iter().zip(&clause.actions);
            records.filter_map(|(record, action)| Some(((*record)?, copied(action)?))).collect()
        });
        let mut aggregations = HashMap::new();
        // The image holds the actions of all clauses one after the other.
        let mut number = 0;
        for clause in &program.clauses {
            for (index, action) in clause.actions.iter().enumerate() {
                if action.kind as u16 & 0xff00 == 0x0700 {
                    let layout = layout::aggregation_layout(program, clause, index, options)?;
                    let keys = &clause.actions[index - usize::from(action.ntuple)..index];
                    let copies = keys.iter().map(copied).collect();
                    aggregations.insert(number, AggregationEntry { aggregation: action.agg, layout, copies });
                }
                number += 1;
            }
        }
        Ok(Layouts { copies: copies.collect(), clauses, aggregations })
    }

    /// Returns the meaning of an entry by its action's index in the image; `None` if the action does not aggregate.
    pub fn aggregation(&self, action: u32) -> Option<&AggregationEntry> {
        self.aggregations.get(&action)
    }

    /// Whether aggregation keys include copies of stacks.
    pub fn aggregates_copies(&self) -> bool {
        self.aggregations.values().any(|entry| entry.copies.iter().any(Option::is_some))
    }

    /// Returns the user stacks that a clause records with a copy.
    pub fn copies(&self, clause: usize) -> &[(layout::Record, Ustack)] {
        self.copies.get(clause).map_or(&[], Vec::as_slice)
    }

    /// Returns the actions of a statement that recorded something, with their values. The value of a user
    /// stack is its process and addresses.
    pub fn values<'a>(
        &'a self,
        program: &'a Program,
        clause: usize,
        actions: Range<usize>,
        payload: &'a [u8],
    ) -> impl Iterator<Item = (&'a Action, &'a [u8])> {
        let records = self.clauses.get(clause).map_or(&[][..], |layout| &layout.records);
        let all = program.clauses.get(clause).map_or(&[][..], |clause| &clause.actions);
        actions.filter_map(move |index| {
            let record = (*records.get(index)?)?;
            let action = all.get(index)?;
            let size = copied(action).map_or(record.size as usize, |ustack| ustack.plain() as usize);
            Some((action, payload.get(record.offset as usize..)?.get(..size)?))
        })
    }
}

/// Returns the record of a user stack, if it includes a copy.
fn copied(action: &Action) -> Option<Ustack> {
    let ustack = Ustack::unpack(action.arg);
    (action.kind == ActionKind::Ustack && ustack.copied > 0).then_some(ustack)
}

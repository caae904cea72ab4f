//! dif/record.rs: one record of a ring: the firing of one enabling, and the places of its values.

use crate::dif::layout::{AggregationLayout, ClauseLayout, LayoutError, aggregation_layout, clause_layout};
use crate::dif::{Action, Options, Program};
use std::collections::HashMap;
use std::ops::Range;

/// A record in a ring, without the header.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub cpu: u32,
    pub epid: u32,
    /// Nanoseconds, as in the D variable.
    pub timestamp: u64,
    pub payload: &'a [u8],
}

/// The places of the values in a program's records and aggregations.
#[derive(Debug)]
pub struct Layouts {
    /// Parallel to the program's clauses.
    clauses: Vec<ClauseLayout>,
    /// By the number of the action in the image.
    aggregations: HashMap<u32, AggregationEntry>,
}

#[derive(Debug)]
pub struct AggregationEntry {
    /// The id of the aggregation, from 1.
    pub aggregation: u32,
    pub layout: AggregationLayout,
}

impl Layouts {
    pub fn new(program: &Program, options: &Options) -> Result<Layouts, LayoutError> {
        let clauses = program.clauses.iter().map(|clause| clause_layout(program, clause, options));
        let clauses = clauses.collect::<Result<_, _>>()?;
        let mut aggregations = HashMap::new();
        // The image holds the actions of all clauses one after the other.
        let mut number = 0;
        for clause in &program.clauses {
            for (index, action) in clause.actions.iter().enumerate() {
                if action.kind as u16 & 0xff00 == 0x0700 {
                    let layout = aggregation_layout(program, clause, index, options)?;
                    aggregations.insert(number, AggregationEntry { aggregation: action.agg, layout });
                }
                number += 1;
            }
        }
        Ok(Layouts { clauses, aggregations })
    }

    pub fn aggregation(&self, action: u32) -> Option<&AggregationEntry> {
        self.aggregations.get(&action)
    }

    /// Returns the actions of a statement that recorded something, with their values.
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
            let bytes = payload.get(record.offset as usize..)?.get(..record.size as usize)?;
            Some((all.get(index)?, bytes))
        })
    }
}

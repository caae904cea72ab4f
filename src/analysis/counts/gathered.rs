//! analysis/counts/gathered.rs: the counts of a trace, by probe.

use super::aggregations::{BEGUN, EARLY, ENDED, EXECUTIONS, FIRINGS, LATE, STEPS, TIME};
use crate::consumer::export::{Export, Tables};
use crate::consumer::message::{Message, What};
use crate::consumer::table::Aggregate;
use crate::consumer::value::Value;
use kinst_base::probe::{Fields, Probe, Site};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The executions of each armed probe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered(Rc<RefCell<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    /// By function index and probe id.
    executions: HashMap<(i128, i128), u64>,
    ids: HashMap<Fields, i128>,
    /// The number of lost executions.
    lost: u64,
    /// The calls that began, and how many of these ended, by function.
    begun: HashMap<i128, u64>,
    ended: HashMap<i128, u64>,
    /// The time from each probe to the next one, by function index and probe id.
    taken: HashMap<(i128, i128), Taken>,
    /// The minimum and maximum difference of the two clocks.
    clocks: [Option<i128>; 2],
}

/// The time from a probe to the next one of the same call, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub times: u64,
    pub sum: u64,
    pub squares: u128,
    /// The number of probes that fired during the interval: one each time, and more if the call made other
    /// calls.
    pub firings: u64,
    /// The ones at which the kernel executes the instruction of a program in a single step.
    pub steps: u64,
}

impl Gathered {
    /// Records the armed probes.
    pub(crate) fn begin(&self, armed: &mut dyn Iterator<Item = &Probe>) {
        self.0.borrow_mut().ids = armed.map(|probe| (probe.name.clone(), probe.id.into())).collect();
    }

    /// Records the ids of the sites that are armed.
    pub(crate) fn begin_at(&self, ids: &HashMap<Fields, u32>) {
        self.0.borrow_mut().ids = ids.iter().map(|(site, id)| (site.clone(), (*id).into())).collect();
    }

    /// The executions of a site for a function, by its index; `None` if it was not armed.
    pub(crate) fn of(&self, function: usize, site: &Site) -> Option<u64> {
        let counts = self.0.borrow();
        let id = counts.ids.get(&site.fields())?;
        Some(counts.executions.get(&(function as i128, *id)).copied().unwrap_or(0))
    }

    /// The time from a site to the next one.
    pub(crate) fn taken(&self, function: usize, site: &Site) -> Option<Taken> {
        let counts = self.0.borrow();
        let id = counts.ids.get(&site.fields())?;
        counts.taken.get(&(function as i128, *id)).copied()
    }

    /// The number of calls of a function that had not ended when counting stopped.
    pub(crate) fn unfinished(&self, function: usize) -> u64 {
        let counts = self.0.borrow();
        let of = |counts: &HashMap<i128, u64>| counts.get(&(function as i128)).copied().unwrap_or(0);
        of(&counts.begun).saturating_sub(of(&counts.ended))
    }

    /// The nanoseconds by which the clock was adjusted during the measurement.
    pub(crate) fn set(&self) -> u64 {
        let [early, late] = self.0.borrow().clocks;
        let set = late.zip(early).map(|(late, early)| late.saturating_sub(early));
        set.and_then(|set| u64::try_from(set).ok()).unwrap_or(0)
    }

    /// The number of executions that were not counted.
    pub(crate) fn lost(&self) -> u64 {
        self.0.borrow().lost
    }
}

impl Export for Gathered {
    fn message(&mut self, message: &Message, _: &mut Vec<u8>) {
        if let What::Drop { count, .. } = message.what {
            self.0.borrow_mut().lost += count;
        }
    }

    fn finish(&mut self, tables: &dyn Tables, _: u8, _: &mut Vec<u8>) -> Option<String> {
        let mut counts = self.0.borrow_mut();
        for table in &tables.all() {
            for row in &table.rows {
                if let (TIME, [Value::Int(function), Value::Int(id)]) = (table.name, &row.key[..])
                    && let Aggregate::Moment { count, sum, squares, .. } = row.value
                {
                    let taken = counts.taken.entry((*function, *id)).or_default();
                    (taken.times, taken.squares) = (count, squares);
                    taken.sum = u64::try_from(sum).unwrap_or(0);
                }
                let Aggregate::Number(number) = row.value else { continue };
                match table.name {
                    EARLY => counts.clocks[0] = Some(number),
                    LATE => counts.clocks[1] = Some(number),
                    _ => {}
                }
                let number = u64::try_from(number).unwrap_or(0);
                match (table.name, &row.key[..]) {
                    (FIRINGS, [Value::Int(function), Value::Int(id)]) => {
                        counts.taken.entry((*function, *id)).or_default().firings = number;
                    }
                    (STEPS, [Value::Int(function), Value::Int(id)]) => {
                        counts.taken.entry((*function, *id)).or_default().steps = number;
                    }
                    (EXECUTIONS, [Value::Int(function), Value::Int(id)]) => {
                        counts.executions.insert((*function, *id), number);
                    }
                    (BEGUN, [Value::Int(function)]) => drop(counts.begun.insert(*function, number)),
                    (ENDED, [Value::Int(function)]) => drop(counts.ended.insert(*function, number)),
                    _ => {}
                }
            }
        }
        None
    }
}

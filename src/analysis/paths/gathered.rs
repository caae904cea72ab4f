//! analysis/paths/gathered.rs: the records of a trace, assembled into calls; equal calls are merged.

use super::program::{BEGUN, ENDED, MOST, Role};
use crate::consumer::event::{Acted, Event};
use crate::consumer::export::{Export, Tables};
use crate::consumer::message::{Message, What};
use crate::consumer::table::Aggregate;
use crate::consumer::value::Value;
use kinst_base::probe::{Fields, Probe};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The recorded calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered(Rc<RefCell<Calls>>);

#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub probes: HashMap<u32, Fields>,
    pub shapes: HashMap<Vec<Mark>, Shape>,
    pub counts: Counts,
    /// The incomplete calls, by their common key.
    open: HashMap<u64, Open>,
    /// Whether the calls of each group are not separate paths but parts of others.
    into: Vec<bool>,
    most: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The calls that were recorded completely.
    pub whole: u64,
    /// The calls with lost records, and the calls that were too long.
    pub broken: u64,
    pub long: u64,
    /// The calls that had not ended.
    pub unfinished: u64,
    /// The number of lost records.
    pub lost: u64,
    /// The calls that arrived after the limit was reached.
    more: u64,
}

/// A part of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mark {
    /// A function of this group is entered, at a probe.
    Entry {
        group: usize,
        probe: u32,
    },
    Witness {
        probe: u32,
    },
    /// It returns: the offset of the instruction, or the probe of a copy.
    Return {
        probe: u32,
        offset: u64,
    },
}

/// Calls with the same path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// The number of calls, and of calls for which the predicate of --differ was true.
    pub calls: u64,
    pub failed: u64,
    /// The values, in the order of the records.
    pub values: Vec<Vec<Seen>>,
}

/// The first few distinct values of one item over several calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub values: Vec<u64>,
    pub more: bool,
}

#[derive(Debug, Default)]
struct Open {
    records: Vec<Record>,
    /// The number of distinct values, once it is known.
    all: Option<u64>,
}

#[derive(Debug)]
struct Record {
    number: u64,
    role: Role,
    group: usize,
    probe: u32,
    values: Vec<u64>,
}

/// A call that has begun, as far as its records have been read.
struct Frame {
    group: usize,
    marks: Vec<Mark>,
    values: Vec<Vec<u64>>,
}

impl Seen {
    const SHOWN: usize = 4;

    pub(crate) fn add(&mut self, value: u64) {
        if self.values.contains(&value) {
            return;
        }
        match self.values.len() < Seen::SHOWN {
            true => self.values.push(value),
            false => self.more = true,
        }
    }

    pub(crate) fn join(&mut self, other: &Seen) {
        other.values.iter().for_each(|value| self.add(*value));
        self.more |= other.more;
    }
}

impl Counts {
    /// Adds the calls of which no record is left: `begun` and `ended` are exact even if records are lost.
    fn complete(&mut self, begun: u64, ended: u64) {
        self.broken = self.broken.max(ended.saturating_sub(self.whole + self.long + self.more));
        if begun > 0 {
            self.unfinished = begun.saturating_sub(ended);
        }
    }
}

impl Gathered {
    /// `into`: the groups that are only followed within others; `most`: the limit on calls.
    pub(crate) fn new(into: Vec<bool>, most: u64) -> Gathered {
        Gathered(Rc::new(RefCell::new(Calls { into, most, ..Calls::default() })))
    }

    pub(crate) fn begin(&self, armed: &mut dyn Iterator<Item = &Probe>) {
        self.0.borrow_mut().probes = armed.map(|probe| (probe.id, probe.name.clone())).collect();
    }

    /// Replaces the names of probes by those of their sites.
    pub(crate) fn rename(&self, ids: HashMap<Fields, u32>) {
        self.0.borrow_mut().probes.extend(ids.into_iter().map(|(site, id)| (id, site)));
    }

    /// Returns all data.
    pub(crate) fn take(&self) -> Calls {
        std::mem::take(&mut self.0.borrow_mut())
    }
}

impl Calls {
    fn add(&mut self, probe: u32, numbers: &[u64]) {
        let [key, number, tag, values @ ..] = numbers else { return };
        let Some((role, group)) = Role::of(*tag) else { return };
        let open = self.open.entry(*key).or_default();
        let (mut last, mut values) = (false, values);
        if role == Role::Return
            && let [outermost, rest @ ..] = values
        {
            (last, values) = (*outermost == 1, rest);
        }
        open.records.push(Record { number: *number, role, group, probe, values: values.to_vec() });
        if last {
            open.all = Some(number + 1);
        }
        if open.all == Some(open.records.len() as u64)
            && let Some(open) = self.open.remove(key)
        {
            self.complete(open.records);
        }
    }

    /// Processes all records of one outermost call.
    fn complete(&mut self, mut records: Vec<Record>) {
        records.sort_unstable_by_key(|record| record.number);
        let in_order = (0..).zip(&records).all(|(number, record)| record.number == number);
        let calls = self.calls_in(&records);
        if records.len() as u64 >= MOST {
            self.counts.long += calls;
        } else if !in_order || self.read(records).is_none() {
            self.counts.broken += calls;
        }
    }

    fn calls_in(&self, records: &[Record]) -> u64 {
        let begins = |record: &&Record| record.role == Role::Entry && !self.is_into(record.group);
        records.iter().filter(begins).count().max(1) as u64
    }

    fn is_into(&self, group: usize) -> bool {
        self.into.get(group).copied().unwrap_or(false)
    }

    /// Assembles the calls from records in order. `None`: they are inconsistent.
    fn read(&mut self, records: Vec<Record>) -> Option<()> {
        let (mut frames, mut whole): (Vec<Frame>, Vec<(Frame, bool)>) = (Vec::new(), Vec::new());
        for record in records {
            let Record { role, group, probe, values, .. } = record;
            if role == Role::Entry {
                let marks = vec![Mark::Entry { group, probe }];
                frames.push(Frame { group, marks, values: vec![values] });
                continue;
            }
            let frame = frames.last_mut().filter(|frame| frame.group == group)?;
            if role == Role::Witness {
                frame.marks.push(Mark::Witness { probe });
                frame.values.push(values);
                continue;
            }
            let (offset, rest) = values.split_first()?;
            frame.marks.push(Mark::Return { probe, offset: *offset });
            let mut rest = rest.to_vec();
            let failed = rest.len() > 1 && rest.pop() == Some(1);
            frame.values.push(rest);
            let mut done = frames.pop()?;
            match frames.last_mut() {
                Some(around) if self.is_into(group) => {
                    around.marks.append(&mut done.marks);
                    around.values.append(&mut done.values);
                }
                _ => whole.push((done, failed)),
            }
        }
        if !frames.is_empty() {
            return None;
        }
        whole.into_iter().for_each(|(call, failed)| self.fold(call, failed));
        Some(())
    }

    /// Counts the calls that can no longer be completed.
    fn end(&mut self) {
        for open in std::mem::take(&mut self.open).into_values() {
            let begun = self.calls_in(&open.records);
            match open.all {
                Some(_) => self.counts.broken += begun,
                None => self.counts.unfinished += begun,
            }
        }
    }

    fn fold(&mut self, call: Frame, failed: bool) {
        // Some calls arrive before tracing ends.
        if self.counts.whole >= self.most {
            self.counts.more += 1;
            return;
        }
        self.counts.whole += 1;
        let shape = self.shapes.entry(call.marks).or_default();
        shape.calls += 1;
        shape.failed += u64::from(failed);
        shape.values.resize_with(call.values.len(), Vec::new);
        for (seen, values) in shape.values.iter_mut().zip(&call.values) {
            seen.resize_with(values.len(), Seen::default);
            seen.iter_mut().zip(values).for_each(|(seen, value)| seen.add(*value));
        }
    }
}

impl Export for Gathered {
    fn event(&mut self, event: &Event<'_>, _: &mut Vec<u8>) {
        let number = |acted: &Acted<'_>| match acted {
            Acted::Trace(Value::Int(number)) => Some(*number as u64),
            _ => None,
        };
        let numbers: Vec<u64> = event.actions.iter().filter_map(number).collect();
        self.0.borrow_mut().add(event.probe.id, &numbers);
    }

    fn message(&mut self, message: &Message, _: &mut Vec<u8>) {
        if let What::Drop { count, .. } | What::Fault { count, .. } = message.what {
            self.0.borrow_mut().counts.lost += count;
        }
    }

    fn finish(&mut self, tables: &dyn Tables, _: u8, _: &mut Vec<u8>) -> Option<String> {
        let mut calls = self.0.borrow_mut();
        calls.end();
        let all = tables.all();
        let total = |name: &str| {
            let rows = all.iter().filter(|table| table.name == name).flat_map(|table| &table.rows);
            let numbers = rows.filter_map(|row| match row.value {
                Aggregate::Number(number) => u64::try_from(number).ok(),
                _ => None,
            });
            numbers.sum::<u64>()
        };
        calls.counts.complete(total(BEGUN), total(ENDED));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: u64, number: u64, role: Role, group: usize, values: &[u64]) -> Vec<u64> {
        [&[key, number, role.tag(group)], values].concat()
    }

    /// Adds the records in this order.
    fn calls(records: &[Vec<u64>]) -> Calls {
        let mut calls = Calls { into: vec![false, true], most: 100, ..Calls::default() };
        records.iter().for_each(|numbers| calls.add(7, numbers));
        calls.end();
        calls
    }

    /// A call with a nested call, and a call of another thread with a branch.
    fn records() -> Vec<Vec<u64>> {
        use Role::{Entry, Return, Witness};
        vec![
            record(1, 0, Entry, 0, &[11]),
            record(2, 0, Entry, 0, &[12]),
            record(1, 1, Entry, 0, &[13]),
            record(2, 1, Witness, 0, &[5]),
            record(1, 2, Return, 0, &[0, 40, 9]),
            record(2, 2, Entry, 1, &[]),
            record(2, 3, Return, 1, &[0, 50, 8]),
            record(1, 3, Return, 0, &[1, 40, 9]),
            record(2, 4, Return, 0, &[1, 40, 9]),
        ]
    }

    #[test]
    fn calls_are_kept_apart_and_folded_in_whatever_order_their_records_come() {
        let mut mixed = records();
        mixed.reverse();
        for records in [records(), mixed] {
            let calls = calls(&records);
            assert_eq!(calls.counts, Counts { whole: 3, ..Counts::default() });
            let mut shapes: Vec<_> = calls.shapes.iter().collect();
            shapes.sort_by_key(|(marks, _)| marks.len());
            let [(plain, two), (other, one)] = &shapes[..] else { panic!("{shapes:?}") };
            assert_eq!((plain.len(), two.calls, other.len(), one.calls), (2, 2, 5, 1));
            let mut values = two.values[0][0].values.clone();
            values.sort_unstable();
            assert_eq!(values, [11, 13]);
            assert_eq!(one.values[1][0].values, [5]);
        }
    }

    #[test]
    fn whatever_is_missing_a_call_is_never_shown_without_it() {
        let whole = calls(&records());
        for lost in 0..records().len() {
            let mut fewer = records();
            fewer.remove(lost);
            let calls = calls(&fewer);
            let Counts { whole: left, broken, unfinished, .. } = calls.counts;
            assert!(left < 3 && broken + unfinished > 0, "without {lost}: {:?}", calls.counts);
            assert!(calls.shapes.keys().all(|marks| whole.shapes.contains_key(marks)), "without {lost}");
        }
    }

    #[test]
    fn calls_without_any_record_are_counted() {
        let mut counts = Counts { whole: 10, more: 2, broken: 1, unfinished: 9, ..Counts::default() };
        counts.complete(21, 20);
        assert_eq!((counts.whole, counts.broken, counts.unfinished), (10, 8, 1));
        counts.complete(0, 0);
        assert_eq!((counts.broken, counts.unfinished), (8, 1));
    }

    #[test]
    fn values_beyond_the_first_few_are_only_said_to_be_there() {
        let mut seen = Seen::default();
        (0..10).chain(0..3).for_each(|value| seen.add(value));
        assert_eq!((seen.values.as_slice(), seen.more), (&[0, 1, 2, 3][..], true));
        let mut other = Seen { values: vec![1], more: false };
        other.join(&seen);
        assert_eq!(other, Seen { values: vec![1, 0, 2, 3], more: true });
    }
}

//! consumer/export/metrics.rs: converts aggregations to metrics: families of labelled series.

use super::labels::{self, Names};
use super::tables::Tables;
use crate::consumer::message::{Message, What};
use crate::consumer::table::{self, Aggregate, Entry};
use crate::options::{Options, key};
use kinst_dif::{ActionKind, Aggregation, Program};
use std::collections::{BTreeMap, HashMap};

/// The series that share a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Family {
    /// The name, without the prefix of the format.
    pub name: String,
    pub help: String,
    pub kind: Kind,
    /// The points, sorted by label.
    pub points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number that never falls, except when it restarts.
    Counter,
    /// A sum of numbers that may be negative.
    Sum,
    Gauge,
    Histogram,
}

impl Kind {
    /// Returns the suffixes of a family's names in Prometheus' text format.
    pub(crate) fn suffixes(self) -> &'static [&'static str] {
        match self {
            Kind::Counter => &["_total"],
            Kind::Sum | Kind::Gauge => &[""],
            Kind::Histogram => &["", "_bucket", "_count", "_sum"],
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    pub labels: Vec<(String, String)>,
    /// The start of counting, in nanoseconds since 1970.
    pub since: i64,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Whole(i128),
    Real(f64),
    /// The largest value of each bucket but the last, and the number of values in each: one count more than bounds.
    Histogram {
        bounds: Vec<i64>,
        counts: Vec<u64>,
    },
}

/// Makes the metrics of a program each time its aggregations are read.
#[derive(Debug)]
pub(crate) struct Metrics {
    sources: Vec<Source>,
    /// The limit on series.
    bound: usize,
    series: HashMap<Identity, Series>,
    /// The highest number given to a series so far.
    next: u64,
    /// The number of lines left out at the last reading.
    dropped: usize,
    drops: BTreeMap<String, u64>,
    began: i64,
    last_read: i64,
    /// The number of families from the program at the last reading; they come first.
    pub of_program: usize,
    messages: Vec<Message>,
    /// Whether messages about left-out series were given: because of the limit, and because of negative buckets.
    said: (bool, bool),
}

/// An aggregation that makes a family.
#[derive(Debug)]
struct Source {
    id: u32,
    name: String,
    help: String,
    kind: Kind,
    labels: Vec<String>,
    /// For a distribution, the largest value of each bucket but the last.
    maxima: Vec<i64>,
    /// The first and last buckets that ever had a value, in any series.
    used: Option<(usize, usize)>,
}

/// The source's index, and the values of the labels.
type Identity = (usize, Vec<String>);

/// A series that existed at the last reading of the aggregations.
#[derive(Clone, Copy, Debug)]
struct Series {
    /// The order of appearance: older series have priority.
    number: u64,
    since: i64,
    last: i128,
}

/// The kinds of losses whose series exist from the start: without an initial 0, a rise would be invisible.
const DROPS: [&str; 4] = ["aggregation", "dynamic", "principal", "spec"];

impl Metrics {
    /// `now`: nanoseconds since 1970. `what`: the format, for messages.
    pub(crate) fn new(
        what: &str,
        program: &Program,
        options: &Options,
        now: i64,
    ) -> Result<Metrics, labels::Error> {
        let names = Names::new(&program.aggregations, options.list(key::PROMLABELS))?;
        let mut taken: Vec<String> = own(&[], &BTreeMap::new(), 0, now).iter().flat_map(samples).collect();
        let (mut sources, mut messages) = (Vec::new(), Vec::new());
        for (id, aggregation) in (1u32..).zip(&program.aggregations) {
            if labels::has_stack(aggregation) {
                let name = aggregation.written();
                let text = format!(
                    "@{name} is left out of -O {what}: a stack cannot be a label; a function can: @{name}[func(caller)]"
                );
                messages.push(Message::problem(text));
                continue;
            }
            let labels = names.of(aggregation);
            sources.push(Source::new(id, aggregation, labels, &mut taken));
        }
        Ok(Metrics {
            sources,
            bound: usize::try_from(options.number(key::PROMSERIES)).unwrap_or(usize::MAX),
            series: HashMap::new(),
            next: 0,
            dropped: 0,
            drops: DROPS.iter().map(|kind| ((*kind).to_owned(), 0)).collect(),
            began: now,
            last_read: now,
            of_program: 0,
            messages,
            said: (false, false),
        })
    }

    /// Whether no aggregation of the program is a family.
    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Takes the messages for the user since the last call.
    pub(crate) fn messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }

    /// Counts a loss.
    pub(crate) fn message(&mut self, message: &Message) {
        if let What::Drop { tag, count, .. } = message.what {
            *self.drops.entry(tag.to_ascii_lowercase()).or_default() += count;
        }
    }

    /// Returns the current families; the tracer's own counters come last.
    pub(crate) fn read(&mut self, tables: &dyn Tables, now: i64) -> Vec<Family> {
        let ids: Vec<u32> = self.sources.iter().map(|source| source.id).collect();
        let mut found: Vec<(Identity, Merged)> = Vec::new();
        let mut negative = None;
        for (index, table) in tables.undivided(&ids).iter().enumerate() {
            let Some(source) = self.sources.get_mut(index) else { break };
            for (labels, value) in merged(table) {
                match source.accept(value) {
                    Some(value) => found.push(((index, labels), value)),
                    None => negative = negative.or(Some(index)),
                }
            }
        }
        if let Some(index) = negative {
            self.say_negative(index);
        }
        self.admit(&mut found);
        let mut families: Vec<Family> = self.sources.iter().map(Source::family).collect();
        for ((index, labels), value) in found {
            let source = &self.sources[index];
            let since = self.series.get(&(index, labels.clone())).map_or(now, |series| series.since);
            let labels = source.labels.iter().cloned().zip(labels).collect();
            let value = source.value(value);
            families[index].points.push(Point { labels, since, value });
        }
        families.retain(|family| !family.points.is_empty());
        families.iter_mut().for_each(|family| family.points.sort_by(|a, b| a.labels.cmp(&b.labels)));
        self.of_program = families.len();
        families.extend(own(&tables.faults(), &self.drops, self.dropped, self.began));
        self.last_read = now;
        families
    }

    /// Drops the series beyond the limit: the newest ones, and among new ones the smallest.
    fn admit(&mut self, found: &mut Vec<(Identity, Merged)>) {
        let number = |identity: &Identity| self.series.get(identity).map_or(u64::MAX, |series| series.number);
        found.sort_by_cached_key(|(identity, value)| {
            (number(identity), std::cmp::Reverse(value.weight()), identity.clone())
        });
        let (mut room, mut dropped) = (self.bound, 0);
        let mut kept = HashMap::new();
        found.retain(|(identity, value)| {
            let lines = self.sources[identity.0].lines();
            if dropped > 0 || lines > room {
                dropped += lines;
                return false;
            }
            room -= lines;
            let weight = value.weight();
            let series = match self.series.get(identity) {
                Some(known) if known.last <= weight => Series { last: weight, ..*known },
                // The series was cleared after the last reading.
                Some(known) => Series { since: self.last_read, last: weight, ..*known },
                None => {
                    self.next += 1;
                    Series { number: self.next, since: self.last_read, last: weight }
                }
            };
            kept.insert(identity.clone(), series);
            true
        });
        (self.series, self.dropped) = (kept, dropped);
        if dropped > 0 && !std::mem::replace(&mut self.said.0, true) {
            let text = format!(
                "more than {} series (-x promseries): {dropped} of them are left out now; \
                 kinst_dropped_series counts them",
                self.bound
            );
            self.messages.push(Message::problem(text));
        }
    }

    fn say_negative(&mut self, index: usize) {
        if !std::mem::replace(&mut self.said.1, true) {
            let name = &self.sources[index].name;
            let text = format!("{name} is left out: a distribution with negative counts is not a histogram");
            self.messages.push(Message::problem(text));
        }
    }
}

impl Source {
    fn new(id: u32, aggregation: &Aggregation, labels: Vec<String>, taken: &mut Vec<String>) -> Source {
        let kind = match aggregation.function {
            ActionKind::Count => Kind::Counter,
            ActionKind::Sum if aggregation.grows => Kind::Counter,
            ActionKind::Sum => Kind::Sum,
            ActionKind::Quantize | ActionKind::Lquantize | ActionKind::Llquantize => Kind::Histogram,
            _ => Kind::Gauge,
        };
        let name = match aggregation.written() {
            "" => "aggregation",
            name if kind == Kind::Counter => name.strip_suffix("_total").unwrap_or(name),
            name => name,
        };
        let clean = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = name.chars().map(clean).collect();
        let family = |name: String| Family { name, help: String::new(), kind, points: Vec::new() };
        let mut numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut unique = family(name.clone());
        while samples(&unique).iter().any(|sample| taken.contains(sample)) {
            unique = family(numbered.next().unwrap_or_default());
        }
        taken.extend(samples(&unique));
        let function = format!("{:?}", aggregation.function).to_ascii_lowercase();
        let by = if labels.is_empty() { String::new() } else { format!(" by {}", labels.join(", ")) };
        let shown = aggregation.written();
        let starts = match kind {
            Kind::Histogram => table::starts(aggregation.function, aggregation.arg),
            Kind::Counter | Kind::Sum | Kind::Gauge => Vec::new(),
        };
        Source {
            id,
            name: unique.name,
            help: format!("The D aggregation @{shown}: {function}(){by}."),
            kind,
            labels,
            maxima: starts.into_iter().map(|start| start.saturating_sub(1)).collect(),
            used: None,
        }
    }

    fn family(&self) -> Family {
        Family { name: self.name.clone(), help: self.help.clone(), kind: self.kind, points: Vec::new() }
    }

    /// Notes the used buckets. Returns `None` if any count is negative.
    fn accept(&mut self, value: Merged) -> Option<Merged> {
        if let Merged::Buckets(buckets) = &value {
            if buckets.values().any(|count| *count < 0) {
                return None;
            }
            let mut used = buckets.iter().filter(|(_, count)| **count > 0).map(|(max, _)| self.bucket(*max));
            if let Some(first) = used.next() {
                let last = used.next_back().unwrap_or(first);
                let (low, high) = self.used.unwrap_or((first, last));
                self.used = Some((low.min(first), high.max(last)));
            }
        }
        Some(value)
    }

    /// Returns the index of the bucket with this largest value.
    fn bucket(&self, max: Bound) -> usize {
        match max {
            Bound::At(max) => self.maxima.partition_point(|known| *known < max),
            Bound::None => self.maxima.len(),
        }
    }

    /// Returns the buckets of a histogram: those with values in any series of the aggregation, plus one on either
    /// side. The range never shrinks: a bound that comes and goes would spoil every rate computed from it.
    fn buckets(&self) -> std::ops::Range<usize> {
        let Some((first, last)) = self.used else { return 0..0 };
        first.saturating_sub(1)..(last + 2).min(self.maxima.len())
    }

    /// Returns the number of Prometheus series that a point takes; a histogram also has +Inf and a count.
    fn lines(&self) -> usize {
        match self.kind {
            Kind::Histogram => self.buckets().len() + 2,
            _ => 1,
        }
    }

    fn value(&self, merged: Merged) -> Value {
        match merged {
            Merged::Whole(number) => Value::Whole(number),
            Merged::Mean { count, sum } => Value::Real(sum as f64 / count as f64),
            Merged::Deviation { count, sum, squares } => {
                let mean = sum as f64 / count as f64;
                Value::Real((squares as f64 / count as f64 - mean * mean).max(0.0).sqrt())
            }
            Merged::Buckets(buckets) => {
                let range = self.buckets();
                let bounds = self.maxima[range.clone()].to_vec();
                let mut counts = vec![0; bounds.len() + 1];
                for (max, count) in buckets {
                    let index = self.bucket(max).saturating_sub(range.start).min(bounds.len());
                    counts[index] += count.max(0) as u64;
                }
                Value::Histogram { bounds, counts }
            }
        }
    }
}

/// The largest value of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bound {
    At(i64),
    None,
}

/// The merged value of all keys with the same labels.
#[derive(Clone, Debug)]
enum Merged {
    Whole(i128),
    Mean { count: u64, sum: i128 },
    Deviation { count: u64, sum: i128, squares: u128 },
    Buckets(BTreeMap<Bound, i64>),
}

impl Merged {
    /// Returns the number of values, or the value itself if their number is not known.
    fn weight(&self) -> i128 {
        match self {
            Merged::Whole(number) => *number,
            Merged::Mean { count, .. } | Merged::Deviation { count, .. } => (*count).into(),
            Merged::Buckets(buckets) => buckets.values().map(|count| i128::from(*count)).sum(),
        }
    }
}

/// Merges the rows of an aggregation by label values: for example, two functions of the same name are one series. A row
/// without a value since clear() is left out, unless it counts.
fn merged(table: &table::Table<'_>) -> BTreeMap<Vec<String>, Merged> {
    let mut all: BTreeMap<Vec<String>, Merged> = BTreeMap::new();
    for Entry { key, value } in &table.rows {
        let Some(value) = single(table.function, value) else { continue };
        let labels = key.iter().map(labels::text).collect();
        match all.entry(labels) {
            std::collections::btree_map::Entry::Vacant(entry) => drop(entry.insert(value)),
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                join(table.function, entry.get_mut(), value)
            }
        }
    }
    all
}

fn single(function: ActionKind, value: &Aggregate) -> Option<Merged> {
    match (function, value) {
        (ActionKind::Min, Aggregate::Number(number)) if *number == i64::MAX.into() => None,
        (ActionKind::Max, Aggregate::Number(number)) if *number == i64::MIN.into() => None,
        (_, Aggregate::Number(number)) => Some(Merged::Whole(*number)),
        (_, Aggregate::Moment { count: 0, .. }) => None,
        (ActionKind::Avg, Aggregate::Moment { count, sum, .. }) => {
            Some(Merged::Mean { count: *count, sum: *sum })
        }
        (_, Aggregate::Moment { count, sum, squares, .. }) => {
            Some(Merged::Deviation { count: *count, sum: *sum, squares: *squares })
        }
        (_, Aggregate::Distribution(buckets)) => {
            let bound = |max: Option<i64>| max.map_or(Bound::None, Bound::At);
            Some(Merged::Buckets(buckets.iter().map(|bucket| (bound(bucket.max), bucket.count)).collect()))
        }
    }
}

fn join(function: ActionKind, to: &mut Merged, from: Merged) {
    match (to, from) {
        (Merged::Whole(to), Merged::Whole(from)) => {
            *to = match function {
                ActionKind::Min => from.min(*to),
                ActionKind::Max => from.max(*to),
                _ => *to + from,
            };
        }
        (Merged::Mean { count, sum }, Merged::Mean { count: more, sum: add }) => {
            (*count, *sum) = (count.saturating_add(more), *sum + add);
        }
        (
            Merged::Deviation { count, sum, squares },
            Merged::Deviation { count: more, sum: add, squares: of_them },
        ) => {
            (*count, *sum) = (count.saturating_add(more), *sum + add);
            *squares = squares.saturating_add(of_them);
        }
        (Merged::Buckets(to), Merged::Buckets(from)) => {
            for (max, count) in from {
                *to.entry(max).or_default() += count;
            }
        }
        // All values of an aggregation have the same kind.
        _ => {}
    }
}

/// Returns the names of a family's series in Prometheus' text format, without labels.
fn samples(family: &Family) -> Vec<String> {
    family.kind.suffixes().iter().map(|suffix| format!("{}{suffix}", family.name)).collect()
}

/// Returns the metrics about the tracer itself.
fn own(faults: &[(&str, u64)], drops: &BTreeMap<String, u64>, dropped: usize, since: i64) -> Vec<Family> {
    let point = |label: &str, text: &str, count: u64| Point {
        labels: vec![(label.to_owned(), text.to_owned())],
        since,
        value: Value::Whole(count.into()),
    };
    let family = |name: &str, help: &str, kind: Kind, points: Vec<Point>| Family {
        name: name.to_owned(),
        help: help.to_owned(),
        kind,
        points,
    };
    let dropped = Point { labels: Vec::new(), since, value: Value::Whole(dropped as i128) };
    vec![
        family(
            "drops",
            "Data that dtrace has lost, by kind.",
            Kind::Counter,
            drops.iter().map(|(kind, count)| point("kind", kind, *count)).collect(),
        ),
        family(
            "faults",
            "Clauses of the D program that failed, by fault.",
            Kind::Counter,
            faults.iter().map(|(name, count)| point("fault", name, *count)).collect(),
        ),
        family(
            "dropped_series",
            "Series that are left out because of -x promseries.",
            Kind::Gauge,
            vec![dropped],
        ),
    ]
}

#[cfg(test)]
mod tests;

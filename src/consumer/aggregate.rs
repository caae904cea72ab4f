//! consumer/aggregate.rs: merges aggregations over CPUs and snapshots; sorts, clears and truncates them.

use super::frame::{self, Naming, user_pair, words};
use super::output::quantize::{self, divisor};
use super::output::{Text, bytes};
use super::unwind;
use kinst_base::uapi::{AggEntry, Plain};
use kinst_dif::layout::{Llquantize, Lquantize, value_words};
use kinst_dif::record::Layouts;
use kinst_dif::{ActionKind, Aggregation, Display, Program};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The aggregations of a program, by id from 1.
#[derive(Debug)]
pub(crate) struct Aggregations<'p> {
    all: Vec<State<'p>>,
    /// An address for each module in keys of mod(), and for each function in keys of sym() that needs one. It
    /// represents the module or function in keys.
    known: HashMap<String, u64>,
}

#[derive(Debug)]
struct State<'p> {
    aggregation: &'p Aggregation,
    entries: HashMap<Key, Value>,
    normal: i64,
    /// Whether printa() has shown it.
    printed: bool,
    /// Whether a value was added since the last clear().
    fresh: bool,
}

/// The bytes of each key component; strings end before their NUL.
pub(crate) type Key = Vec<Box<[u8]>>;

/// The words of an aggregated value, in the kernel's layout.
pub(crate) type Value = Box<[u64]>;

/// One line of printa(): a key, and its value in each printed aggregation.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub key: &'a Key,
    pub values: Vec<Shown<'a>>,
}

/// A value with the data to print it.
#[derive(Clone, Debug)]
pub struct Shown<'a> {
    pub aggregation: &'a Aggregation,
    pub value: Value,
    pub normal: i64,
}

/// The options that order the rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order {
    /// Whether to order by key first, then by value.
    pub by_key: bool,
    pub reverse: bool,
    /// The index of the aggregation whose values are compared first.
    pub position: usize,
    /// The index of the key component that is compared first.
    pub key_position: usize,
}

impl<'p> Aggregations<'p> {
    pub(crate) fn new(program: &'p Program) -> Aggregations<'p> {
        let state = |aggregation| State {
            aggregation,
            entries: HashMap::new(),
            normal: 1,
            printed: false,
            fresh: false,
        };
        Aggregations { all: program.aggregations.iter().map(state).collect(), known: HashMap::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds one CPU's snapshot. Entries that do not match the program are skipped.
    pub(crate) fn absorb(&mut self, snapshot: &[u8], layouts: &Layouts, naming: Naming<'_>) {
        let mut rest = snapshot;
        while let Some(header) = AggEntry::read(rest) {
            let length = header.len as usize;
            let Some(body) = rest.get(AggEntry::SIZE..length) else { return };
            self.add(body, header.action, layouts, naming);
            rest = &rest[length..];
        }
    }

    fn add(&mut self, body: &[u8], action: u32, layouts: &Layouts, naming: Naming<'_>) -> Option<()> {
        let entry = layouts.aggregation(action)?;
        let state = self.all.get_mut((entry.aggregation as usize).checked_sub(1)?)?;
        let slice = |record: &kinst_dif::layout::Record| {
            body.get(record.offset as usize..)?.get(..record.size as usize)
        };
        let mut key = Key::with_capacity(entry.layout.keys.len());
        let keys = entry.layout.keys.iter().zip(&entry.copies).zip(&state.aggregation.keys);
        for ((record, copied), display) in keys {
            let recorded = slice(record)?;
            key.push(match copied {
                // Equal stacks are one key, whatever else the copies contain.
                Some(ustack) => unwind::record_of(recorded, *ustack, naming.symbols),
                None => normal_key(recorded, display, naming, &mut self.known),
            });
        }
        let value: Value = words(slice(&entry.layout.value)?).collect();
        state.fresh = true;
        let function = state.aggregation.function;
        state.entries.entry(key).and_modify(|old| merge(function, old, &value)).or_insert(value);
        Some(())
    }

    fn state(&mut self, id: u32) -> Option<&mut State<'p>> {
        self.all.get_mut((id as usize).checked_sub(1)?)
    }

    /// Resets the values; the keys stay.
    pub(crate) fn clear(&mut self, id: u32) {
        if let Some(state) = self.state(id) {
            state.fresh = false;
            let function = state.aggregation.function;
            state.entries.values_mut().for_each(|value| reset(function, value));
        }
    }

    /// Keeps the `count` largest values, or with a negative count the smallest; 0 removes all.
    pub(crate) fn truncate(&mut self, id: u32, count: i64) {
        let order = Order { reverse: count > 0, ..Order::default() };
        let gone: Vec<Key> = self
            .rows(&[id], order)
            .iter()
            .skip(usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX))
            .map(|row| row.key.clone())
            .collect();
        if let Some(state) = self.state(id) {
            gone.iter().for_each(|key| drop(state.entries.remove(key)));
        }
    }

    /// Sets the divisor of printed values; returns false if it is 0.
    pub(crate) fn normalize(&mut self, id: u32, normal: i64) -> bool {
        if let Some(state) = self.state(id).filter(|_| normal != 0) {
            state.normal = normal;
        }
        normal != 0
    }

    pub(crate) fn mark_printed(&mut self, ids: &[u32]) {
        for id in ids {
            if let Some(state) = self.state(*id) {
                state.printed = true;
            }
        }
    }

    /// Returns the aggregations that no printa() has shown and no clear() has emptied, in order of id.
    pub(crate) fn unprinted(&self) -> Vec<u32> {
        let ids = (1..).zip(&self.all);
        ids.filter(|(_, state)| state.fresh && !state.printed).map(|(id, _)| id).collect()
    }

    /// Returns the aggregations that have entries, in order of id.
    pub(crate) fn filled(&self) -> Vec<u32> {
        (1..).zip(&self.all).filter(|(_, state)| !state.entries.is_empty()).map(|(id, _)| id).collect()
    }

    /// Returns the rows of these aggregations, joined by key. An aggregation that lacks a key has its initial value in
    /// that row.
    pub(crate) fn rows(&self, ids: &[u32], order: Order) -> Vec<Row<'_>> {
        let states: Vec<&State<'p>> =
            ids.iter().filter_map(|id| self.all.get((*id as usize).checked_sub(1)?)).collect();
        let mut rows: Vec<Row<'_>> = Vec::new();
        for (index, state) in states.iter().enumerate() {
            let earlier = &states[..index];
            let new =
                state.entries.keys().filter(|key| !earlier.iter().any(|s| s.entries.contains_key(*key)));
            rows.extend(
                new.map(|key| Row { key, values: states.iter().map(|state| state.shown(key)).collect() }),
            );
        }
        let keys = states.first().map_or(&[][..], |state| &state.aggregation.keys);
        rows.sort_by(|a, b| {
            let ordering = compare(a, b, keys, order);
            if order.reverse { ordering.reverse() } else { ordering }
        });
        rows
    }
}

impl State<'_> {
    fn shown(&self, key: &Key) -> Shown<'_> {
        let value = self.entries.get(key).cloned().unwrap_or_else(|| {
            let (function, arg) = (self.aggregation.function, self.aggregation.arg);
            let words = value_words(function, arg).unwrap_or(1);
            let mut value: Value = vec![0; words as usize].into();
            if matches!(function, ActionKind::Lquantize | ActionKind::Llquantize) {
                value[0] = arg;
            }
            value
        });
        Shown { aggregation: self.aggregation, value, normal: self.normal }
    }
}

impl Shown<'_> {
    /// Returns the value as a number; `None` for distributions.
    pub fn number(&self) -> Option<i128> {
        let word = |index: usize| self.value.get(index).copied().unwrap_or(0);
        let normal = i128::from(divisor(self.normal));
        let first = if self.aggregation.signed { i128::from(word(0) as i64) } else { i128::from(word(0)) };
        match self.aggregation.function {
            ActionKind::Count | ActionKind::Sum | ActionKind::Min | ActionKind::Max => Some(first / normal),
            ActionKind::Avg => Some(i128::from(word(1) as i64) / normal / i128::from(word(0).max(1))),
            ActionKind::Stddev => {
                Some(i128::from(deviation(&self.value, divisor(self.normal).unsigned_abs())))
            }
            _ => None,
        }
    }

    /// Prints the value without a format.
    pub fn print(&self, out: &mut Text, style: quantize::Style) {
        match self.number() {
            Some(number) => out.put(format_args!(" {number:>16}")),
            None => self.graph(out, style),
        }
    }

    /// Returns the buckets for a distribution on one line; `None` for a number.
    pub fn packed(&self) -> Option<quantize::Packed> {
        let signed = |skip: usize| self.value.iter().skip(skip).map(|word| *word as i64).collect();
        let arg = self.value.first().copied().unwrap_or(0);
        match self.aggregation.function {
            ActionKind::Quantize => Some(quantize::Packed::powers(signed(0))),
            ActionKind::Lquantize => Some(quantize::Packed::linear(signed(1), Lquantize::unpack(arg))),
            ActionKind::Llquantize => Some(quantize::Packed::log_linear(signed(1), Llquantize::unpack(arg))),
            _ => None,
        }
    }

    pub fn graph(&self, out: &mut Text, style: quantize::Style) {
        let scale = quantize::Scale { normal: self.normal, zoom: style.zoom };
        if let Some((marks, packed)) = style.pack.zip(self.packed()) {
            let shown = packed.occupied().unwrap_or(0..=0);
            return packed.row(out, &shown, scale, marks);
        }
        let signed = |words: &[u64]| words.iter().map(|word| *word as i64).collect::<Vec<i64>>();
        let (arg, buckets) = match self.value.split_first() {
            Some((arg, buckets)) => (*arg, signed(buckets)),
            None => return,
        };
        match self.aggregation.function {
            ActionKind::Quantize => quantize::powers(out, &signed(&self.value), scale),
            ActionKind::Lquantize => quantize::linear(out, &buckets, Lquantize::unpack(arg), scale),
            ActionKind::Llquantize => {
                quantize::log_linear(out, &buckets, Llquantize::unpack(arg), scale);
            }
            _ => {}
        }
    }

    /// Returns the sort key of the rows.
    fn weight(&self) -> (i128, i128) {
        let buckets = |skip: usize| self.value.iter().skip(skip).map(|word| i128::from(*word as i64));
        let arg = self.value.first().copied().unwrap_or(0);
        match self.aggregation.function {
            ActionKind::Quantize => {
                let sum =
                    buckets(0).enumerate().map(|(i, count)| i128::from(quantize::power(i)) * count).sum();
                (sum, buckets(0).sum())
            }
            ActionKind::Lquantize => {
                let parameters = Lquantize::unpack(arg);
                let base = |index| i128::from(quantize::lower(parameters, index));
                (buckets(1).enumerate().map(|(i, count)| base(i) * count).sum(), buckets(1).sum())
            }
            ActionKind::Llquantize => {
                let (bounds, end) = quantize::bounds(Llquantize::unpack(arg));
                let low = bounds.first().copied().unwrap_or(end) / 2;
                let starts = std::iter::once(low).chain(bounds).chain([end]);
                (
                    buckets(1).zip(starts).map(|(count, start)| i128::from(start) * count).sum(),
                    buckets(1).sum(),
                )
            }
            _ => (self.number().unwrap_or(0), 0),
        }
    }
}

/// Normalizes a key component, so that addresses in one function or module, and equal strings, are one key.
fn normal_key(
    bytes: &[u8],
    display: &Display,
    naming: Naming<'_>,
    known: &mut HashMap<String, u64>,
) -> Box<[u8]> {
    let symbols = naming.symbols;
    let address = || words(bytes).next().unwrap_or(0);
    match display {
        Display::String => bytes::until_nul(bytes).into(),
        Display::Sym { called } => {
            let address = address();
            let function = frame::function(address, *called, naming);
            let representative = match function.inlined {
                true => *known.entry(function.to_string()).or_insert(address),
                // The key is a return address: the start of the function would name the preceding one.
                false if *called => {
                    let found = symbols.kernel(address.wrapping_sub(1)).or_else(|| symbols.kernel(address));
                    let start = found.map_or(address, |symbol| symbol.start);
                    *known.entry(format!("{start:#x}")).or_insert(address)
                }
                false => symbols.kernel(address).map_or(address, |symbol| symbol.start),
            };
            representative.to_ne_bytes().into()
        }
        Display::Mod => match symbols.kernel(address()) {
            Some(symbol) => {
                let representative = known.entry(symbol.module).or_insert(symbol.start);
                representative.to_ne_bytes().into()
            }
            None => bytes.into(),
        },
        Display::Usym | Display::Umod => {
            let (pid, address) = user_pair(bytes);
            let found = symbols.user(pid, address);
            let start = found.map(|found| match (display, found.function) {
                (Display::Usym, Some(function)) => address - function.offset,
                (Display::Umod, _) => found.base,
                _ => address,
            });
            [pid.to_ne_bytes(), start.unwrap_or(address).to_ne_bytes()].concat().into()
        }
        _ => bytes.into(),
    }
}

fn merge(function: ActionKind, old: &mut Value, new: &Value) {
    let both_squares = squares(old).wrapping_add(squares(new));
    let pairs = old.iter_mut().zip(new.iter());
    match function {
        ActionKind::Min => pairs.for_each(|(old, new)| *old = (*old as i64).min(*new as i64) as u64),
        ActionKind::Max => pairs.for_each(|(old, new)| *old = (*old as i64).max(*new as i64) as u64),
        ActionKind::Lquantize | ActionKind::Llquantize => {
            pairs.skip(1).for_each(|(old, new)| *old = old.wrapping_add(*new));
        }
        ActionKind::Stddev => {
            pairs.take(2).for_each(|(old, new)| *old = old.wrapping_add(*new));
            let halves = [both_squares as u64, (both_squares >> 64) as u64];
            for (word, half) in old.iter_mut().skip(2).zip(halves) {
                *word = half;
            }
        }
        _ => pairs.for_each(|(old, new)| *old = old.wrapping_add(*new)),
    }
}

fn reset(function: ActionKind, value: &mut Value) {
    let start = match function {
        ActionKind::Min => i64::MAX as u64,
        ActionKind::Max => i64::MIN as u64,
        _ => 0,
    };
    let keep = usize::from(matches!(function, ActionKind::Lquantize | ActionKind::Llquantize));
    value.iter_mut().skip(keep).for_each(|word| *word = start);
}

/// Returns the sum of the squares, which takes two words.
fn squares(value: &[u64]) -> u128 {
    let word = |index: usize| u128::from(value.get(index).copied().unwrap_or(0));
    word(2) | word(3) << 64
}

/// Returns sqrt(mean of the squares − square of the mean), as an integer.
fn deviation(value: &[u64], normal: u64) -> u64 {
    let word = |index: usize| value.get(index).copied().unwrap_or(0);
    let count = u128::from(word(0).max(1));
    let of_squares = squares(value) / u128::from(normal) / u128::from(normal) / count;
    let mean = u128::from((word(1) as i64).unsigned_abs() / normal) / count;
    of_squares.saturating_sub(mean * mean).isqrt() as u64
}

fn compare(a: &Row<'_>, b: &Row<'_>, keys: &[Display], order: Order) -> Ordering {
    let by_value =
        || rotated(a.values.len(), order.position).map(|i| compare_values(&a.values[i], &b.values[i]));
    let by_key = || {
        rotated(a.key.len().min(b.key.len()), order.key_position)
            .map(|i| compare_keys(&a.key[i], &b.key[i], keys.get(i)))
    };
    let first = |mut orderings: Box<dyn Iterator<Item = Ordering> + '_>| {
        orderings.find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
    };
    match order.by_key {
        true => first(Box::new(by_key().chain(by_value()))),
        false => first(Box::new(by_value().chain(by_key()))),
    }
}

/// Returns `0..count` with `first` moved to the front, if it is in range.
fn rotated(count: usize, first: usize) -> impl Iterator<Item = usize> {
    let first = if first < count { first } else { 0 };
    (first..count).take(1).chain((0..count).filter(move |index| *index != first))
}

fn compare_values(a: &Shown<'_>, b: &Shown<'_>) -> Ordering {
    a.weight().cmp(&b.weight())
}

fn compare_keys(a: &[u8], b: &[u8], display: Option<&Display>) -> Ordering {
    match display {
        Some(Display::Int { signed }) => {
            super::printf::integer(a, *signed, 0).cmp(&super::printf::integer(b, *signed, 0))
        }
        Some(Display::Float) => super::printf::real(a).total_cmp(&super::printf::real(b)),
        Some(Display::String | Display::Bytes) | None => a.cmp(b),
        Some(_) => words(a).cmp(words(b)),
    }
}

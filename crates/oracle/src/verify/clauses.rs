//! oracle/verify/clauses.rs: clauses and their actions: requirements, and record layouts.

use super::refusal::Refusal;
use super::variables::bytes_of;
use kinst_base::uapi::{self, Plain, Verify};
use kinst_dif::action::{ActionKind, Takes};
use kinst_dif::layout::{Llquantize, Lquantize, value_words};
use kinst_dif::object::Image;
use std::collections::HashMap;

/// Checks that clauses take the actions in order, without gaps or overlaps, and that each is valid.
pub(super) fn check_clauses(image: &Image) -> Result<(), Refusal> {
    let mut checker = Checker { image, entries: HashMap::new(), largest: 0 };
    let mut next = 0u32;
    for (index, clause) in image.clauses.iter().enumerate() {
        checker.clause(index as u32, clause, next)?;
        next += clause.nactions;
    }
    if next != image.header.actions.count {
        return Err(Refusal::at(Verify::INDEX, next));
    }
    if checker.largest > image.header.aggsize {
        return Err(Refusal::at(Verify::OPTION, 1));
    }
    Ok(())
}

/// Contents of an aggregation's entries: the same at each assignment.
#[derive(Clone, PartialEq)]
struct Entries {
    kind: u16,
    arg: u64,
    keys: Vec<(u16, u64)>,
}

struct Checker<'a> {
    image: &'a Image,
    entries: HashMap<u32, Entries>,
    /// The size of the largest entry in bytes, with its header.
    largest: u64,
}

/// A checked action of a clause.
struct Seen {
    size: u64,
    /// Whether it aggregates or is part of a key.
    outside: bool,
}

impl Checker<'_> {
    fn clause(&mut self, index: u32, clause: &uapi::Clause, next: u32) -> Result<(), Refusal> {
        let require = |holds, code| if holds { Ok(()) } else { Err(Refusal::at(code, index)) };
        require(clause.flags & !uapi::CLAUSE_RECORD == 0, Verify::RESERVED)?;
        if clause.predicate != uapi::NONE {
            let difo = self.image.difos.get(clause.predicate as usize);
            let difo = difo.ok_or(Refusal::at(Verify::INDEX, index))?;
            if !is_by_value(&difo.rtype) {
                return Err(Refusal { difo: Some(clause.predicate), ..Refusal::at(Verify::TYPE, index) });
            }
        }
        require(clause.nactions <= uapi::MAX_ACTIONS, Verify::LIMIT)?;
        let mut actions: &[uapi::Action] = &[];
        if clause.nactions > 0 {
            let end = next as usize + clause.nactions as usize;
            let range = self.image.actions.get(next as usize..end).filter(|_| clause.action == next);
            actions = range.ok_or(Refusal::at(Verify::INDEX, index))?;
        }
        let mut seen = Vec::with_capacity(actions.len());
        for (nth, action) in (next..).zip(actions) {
            self.action(actions, &mut seen, nth, action)?;
        }
        let mut end = 0;
        for action in seen.iter().filter(|action| !action.outside) {
            require(place(&mut end, action.size), Verify::LIMIT)?;
        }
        let record = end > 0 || clause.flags & uapi::CLAUSE_RECORD != 0;
        // Half a ring, so that a record that does not wrap always fits.
        let room = self.image.header.bufsize.next_power_of_two() / 2;
        if record && uapi::Rec::SIZE as u64 + end.next_multiple_of(8) > room {
            return Err(Refusal::at(Verify::OPTION, 0));
        }
        Ok(())
    }

    /// Checks one action; `seen` holds the actions of the clause before it.
    fn action(
        &mut self,
        actions: &[uapi::Action],
        seen: &mut Vec<Seen>,
        nth: u32,
        action: &uapi::Action,
    ) -> Result<(), Refusal> {
        let kind = ActionKind::from_number(action.kind).ok_or(Refusal::at(Verify::ACTION, nth))?;
        self.difos(kind, action, nth)?;
        if kind.is_aggregating() {
            return self.aggregation(actions, seen, nth, kind, action);
        }
        let require = |holds, code| if holds { Ok(()) } else { Err(Refusal::at(code, nth)) };
        require(action.ntuple == 0 && action.agg == 0, Verify::RESERVED)?;
        let size = self.record_size(kind, action).ok_or(Refusal::at(Verify::ACTION, nth))?;
        require(size <= uapi::MAX_PAYLOAD.into(), Verify::LIMIT)?;
        seen.push(Seen { size, outside: false });
        Ok(())
    }

    fn difos(&self, kind: ActionKind, action: &uapi::Action, nth: u32) -> Result<(), Refusal> {
        let refuse = |code| Err(Refusal::at(code, nth));
        let takes = kind.takes();
        let allowed = self.image.header.flags & uapi::IMAGE_DESTRUCTIVE != 0;
        if !allowed && kind.is_destructive() {
            return refuse(Verify::DESTRUCTIVE);
        }
        let none = action.difo == uapi::NONE;
        let fits = match takes {
            Takes::Nothing => none,
            Takes::MaybeValue => true,
            Takes::Anything | Takes::Value => !none,
        };
        if !fits {
            return refuse(Verify::ACTION);
        }
        if !none {
            self.number(action.difo, takes == Takes::Anything, nth)?;
        }
        if action.incr != uapi::NONE {
            if !matches!(kind, ActionKind::Quantize | ActionKind::Lquantize | ActionKind::Llquantize) {
                return refuse(Verify::ACTION);
            }
            self.number(action.incr, false, nth)?;
        }
        Ok(())
    }

    /// Checks that the DIFO exists and, unless `anything`, that its value is a number.
    fn number(&self, index: u32, anything: bool, nth: u32) -> Result<(), Refusal> {
        let difo = self.image.difos.get(index as usize).ok_or(Refusal::at(Verify::INDEX, nth))?;
        if anything || is_by_value(&difo.rtype) {
            return Ok(());
        }
        Err(Refusal::in_difo(Verify::ACTION, index, Some(nth)))
    }

    fn aggregation(
        &mut self,
        actions: &[uapi::Action],
        seen: &mut Vec<Seen>,
        nth: u32,
        kind: ActionKind,
        action: &uapi::Action,
    ) -> Result<(), Refusal> {
        let require = |holds, code| if holds { Ok(()) } else { Err(Refusal::at(code, nth)) };
        require(action.agg != 0, Verify::ACTION)?;
        require(action.agg <= uapi::MAX_AGG, Verify::LIMIT)?;
        let first = seen.len().checked_sub(usize::from(action.ntuple));
        let first = first.ok_or(Refusal::at(Verify::TUPLE, nth))?;
        let mut end = 0;
        let mut keys = Vec::with_capacity(usize::from(action.ntuple));
        for (key, seen) in actions.iter().zip(seen.iter_mut()).skip(first) {
            require(can_be_key(key.kind) && seen.size > 0, Verify::TUPLE)?;
            seen.outside = true;
            require(place(&mut end, seen.size), Verify::LIMIT)?;
            keys.push((key.kind, seen.size));
        }
        let words = value_words(kind, action.arg).filter(|_| is_aggregation_arg(kind, action.arg));
        let value = 8 * words.ok_or(Refusal::at(Verify::ACTION, nth))?;
        let entry = uapi::AggEntry::SIZE as u64 + end.next_multiple_of(8) + value;
        require(entry <= uapi::MAX_PAYLOAD.into(), Verify::LIMIT)?;
        self.largest = self.largest.max(entry);
        let entries = Entries { kind: action.kind, arg: action.arg, keys };
        let first = self.entries.entry(action.agg).or_insert_with(|| entries.clone());
        require(*first == entries, Verify::TUPLE)?;
        seen.push(Seen { size: 0, outside: true });
        Ok(())
    }

    /// Returns the size of the action's record in bytes; `None` if its argument is not valid.
    fn record_size(&self, kind: ActionKind, action: &uapi::Action) -> Option<u64> {
        let records = kind.records();
        if !records.allows(action.arg) {
            return None;
        }
        records.bytes(action.arg).or_else(|| {
            let difo = self.image.difos.get(action.difo as usize)?;
            Some(u64::from(bytes_of(&self.image.header, &difo.rtype)))
        })
    }
}

fn can_be_key(kind: u16) -> bool {
    use ActionKind::*;
    matches!(ActionKind::from_number(kind), Some(DifExpr | Stack | Ustack | Sym | Mod | Usym | Umod | Uaddr))
}

/// Whether the packed parameters are valid. Other functions have none.
fn is_aggregation_arg(kind: ActionKind, arg: u64) -> bool {
    match kind {
        ActionKind::Lquantize => {
            let linear = Lquantize::unpack(arg);
            linear.step > 0 && linear.levels > 0
        }
        ActionKind::Llquantize => is_log_linear(Llquantize::unpack(arg)),
        _ => arg == 0,
    }
}

/// Whether every magnitude has buckets of equal width, and its top fits 64 bits.
fn is_log_linear(log: Llquantize) -> bool {
    let factor = u64::from(log.factor);
    if factor < 2 || log.low > log.high || log.steps < log.factor {
        return false;
    }
    let tops = (u32::from(log.low)..=u32::from(log.high)).map(|order| factor.checked_pow(order + 1));
    tops.take(64).all(|top| {
        top.is_some_and(|top| {
            let steps = top.min(u64::from(log.steps));
            top % steps == 0 && steps % factor == 0
        })
    })
}

/// Whether it is a number, and not void.
fn is_by_value(ty: &uapi::Dtype) -> bool {
    ty.flags == 0 && ty.size > 0
}

/// Places a value at the next offset with its alignment; returns false if that is out of range.
fn place(end: &mut u64, size: u64) -> bool {
    if size > 0 {
        let align = 1 << size.trailing_zeros().min(3);
        *end = end.next_multiple_of(align) + size;
    }
    *end <= uapi::MAX_PAYLOAD.into()
}

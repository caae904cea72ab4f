//! model.rs: the records that a program must make when its probe fires, computed with the reference interpreter.

use crate::machine::World;
use kinst::dif::layout::{Llquantize, Lquantize, aggregation_layout, clause_layout, value_words};
use kinst::dif::{Action, ActionKind, Clause, Options, Program};
use kinst::uapi::{self, Flt, Plain};
use kinst_oracle::interp::{self, Fault, State};
use std::collections::BTreeMap;

/// One record of the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The value of each action that records one.
    Record { epid: u32, values: Vec<Vec<u8>> },
    Fault {
        epid: u32,
        action: u32,
        offset: i32,
        code: Flt,
        /// The address, if any, unless it is in the program's memory.
        value: Option<u64>,
    },
}

/// The words of each value, by the first aggregating action and the key.
pub(crate) type Aggregations = BTreeMap<(u32, Vec<Vec<u8>>), Vec<u64>>;

/// Fires the probe with one enabling for each clause.
pub(crate) fn fire(program: &Program, options: &Options, times: u32) -> (Vec<Event>, Aggregations) {
    let mut model = Model {
        program,
        options,
        state: State::new(&program.variables, options),
        world: World { speculations: vec![None; options.nspec as usize] },
        events: Vec::new(),
        aggregations: Aggregations::new(),
    };
    for _ in 0..times {
        model.state.fire();
        for (epid, clause) in (1u32..).zip(&program.clauses) {
            model.state.enable();
            if let Err((action, fault)) = model.enabling(epid, clause) {
                let Fault { code, offset, value } = fault;
                let value = comparable(code, value);
                model.events.push(Event::Fault { epid, action, offset, code, value });
            }
        }
    }
    (model.events, model.aggregations)
}

/// Returns an address that can be compared: the program's memory differs between the interpreters, but is never
/// at a low address.
fn comparable(code: Flt, value: u64) -> Option<u64> {
    (matches!(code, Flt::BADADDR | Flt::BADALIGN) && value < 0x1_0000).then_some(value)
}

struct Model<'a> {
    program: &'a Program,
    options: &'a Options,
    state: State,
    world: World,
    events: Vec<Event>,
    aggregations: Aggregations,
}

impl Model<'_> {
    fn run(&mut self, difo: Option<u32>) -> Result<u64, Fault> {
        match difo {
            None => Ok(0),
            Some(difo) => interp::run(&self.program.difos[difo as usize], &mut self.state, &mut self.world),
        }
    }

    /// Runs one enabling; a fault is returned with the index of its action.
    fn enabling(&mut self, epid: u32, clause: &Clause) -> Result<(), (u32, Fault)> {
        if clause.predicate.is_some() && self.run(clause.predicate).map_err(|fault| (0, fault))? == 0 {
            return Ok(());
        }
        let layout = clause_layout(self.program, clause, self.options).unwrap();
        let mut speculation = None;
        let mut values: Vec<Vec<u8>> = Vec::new();
        let mut keys = Vec::new();
        for (index, action) in clause.actions.iter().enumerate() {
            let at = |fault| (index as u32 + 1, fault);
            if action.kind.is_aggregating() {
                self.aggregate(clause, index, std::mem::take(&mut keys)).map_err(at)?;
                continue;
            }
            let value = self.run(action.difo).map_err(at)?;
            match action.kind {
                ActionKind::Speculate => speculation = Some(self.valid(value).map_err(at)?),
                ActionKind::Commit => {
                    let id = self.valid(value).map_err(at)?;
                    let records = self.world.speculation(id).and_then(Option::take);
                    self.events.extend(records.into_iter().flatten().map(|(_, event)| event));
                }
                ActionKind::Discard => {
                    let id = self.valid(value).map_err(at)?;
                    self.world.speculation(id).map(Option::take);
                }
                _ => {}
            }
            if action.kind != ActionKind::DifExpr {
                continue;
            }
            let ty = self.program.difos[action.difo.unwrap() as usize].rtype;
            let bytes = interp::recorded(&ty, value, &mut self.state, &mut self.world);
            let bytes = if ty.size == 0 && !ty.by_ref { Vec::new() } else { bytes.map_err(at)? };
            if layout.records[index].is_some() {
                values.push(bytes);
            } else if !bytes.is_empty() {
                keys.push(bytes);
            }
        }
        if layout.size > 0 || clause.record {
            let event = Event::Record { epid, values };
            let len = uapi::Rec::SIZE as u64 + u64::from(layout.size);
            match speculation {
                None => self.events.push(event),
                Some(id) => {
                    let size = self.options.specsize;
                    if let Some(Some(records)) = self.world.speculation(id)
                        && records.iter().map(|(len, _)| len).sum::<u64>() + len <= size
                    {
                        records.push((len, event));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the id of a speculation; an impossible one is a fault.
    fn valid(&self, id: u64) -> Result<u64, Fault> {
        match id <= u64::from(self.options.nspec) {
            true => Ok(id),
            false => Err(Fault { code: Flt::ILLOP, offset: -1, value: 0 }),
        }
    }

    fn aggregate(&mut self, clause: &Clause, index: usize, keys: Vec<Vec<u8>>) -> Result<(), Fault> {
        let action = &clause.actions[index];
        let value = self.run(action.difo)?;
        let incr = if action.incr.is_some() { self.run(action.incr)? } else { 1 };
        let all = self.program.clauses.iter().flat_map(|clause| &clause.actions);
        let first = all.clone().position(|other| other.agg == action.agg).unwrap() as u32;
        let words = self.aggregations.entry((first, keys)).or_insert_with(|| initial(action));
        add(action, words, value, incr);
        Ok(())
    }
}

fn initial(action: &Action) -> Vec<u64> {
    let mut words = vec![0; value_words(action.kind, action.arg).unwrap() as usize];
    match action.kind {
        ActionKind::Min => words[0] = i64::MAX as u64,
        ActionKind::Max => words[0] = i64::MIN as u64,
        ActionKind::Lquantize | ActionKind::Llquantize => words[0] = action.arg,
        _ => {}
    }
    words
}

fn add(action: &Action, words: &mut [u64], value: u64, incr: u64) {
    let signed = value as i64;
    match action.kind {
        ActionKind::Count => words[0] += 1,
        ActionKind::Sum => words[0] = words[0].wrapping_add(value),
        ActionKind::Min => words[0] = signed.min(words[0] as i64) as u64,
        ActionKind::Max => words[0] = signed.max(words[0] as i64) as u64,
        ActionKind::Avg | ActionKind::Stddev => {
            words[0] += 1;
            words[1] = words[1].wrapping_add(value);
            if let [_, _, low, high] = words {
                let square = u128::from(signed.unsigned_abs()).pow(2);
                let sum = (u128::from(*high) << 64 | u128::from(*low)).wrapping_add(square);
                (*low, *high) = (sum as u64, (sum >> 64) as u64);
            }
        }
        _ => {
            let bucket = match action.kind {
                ActionKind::Quantize => quantize(signed),
                ActionKind::Lquantize => 1 + lquantize(Lquantize::unpack(action.arg), signed as i32),
                _ => 1 + llquantize(Llquantize::unpack(action.arg), signed),
            };
            words[bucket] = words[bucket].wrapping_add(incr);
        }
    }
}

/// Finds the bucket by search, not by arithmetic: bucket i > 63 has the values from 2^(i-64) to 2^(i-63).
fn quantize(value: i64) -> usize {
    let magnitude = u128::from(value.unsigned_abs());
    let up = (64..127).rev().find(|i| magnitude >= 1 << (i - 64)).unwrap_or(63);
    if value < 0 { 126 - up } else { up }
}

fn lquantize(linear: Lquantize, value: i32) -> usize {
    let levels = i64::from(linear.levels);
    let edge = |nth: i64| i64::from(linear.base) + nth * i64::from(linear.step);
    (0..=levels).take_while(|nth| i64::from(value) >= edge(*nth)).count()
}

/// Finds the bucket from the bounds of all buckets, in order: it is the number of bounds that the value reaches.
fn llquantize(log: Llquantize, value: i64) -> usize {
    let factor = i128::from(log.factor);
    let mut edges = Vec::new();
    for order in u32::from(log.low)..=u32::from(log.high) {
        let (bottom, top) = (factor.pow(order), factor.pow(order + 1));
        let width = top / top.min(i128::from(log.steps));
        edges.extend((0..).map(|nth| bottom + nth * width).take_while(|edge| *edge < top));
    }
    edges.push(factor.pow(u32::from(log.high) + 1));
    edges.iter().filter(|edge| i128::from(value) >= **edge).count()
}

/// Returns the records of a ring, decoded by the layout of their clauses.
pub(crate) fn read_ring(program: &Program, options: &Options, mut ring: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(len) = u32::read(ring) {
        let size = (len & uapi::REC_LEN) as usize;
        assert!(size >= 8 && size.is_multiple_of(8) && size <= ring.len(), "{len:#x} of {}", ring.len());
        if len & uapi::REC_PAD == 0 {
            events.push(read_record(program, options, &ring[..size]));
        }
        ring = &ring[size..];
    }
    events
}

fn read_record(program: &Program, options: &Options, bytes: &[u8]) -> Event {
    let header = uapi::Rec::read(bytes).unwrap();
    let payload = &bytes[uapi::Rec::SIZE..];
    if header.epid == uapi::EPID_FAULT {
        let fault = uapi::Fault::read(payload).unwrap();
        let code = Flt(fault.fault);
        let value = comparable(code, fault.value);
        return Event::Fault { epid: fault.epid, action: fault.action, offset: fault.offset, code, value };
    }
    let clause = &program.clauses[header.epid as usize - 1];
    let layout = clause_layout(program, clause, options).unwrap();
    assert_eq!(layout.size as usize, payload.len());
    let records = layout.records.iter().flatten();
    let values = records.map(|record| cut(payload, record.offset, record.size)).collect();
    Event::Record { epid: header.epid, values }
}

pub(crate) fn read_aggregations(program: &Program, options: &Options, mut entries: &[u8]) -> Aggregations {
    let places: Vec<(usize, usize)> = (0..)
        .zip(&program.clauses)
        .flat_map(|(clause, c)| (0..c.actions.len()).map(move |action| (clause, action)))
        .collect();
    let mut found = Aggregations::new();
    while let Some(entry) = uapi::AggEntry::read(entries) {
        let (clause, action) = places[entry.action as usize];
        let layout = aggregation_layout(program, &program.clauses[clause], action, options).unwrap();
        assert_eq!(entry.len as usize, uapi::AggEntry::SIZE + layout.size as usize);
        let payload = &entries[uapi::AggEntry::SIZE..entry.len as usize];
        let keys = layout.keys.iter().map(|key| cut(payload, key.offset, key.size)).collect();
        let value = cut(payload, layout.value.offset, layout.value.size);
        let words = value.chunks_exact(8).map(|word| u64::read(word).unwrap()).collect();
        let twice = found.insert((entry.action, keys), words);
        assert_eq!(twice, None, "one key has two entries");
        entries = &entries[entry.len as usize..];
    }
    found
}

fn cut(bytes: &[u8], offset: u32, size: u32) -> Vec<u8> {
    bytes[offset as usize..(offset + size) as usize].to_vec()
}

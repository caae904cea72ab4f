//! dif/layout.rs: the layout of values in a clause's record and in an aggregation's entry.

use super::action::ActionKind;
use super::program::{Action, Clause, DifoIndex, Options, Program, Type, TypeKind};
use kinst_base::uapi;

/// The range of one value in a payload or an entry, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// From the start of the payload, or from the end of the entry's header.
    pub offset: u32,
    /// Never 0.
    pub size: u32,
}

/// The payload that follows a clause's record header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClauseLayout {
    /// One per action; `None` if it records nothing or is part of an aggregation's key.
    pub records: Vec<Option<Record>>,
    /// The size of the payload in bytes, a multiple of 8; 0 without [`Clause::record`], which means that no
    /// record is written.
    pub size: u32,
}

/// The data after the header of an aggregation's entry in a snapshot; offsets count from the end of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregationLayout {
    /// One per key, in order.
    pub keys: Vec<Record>,
    /// The aggregated value: [`value_words`] 64-bit words.
    pub value: Record,
    /// The size of keys and value in bytes, a multiple of 8.
    pub size: u32,
}

/// An action without a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// An index past the end of [`Program::difos`].
    #[error("DIFO {0} does not exist")]
    Difo(DifoIndex),
    /// An index past the end of [`Clause::actions`].
    #[error("action {0} does not exist")]
    Action(usize),
    /// Index of an action that adds nothing to an aggregation.
    #[error("action {0} is not an aggregating action")]
    NotAggregating(usize),
    /// Index of an action that records its DIFO's value but has no DIFO.
    #[error("action {0} needs a DIFO")]
    NoDifo(usize),
    /// Index of an action whose [`Action::ntuple`] is larger than the index.
    #[error("action {0} has more key components than preceding actions")]
    Tuple(usize),
    /// A payload or entry that does not fit into a record.
    #[error("the values of one record are more than {} bytes", uapi::REC_LEN)]
    TooLarge,
}

/// Lays out a clause's values by the rule at struct kinst_action of the ABI.
pub fn clause_layout(
    program: &Program,
    clause: &Clause,
    options: &Options,
) -> Result<ClauseLayout, LayoutError> {
    let mut in_key = vec![false; clause.actions.len()];
    for (index, action) in clause.actions.iter().enumerate().filter(|(_, action)| action.ntuple > 0) {
        let first = index.checked_sub(usize::from(action.ntuple)).ok_or(LayoutError::Tuple(index))?;
        in_key.iter_mut().take(index).skip(first).for_each(|key| *key = true);
    }
    let mut place = Placement::default();
    let mut records = Vec::with_capacity(clause.actions.len());
    for (index, (action, in_key)) in clause.actions.iter().zip(in_key).enumerate() {
        let size = if in_key { 0 } else { record_size(program, index, action, options)? };
        records.push(place.next(size)?);
    }
    Ok(ClauseLayout { records, size: place.end()? })
}

/// Lays out the keys and the value that action `index` of the clause aggregates.
pub fn aggregation_layout(
    program: &Program,
    clause: &Clause,
    index: usize,
    options: &Options,
) -> Result<AggregationLayout, LayoutError> {
    let action = clause.actions.get(index).ok_or(LayoutError::Action(index))?;
    let words = value_words(action.kind, action.arg).ok_or(LayoutError::NotAggregating(index))?;
    let first = index.checked_sub(usize::from(action.ntuple)).ok_or(LayoutError::Tuple(index))?;
    let mut place = Placement::default();
    let mut keys = Vec::with_capacity(usize::from(action.ntuple));
    for (index, key) in clause.actions.iter().enumerate().take(index).skip(first) {
        let size = record_size(program, index, key, options)?;
        keys.extend(place.next(size)?);
    }
    let value = place.next(words.saturating_mul(8))?.ok_or(LayoutError::NotAggregating(index))?;
    Ok(AggregationLayout { keys, value, size: place.end()? })
}

/// Returns the size in bytes of a value of this type in a record.
pub fn type_size(ty: &Type, options: &Options) -> u32 {
    match ty.kind {
        TypeKind::String if ty.size == 0 => options.strsize,
        _ => ty.size,
    }
}

/// Returns the size of an aggregated value in 64-bit words; `None` for other actions.
pub fn value_words(kind: ActionKind, arg: u64) -> Option<u64> {
    let words = match kind {
        ActionKind::Count | ActionKind::Sum | ActionKind::Min | ActionKind::Max => 1,
        ActionKind::Avg => 2,
        ActionKind::Stddev => 4,
        ActionKind::Quantize => 127,
        ActionKind::Lquantize => 1 + Lquantize::unpack(arg).levels as u64 + 2,
        ActionKind::Llquantize => 1 + Llquantize::unpack(arg).buckets(),
        _ => return None,
    };
    Some(words)
}

/// The parameters of lquantize().
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lquantize {
    /// Lower bound of the first level.
    pub base: i32,
    /// Width of a level.
    pub step: u16,
    /// Levels between the underflow and the overflow bucket.
    pub levels: u16,
}

impl Lquantize {
    /// Splits [`Action::arg`]: `step` in the highest 16 bits, then `levels`, then `base` in 32.
    pub fn unpack(arg: u64) -> Lquantize {
        Lquantize { base: arg as u32 as i32, step: (arg >> 48) as u16, levels: (arg >> 32) as u16 }
    }

    /// The inverse of [`Lquantize::unpack`].
    pub fn pack(self) -> u64 {
        u64::from(self.step) << 48 | u64::from(self.levels) << 32 | u64::from(self.base as u32)
    }
}

/// The parameters of llquantize().
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Llquantize {
    /// Base of the powers.
    pub factor: u16,
    /// Exponent of the lowest magnitude.
    pub low: u16,
    /// Exponent of the highest magnitude, which is included.
    pub high: u16,
    /// Steps from 0 to the top of each magnitude.
    pub steps: u16,
}

impl Llquantize {
    /// Splits [`Action::arg`], from the highest 16 bits: factor, low, high, steps.
    pub fn unpack(arg: u64) -> Llquantize {
        let part = |shift: u32| (arg >> shift) as u16;
        Llquantize { factor: part(48), low: part(32), high: part(16), steps: part(0) }
    }

    /// The inverse of [`Llquantize::unpack`].
    pub fn pack(self) -> u64 {
        let part = |value: u16, shift: u32| u64::from(value) << shift;
        part(self.factor, 48) | part(self.low, 32) | part(self.high, 16) | part(self.steps, 0)
    }

    /// Returns the number of buckets: one below, the steps of each magnitude from low to high, one above.
    pub fn buckets(self) -> u64 {
        let factor = u64::from(self.factor);
        if factor == 0 {
            return 2;
        }
        let in_magnitude = |order: u16| {
            let top = factor.checked_pow(u32::from(order) + 1).unwrap_or(u64::MAX);
            let steps = top.min(u64::from(self.steps));
            steps - steps / factor
        };
        2 + (self.low..=self.high).map(in_magnitude).sum::<u64>()
    }
}

/// Returns the number of bytes that an action records; 0 if it records nothing.
fn record_size(
    program: &Program,
    index: usize,
    action: &Action,
    options: &Options,
) -> Result<u64, LayoutError> {
    if let Some(size) = action.kind.records().bytes(action.arg) {
        return Ok(size);
    }
    let difo = action.difo.ok_or(LayoutError::NoDifo(index))?;
    let object = program.difos.get(difo as usize).ok_or(LayoutError::Difo(difo))?;
    Ok(u64::from(type_size(&object.rtype, options)))
}

/// Places values one after another.
#[derive(Default)]
struct Placement {
    end: u64,
}

impl Placement {
    fn next(&mut self, size: u64) -> Result<Option<Record>, LayoutError> {
        if size == 0 {
            return Ok(None);
        }
        // The alignment is the largest power of two that divides the size, at most 8.
        let align = 1 << size.trailing_zeros().min(3);
        let offset = self.end.next_multiple_of(align);
        self.end = offset.checked_add(size).ok_or(LayoutError::TooLarge)?;
        if self.end > u64::from(uapi::REC_LEN) {
            return Err(LayoutError::TooLarge);
        }
        Ok(Some(Record { offset: offset as u32, size: size as u32 }))
    }

    fn end(&self) -> Result<u32, LayoutError> {
        u32::try_from(self.end.next_multiple_of(8)).map_err(|_| LayoutError::TooLarge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CtfKind, Difo};

    fn difo(rtype: Type) -> Difo {
        Difo { rtype, ..Difo::default() }
    }

    fn action(kind: ActionKind, difo: Option<u32>, ntuple: u16, arg: u64) -> Action {
        Action { kind, difo, ntuple, incr: None, agg: 0, arg }
    }

    fn program(actions: Vec<Action>) -> Program {
        let sizes = [1, 2, 4, 8].map(|size| difo(Type::by_value(CtfKind::Integer, size)));
        let mut difos = sizes.to_vec();
        difos.push(difo(Type::string(0)));
        difos.push(difo(Type::by_ref(CtfKind::Struct, 12)));
        difos.push(difo(Type::VOID));
        let clause = Clause {
            probes: Vec::new(),
            predicate: None,
            actions,
            statements: Vec::new(),
            record: true,
            part: false,
        };
        Program { difos, clauses: vec![clause], ..Program::default() }
    }

    fn at(offset: u32, size: u32) -> Option<Record> {
        Some(Record { offset, size })
    }

    #[test]
    fn values_are_aligned_to_their_size() {
        let kinds = [0, 3, 1, 2, 5, 4, 6].map(|index| action(ActionKind::Printf, Some(index), 0, 0));
        let program = program(kinds.to_vec());
        let layout = clause_layout(&program, &program.clauses[0], &Options::default()).unwrap();
        let expected = [at(0, 1), at(8, 8), at(16, 2), at(20, 4), at(24, 12), at(40, 256), None];
        assert_eq!(layout.records, expected);
        assert_eq!(layout.size, 296);
    }

    #[test]
    fn keys_are_in_the_entry_and_not_in_the_payload() {
        let program = program(vec![
            action(ActionKind::DifExpr, Some(2), 0, 0),
            action(ActionKind::DifExpr, Some(4), 0, 0),
            action(ActionKind::DifExpr, Some(0), 0, 0),
            action(ActionKind::Stack, None, 0, 3),
            action(ActionKind::Avg, Some(3), 3, 0),
            action(ActionKind::Exit, Some(2), 0, 0),
        ]);
        let clause = &program.clauses[0];
        let layout = clause_layout(&program, clause, &Options::default()).unwrap();
        assert_eq!(layout.records, [at(0, 4), None, None, None, None, at(4, 4)]);
        assert_eq!(layout.size, 8);
        let entry = aggregation_layout(&program, clause, 4, &Options::default()).unwrap();
        assert_eq!(
            entry.keys.iter().copied().map(Some).collect::<Vec<_>>(),
            [at(0, 256), at(256, 1), at(264, 24)]
        );
        assert_eq!(Some(entry.value), at(288, 16));
        assert_eq!(entry.size, 304);
    }

    #[test]
    fn values_of_the_quantize_family() {
        let linear = Lquantize { base: -5, step: 10, levels: 7 };
        assert_eq!(Lquantize::unpack(linear.pack()), linear);
        assert_eq!(value_words(ActionKind::Lquantize, linear.pack()), Some(10));
        // 10^0 .. 10^2 in 20 steps: below; 1 to 9 by ones; 10 to 95 and 100 to 950 in 18 steps each; above.
        let log = Llquantize { factor: 10, low: 0, high: 2, steps: 20 };
        assert_eq!(Llquantize::unpack(log.pack()), log);
        assert_eq!(log.buckets(), 1 + 9 + 18 + 18 + 1);
        assert_eq!(value_words(ActionKind::Quantize, 0), Some(127));
        assert_eq!(value_words(ActionKind::Exit, 0), None);
    }

    #[test]
    fn nonsense_is_an_error() {
        let layout = |actions| {
            let program = program(actions);
            clause_layout(&program, &program.clauses[0], &Options::default())
        };
        assert_eq!(layout(vec![action(ActionKind::Printf, Some(99), 0, 0)]), Err(LayoutError::Difo(99)));
        assert_eq!(layout(vec![action(ActionKind::Printf, None, 0, 0)]), Err(LayoutError::NoDifo(0)));
        assert_eq!(layout(vec![action(ActionKind::Count, None, 1, 0)]), Err(LayoutError::Tuple(0)));
        assert_eq!(layout(vec![action(ActionKind::Stack, None, 0, u64::MAX)]), Err(LayoutError::TooLarge));
        assert_eq!(layout(vec![action(ActionKind::Tracemem, None, 0, u64::MAX)]), Err(LayoutError::TooLarge));
    }
}

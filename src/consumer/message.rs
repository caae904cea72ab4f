//! consumer/message.rs: messages about faults and losses.

use kinst_base::uapi::{Fault, Flt, Status};
use kinst_dif::Program;
use kinst_dif::enabled::Enabled;
use kinst_dif::insn::{Insn, Subr};
use std::collections::HashMap;

/// Something that went wrong while tracing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub what: What,
    /// The text for standard error.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A clause failed.
    Fault {
        epid: u32,
        name: &'static str,
        /// The action from 1; 0 for the predicate.
        action: u32,
        address: Option<u64>,
        /// The number of occurrences since the last report.
        count: u64,
    },
    /// Data was lost.
    Drop { tag: &'static str, cpu: Option<u32>, count: u64 },
    /// Something else.
    Problem,
}

impl Message {
    pub fn problem(text: impl Into<String>) -> Message {
        Message { what: What::Problem, text: text.into() }
    }
}

/// The faults of a run. A clause that fails once mostly fails at each firing, so a fault is reported once, and its
/// repetitions are counted and reported at the end.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// The first fault of each kind, in order of appearance, with the number of unreported repetitions. The address
    /// does not distinguish kinds.
    seen: Vec<(Fault, u64)>,
    /// The number of faults by fault code, parallel to [`FAULTS`].
    totals: [u64; FAULTS.len()],
    /// The index of each kind in `seen`.
    places: HashMap<Kind, usize>,
    /// The number of faults of kinds beyond the first [`KINDS`].
    others: u64,
}

/// The kind of a fault: the enabling, the action, the DIF offset, and the fault code.
type Kind = (u32, u32, i32, u32);

/// The limit on distinguished kinds: thousands of probes may have a failing clause.
const KINDS: usize = 4096;

impl Faults {
    /// Reports a fault, unless it was reported before.
    pub(crate) fn first(&mut self, new: &Fault, enabled: &Enabled, program: &Program) -> Option<Message> {
        if let Some(kind) = FAULTS.iter().position(|(code, _)| *code == Flt(new.fault)) {
            self.totals[kind] += 1;
        }
        let kind = (new.epid, new.action, new.offset, new.fault);
        if let Some((_, again)) = self.places.get(&kind).and_then(|place| self.seen.get_mut(*place)) {
            *again += 1;
            return None;
        }
        if self.seen.len() == KINDS {
            self.others += 1;
            return None;
        }
        self.places.insert(kind, self.seen.len());
        self.seen.push((*new, 0));
        let mut message = fault(new, enabled, None);
        if is_of_process(new, enabled, program) {
            message.text += "; this is memory of the process: read it with copyinstr() or copyin()";
        }
        Some(message)
    }

    /// Returns the number of faults by fault code, reported or not.
    pub(crate) fn totals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        FAULTS.iter().zip(self.totals).map(|((_, name), total)| (*name, total))
    }

    /// Reports the repetitions of each fault, and resets their counts.
    pub(crate) fn again(&mut self, enabled: &Enabled) -> Vec<Message> {
        let folded = self.seen.iter_mut().filter(|(_, again)| *again > 0);
        let folded = folded.map(|(seen, again)| fault(seen, enabled, Some(std::mem::take(again))));
        let others = Some(std::mem::take(&mut self.others)).filter(|others| *others > 0);
        let others =
            others.map(|others| Message::problem(format!("{others} errors on other enabled probes")));
        folded.chain(others).collect()
    }
}

/// `error on enabled probe ID 3 (ID 12: fbt:vmlinux:f:entry): invalid address (0x0) in action #1 at DIF offset 16`
/// `again`: the number of repetitions, at any address.
fn fault(fault: &Fault, enabled: &Enabled, again: Option<u64>) -> Message {
    let place = match enabled.probe(fault.epid) {
        Some(probe) => format!("(ID {}: {})", probe.id, probe.name),
        None => "(unknown probe)".to_owned(),
    };
    let flt = Flt(fault.fault);
    let name = FAULTS.iter().find(|(code, _)| *code == flt).map_or("unknown fault", |(_, name)| name);
    let has_address = again.is_none() && matches!(flt, Flt::BADADDR | Flt::BADALIGN | Flt::BADSTACK);
    let address = has_address.then_some(fault.value);
    let shown = match address {
        Some(address) => format!(" ({address:#x})"),
        None if again.is_none() && flt == Flt::BADINDEX => format!(" ({})", fault.value as i64),
        None => String::new(),
    };
    let part = match fault.action {
        0 => "predicate".to_owned(),
        action => format!("action #{action}"),
    };
    let offset = if fault.offset >= 0 { format!(" at DIF offset {}", fault.offset) } else { String::new() };
    let more = again.map_or_else(String::new, |again| format!(": {again} more"));
    let (epid, action, count) = (fault.epid, fault.action, again.unwrap_or(1));
    Message {
        what: What::Fault { epid, name, action, address, count },
        text: format!("error on enabled probe ID {epid} {place}: {name}{shown} in {part}{offset}{more}"),
    }
}

/// Whether a read of kernel memory failed at an address that looks like one of the process.
fn is_of_process(fault: &Fault, enabled: &Enabled, program: &Program) -> bool {
    // Lower addresses are null pointers with offsets; user addresses have at most 48 bits.
    let of_process = (0x10000..1 << 48).contains(&fault.value);
    if Flt(fault.fault) != Flt::BADADDR || !of_process {
        return false;
    }
    let clause = enabled.clause(fault.epid).and_then(|clause| program.clauses.get(clause));
    let difo = clause.and_then(|clause| match fault.action {
        0 => clause.predicate,
        action => clause.actions.get(action as usize - 1)?.difo,
    });
    let words = difo.and_then(|difo| program.difos.get(difo as usize)).map(|difo| &difo.insns);
    let at = usize::try_from(fault.offset).ok().map(|offset| offset / size_of::<u32>());
    match words.zip(at).and_then(|(words, at)| Insn::decode(*words.get(at)?).ok()) {
        Some(Insn::Load { op, .. }) => !op.reads_process(),
        Some(Insn::Call { subr, .. }) => !Subr::from_number(subr.into()).is_some_and(Subr::copies_process),
        _ => true,
    }
}

const FAULTS: &[(Flt, &str)] = &[
    (Flt::BADADDR, "invalid address"),
    (Flt::BADALIGN, "invalid alignment"),
    (Flt::ILLOP, "illegal operation"),
    (Flt::DIVZERO, "divide-by-zero"),
    (Flt::NOSCRATCH, "out of scratch space"),
    (Flt::KPRIV, "invalid kernel access"),
    (Flt::UPRIV, "invalid user access"),
    (Flt::TUPOFLOW, "tuple stack overflow"),
    (Flt::BADSTACK, "bad stack"),
    (Flt::BADINDEX, "index out of bounds"),
];

/// The losses reported so far, so that only new ones are reported.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    status: Status,
    missed: u64,
    principal: Vec<u64>,
    aggregation: Vec<u64>,
}

impl Drops {
    /// Reports new losses in a CPU's ring; `total` counts them since LOAD.
    pub(crate) fn principal(&mut self, cpu: u32, total: u64, tags: bool) -> Option<Message> {
        let new = grown(&mut self.principal, cpu, total)?;
        Some(drops(tags, "PRINCIPAL", Some(cpu), new, ("drop", ""), "bufsize"))
    }

    /// Reports new losses in a CPU's aggregation buffer; `total` counts them since LOAD.
    pub(crate) fn aggregation(&mut self, cpu: u32, total: u64, tags: bool) -> Option<Message> {
        let new = grown(&mut self.aggregation, cpu, total)?;
        Some(drops(tags, "AGGREGATION", Some(cpu), new, ("aggregation drop", ""), "aggsize"))
    }

    /// Reports hits at which no program ran. Only some backends lose hits like this.
    pub(crate) fn missed(&mut self, missed: u64, tags: bool) -> Option<Message> {
        let new = missed.saturating_sub(std::mem::replace(&mut self.missed, missed));
        let what = ("hit", " missed inside the work of another probe");
        (new > 0).then(|| drops(tags, "MISSED", None, new, what, ""))
    }

    /// Reports new losses of other kinds.
    pub(crate) fn status(&mut self, now: &Status, tags: bool) -> Vec<Message> {
        let old = std::mem::replace(&mut self.status, *now);
        let variable = "dynamic variable drop";
        let rows = [
            ("DYNAMIC", now.dyn_drops, old.dyn_drops, (variable, ""), "dynvarsize"),
            (
                "DYNRINSE",
                now.dyn_drops_rinsing,
                old.dyn_drops_rinsing,
                (variable, " with non-empty rinsing list"),
                "dynvarsize",
            ),
            (
                "DYNDIRTY",
                now.dyn_drops_dirty,
                old.dyn_drops_dirty,
                (variable, " with non-empty dirty list"),
                "dynvarsize",
            ),
            ("SPEC", now.spec_drops, old.spec_drops, ("speculative drop", ""), "specsize"),
            (
                "SPECBUSY",
                now.spec_busy,
                old.spec_busy,
                ("failed speculation", " (available buffer(s) still busy)"),
                "nspec",
            ),
            (
                "SPECUNAVAIL",
                now.spec_unavail,
                old.spec_unavail,
                ("failed speculation", " (no speculative buffer available)"),
                "nspec",
            ),
            (
                "STKSTROVERFLOW",
                now.stkstroverflows,
                old.stkstroverflows,
                ("jstack()/ustack() string table overflow", ""),
                "jstackstrsize",
            ),
            ("DBLERROR", now.dblerrors, old.dblerrors, ("error", " in ERROR probe enabling"), ""),
        ];
        rows.into_iter()
            .filter(|(_, now, old, ..)| now > old)
            .map(|(tag, now, old, what, option)| drops(tags, tag, None, now - old, what, option))
            .collect()
    }
}

fn grown(seen: &mut Vec<u64>, cpu: u32, total: u64) -> Option<u64> {
    let cpu = cpu as usize;
    if seen.len() <= cpu {
        seen.resize(cpu + 1, 0);
    }
    let old = std::mem::replace(&mut seen[cpu], total);
    total.checked_sub(old).filter(|new| *new > 0)
}

/// `3 drops on CPU 1; raise -x bufsize`. The first part of `what` takes the plural, `rest` follows it, and `option`
/// sets the size of the buffer.
fn drops(
    tags: bool,
    tag: &'static str,
    cpu: Option<u32>,
    count: u64,
    (what, rest): (&str, &str),
    option: &str,
) -> Message {
    let plural = if count == 1 { "" } else { "s" };
    let tagged = if tags { format!("[DTRACEDROP_{tag}] ") } else { String::new() };
    let place = cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let advice = if option.is_empty() { String::new() } else { format!("; raise -x {option}") };
    let text = format!("{tagged}{count} {what}{plural}{rest}{place}{advice}");
    Message { what: What::Drop { tag, cpu, count }, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_of_objects_has_all_kinds() {
        let schema = include_str!("../../docs/schema/trace-1.schema.json");
        let mut drops = Drops::default();
        let all = Status {
            dyn_drops: 1,
            dyn_drops_rinsing: 1,
            dyn_drops_dirty: 1,
            spec_drops: 1,
            spec_busy: 1,
            spec_unavail: 1,
            stkstroverflows: 1,
            dblerrors: 1,
            ..Status::default()
        };
        let mut messages = drops.status(&all, false);
        let others = [drops.principal(0, 1, false), drops.aggregation(0, 1, false), drops.missed(1, false)];
        messages.extend(others.into_iter().flatten());
        assert_eq!(messages.len(), 11);
        for message in messages {
            let What::Drop { tag, .. } = message.what else { panic!("{message:?} is not a loss") };
            assert!(schema.contains(&format!("\"{}\"", tag.to_ascii_lowercase())), "{tag}");
        }
    }

    #[test]
    fn only_new_losses_are_said() {
        let mut drops = Drops::default();
        assert_eq!(drops.principal(1, 0, false), None);
        assert_eq!(
            drops.principal(1, 1, false).map(|message| message.text).as_deref(),
            Some("1 drop on CPU 1; raise -x bufsize")
        );
        assert_eq!(
            drops.principal(1, 4, true).map(|message| message.text).as_deref(),
            Some("[DTRACEDROP_PRINCIPAL] 3 drops on CPU 1; raise -x bufsize")
        );
        assert_eq!(drops.principal(1, 4, false), None);
        let status = Status { dyn_drops: 2, dblerrors: 1, ..Status::default() };
        let said = drops.status(&status, false);
        let said: Vec<_> = said.into_iter().map(|message| message.text).collect();
        assert_eq!(
            said,
            ["2 dynamic variable drops; raise -x dynvarsize", "1 error in ERROR probe enabling"]
        );
        assert!(drops.status(&status, false).is_empty());
    }

    #[test]
    fn equal_faults_are_said_once_and_counted() {
        let (enabled, program) = (Enabled::default(), Program::default());
        let mut faults = Faults::default();
        let bad = Fault { epid: 1, action: 0, offset: 16, fault: 1, value: 0x10 };
        let start = "error on enabled probe ID 1 (unknown probe): invalid address";
        let first = faults.first(&bad, &enabled, &program);
        assert_eq!(
            first.map(|message| message.text).as_deref(),
            Some(&*format!("{start} (0x10) in predicate at DIF offset 16"))
        );
        assert!(faults.again(&enabled).is_empty());
        assert_eq!(faults.first(&Fault { value: 0x20, ..bad }, &enabled, &program), None);
        assert_eq!(faults.first(&bad, &enabled, &program), None);
        let other = faults.first(&Fault { action: 1, ..bad }, &enabled, &program);
        assert_eq!(
            other.map(|message| message.text).as_deref(),
            Some(&*format!("{start} (0x10) in action #1 at DIF offset 16"))
        );
        let again: Vec<_> = faults.again(&enabled).into_iter().map(|message| message.text).collect();
        assert_eq!(again, [format!("{start} in predicate at DIF offset 16: 2 more")]);
        assert!(faults.again(&enabled).is_empty());
    }

    /// stringof() fails at an address of the process; so does copyinstr() at an unmapped address, but without the
    /// advice.
    #[test]
    fn memory_of_the_process_needs_copyin() {
        let action = |difo| kinst_dif::Action {
            kind: kinst_dif::ActionKind::DifExpr,
            difo: Some(difo),
            ntuple: 0,
            incr: None,
            agg: 0,
            arg: 0,
        };
        let object = |insns: &[u32]| kinst_dif::Difo { insns: insns.to_vec(), ..kinst_dif::Difo::default() };
        let clause = kinst_dif::Clause {
            probes: Vec::new(),
            predicate: None,
            actions: vec![action(0), action(1)],
            statements: Vec::new(),
            record: true,
            part: false,
        };
        let program = Program {
            // ret; call copyinstr; uldx
            difos: vec![object(&[0x2300_0001]), object(&[0x2f00_0901, uldx()])],
            clauses: vec![clause],
            ..Program::default()
        };
        let ecbs = vec![kinst_dif::object::Ecb { probe: 0, clause: 0, inlined: None, end: None }];
        let enabled = Enabled { probes: Vec::new(), ecbs };
        let advised = |action, offset, value| {
            let fault = Fault { epid: 1, action, offset, fault: 1, value };
            let message = Faults::default().first(&fault, &enabled, &program).unwrap();
            message.text.ends_with("; this is memory of the process: read it with copyinstr() or copyin()")
        };
        assert!(advised(1, 0, 0x7fff_1234_5678));
        assert!(!advised(1, 0, 0x10) && !advised(1, 0, 0xffff_8880_0000_0000) && !advised(1, 0, 1 << 48));
        assert!(!advised(2, 0, 0x7fff_1234_5678) && !advised(2, 4, 0x7fff_1234_5678));
    }

    fn uldx() -> u32 {
        Insn::Load { op: kinst_dif::insn::Opcode::Uldx, r1: 1, rd: 1 }.encode()
    }

    #[test]
    fn kinds_of_faults_are_bounded() {
        let (enabled, program) = (Enabled::default(), Program::default());
        let mut faults = Faults::default();
        let fault = |epid| Fault { epid, action: 1, offset: 0, fault: 1, value: 0 };
        let said =
            (0..10_000).filter(|epid| faults.first(&fault(*epid), &enabled, &program).is_some()).count();
        assert_eq!(said, KINDS);
        let again: Vec<_> = faults.again(&enabled).into_iter().map(|message| message.text).collect();
        assert_eq!(again, [format!("{} errors on other enabled probes", 10_000 - KINDS)]);
    }
}

//! consumer/message.rs: messages about faults and losses.

use crate::dif::enabled::Enabled;
use crate::uapi::{Fault, Flt, Status};

/// The faults of a run. A clause that fails mostly fails at each firing: its fault is reported once, and at the end the
/// number of those that came after it.
#[derive(Debug, Default)]
pub struct Faults {
    /// In the order of the first ones; the address does not distinguish them.
    seen: Vec<(Fault, u64)>,
}

impl Faults {
    /// Reports a fault, unless it was reported before.
    pub fn first(&mut self, new: &Fault, enabled: &Enabled) -> Option<String> {
        let kind = |fault: &Fault| (fault.epid, fault.action, fault.offset, fault.fault);
        if let Some((_, again)) = self.seen.iter_mut().find(|(seen, _)| kind(seen) == kind(new)) {
            *again += 1;
            return None;
        }
        self.seen.push((*new, 0));
        Some(fault(new, enabled, true))
    }

    /// Reports how often each came again; the next report begins at 0.
    pub fn again(&mut self, enabled: &Enabled) -> Vec<String> {
        let folded = self.seen.iter_mut().filter(|(_, again)| *again > 0);
        folded
            .map(|(seen, again)| format!("{}: {} more", fault(seen, enabled, false), std::mem::take(again)))
            .collect()
    }
}

/// `error on enabled probe ID 3 (ID 12: fbt:vmlinux:f:entry): invalid address (0x0) in action #1 at DIF offset 16`
fn fault(fault: &Fault, enabled: &Enabled, with_address: bool) -> String {
    let place = match enabled.probe(fault.epid) {
        Some(probe) => format!("(ID {}: {})", probe.id, probe.name),
        None => "(unknown probe)".to_owned(),
    };
    let flt = Flt(fault.fault);
    let name = FAULTS.iter().find(|(code, _)| *code == flt).map_or("unknown fault", |(_, name)| name);
    let address = match flt {
        Flt::BADADDR | Flt::BADALIGN | Flt::BADSTACK if with_address => format!(" ({:#x})", fault.value),
        _ => String::new(),
    };
    let part = match fault.action {
        0 => "predicate".to_owned(),
        action => format!("action #{action}"),
    };
    let offset = if fault.offset >= 0 { format!(" at DIF offset {}", fault.offset) } else { String::new() };
    format!("error on enabled probe ID {} {place}: {name}{address} in {part}{offset}", fault.epid)
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
];

/// The losses reported so far, so that only new ones are reported.
#[derive(Debug, Default)]
pub struct Drops {
    status: Status,
    principal: Vec<u64>,
    aggregation: Vec<u64>,
}

impl Drops {
    /// Reports new losses in a CPU's ring; `total` counts them since LOAD.
    pub fn principal(&mut self, cpu: u32, total: u64, tags: bool) -> Option<String> {
        let new = grown(&mut self.principal, cpu, total)?;
        let plural = if new == 1 { "" } else { "s" };
        Some(tagged(tags, "PRINCIPAL", format!("{new} drop{plural} on CPU {cpu}")))
    }

    /// Reports new losses in a CPU's aggregation buffer; `total` counts them since LOAD.
    pub fn aggregation(&mut self, cpu: u32, total: u64, tags: bool) -> Option<String> {
        let new = grown(&mut self.aggregation, cpu, total)?;
        let plural = if new == 1 { "" } else { "s" };
        Some(tagged(tags, "AGGREGATION", format!("{new} aggregation drop{plural} on CPU {cpu}")))
    }

    /// Reports new losses of other kinds.
    pub fn status(&mut self, now: &Status, tags: bool) -> Vec<String> {
        let old = std::mem::replace(&mut self.status, *now);
        let rows = [
            ("DYNAMIC", now.dyn_drops, old.dyn_drops, "dynamic variable drop", ""),
            (
                "DYNRINSE",
                now.dyn_drops_rinsing,
                old.dyn_drops_rinsing,
                "dynamic variable drop",
                " with non-empty rinsing list",
            ),
            (
                "DYNDIRTY",
                now.dyn_drops_dirty,
                old.dyn_drops_dirty,
                "dynamic variable drop",
                " with non-empty dirty list",
            ),
            ("SPEC", now.spec_drops, old.spec_drops, "speculative drop", ""),
            (
                "SPECBUSY",
                now.spec_busy,
                old.spec_busy,
                "failed speculation",
                " (available buffer(s) still busy)",
            ),
            (
                "SPECUNAVAIL",
                now.spec_unavail,
                old.spec_unavail,
                "failed speculation",
                " (no speculative buffer available)",
            ),
            (
                "STKSTROVERFLOW",
                now.stkstroverflows,
                old.stkstroverflows,
                "jstack()/ustack() string table overflow",
                "",
            ),
            ("DBLERROR", now.dblerrors, old.dblerrors, "error", " in ERROR probe enabling"),
        ];
        rows.into_iter()
            .filter(|(_, now, old, ..)| now > old)
            .map(|(tag, now, old, what, rest)| {
                let new = now - old;
                let plural = if new == 1 { "" } else { "s" };
                tagged(tags, tag, format!("{new} {what}{plural}{rest}"))
            })
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

fn tagged(tags: bool, tag: &str, text: String) -> String {
    if tags { format!("[DTRACEDROP_{tag}] {text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_losses_are_said() {
        let mut drops = Drops::default();
        assert_eq!(drops.principal(1, 0, false), None);
        assert_eq!(drops.principal(1, 1, false).as_deref(), Some("1 drop on CPU 1"));
        assert_eq!(drops.principal(1, 4, true).as_deref(), Some("[DTRACEDROP_PRINCIPAL] 3 drops on CPU 1"));
        assert_eq!(drops.principal(1, 4, false), None);
        let status = Status { dyn_drops: 2, dblerrors: 1, ..Status::default() };
        let said = drops.status(&status, false);
        assert_eq!(said, ["2 dynamic variable drops", "1 error in ERROR probe enabling"]);
        assert!(drops.status(&status, false).is_empty());
    }

    #[test]
    fn equal_faults_are_said_once_and_counted() {
        let enabled = Enabled::default();
        let mut faults = Faults::default();
        let bad = Fault { epid: 1, action: 0, offset: 16, fault: 1, value: 0x10 };
        let start = "error on enabled probe ID 1 (unknown probe): invalid address";
        let first = faults.first(&bad, &enabled);
        assert_eq!(first.as_deref(), Some(&*format!("{start} (0x10) in predicate at DIF offset 16")));
        assert!(faults.again(&enabled).is_empty());
        assert_eq!(faults.first(&Fault { value: 0x20, ..bad }, &enabled), None);
        assert_eq!(faults.first(&bad, &enabled), None);
        let other = faults.first(&Fault { action: 1, ..bad }, &enabled);
        assert_eq!(other.as_deref(), Some(&*format!("{start} (0x10) in action #1 at DIF offset 16")));
        assert_eq!(faults.again(&enabled), [format!("{start} in predicate at DIF offset 16: 2 more")]);
        assert!(faults.again(&enabled).is_empty());
    }
}

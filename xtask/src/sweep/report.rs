//! The results of a sweep: everything as JSON, the sums as a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::lines::Batch;
use super::state::State;

/// The sums of all batches.
struct Sums {
    functions: u64,
    instructions: u64,
    probes: u64,
    armed: u64,
    jumps: u64,
    fired: u64,
    hits: u64,
    nested: u64,
    rewritten: u64,
    refused: BTreeMap<String, u64>,
    whole: BTreeMap<String, u64>,
    names: BTreeMap<String, Vec<String>>,
}

fn sums(state: &State) -> Sums {
    let all = |of: fn(&Batch) -> u64| state.batches.iter().map(of).sum();
    let mut sums = Sums {
        functions: all(|b| b.functions),
        instructions: all(|b| b.instructions),
        probes: all(|b| b.probes),
        armed: all(|b| b.armed),
        jumps: all(|b| b.jumps),
        fired: all(|b| b.fired),
        hits: all(|b| b.hits),
        nested: all(|b| b.nested),
        rewritten: all(|b| b.rewritten),
        refused: BTreeMap::new(),
        whole: BTreeMap::new(),
        names: BTreeMap::new(),
    };
    for batch in &state.batches {
        for (reason, n) in &batch.refused {
            *sums.refused.entry(reason.clone()).or_default() += n;
        }
        for (reason, n) in &batch.whole {
            *sums.whole.entry(reason.clone()).or_default() += n;
        }
        for (name, reason) in &batch.names {
            sums.names.entry(reason.clone()).or_default().push(name.clone());
        }
    }
    sums
}

/// All results.
pub(super) fn json(state: &State) -> String {
    let s = sums(state);
    let batches: Vec<Value> = state
        .batches
        .iter()
        .map(|b| {
            let mut value = json!(b);
            // The sums contain the names.
            if let Some(object) = value.as_object_mut() {
                object.remove("names");
            }
            value
        })
        .collect();
    let report = json!({
        "kernel": state.kernel, "release": state.release, "cpus": state.cpus, "modules": state.modules,
        "sample": state.sample, "whole": state.done, "boots": state.boots, "slow_batches": state.slow, "seconds": state.seconds,
        "total_functions": state.total, "functions": s.functions, "instructions": s.instructions,
        "traceable": s.probes, "armed": s.armed, "jumps": s.jumps, "fired": s.fired, "hits": s.hits, "nested": s.nested,
        "rewritten": s.rewritten, "refused": s.refused, "refused_functions": s.whole, "refused_names": s.names,
        "left_out": state.skip, "findings": state.findings, "batches": batches,
    });
    format!("{report:#}\n")
}

/// The sums as a table.
pub(super) fn table(state: &State) -> String {
    let s = sums(state);
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<18} {value}");
    };
    let share = |n: u64, of: u64| format!("{n} ({:.2} %)", 100.0 * n as f64 / of.max(1) as f64);
    let modules = if state.modules { ", its modules" } else { "" };
    row("kernel", format!("{}, {} CPUs{modules}", state.release, state.cpus));
    let sample = if state.sample > 1 { format!(", every {}th", state.sample) } else { String::new() };
    let whole = if state.done { "" } else { ", not to the end" };
    row("functions", format!("{} of {}{sample}{whole}", s.functions, state.total));
    row("instructions", s.instructions.to_string());
    row("traceable", share(s.probes, s.instructions));
    row("armed", share(s.armed, s.instructions));
    row("by a jump", share(s.jumps, s.armed));
    row("fired", share(s.fired, s.armed));
    row("hits", format!("{}, nested {}", s.hits, s.nested));
    row(
        "batches",
        format!(
            "{} in {:.0} s, {} boots; {} more were too hot and done in parts",
            state.batches.len(),
            state.seconds,
            state.boots,
            state.slow
        ),
    );
    row("text", format!("the same after each batch; {} bytes rewritten by the kernel", s.rewritten));
    for (reason, n) in &s.refused {
        row(&format!("  {reason}"), share(*n, s.instructions));
    }
    for (reason, n) in &s.whole {
        row(&format!("  {reason}"), format!("{n} functions as a whole"));
    }
    row("findings", state.findings.len().to_string());
    for finding in &state.findings {
        row("  ", finding.shown());
    }
    text
}

//! analysis/counts/object.rs: counts as JSON: an object for each instruction, and for each line of joined copies.

use super::sum::Copies;
use crate::analysis::counts::counted::{Counted, Executions, Spent};
use crate::analysis::listing;
use serde_json::{Value, json};

/// The objects of a function or copy. An address is a hexadecimal string; a count that cannot be inferred
/// is null.
pub(crate) fn objects(counted: &Counted, executions: &Executions) -> Vec<Value> {
    let mut all = Vec::new();
    for (listing, executed) in counted.listings.iter().zip(&executions.parts) {
        for (insn, executed) in listing.instructions.iter().zip(executed) {
            let mut object = listing::object(listing, insn);
            let ways: Vec<Value> = executed
                .ways
                .iter()
                .map(|way| {
                    let to = counted.target(way);
                    let (function, offset) = (to.map(|to| &to.0.function), to.map(|to| to.1.offset));
                    json!({ "function": function, "offset": offset, "count": way.count, "next": way.falls_through })
                })
                .collect();
            if let Some(object) = object.as_object_mut() {
                object.insert("count".to_owned(), json!(executed.count));
                object.insert("block".to_owned(), json!(executed.begins));
                object.insert("counted".to_owned(), json!(executed.counted));
                object.insert("ways".to_owned(), json!(ways));
                object.insert("calls".to_owned(), json!(executions.calls));
                if let Some(spent) = executed.spent {
                    object.insert("spent".to_owned(), time(spent));
                }
            }
            all.push(object);
        }
    }
    all
}

/// The objects for the lines of joined copies; the objects of each copy's instructions follow them.
pub(crate) fn lines(copies: &Copies<'_>) -> Vec<Value> {
    let lines = copies
        .lines
        .iter()
        .flat_map(|(file, lines)| lines.iter().map(move |(number, line)| (file, number, line)));
    let object = |(file, number, line): (&String, &u64, &super::view::Line)| {
        let branches: Vec<Value> = line
            .branches
            .iter()
            .map(|branch| {
                let to = branch.to.as_ref().map(|to| json!({ "file": to.file, "line": to.line }));
                json!({ "count": branch.count, "jumps": branch.jumps, "to": to })
            })
            .collect();
        let mut object = json!({
            "function": copies.function, "copies": copies.members.len(), "called": copies.called, "calls": copies.calls,
            "file": file, "line": number, "count": line.count, "branches": branches, "notes": line.notes,
        });
        if let (Some(spent), Some(object)) = (line.spent, object.as_object_mut()) {
            object.insert("spent".to_owned(), time(spent));
        }
        object
    };
    lines.map(object).collect()
}

fn time(spent: Spent) -> Value {
    json!({
        "times": spent.times, "ns": spent.rest(), "measured": spent.measured, "probes": spent.taken_off,
        "doubt": spent.doubt(),
    })
}

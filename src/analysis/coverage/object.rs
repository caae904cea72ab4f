//! analysis/coverage/object.rs: coverage as JSON: an object for each function, and one for each source file.

use super::tally::{File, Sum, Tally};
use serde_json::{Value, json};

/// All objects, one per line. Unknown values are null.
pub(crate) fn objects(tally: &Tally) -> String {
    let mut out = String::new();
    for (name, file) in &tally.files {
        let functions = file.functions.iter().map(|(function, called)| {
            json!({
                "type": "function", "function": function, "file": name, "line": called.line, "called": called.called,
                "blocks": sum(called.blocks),
            })
        });
        for object in functions.chain([of_file(name, file)]) {
            out += &object.to_string();
            out.push('\n');
        }
    }
    out
}

fn of_file(name: &str, file: &File) -> Value {
    let lines: Vec<Value> = file.lines.iter().map(|(line, state)| json!([line, state])).collect();
    let branches: Vec<Value> = file
        .branches
        .iter()
        .map(|(way, taken)| {
            json!({ "line": way.line, "to": way.to, "same_file": way.file == 0, "taken": taken })
        })
        .collect();
    json!({
        "type": "file", "file": name, "blocks": sum(file.blocks_sum()), "lines": lines, "branches": branches,
    })
}

fn sum(sum: Sum) -> Value {
    json!({ "executed": sum.yes, "not_executed": sum.no, "unknown": sum.unknown })
}

//! analysis/paths/object.rs: paths as JSON: one object for each, and one for each branch of --differ.

use super::differ::Comparison;
use super::lines::{Decided, Decision};
use super::program::Group;
use super::ways::{Item, Of, Shown, Way};
use kinst_sites::listing::Place;
use serde_json::{Value, json};

/// The object of a path. `steps` are in execution order.
pub(crate) fn of_way(way: &Way, groups: &[Group]) -> Value {
    let steps: Vec<Value> = way.items.iter().map(|item| step(item, groups)).collect();
    json!({ "calls": way.calls, "differ": way.failed, "probes": way.fired, "steps": steps })
}

fn step(item: &Item, groups: &[Group]) -> Value {
    let name = |of: &Of| of.followed(groups).map(|one| one.name().to_owned());
    match item {
        Item::Unknown => json!({ "unknown": true }),
        Item::Enter { of, arguments } => json!({ "enter": name(of), "arguments": values(arguments) }),
        Item::Leave { of, returned, tail } => json!({
            "leave": name(of),
            "returned": returned.as_ref().map(numbers),
            "goes on as": tail,
        }),
        Item::Block { of, insns } => {
            let Some(followed) = of.followed(groups) else { return Value::Null };
            let listed =
                insns.iter().filter_map(|at| Some((followed.listings.get(at.0)?, followed.insn(*at)?)));
            let instructions: Vec<Value> = listed
                .map(|(listing, insn)| {
                    let frames: Vec<&str> = insn.frames.iter().map(|frame| &*frame.name).collect();
                    json!({
                        "function": listing.function,
                        "offset": insn.offset,
                        "text": insn.text,
                        "file": insn.place.as_ref().map(|place| &place.file),
                        "line": insn.place.as_ref().map(|place| place.line),
                        "frames": frames,
                    })
                })
                .collect();
            json!({ "block": instructions })
        }
        Item::Branch { of, insn, to, jumps, values: seen } => {
            json!({ "branch": branch(groups, Decision { of: *of, insn: *insn, to: *to }), "jumps": jumps, "values": values(seen) })
        }
    }
}

fn branch(groups: &[Group], decision: Decision) -> Value {
    let Decision { of, insn, to } = decision;
    let offset =
        |at: (usize, usize)| Some((of.followed(groups)?.listings.get(at.0)?, of.followed(groups)?.insn(at)?));
    let at = |at: (usize, usize)| {
        offset(at).map(|(listing, insn)| json!({ "function": listing.function, "offset": insn.offset }))
    };
    json!({ "from": at(insn), "to": to.and_then(at) })
}

/// The objects of a comparison.
pub(crate) fn of_comparison(comparison: &Comparison, groups: &[Group]) -> Vec<Value> {
    let side = |calls: u64, decided: &Decided| {
        json!({
            "calls": calls,
            "branch": branch(groups, decided.key),
            "jumps": decided.jumps,
            "to": decided.to.as_ref().map(place),
            "values": values(&decided.values),
        })
    };
    let partings = comparison.partings.iter().map(|parting| {
        let others: Vec<Value> =
            parting.others.iter().map(|(calls, decided)| side(*calls, decided)).collect();
        let within: Vec<&String> = parting.line.within.iter().map(|(name, _)| name).collect();
        json!({
            "differs": side(parting.calls, &parting.decided),
            "others": others,
            "at": parting.line.place.as_ref().map(place),
            "within": within,
            "order": parting.by_order,
        })
    });
    partings.collect()
}

fn place(place: &Place) -> Value {
    json!({ "file": place.file, "line": place.line })
}

fn values(all: &[Shown]) -> Vec<Value> {
    all.iter().map(|one| json!({ "name": one.name, "values": numbers(one) })).collect()
}

/// The values as text, as 64-bit integers exceed the range of JSON numbers.
fn numbers(shown: &Shown) -> Vec<String> {
    let more = shown.seen.more.then(|| "…".to_owned());
    shown.seen.values.iter().map(|value| shown.form.show(*value)).chain(more).collect()
}

//! analysis/listing.rs: listings as text and JSON.

use kinst_dwarf::Frame;
use kinst_sites::listing::Place;
use kinst_sites::listing::disas::{Copy, Listed, Listing, in_source};
use kinst_sites::uprobe::Way;
use serde_json::{Value, json};

/// The title of a listing: `vmlinux:vfs_read, fs/read_write.c:450, 312 bytes at ffffffff81000000`.
pub(crate) fn titled(listing: &Listing) -> String {
    let source = listing.source.as_ref().map(|place| format!(", {}", shown(place))).unwrap_or_default();
    match &listing.copy {
        Some(copy) => {
            let Copy { function, caller, .. } = copy;
            let module = &listing.module;
            let elsewhere = if listing.function == *caller {
                String::new()
            } else {
                format!(": its part in {module}:{}", listing.in_source())
            };
            let (caller, entered) = (in_source(caller), entered_at(listing, copy));
            format!("{function}{source}, inlined in {module}:{caller} {entered}{elsewhere}")
        }
        None => {
            let Listing { module, size, address, .. } = listing;
            let function = listing.in_source();
            format!("{module}:{function}{source}, {size} bytes at {address:x}")
        }
    }
}

/// The places where a copy is entered: `at offset 598`, `at offsets 68, 233`
pub(crate) fn entered_at(listing: &Listing, copy: &Copy) -> String {
    match &copy.entries[..] {
        [entry] => format!("at offset {}", listing.number(*entry)),
        entries => {
            let entries: Vec<String> = entries.iter().map(|entry| listing.number(*entry)).collect();
            format!("at offsets {}", entries.join(", "))
        }
    }
}

/// Formats frames, outermost first: `vfs_read > fsnotify_access (read_write.c:475) > …`.
pub(crate) fn chain(frames: &[Frame]) -> String {
    let names = frames.iter().rev().map(|frame| {
        let name = if frame.name.is_empty() { "?" } else { &frame.name };
        match &frame.call {
            Some(call) => format!("{name} ({}:{})", file_name(&call.file), call.line),
            None => name.to_owned(),
        }
    });
    names.collect::<Vec<_>>().join(" > ")
}

pub(crate) fn object(listing: &Listing, insn: &Listed) -> Value {
    let frames: Vec<Value> = insn
        .frames
        .iter()
        .map(|frame| {
            json!({
                "function": frame.name,
                "called": frame.call.as_ref().map(|call| json!({ "file": call.file, "line": call.line })),
            })
        })
        .collect();
    let copy = listing.copy.as_ref();
    json!({
        "module": listing.module,
        "function": listing.function,
        "copy": copy.map(|Copy { function, caller, entries, .. }| json!({
            "function": function,
            "in": caller,
            "entry": entries.first(),
            "entries": entries,
        })),
        "offset": insn.offset,
        "address": format!("{:#x}", insn.address),
        "bytes": hex(insn, ""),
        "text": insn.text,
        "file": insn.place.as_ref().map(|place| &place.file),
        "line": insn.place.as_ref().map(|place| place.line),
        "frames": frames,
        "live": listing.live,
        "traceable": insn.refused.is_none(),
        "reason": insn.refused.map(|refused| refused.to_string()),
        "emulated": insn.way.map(|way| way == Way::Emulated),
        "ftrace": insn.fentry,
        "rewritten": insn.rewritten.map(|how| how.words()),
    })
}

pub(crate) fn hex(insn: &Listed, between: &str) -> String {
    insn.bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(between)
}

fn shown(place: &Place) -> String {
    format!("{}:{}", place.file, place.line)
}

pub(crate) fn short(place: &Place) -> String {
    format!("{}:{}", file_name(&place.file), place.line)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

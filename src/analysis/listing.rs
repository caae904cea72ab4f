//! analysis/listing.rs: listings in words and as JSON.

use crate::backend::reason;
use crate::dwarf::Frame;
use crate::sites::Refusal;
use crate::sites::listing::Place;
use crate::sites::listing::disas::{Copy, Listed, Listing, Refused};
use crate::uapi::Reason;
use serde_json::{Value, json};

/// What is listed: `vmlinux:vfs_read, fs/read_write.c:450, 312 bytes at ffffffff81000000`.
pub fn titled(listing: &Listing) -> String {
    let source = listing.source.as_ref().map(|place| format!(", {}", shown(place))).unwrap_or_default();
    match &listing.copy {
        Some(copy) => {
            let Copy { function, caller, .. } = copy;
            let module = &listing.module;
            let elsewhere = if listing.function == *caller {
                String::new()
            } else {
                format!(": what of it is in {module}:{}", listing.function)
            };
            format!("{function}{source}, inlined in {module}:{caller} {}{elsewhere}", entered_at(copy))
        }
        None => {
            let Listing { module, function, size, address, .. } = listing;
            format!("{module}:{function}{source}, {size} bytes at {address:x}")
        }
    }
}

/// The places where a copy is entered: `at offset 598`, `at offsets 68, 233`
pub fn entered_at(copy: &Copy) -> String {
    match &copy.entries[..] {
        [entry] => format!("at offset {entry}"),
        entries => {
            let entries: Vec<String> = entries.iter().map(u64::to_string).collect();
            format!("at offsets {}", entries.join(", "))
        }
    }
}

/// Formats frames from the outermost in: `vfs_read > fsnotify_access (read_write.c:475) > …`.
pub fn chain(frames: &[Frame]) -> String {
    let names = frames.iter().rev().map(|frame| {
        let name = if frame.name.is_empty() { "?" } else { &frame.name };
        match &frame.call {
            Some(call) => format!("{name} ({}:{})", file_name(&call.file), call.line),
            None => name.to_owned(),
        }
    });
    names.collect::<Vec<_>>().join(" > ")
}

pub fn words(refused: &Refused) -> &str {
    match refused {
        Refused::ByKernel(words) => words,
        Refused::ByFile(refusal) => by_file(*refusal),
    }
}

/// Returns the kernel module's words for it, where it has some.
fn by_file(refusal: Refusal) -> &'static str {
    let reason = match refusal {
        Refusal::Init => Reason::INIT,
        Refusal::TrapPath => Reason::TRAP_PATH,
        Refusal::NoTrap => Reason::NO_TRAP,
        Refusal::Blacklist => Reason::BLACKLIST,
        Refusal::StaticCall => Reason::STATIC_CALL,
        Refusal::Foreign => Reason::FOREIGN,
        Refusal::Ftrace => Reason::FTRACE,
        Refusal::JumpLabel => Reason::JUMP_LABEL,
        Refusal::Undecodable => Reason::UNDECODABLE,
        Refusal::StiHlt => Reason::INSN_STI_HLT,
        Refusal::Int => Reason::INSN_TRAP,
        Refusal::Iret => Reason::INSN_IRET,
        Refusal::StackSegment => Reason::INSN_SS,
        Refusal::Undefined => Reason::INSN_UD,
        Refusal::Privileged => Reason::INSN_PRIV,
        Refusal::Endbr => Reason::INSN_LANDING_PAD,
        Refusal::Rsp => Reason::INSN_RSP,
        Refusal::Reach => Reason::REACH,
        Refusal::Exclusive => return "an exclusive load or store, which must not be interrupted",
    };
    reason::name(reason)
}

pub fn object(listing: &Listing, insn: &Listed) -> Value {
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
        "copy": copy.map(|Copy { function, caller, entries }| json!({
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
        "reason": insn.refused.as_ref().map(words),
        "ftrace": insn.fentry,
        "rewritten": insn.rewritten.map(|how| how.words()),
    })
}

pub fn hex(insn: &Listed, between: &str) -> String {
    insn.bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(between)
}

fn shown(place: &Place) -> String {
    format!("{}:{}", place.file, place.line)
}

pub fn short(place: &Place) -> String {
    format!("{}:{}", file_name(&place.file), place.line)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

//! cli/dtrace_disas.rs: --disas: the instructions of functions, and whether each can be traced.

use super::report::in_color;
use super::run::{Failed, Run};
use crate::diag::color;
use crate::driver::reason;
use crate::dwarf::Frame;
use crate::sites::Refusal;
use crate::sites::listing::Place;
use crate::sites::listing::disas::{self, Copy, Disassembler, Disassembly, Listed, Listing, Refused};
use crate::uapi::Reason;
use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// Writes the instructions of functions to standard output, and what cannot be shown of them to standard error.
pub fn disassemble(run: &mut Run, functions: &[String]) -> Result<u8, Failed> {
    let kernel = run.kernel()?;
    let live = run.live_text();
    let mut disassembler = Disassembler::new(&kernel, live.as_deref());
    let mut status = 0;
    for function in functions {
        let answer = disassembler.disassemble(function);
        for warning in kernel.take_warnings() {
            run.report.diagnostic(&run.sources, &warning, None);
        }
        match answer {
            Ok(disassembly) => {
                disassembly.remarks.iter().for_each(|remark| run.report.notice(remark));
                run.put(&written(run, &disassembly))?;
                if !run.invocation.objects
                    && disassembly.listings.iter().all(|listing| listing.copy.is_none())
                {
                    run.put(&inlined(function, disas::times_inlined(&kernel, function)))?;
                }
            }
            Err(error) => {
                run.report.diagnostic(&run.sources, &error, None);
                status = 1;
            }
        }
    }
    Ok(status)
}

fn written(run: &Run, disassembly: &Disassembly) -> String {
    let mut text = String::new();
    if run.invocation.objects {
        for listing in &disassembly.listings {
            for insn in &listing.instructions {
                text += &format!("{}\n", object(listing, insn));
            }
        }
        return text;
    }
    let color = run.invocation.output.is_none() && in_color(&std::io::stdout());
    let paint = Paint { color };
    for (index, listing) in disassembly.listings.iter().enumerate() {
        text += if index > 0 { "\n" } else { "" };
        paint.listing(&mut text, listing);
    }
    text
}

/// Returns the note that a function with code of its own also has inlined copies.
fn inlined(description: &str, count: u32) -> String {
    let function = plain(description.rsplit([':', '`']).next().unwrap_or(description));
    let copies = match count {
        0 => return String::new(),
        1 => "1 copy".to_owned(),
        count => format!("{count} copies"),
    };
    format!("\n{function} is also inlined ({copies}): dtrace -lvn 'kinst::{function}:entry'\n")
}

/// Returns the name without the suffix that distinguishes it from its namesakes.
fn plain(function: &str) -> &str {
    function.split('#').next().unwrap_or(function)
}

/// Colours by escape sequences, if enabled.
struct Paint {
    color: bool,
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// The columns of bytes and of text; a longer one moves the rest of its line.
const BYTES: usize = 29;
const TEXT: usize = 38;
const PLACE: usize = 20;

impl Paint {
    fn paint(&self, style: Style, text: &str) -> String {
        color::paint(text, style, self.color)
    }

    fn listing(&self, out: &mut String, listing: &Listing) {
        let title = titled(listing);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}", self.paint(BOLD, &title));
        let last = listing.instructions.last().map_or(0, |insn| insn.offset);
        let width = last.to_string().len().max(5);
        let mut frames: Option<&Arc<Vec<Frame>>> = None;
        for insn in &listing.instructions {
            if frames.is_none_or(|frames| !Arc::ptr_eq(frames, &insn.frames)) && !insn.frames.is_empty() {
                let _ = writeln!(out, "  {}", self.paint(CYAN, &chain(&insn.frames)));
            }
            frames = Some(&insn.frames);
            self.instruction(out, insn, width);
        }
    }

    fn instruction(&self, out: &mut String, insn: &Listed, width: usize) {
        let bytes = hex(insn, " ");
        let place = insn.place.as_ref().map(short).unwrap_or_default();
        let mark = if insn.refused.is_some() { "-" } else { " " };
        let verdict = verdict(insn);
        let line = format!(
            "{mark} {:>width$}  {}  {bytes:<BYTES$} {:<TEXT$} ",
            insn.offset,
            self.paint(DIM, &format!("{:x}", insn.address)),
            insn.text
        );
        let line = if verdict.is_empty() {
            format!("{line}{place}")
        } else {
            let style = if insn.refused.is_some() { RED } else { DIM };
            format!("{line}{place:<PLACE$} {}", self.paint(style, &verdict))
        };
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

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

fn verdict(insn: &Listed) -> String {
    if let Some(refused) = &insn.refused {
        return format!("cannot be traced: {}", words(refused));
    }
    let fentry = insn.fentry.then_some("ftrace site: traced through ftrace");
    fentry.or(insn.rewritten.map(|how| how.words())).unwrap_or_default().to_owned()
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

fn hex(insn: &Listed, between: &str) -> String {
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

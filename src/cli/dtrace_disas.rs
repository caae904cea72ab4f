//! cli/dtrace_disas.rs: --disas: the instructions of functions, and whether each can be traced.

use super::config::Config;
use super::console::{Console, Failed};
use super::subject::Subject;
use super::viewed::Viewed;
use crate::analysis::listing::{chain, hex, object, short, titled};
use anstyle::{AnsiColor, Style};
use kinst_base::diag::color;
use kinst_base::probe::in_description;
use kinst_base::space::Space;
use kinst_dwarf::Frame;
use kinst_sites::listing::disas::{Disassembly, Listed, Listing};
use kinst_sites::uprobe::Way;
use std::fmt::Write as _;
use std::sync::Arc;

/// Writes the instructions of functions to standard output, and reports functions that cannot be shown.
pub(super) fn disassemble(config: &Config, subject: &Subject, console: &Console) -> Result<u8, Failed> {
    let viewed = Viewed::open(config, subject, console, &config.invocation.disassembled)?;
    let mut disassembler = viewed.disassembler();
    let mut status = 0;
    for function in &config.invocation.disassembled {
        let answer = disassembler.disassemble(function);
        subject.report_files(console, config.invocation.verbose);
        match answer {
            Ok(disassembly) => {
                disassembly.remarks.iter().for_each(|remark| console.report.notice(remark));
                console.put(&written(config, console, &disassembly))?;
                if !config.invocation.objects
                    && disassembly.listings.iter().all(|listing| listing.copy.is_none())
                {
                    let (count, plain) = disassembler.times_inlined(function);
                    console.put(&inlined(&disassembly, &plain, count))?;
                }
            }
            Err(error) => {
                console.diagnostic(&error);
                status = 1;
            }
        }
    }
    Ok(status)
}

fn written(config: &Config, console: &Console, disassembly: &Disassembly) -> String {
    let mut text = String::new();
    if config.invocation.objects {
        for listing in &disassembly.listings {
            for insn in &listing.instructions {
                text += &format!("{}\n", object(listing, insn));
            }
        }
        return text;
    }
    let paint = Paint { color: console.in_color() };
    for (index, listing) in disassembly.listings.iter().enumerate() {
        text += if index > 0 { "\n" } else { "" };
        paint.listing(&mut text, listing);
    }
    text
}

/// Returns a note that a function with out-of-line code also has inlined copies.
fn inlined(disassembly: &Disassembly, function: &str, count: u32) -> String {
    let function = plain(function);
    let copies = match count {
        0 => return String::new(),
        1 => "1 copy".to_owned(),
        count => format!("{count} copies"),
    };
    let provider = match disassembly.listings.first() {
        Some(Listing { space: Space::Process(_), module, .. }) => format!("pid$target:{module}"),
        Some(Listing { space: Space::File, module, .. }) => format!("uprobe:{module}"),
        _ => "kinst:".to_owned(),
    };
    let name = in_description(function);
    format!("\n{function} is also inlined ({copies}): dtrace -lvn '{provider}:{name}:entry'\n")
}

/// Returns the name without the suffix that distinguishes it from its namesakes.
fn plain(function: &str) -> &str {
    function.split('#').next().unwrap_or(function)
}

/// Colours text by escape sequences, if enabled.
struct Paint {
    color: bool,
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// Column widths; a longer cell shifts the rest of its line.
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
        let width = listing.number(last.into()).len().max(5);
        let mut frames: Option<&Arc<Vec<Frame>>> = None;
        for insn in &listing.instructions {
            if frames.is_none_or(|frames| !Arc::ptr_eq(frames, &insn.frames)) && !insn.frames.is_empty() {
                let _ = writeln!(out, "  {}", self.paint(CYAN, &chain(&insn.frames)));
            }
            frames = Some(&insn.frames);
            self.instruction(out, &listing.number(insn.offset.into()), insn, width);
        }
    }

    fn instruction(&self, out: &mut String, offset: &str, insn: &Listed, width: usize) {
        let bytes = hex(insn, " ");
        let place = insn.place.as_ref().map(short).unwrap_or_default();
        let mark = if insn.refused.is_some() { "-" } else { " " };
        let verdict = verdict(insn);
        let line = format!(
            "{mark} {offset:>width$}  {}  {bytes:<BYTES$} {:<TEXT$} ",
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

fn verdict(insn: &Listed) -> String {
    if let Some(refused) = insn.refused {
        return format!("cannot be traced: {refused}");
    }
    let fentry = insn.fentry.then_some("ftrace site: traced through ftrace");
    let emulated = (insn.way == Some(Way::Emulated)).then_some("emulated");
    fentry.or(insn.rewritten.map(|how| how.words())).or(emulated).unwrap_or_default().to_owned()
}

//! cli/inlinecall.rs: the inlinecall command: call boundaries of inlined functions in ELF files.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};
use serde_json::{Value, json};

use super::report::in_color;
use crate::diag::render::{self, Style};
use crate::diag::{Diagnostic, tags};
use crate::sites::copies::calls::{self, Call, Place, Return};
use crate::source::Sources;

/// Print where the inlined copies of a function begin and end.
///
/// One line for each copy: the address where it is entered, the addresses of the instructions where it is left
/// (with commas), the function that it is inlined in with the offset of the entry in bytes, and the source line of the
/// call. With several files, the file comes first. In a module or an object file, which have no addresses yet, an
/// address is `section+offset`.
#[derive(Parser)]
#[command(
    name = "inlinecall",
    version,
    after_help = "Examples:
  inlinecall get_page /usr/lib/debug/boot/vmlinux-$(uname -r)
  inlinecall btrfs_leaf_key /usr/lib/debug/lib/modules/$(uname -r)/kernel/fs/btrfs/btrfs.ko
  inlinecall --json max ./a.out | jq .caller

An entry printed as CALLER:OFFSET is the kernel probe kinst::CALLER:OFFSET of dtrace(1).

Exit status: 0 copies were found, 1 there are none, 2 a file could not be used."
)]
struct Arguments {
    /// One JSON object a line instead of text.
    #[arg(long)]
    json: bool,
    /// The function's name, as the source has it.
    #[arg(value_name = "FUNC")]
    function: String,
    /// ELF files with debug information (programs, objects, modules also compressed, vmlinux).
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// The command line, for the manual and the shells.
pub fn command() -> clap::Command {
    Arguments::command()
}

pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match run(&arguments, &mut io::stdout().lock()) {
        Ok(status) => ExitCode::from(status),
        // The reader of the pipe has closed it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("inlinecall: cannot write: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments, out: &mut impl Write) -> io::Result<u8> {
    let mut found = false;
    let mut broken = false;
    let mut without = Vec::new();
    let many = arguments.files.len() > 1;
    for path in &arguments.files {
        let file = path.display().to_string();
        match calls::in_file_asking(path, &arguments.function, &|text| eprintln!("inlinecall: {text}")) {
            Ok(calls) => {
                if !found && !arguments.json && io::stdout().is_terminal() {
                    let prefix = if many { "FILE  " } else { "" };
                    writeln!(out, "{prefix}ENTRY  RETURNS  CALLER:OFFSET  CALLED AT")?;
                }
                found = true;
                not_exact(&file, &calls);
                for call in &calls {
                    if arguments.json {
                        writeln!(out, "{}", object(&arguments.function, &file, call))?;
                    } else {
                        let prefix = if many { format!("{file}  ") } else { String::new() };
                        writeln!(out, "{prefix}{}", line(call))?;
                    }
                }
            }
            Err(error) if error.tag == tags::PDESC_ZERO => without.push(error),
            Err(error) => {
                broken = true;
                report(&error);
            }
        }
    }
    out.flush()?;
    // As with grep: files without a copy are reported only if all are.
    if !found {
        without.iter().for_each(|error| report(error));
    }
    Ok(if broken { 2 } else { u8::from(!found) })
}

fn line(call: &Call) -> String {
    let returns: Vec<String> = call
        .returns
        .iter()
        .map(|left| match &left.to {
            Some(to) => format!("{}-{}", address(&left.place), address(to)),
            None => address(&left.place),
        })
        .collect();
    let returns = if returns.is_empty() { "-".to_owned() } else { returns.join(",") };
    format!("{}  {returns}  {}  {}:{}", address(&call.entry), caller(&call.entry), call.file, call.line)
}

/// Warns about calls whose returns are not known exactly.
fn not_exact(file: &str, calls: &[Call]) {
    let mut reasons = calls.iter().filter_map(|call| call.inexact);
    if let Some(reason) = reasons.next() {
        let more = reasons.count();
        let others = if more == 0 { String::new() } else { format!(" (and of {more} more)") };
        let warning = Diagnostic::warning(
            tags::PDESC_ZERO,
            format!(
                "{file}: the returns of a call{others} are the ends of its ranges, which is not exact: {reason}"
            ),
        );
        report(&warning);
    }
}

fn object(function: &str, file: &str, call: &Call) -> Value {
    json!({
        "file": file,
        "function": function,
        "caller": call.entry.caller.as_ref().map(|(name, _)| name),
        "entry": place(&call.entry),
        "returns": call.returns.iter().map(left).collect::<Vec<_>>(),
        "exact": call.inexact.is_none(),
        "call": { "file": call.file, "line": call.line },
    })
}

fn left(left: &Return) -> Value {
    let mut value = place(&left.place);
    if let Some(to) = &left.to {
        value["to"] = place(to);
    }
    value
}

fn place(place: &Place) -> Value {
    json!({
        "address": format!("{:#x}", place.address),
        "section": place.section,
        "caller": place.caller.as_ref().map(|(name, _)| name),
        "offset": place.caller.as_ref().map(|(_, offset)| offset),
    })
}

fn address(place: &Place) -> String {
    match &place.section {
        Some(section) => format!("{section}+{:#x}", place.address),
        None => format!("{:#x}", place.address),
    }
}

fn caller(place: &Place) -> String {
    match &place.caller {
        Some((name, offset)) => format!("{name}:{offset}"),
        None => "?".to_owned(),
    }
}

fn report(error: &Diagnostic) {
    let style = Style {
        program: "inlinecall",
        color: in_color(&io::stderr()),
        errtags: false,
        subject: None,
        width: None,
    };
    eprint!("{}", render::text(&Sources::default(), error, &style));
}

//! cli/inlinecall.rs: the inlinecall command: call boundaries of inlined functions in ELF files.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};
use serde_json::{Value, json};

use super::output;
use super::report::in_color;
use kinst_base::diag::render::{self, Style};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::glob;
use kinst_base::source::Sources;
use kinst_sites::copies::calls::{self, Boundary, Call, Calls, Inexact, Place};

/// Print where the inlined copies of a function begin and end.
///
/// One line for each copy: the addresses of its entries and of its returns (separated by commas), the function that
/// contains the copy with the offset of the first entry in bytes, and the source line of the call. With several files,
/// the file comes first. In a module or object file, which has no addresses yet, an address is `section+offset`.
#[derive(Parser)]
#[command(
    name = "inlinecall",
    version,
    after_help = "Examples:
  inlinecall get_page /usr/lib/debug/boot/vmlinux-$(uname -r)
  inlinecall btrfs_leaf_key /usr/lib/debug/lib/modules/$(uname -r)/kernel/fs/btrfs/btrfs.ko
  inlinecall --json max ./a.out | jq .caller
  inlinecall 'Vec<u8>::push' target/release/program

An entry printed as CALLER:OFFSET is the kernel probe kinst::CALLER:OFFSET of dtrace(1).

Exit status: 0 copies were found, 1 none was found, 2 a file, or a part of its debug information, could not be used."
)]
struct Arguments {
    /// One JSON object a line instead of text.
    #[arg(long)]
    json: bool,
    /// The function's name in the source, or the end of its path; globs are allowed. A generic or template without
    /// arguments matches all its instances: `f`, `ns::f`, `Vec::push`, `Vec<i32>::push`, `*::unwrap`.
    #[arg(value_name = "FUNC")]
    function: String,
    /// ELF files with debug information: programs, objects, vmlinux, and modules, which may be compressed.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Returns the command line, for the manual and for shell completion.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the command. Exit status: 0, 1 if no call was found, 2 after an error or bad usage.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    kinst_os::output::keep_closed();
    match run(&arguments, &mut io::LineWriter::new(kinst_os::output::Stdout)) {
        Ok(status) => ExitCode::from(status),
        // The reader of the pipe has closed it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("inlinecall: failed to write standard output: {}", output::reason(&error));
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
            Ok(Calls { calls, candidates, incomplete }) => {
                // If the name matches several functions, each line ends with the function.
                let several = calls.iter().any(|call| call.function != calls[0].function);
                if !found && !arguments.json && io::stdout().is_terminal() {
                    let prefix = if many { "FILE  " } else { "" };
                    writeln!(out, "{prefix}ENTRIES  RETURNS  CALLER:OFFSET  CALLED AT")?;
                }
                found = true;
                not_exact(&file, &calls);
                for call in &calls {
                    if arguments.json {
                        writeln!(out, "{}", object(&file, call))?;
                    } else {
                        let prefix = if many { format!("{file}  ") } else { String::new() };
                        writeln!(out, "{prefix}{}", line(call, several))?;
                    }
                }
                if !candidates.is_empty() && !glob::is_glob(&arguments.function) {
                    report(&ambiguous(&arguments.function, &candidates));
                }
                if let Some(error) = incomplete {
                    broken = true;
                    report(&error);
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

fn line(call: &Call, with_function: bool) -> String {
    let (entries, returns) = (boundaries(&call.entries), boundaries(&call.returns));
    let function = if with_function { format!("  {}", call.function) } else { String::new() };
    format!("{entries}  {returns}  {}  {}:{}{function}", caller(&call.entry), call.file, call.line)
}

fn boundaries(boundaries: &[Boundary]) -> String {
    let texts = boundaries.iter().map(|boundary| match &boundary.to {
        Some(to) => format!("{}-{}", address(&boundary.place), address(to)),
        None => address(&boundary.place),
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join(",") }
}

/// Lists the functions that a name matches.
fn ambiguous(function: &str, candidates: &BTreeMap<String, usize>) -> Diagnostic {
    const MOST: usize = 20;
    let title = format!("`{function}` matches {} functions", candidates.len());
    let mut warning = Diagnostic::warning(tags::PDESC_ZERO, title);
    for (candidate, calls) in candidates.iter().take(MOST) {
        let calls = if *calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
        warning = warning.note(format!("{candidate}: {calls}"));
    }
    if candidates.len() > MOST {
        warning = warning.note(format!("and {} more", candidates.len() - MOST));
    }
    warning.help("name more of the path to select one of them")
}

/// Warns about calls whose entries or returns are not exact.
fn not_exact(file: &str, calls: &[Call]) {
    let mut reasons = calls.iter().filter_map(|call| call.inexact);
    if let Some(reason) = reasons.next() {
        let more = reasons.count();
        let others = if more == 0 { String::new() } else { format!(" (and of {more} more)") };
        let title = match reason {
            Inexact::Returns(why) => {
                format!(
                    "the returns of a call{others} are only approximated by the ends of its ranges: {why}"
                )
            }
            Inexact::Entries(why) => format!("some entries of a call{others} may be missing: {why}"),
        };
        report(&Diagnostic::warning(tags::PDESC_ZERO, format!("{file}: {title}")));
    }
}

fn object(file: &str, call: &Call) -> Value {
    json!({
        "file": file,
        "function": call.function,
        "caller": call.entry.caller.as_ref().map(|(name, _)| name),
        "entry": place(&call.entry),
        "entries": call.entries.iter().map(boundary).collect::<Vec<_>>(),
        "returns": call.returns.iter().map(boundary).collect::<Vec<_>>(),
        "exact": call.inexact.is_none(),
        "call": { "file": call.file, "line": call.line },
    })
}

fn boundary(boundary: &Boundary) -> Value {
    let mut value = place(&boundary.place);
    if let Some(to) = &boundary.to {
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

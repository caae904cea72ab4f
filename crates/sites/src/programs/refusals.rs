//! sites/programs/refusals.rs: diagnostics for processes, files and functions that cannot be traced.

use std::io;
use std::path::Path;

use super::file::ProgramFile;
use super::process::{Process, shown_name};
use crate::image::Images as _;
use kinst_base::diag::{Diagnostic, suggest, tags};
use kinst_base::machine::Machine;
use kinst_debuginfo::{Searched, debuginfod};
use kinst_dwarf::GoQuery;
use kinst_dwarf::query::{Query, split};
use kinst_os::io_text;
use kinst_os::maps::Mapping;
use kinst_os::overlays::Copied;

fn error(title: String) -> Diagnostic {
    Diagnostic::error(tags::PDESC_ZERO, title)
}

/// A description of `uprobe` without a path.
pub(super) fn path_needed(module: &str) -> Diagnostic {
    let title = match module {
        "" => "provider uprobe needs the path of a file".to_owned(),
        module => format!("provider uprobe needs the path of a file, not `{module}`"),
    };
    error(title).help("write the whole path: uprobe:/usr/bin/bash:main:entry")
}

/// A provider that means several processes.
pub(crate) fn many_processes(provider: &str) -> Diagnostic {
    let title = match provider {
        "pid" => "provider pid needs the number of a process".to_owned(),
        _ => format!("`{provider}` means several processes, but a provider pid traces one"),
    };
    error(title)
        .help("write its number, as in pid1234, or pid$target with -p or -c")
        .help("all processes of a program, now and later: uprobe:/usr/bin/bash:main:entry")
}

/// The numbers of processes here are not those of the kernel.
pub(super) fn other_numbers() -> Diagnostic {
    error("provider pid cannot be used in a PID namespace".to_owned())
        .note("processes have other numbers here than in the kernel, which compares them")
        .help("trace all processes of a file: uprobe:/usr/bin/bash:main:entry")
}

/// The mappings of a process cannot be read.
pub(super) fn no_process(pid: u32, cause: &io::Error) -> Diagnostic {
    match cause.kind() {
        _ if pid == 0 => error("there is no process 0".to_owned())
            .note("$target is 0 without a process")
            .help("name one with -p PID, or start one with -c COMMAND"),
        io::ErrorKind::NotFound => error(format!("there is no process {pid}")).note("it may have ended"),
        io::ErrorKind::PermissionDenied => error(format!("the mappings of process {pid} cannot be read"))
            .note(io_text(cause))
            .help("run as root, or with the capability CAP_SYS_PTRACE"),
        _ => error(format!("the mappings of process {pid} cannot be read")).note(io_text(cause)),
    }
}

/// A process without a file that contains its code.
pub(super) fn no_program(pid: u32, process: &Process) -> Diagnostic {
    if let Some(closed) = process.closed.first() {
        return error(format!("the program of process {pid} cannot be opened"))
            .note(format!("it has mapped {}, in another mount namespace", closed.display()))
            .help("run as root: the files of another namespace are opened by /proc/PID/map_files");
    }
    if process.anonymous {
        return error(format!("process {pid} executes no file: its code is in anonymous memory"));
    }
    error(format!("process {pid} has no program")).note("it is a thread of the kernel, or has ended")
}

/// No file of the process has the name.
pub(super) fn no_module(pid: u32, module: &str, process: &Process) -> Diagnostic {
    let names: Vec<&str> = process.files.iter().map(shown_name).collect();
    let all = suggest::listed(names.iter().copied());
    let found =
        error(format!("process {pid} has not mapped `{module}`")).note(format!("it has mapped {all}"));
    let found = match suggest::nearest(module, names) {
        Some(near) => found.help(format!("did you mean `{near}`?")),
        None => found,
    };
    if module.starts_with('/') {
        return found.help("there is no such file, for a library that it would load later");
    }
    found.help(format!(
        "a library that it loads later is named by its path: pid{pid}:/usr/lib/{module}:f:entry"
    ))
}

/// The file is in no format that is traced.
pub(super) fn traceable(file: &ProgramFile) -> Result<(), Box<Diagnostic>> {
    let path = file.path().display();
    let elf = file.elf();
    let found = match elf.machine() {
        Some(Machine::X86_64) if Machine::HERE == Machine::X86_64 => return Ok(()),
        _ if elf.is_32_bit() => error(format!("{path} is a 32-bit program"))
            .note("programs of 64 bits are traced: the registers and pointers of others differ"),
        Some(Machine::X86_64) => error(format!("{path} is a program for another machine")),
        _ => error(format!("{path} cannot be traced: it is not a program for x86-64"))
            .note("the instructions of programs are known on x86-64 only"),
    };
    Err(Box::new(found))
}

/// A mapping to which a breakpoint cannot be written.
pub(super) fn shared_mapping(path: &Path, mapping: &Mapping) -> Diagnostic {
    let range = &mapping.range;
    error(format!("{} is mapped as shared code", path.display())).note(format!(
        "the mapping at {:#x}-{:#x}: a probe there would change the file",
        range.start, range.end
    ))
}

/// A container has a copy of the file.
pub(super) fn copied(path: &Path, copied: &Copied) -> Diagnostic {
    let (mount, copy) = (copied.mount.display(), copied.file.display());
    let title = format!("processes in {mount} execute a copy of {}, which has no probes", path.display());
    Diagnostic::warning(tags::PDESC_ZERO, title)
        .note("the file is in a layer of an image, and was written to there: overlayfs has made another file")
        .help(format!("trace the copy too, by its own path: {copy}"))
}

/// The file cannot be opened.
pub(super) fn unreadable(path: &Path, cause: &io::Error) -> Diagnostic {
    error(format!("{} cannot be opened: {}", path.display(), io_text(cause)))
}

/// The file has no debug information, which `what` of a function needs.
pub(crate) fn no_debug_information(file: &ProgramFile, function: &str, what: &str) -> Diagnostic {
    let searched = file.searched();
    let path = file.path().display();
    let title = format!("{path} has no debug information: the {what} of `{function}` are unknown");
    let mut found = Diagnostic::error(tags::DEBUGINFO, title);
    if let Some(id) = file.elf().build_id() {
        found = found.note(format!("wanted: build id {id}"));
    }
    found = with_refused(found, searched);
    let places: Vec<String> = searched.places.iter().map(|place| place.display().to_string()).collect();
    if !places.is_empty() {
        found = found.note(format!("looked for: {}", places.join(", ")));
    }
    helped(found.help(file.debug_package()))
}

/// Adds the files that belong to other builds, or are damaged.
fn with_refused(found: Diagnostic, searched: &Searched) -> Diagnostic {
    searched.refused.iter().fold(found, |found, refused| found.note(refused.to_string()))
}

/// Adds the other source of debug information, if it is not used.
fn helped(found: Diagnostic) -> Diagnostic {
    match debuginfod::servers() {
        Some(_) => found,
        None => found.help("a server has that of many distributions: set DEBUGINFOD_URLS"),
    }
}

/// The function has no separate code, and the description needs that: its instructions, or an edge.
pub(crate) fn only_inlined(files: &[&ProgramFile], function: &str) -> Option<Diagnostic> {
    let (query, in_go) = (Query::new(function), GoQuery::new(function));
    let is_meant = |file: &ProgramFile, name: &String| {
        name == function || query.matches(&split(name, "::")) || file.is_go() && in_go.matches(name)
    };
    let is_inlined =
        |file: &&&ProgramFile| file.image().inline_names().iter().any(|name| is_meant(file, name));
    let file = files.iter().find(is_inlined)?;
    let title = format!("`{function}` exists only as inlined copies in {}", file.path().display());
    Some(
        error(title)
            .help("trace the copies: their probes are entry, return, and lines such as L12 and file.c@12"),
    )
}

/// No file has the function.
pub(crate) fn no_function(files: &[&ProgramFile], function: &str, anonymous: bool) -> Diagnostic {
    let place = match files {
        [one] => format!(" in {}", one.path().display()),
        files => format!(" in the {} files of the process", files.len()),
    };
    // The function may be there.
    if let Some(file) = files.iter().find(|file| file.is_incomplete()) {
        let path = file.path().display();
        let title = match function {
            "" => format!("no function is known{place}: a part of the debug information cannot be used"),
            function => {
                format!("`{function}` is unknown: a part of the debug information of {path} cannot be used")
            }
        };
        return file.with_missing(Diagnostic::error(tags::DEBUGINFO, title));
    }
    let mut found = error(match function {
        "" => format!("no function is known{place}"),
        function => format!("no function `{function}`{place}"),
    });
    if let [one] = files
        && one.debug_file().is_none()
    {
        found = match one.go_table() {
            // The table has the inlined functions, too.
            Some(Ok(())) => found,
            Some(Err(why)) => {
                found.note(why.to_string()).help("build it without the options -s and -w of the linker")
            }
            None => {
                let found =
                    found.note("it has no debug information: functions that are only inlined are unknown");
                helped(with_refused(found, one.searched()).help(one.debug_package()))
            }
        };
    }
    if anonymous {
        found = found.note("code that the process has made at run time is in no file, and cannot be traced");
    }
    let names = files.iter().flat_map(|file| file.functions().iter().map(|(name, _)| name));
    // The debug information of several files takes too long to read for a suggestion.
    let inlined = if let [one] = files { one.image().inline_names() } else { Vec::new() };
    let names = names.chain(inlined.iter().map(String::as_str));
    let near = suggest::nearest_few(function, names, 3);
    if near.is_empty() {
        return found;
    }
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    found.help(format!("did you mean {}?", near.join(" or ")))
}

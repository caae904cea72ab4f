//! sites/catalog/refusals.rs: why there is no site: one cause, one message, and what to do next.

use std::collections::BTreeSet;

use super::{LiveInsn, insn_text};
use crate::debuginfo::{D_DEBUGINFO, OWN_MODULE};
use crate::diag::{Diagnostic, suggest, tags};
use crate::glob::is_glob;
use crate::sites::SourceLine;
use crate::sites::copies::line_sites::Seen;
use crate::sites::index::Known;
use crate::sites::target::naming::split_ordinal;
use crate::sites::target::symtab::Symbol;
use crate::sites::target::{KERNEL_PROPER, Kernel};

/// The module field names no module of this kernel.
pub fn no_module(kernel: &Kernel, module: &str) -> Diagnostic {
    if module == OWN_MODULE {
        return Diagnostic::error(tags::PDESC_ZERO, format!("the module `{module}` does not trace itself"));
    }
    if kernel.has_module_file(module) {
        return Diagnostic::error(tags::PDESC_ZERO, format!("the module `{module}` is not loaded"))
            .help(format!("load it first: modprobe {module}"));
    }
    let names = kernel.modules().iter().map(|module| module.name.as_str());
    let error = Diagnostic::error(tags::PDESC_ZERO, format!("there is no module `{module}`"));
    match suggest::nearest(module, names) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!(
            "the kernel proper is `{KERNEL_PROPER}`; leave the field empty to search all modules"
        )),
    }
}

/// Nothing tells the inlined copies.
pub fn no_debug_information(kernel: &Kernel, module: usize, function: &str, out_of_line: bool) -> Diagnostic {
    let searched = kernel.debug_search(module);
    let name = &kernel.modules()[module].name;
    let mut error = Diagnostic::error(
        D_DEBUGINFO,
        format!(
            "no debug information of {name} ({}): the inlined copies of `{function}` cannot be told",
            kernel.release()
        ),
    );
    if let Some(id) = kernel.build_id(module) {
        error = error.note(format!("wanted: build id {id}"));
    }
    for refused in &searched.refused {
        error = error.note(refused.to_string());
    }
    let places: Vec<String> = searched.places.iter().map(|place| place.display().to_string()).collect();
    error = error.note(format!("looked for: {}", places.join(", ")));
    error = error.help(kernel.debug_package());
    if out_of_line {
        error = error.help(format!("`fbt::{function}:entry` traces the calls that are not inlined"));
    }
    error
}

/// The function is known, and has nothing on the line.
pub fn no_code_on_line(function: &str, line: &SourceLine, seen: &Seen) -> Diagnostic {
    let number = line.line;
    let error = |title| Diagnostic::error(tags::PDESC_ZERO, title);
    let (lines, form): (BTreeSet<u64>, String) = match &line.file {
        Some(file) => {
            let lines = seen.lines_of(file);
            if lines.is_empty() {
                let files: Vec<&str> = seen.all.keys().map(String::as_str).take(8).collect();
                return error(format!("the file `{file}` is not part of `{function}`"))
                    .note(format!("its code is of {}", files.join(", ")));
            }
            (lines, format!("{file}@"))
        }
        None => (seen.own.values().flatten().copied().collect(), "L".to_owned()),
    };
    let before = lines.range(..number).next_back();
    let after = lines.range(number..).find(|line| **line != number);
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return error(format!("no line of `{function}` has code of its own"));
    };
    let files: Vec<&str> = seen.own.keys().map(String::as_str).collect();
    let offer = |line: &u64| format!("kinst::{function}:{form}{line}");
    match (before, after) {
        (Some(before), Some(after)) => error(format!("no statement of `{function}` begins on line {number}"))
            .note(format!("the nearest lines with code are {before} and {after}"))
            .help(format!("try {} or {}", offer(before), offer(after))),
        _ => {
            let near = if before.is_some() { last } else { first };
            error(format!("line {number} is outside of `{function}`"))
                .note(match &line.file {
                    Some(file) => format!("its code of {file} is on the lines {first} to {last}"),
                    None => format!("its code is on the lines {first} to {last} of {}", files.join(", ")),
                })
                .help(format!("try {}", offer(near)))
        }
    }
}

/// The function is not known, or nothing of it can be probed.
pub fn no_sites(kernel: &Kernel, modules: &[usize], function: &str, known: &[&Known]) -> Diagnostic {
    let copies: u32 = known.iter().map(|known| known.dropped.copies).sum();
    if copies > 0 {
        let mut error = Diagnostic::error(
            tags::PDESC_ZERO,
            format!("none of the {copies} inlined copies of `{function}` can be traced"),
        );
        for known in known {
            error = error.note(known.dropped.reasons());
        }
        return error;
    }
    if known.iter().any(|known| known.inline) {
        return Diagnostic::error(tags::PDESC_ZERO, format!("no code is left of the function `{function}`"))
            .note("it is defined, but no call of it was compiled");
    }
    let named = modules.iter().filter_map(|module| kernel.symbols(*module));
    if named.flat_map(|symbols| symbols.named(function)).any(|symbol| symbol.gone()) {
        return Diagnostic::error(
            tags::PDESC_ZERO,
            format!("`{function}` is code of the boot, which the kernel has freed"),
        );
    }
    let error = Diagnostic::error(
        tags::PDESC_ZERO,
        format!("there is no function `{function}`{}", place(kernel, modules)),
    );
    if !kernel.advice {
        return error;
    }
    if let Some(module) = kernel.unloaded_with(function) {
        return error
            .note(format!("the module {module} has one, and is not loaded"))
            .help(format!("load it first: modprobe {module}"));
    }
    let mut names: Vec<&str> = Vec::new();
    let mut inline: Vec<String> = Vec::new();
    for module in modules {
        if let Some(symbols) = kernel.symbols(*module) {
            names.extend(symbols.iter().filter(|(_, symbol)| !symbol.gone()).map(|(name, _)| name));
        }
        // Of the modules, the symbols are enough: their inline functions are mostly those of the kernel's headers.
        if *module == 0 || modules.len() == 1 {
            inline.extend(kernel.inline_names(*module));
        }
    }
    let near = suggest::nearest_few(function, names.into_iter().chain(inline.iter().map(String::as_str)), 3);
    if near.is_empty() {
        return error;
    }
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    error.help(format!("did you mean {}?", near.join(" or ")))
}

/// kinst without a function: it has a probe for every instruction, which is nothing to list.
pub fn function_needed(kernel: &Kernel, module: &str) -> Diagnostic {
    let modules = kernel.modules_matching(module);
    let title = "kinst has a probe at every instruction: name a function".to_owned();
    let error = Diagnostic::error(tags::PDESC_ZERO, title);
    let field = if is_glob(module) { "" } else { module };
    let help = format!(
        "kinst:{field}:FUNCTION: for all its instructions, kinst:{field}:FUNCTION:entry for its inlined copies, kinst:{field}:*:entry for those of all functions (-x maxprobes); --disas FUNCTION shows the instructions"
    );
    let error = match modules[..] {
        [one] => {
            let own =
                kernel.symbols(one).map_or(0, |all| all.iter().filter(|(_, symbol)| !symbol.gone()).count());
            let inline = kernel.inline_names(one).len();
            let name = &kernel.modules()[one].name;
            error
                .note(format!("{name} has {own} functions, and {inline} names of functions that are inlined"))
        }
        [] => return no_module(kernel, module),
        _ => error,
    };
    error.help(help)
}

/// One function is meant, and a glob or nothing is given.
pub fn one_function(function: &str) -> Diagnostic {
    let title = match function {
        "" => "a function's name is expected".to_owned(),
        glob => format!("`{glob}` is no function's name"),
    };
    Diagnostic::error(tags::PDESC_ZERO, title)
        .help("name one function: vfs_read, ext4:ext4_map_blocks, show#2; -l -f 'vfs_*' lists the functions of a pattern")
}

/// A glob that no function matches.
pub fn nothing_inlined(kernel: &Kernel, modules: &[usize], pattern: &str) -> Diagnostic {
    let place = place(kernel, modules);
    Diagnostic::error(tags::PDESC_ZERO, format!("no function{place} matches `{pattern}`"))
}

/// A glob that means too much.
pub fn too_many_sites(pattern: &str, count: usize, functions: usize, most: usize) -> Diagnostic {
    let title = format!("`{pattern}` would become {count} probes, of {functions} functions");
    Diagnostic::error(tags::PDESC_ZERO, title)
        .note(format!("option maxprobes allows {most} for one description"))
        .help(format!("name fewer functions, or raise the limit: -x maxprobes={count}"))
}

/// kinst with all instructions, and the kernel lets us trace none of them.
pub fn all_refused(function: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(
        tags::PDESC_ZERO,
        format!("no instruction of `{function}` can be traced; the first: {reason}"),
    )
}

/// fbt or kinst with an offset: the function has no code of its own.
pub fn no_function(kernel: &Kernel, modules: &[usize], function: &str, name: &str) -> Diagnostic {
    let copies = kernel.copies(modules, function);
    if copies > 0 {
        let boundary = if name == "return" { "return" } else { "entry" };
        return Diagnostic::error(
            tags::PDESC_ZERO,
            format!("`{function}` is inlined everywhere ({copies} copies): it has no code of its own"),
        )
        .help(format!("trace the copies: kinst::{function}:{boundary}"));
    }
    no_sites(kernel, modules, function, &[])
}

/// An empty answer that has a cause to tell: a name without globs that does not exist.
pub fn nothing_matches(
    kernel: &Kernel,
    modules: &[usize],
    provider: &str,
    module: &str,
    function: &str,
    name: &str,
) -> Result<(), Box<Diagnostic>> {
    if !matches!(provider, "" | "fbt" | "kinst") {
        let known = ["dtrace", "fbt", "io", "kinst", "proc", "profile", "sched", "sdt", "syscall"];
        let error = Diagnostic::error(tags::PDESC_ZERO, format!("there is no provider `{provider}`"));
        return match suggest::nearest(provider, known) {
            _ if is_glob(provider) || known.contains(&provider) => Ok(()),
            Some(near) => Err(Box::new(error.help(format!("did you mean `{near}`?")))),
            None => Err(Box::new(
                error.help("there are dtrace, fbt, kinst, proc, profile, sched, sdt and syscall"),
            )),
        };
    }
    if modules.is_empty() && !is_glob(module) {
        return Err(Box::new(no_module(kernel, module)));
    }
    if function.is_empty() || is_glob(function) {
        return Ok(());
    }
    if kernel.functions_named(modules, function).is_empty() {
        let (function, ordinal) = split_ordinal(function);
        let namesakes = kernel.functions_named(modules, function).len();
        if let Some(ordinal) = ordinal.filter(|_| namesakes > 0) {
            return Err(Box::new(
                Diagnostic::error(tags::PDESC_ZERO, format!("there is no function `{function}#{ordinal}`"))
                    .help(format!(
                        "the ones that can be traced are among `{function}#1` to `{function}#{namesakes}`"
                    )),
            ));
        }
        return Err(Box::new(no_function(kernel, modules, function, name)));
    }
    if provider == "fbt" && !is_glob(name) && !matches!(name, "" | "entry" | "return") {
        return Err(Box::new(
            Diagnostic::error(tags::PDESC_ZERO, format!("fbt has no probe `{name}`"))
                .help(format!("it has fbt::{function}:entry and fbt::{function}:return")),
        ));
    }
    Ok(())
}

/// The name of a kinst probe is an offset in decimal.
pub fn decimal(name: &str) -> Option<u32> {
    name.bytes().all(|byte| byte.is_ascii_digit()).then(|| name.parse().ok())?
}

/// `insns` are all of the function's.
pub fn no_boundary(function: &str, symbol: &Symbol, offset: u32, insns: &[LiveInsn]) -> Diagnostic {
    let before = insns.iter().rev().find(|insn| insn.offset < offset);
    let after = insns.iter().find(|insn| insn.offset > offset);
    let (title, offers) = match (before, after) {
        (Some(before), Some(after)) => {
            (format!("offset {offset} is inside an instruction of `{function}`"), vec![before, after])
        }
        (Some(last), None) if offset < last.offset + last.bytes.len() as u32 => {
            (format!("offset {offset} is inside the last instruction of `{function}`"), vec![last])
        }
        (Some(last), None) => (format!("offset {offset} is beyond the end of `{function}`"), vec![last]),
        (None, _) => (format!("no instruction of `{function}` is known at offset {offset}"), Vec::new()),
    };
    let error = Diagnostic::error(tags::PDESC_ZERO, title);
    let text: Vec<String> = offers.iter().map(|insn| insn_text(symbol, insn)).collect();
    match &text[..] {
        [] => error,
        [one] => error
            .note(format!("the last one is {one}"))
            .help(format!("try kinst::{function}:{}", offers[0].offset)),
        [before, after, ..] => error.note(format!("the nearest ones are {before} and {after}")).help(
            format!("try kinst::{function}:{} or kinst::{function}:{}", offers[0].offset, offers[1].offset),
        ),
    }
}

/// Not an offset.
pub fn no_such_name(function: &str, name: &str) -> Diagnostic {
    let error = Diagnostic::error(tags::PDESC_ZERO, format!("kinst has no probe `{name}`"));
    // An oops and objdump say it so.
    if let Some(offset) = name.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok()) {
        return error.help(format!("an offset is written in decimal: kinst::{function}:{offset}"));
    }
    error.help(format!(
        "a name is an offset in bytes: kinst::{function}:0, two for one way of a branch: kinst::{function}:53-61, or empty for all instructions: kinst::{function}:"
    ))
}

/// The instructions are neither in memory nor in a file.
pub fn no_text(kernel: &Kernel, function: &str, reason: Option<&str>) -> Diagnostic {
    match reason {
        Some(reason) => {
            Diagnostic::error(tags::PDESC_ZERO, format!("`{function}` cannot be traced: {reason}"))
        }
        None => {
            Diagnostic::error(tags::PDESC_ZERO, format!("the instructions of `{function}` are not known"))
                .note("the kinst module is not asked, and there is no file of the kernel with its code")
                .help(kernel.debug_package())
        }
    }
}

pub fn too_many(function: &str, most: usize) -> Diagnostic {
    Diagnostic::error(tags::PDESC_ZERO, format!("`{function}` has more than {most} instructions"))
        .help("name fewer functions")
}

pub fn too_many_timers(most: usize) -> Diagnostic {
    Diagnostic::error(tags::PDESC_ZERO, format!("the program has more than {most} probes of profile"))
}

fn place(kernel: &Kernel, modules: &[usize]) -> String {
    match modules {
        [one] => format!(" in {}", kernel.modules()[*one].name),
        _ if kernel.is_running() => String::from(" in the kernel or a loaded module"),
        _ => format!(" in the kernel {} or its modules", kernel.release()),
    }
}

//! sites/catalog/refusals.rs: diagnostics for descriptions without sites: one cause, one message, and what to do next.

use crate::code::decode;
use crate::image::naming::split_ordinal;
use crate::index::refusals::no_sites;
use crate::memory::LiveError;
use crate::model::LiveInsn;
use crate::symtab::Symbol;
use crate::target::Kernel;
use crate::target::refusals::no_module;
use kinst_base::attributes;
use kinst_base::diag::{Diagnostic, suggest, tags};
use kinst_base::glob::is_glob;
use kinst_base::image::ModuleId;
use kinst_base::probe::{Description, Fields};
use kinst_base::reason::Untraceable;
use kinst_base::space::UPROBE;

/// Nothing matches, for no known reason.
pub fn no_match(description: &Description) -> Diagnostic {
    let title = format!("probe description {description} does not match any probes");
    Diagnostic::error(tags::PDESC_ZERO, title).help(match misspelt(description) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "-l lists all probes; -Z permits descriptions that match none".to_owned(),
    })
}

/// Suggests the name that was likely meant, such as BEGIN for `begin` and profile-97 for `prfile-97`.
fn misspelt(description: &Description) -> Option<String> {
    let Description::Fields(fields) = description else { return None };
    let Fields { module, function, name, .. } = &**fields;
    let known = ["BEGIN", "END", "ERROR"];
    let upper = name.to_ascii_uppercase();
    let own = known.into_iter().find(|known| *known == upper).or_else(|| suggest::nearest(name, known));
    let timer = || {
        let (clock, rate) =
            name.split_once('-').filter(|(_, rate)| rate.starts_with(|c: char| c.is_ascii_digit()))?;
        Some(format!("{}-{rate}", suggest::nearest(clock, ["profile", "tick"])?))
    };
    own.map(str::to_owned).or_else(timer).filter(|_| module.is_empty() && function.is_empty())
}

/// kinst without a function: it has a probe at every instruction, which is too many to list.
pub(crate) fn function_needed(kernel: &Kernel, module: &str) -> Diagnostic {
    let modules = kernel.modules_matching(module);
    let title = "kinst has a probe at every instruction: name a function".to_owned();
    let error = Diagnostic::error(tags::PDESC_ZERO, title);
    let field = if is_glob(module) { "" } else { module };
    // The kernel proper has more functions than can be armed.
    let several = match modules[..] {
        [one] if one != ModuleId::PROPER => {
            format!(
                "kinst:{field}:*:entry (with -x maxprobes=N if they are many) for the copies of all its functions"
            )
        }
        _ => format!("kinst:{field}:vfs_*:entry for the copies in several functions"),
    };
    let help = format!(
        "kinst:{field}:FUNCTION: for all its instructions, kinst:{field}:FUNCTION:entry for its inlined copies, {several}; --disas FUNCTION shows the instructions"
    );
    let error = match modules[..] {
        [one] => {
            let own =
                kernel.symbols(one).map_or(0, |all| all.iter().filter(|(_, symbol)| !symbol.gone()).count());
            let inline = kernel.image(one).inline_names().len();
            let name = &kernel.modules()[one].name;
            error.note(format!("{name} has {own} functions, and {inline} names of inlined functions"))
        }
        [] => return no_module(kernel, module),
        _ => error,
    };
    error.help(help)
}

/// A single function is required, but a glob or nothing is given.
pub(crate) fn one_function(function: &str) -> Diagnostic {
    let title = match function {
        "" => "a function name is expected".to_owned(),
        glob => format!("`{glob}` is not a function name"),
    };
    Diagnostic::error(tags::PDESC_ZERO, title)
        .help("name one function: vfs_read, ext4:ext4_map_blocks, show#2; -l -f 'vfs_*' lists the functions of a pattern")
}

/// kinst with all instructions of a function, none of which can be traced.
pub(crate) fn all_refused(function: &str, reason: Untraceable) -> Diagnostic {
    Diagnostic::error(
        tags::PDESC_ZERO,
        format!("no instruction of `{function}` can be traced; the first: {reason}"),
    )
}

/// fbt, or kinst with an offset, for a function without code.
pub(crate) fn no_function(kernel: &Kernel, modules: &[ModuleId], function: &str, name: &str) -> Diagnostic {
    let copies = kernel.copies(modules, function);
    if copies > 0 {
        let boundary = if name == "return" { "return" } else { "entry" };
        return Diagnostic::error(
            tags::PDESC_ZERO,
            format!("`{function}` exists only as inlined copies ({copies})"),
        )
        .help(format!("trace the copies: kinst::{function}:{boundary}"));
    }
    no_sites(kernel, modules, function, &[])
}

/// Fails if a name without globs does not exist.
pub(crate) fn nothing_matches(
    kernel: &Kernel,
    modules: &[ModuleId],
    provider: &str,
    module: &str,
    function: &str,
    name: &str,
) -> Result<(), Box<Diagnostic>> {
    if !matches!(provider, "" | "fbt" | "kinst") {
        let known: Vec<&str> = attributes::providers().into_iter().chain(["pid$target", UPROBE]).collect();
        let error = Diagnostic::error(tags::PDESC_ZERO, format!("no provider `{provider}`"));
        return match suggest::nearest(provider, known.iter().copied()) {
            _ if is_glob(provider) || known.contains(&provider) => Ok(()),
            Some(near) => Err(Box::new(error.help(format!("did you mean `{near}`?")))),
            None => Err(Box::new(error.help(format!("the providers are {}", known.join(", "))))),
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
                Diagnostic::error(tags::PDESC_ZERO, format!("no function `{function}#{ordinal}`")).help(
                    format!(
                        "the ones that can be traced are among `{function}#1` to `{function}#{namesakes}`"
                    ),
                ),
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

/// Parses the name of a kinst probe, a decimal offset.
pub(crate) fn decimal(name: &str) -> Option<u32> {
    name.bytes().all(|byte| byte.is_ascii_digit()).then(|| name.parse().ok())?
}

/// The offset is not the start of an instruction. `insns` has all instructions of the function.
pub(crate) fn no_boundary(function: &str, symbol: &Symbol, offset: u32, insns: &[LiveInsn]) -> Diagnostic {
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

/// The name is not an offset.
pub(crate) fn no_such_name(function: &str, name: &str) -> Diagnostic {
    let error = Diagnostic::error(tags::PDESC_ZERO, format!("kinst has no probe `{name}`"));
    // An oops and objdump write offsets in hexadecimal.
    if let Some(offset) = name.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok()) {
        return error.help(format!("an offset is written in decimal: kinst::{function}:{offset}"));
    }
    error.help(format!(
        "a name is an offset in bytes: kinst::{function}:0, two for one edge of a branch: kinst::{function}:53-61, or empty for all instructions: kinst::{function}:"
    ))
}

/// The instructions are available neither in memory nor in a file.
pub(crate) fn no_text(kernel: &Kernel, function: &str, reason: Option<&LiveError>) -> Diagnostic {
    match reason {
        Some(reason) => {
            Diagnostic::error(tags::PDESC_ZERO, format!("`{function}` cannot be traced: {reason}"))
        }
        None => {
            Diagnostic::error(tags::PDESC_ZERO, format!("the instructions of `{function}` are not available"))
                .note("neither the kernel's memory nor a file with its code is read")
                .help(kernel.debug_package())
        }
    }
}

/// The instructions of a program's function are not in its file.
pub(crate) fn unread_text(function: &str) -> Diagnostic {
    Diagnostic::error(tags::PDESC_ZERO, format!("the instructions of `{function}` cannot be read"))
}

pub(crate) fn too_many(function: &str, most: usize) -> Diagnostic {
    let title = match function {
        "" => format!("the functions have more than {most} instructions together"),
        function => format!("`{function}` has more than {most} instructions"),
    };
    Diagnostic::error(tags::PDESC_ZERO, title).help("name fewer functions")
}

pub(crate) fn too_many_timers(most: usize) -> Diagnostic {
    Diagnostic::error(tags::PDESC_ZERO, format!("the program has more than {most} probes of profile"))
}

/// Disassembles the instruction, for messages.
pub(super) fn insn_text(symbol: &Symbol, insn: &LiveInsn) -> String {
    let text = decode::text(insn.machine, &insn.bytes, symbol.address + u64::from(insn.offset));
    format!("{} `{text}`", insn.offset)
}

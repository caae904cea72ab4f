//! sites/refusals.rs: why there is no site: one cause, one message, and what to do next.

use std::collections::BTreeSet;

use super::dwarf;
use super::index::Known;
use super::kernel::{KERNEL_PROPER, Kernel};
use crate::debuginfo::D_DEBUGINFO;
use crate::diag::{Diagnostic, suggest, tags};

/// The module field names no module of this kernel.
pub fn no_module(kernel: &Kernel, module: &str) -> Diagnostic {
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

/// The function is not known, or nothing of it can be probed.
pub fn no_sites(kernel: &Kernel, modules: &[usize], function: &str, known: &[&Known]) -> Diagnostic {
    let copies: usize = known.iter().map(|known| known.dropped.copies).sum();
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
    let error = Diagnostic::error(
        tags::PDESC_ZERO,
        format!("there is no function `{function}`{}", place(kernel, modules)),
    );
    let mut names: BTreeSet<String> = BTreeSet::new();
    for module in modules {
        if let Some(symbols) = kernel.symbols(*module) {
            names.extend(symbols.iter().filter(|(_, symbol)| !symbol.gone).map(|(name, _)| name.to_owned()));
        }
        // Of the modules, the symbols are enough: their inline functions are mostly those of the kernel's headers.
        if let Some(image) = kernel.debug(*module).filter(|_| *module == 0 || modules.len() == 1) {
            names.extend(dwarf::inline_names(image).unwrap_or_default());
        }
    }
    with_suggestion(error, function, &names)
}

/// fbt or kinst with an offset: the function has no code of its own.
pub fn no_function(kernel: &Kernel, modules: &[usize], function: &str, name: &str) -> Diagnostic {
    let wanted = [function.to_owned()];
    let copies: usize = modules
        .iter()
        .filter_map(|module| kernel.debug(*module))
        .filter(|image| dwarf::may_know(image, &wanted))
        .filter_map(|image| dwarf::find(image, &wanted, false).ok())
        .flat_map(|findings| findings.functions)
        .map(|function| function.copies.len())
        .sum();
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

fn with_suggestion(error: Diagnostic, function: &str, names: &BTreeSet<String>) -> Diagnostic {
    let near = suggest::nearest_few(function, names.iter().map(String::as_str), 3);
    if near.is_empty() {
        return error;
    }
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    error.help(format!("did you mean {}?", near.join(" or ")))
}

fn place(kernel: &Kernel, modules: &[usize]) -> String {
    match modules {
        [one] => format!(" in {}", kernel.modules()[*one].name),
        _ if kernel.is_running() => String::from(" in the kernel or a loaded module"),
        _ => format!(" in the kernel {} or its modules", kernel.release()),
    }
}

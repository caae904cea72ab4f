//! sites/target/refusals.rs: diagnostics for a kernel that lacks a module or its debug information.

use super::kernel::Kernel;
use kinst_base::diag::{Diagnostic, suggest, tags};
use kinst_base::image::{KERNEL_PROPER, ModuleId};
use kinst_debuginfo::OWN_MODULE;

/// The module field matches no module of this kernel.
pub(crate) fn no_module(kernel: &Kernel, module: &str) -> Diagnostic {
    if module == OWN_MODULE {
        return Diagnostic::error(tags::PDESC_ZERO, format!("the module `{module}` does not trace itself"));
    }
    if kernel.has_module_file(module) {
        return Diagnostic::error(tags::PDESC_ZERO, format!("the module `{module}` is not loaded"))
            .help(format!("load it first: modprobe {module}"));
    }
    let names = kernel.modules().iter().map(|(_, module)| module.name.as_str());
    let error = Diagnostic::error(tags::PDESC_ZERO, format!("no module `{module}`"));
    match suggest::nearest(module, names) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!(
            "the kernel proper is `{KERNEL_PROPER}`; leave the field empty to search all modules"
        )),
    }
}

/// Facts that are unknown without debug information; `out_of_line` says whether the function has out-of-line code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Copies { out_of_line: bool },
    Lines { out_of_line: bool },
}

/// Reports that the inlined copies or the lines are unknown.
pub(crate) fn no_debug_information(
    kernel: &Kernel,
    module: ModuleId,
    function: &str,
    missing: Missing,
) -> Diagnostic {
    let searched = kernel.debug_search(module);
    let name = &kernel.modules()[module].name;
    let (what, out_of_line) = match missing {
        Missing::Copies { out_of_line } => ("inlined copies", out_of_line),
        Missing::Lines { out_of_line } => ("lines", out_of_line),
    };
    let none = match kernel.layout(module) {
        Some(_) => "no debug information, and an index without lines,",
        None => "no debug information",
    };
    let release = kernel.release();
    let title = format!("{none} of {name} ({release}): the {what} of `{function}` are unknown");
    let mut error = Diagnostic::error(tags::DEBUGINFO, title);
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

/// Returns the searched modules, as text.
pub(crate) fn place(kernel: &Kernel, modules: &[ModuleId]) -> String {
    match modules {
        [one] => format!(" in {}", kernel.modules()[*one].name),
        _ if kernel.is_running() => String::from(" in the kernel or a loaded module"),
        _ => format!(" in the kernel {} or its modules", kernel.release()),
    }
}

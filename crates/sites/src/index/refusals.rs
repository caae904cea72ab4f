//! sites/index/refusals.rs: diagnostics for functions without sites.

use crate::cache::known::Known;
use crate::target::Kernel;
use crate::target::refusals::place;
use kinst_base::diag::{Diagnostic, suggest, tags};
use kinst_base::image::ModuleId;

/// The function does not exist, or nothing of it can be probed.
pub(crate) fn no_sites(
    kernel: &Kernel,
    modules: &[ModuleId],
    function: &str,
    known: &[&Known],
) -> Diagnostic {
    let copies: u32 = known.iter().map(|known| known.dropped.copies).sum();
    if copies > 0 {
        return no_copies(function, copies, known);
    }
    if known.iter().any(|known| known.inline) {
        return Diagnostic::error(tags::PDESC_ZERO, format!("the function `{function}` has no code"))
            .note("it is defined, but no call of it was compiled");
    }
    let named = modules.iter().filter_map(|module| kernel.symbols(*module));
    if named.flat_map(|symbols| symbols.named(function)).any(|symbol| symbol.gone()) {
        return Diagnostic::error(tags::PDESC_ZERO, format!("the code of `{function}` was freed after boot"));
    }
    let error =
        Diagnostic::error(tags::PDESC_ZERO, format!("no function `{function}`{}", place(kernel, modules)));
    if !kernel.advice {
        return error;
    }
    if let Some(module) = kernel.unloaded_with(function) {
        return error
            .note(format!("the module {module} has one, but is not loaded"))
            .help(format!("load it first: modprobe {module}"));
    }
    let near = similar(kernel, modules, function);
    if near.is_empty() {
        return error;
    }
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    error.help(format!("did you mean {}?", near.join(" or ")))
}

/// Copies exist, but none of them can be probed.
pub(super) fn no_copies(function: &str, copies: u32, known: &[&Known]) -> Diagnostic {
    let title = format!("none of the {copies} inlined copies of `{function}` can be traced");
    let error = Diagnostic::error(tags::PDESC_ZERO, title);
    known.iter().fold(error, |error, known| error.note(known.dropped.reasons()))
}

/// Returns similar names: first of functions with symbols, then of inlined ones.
fn similar(kernel: &Kernel, modules: &[ModuleId], function: &str) -> Vec<String> {
    let names = modules
        .iter()
        .filter_map(|module| kernel.symbols(*module))
        .flat_map(|symbols| symbols.iter().filter(|(_, symbol)| !symbol.gone()).map(|(name, _)| name));
    // For modules the symbols suffice: their inline functions are mostly from the kernel's headers.
    let inlining =
        || modules.iter().copied().filter(|module| *module == ModuleId::PROPER || modules.len() == 1);
    let indices: Vec<_> = inlining().filter_map(|module| kernel.index(module)).collect();
    let names = names.chain(indices.iter().flat_map(|index| index.names()));
    let mut near: Vec<String> =
        suggest::nearest_few(function, names, 3).into_iter().map(str::to_owned).collect();
    // Without an index, walks the debug information, but only if no other name is similar.
    if near.is_empty() && indices.is_empty() {
        let inline: Vec<String> = inlining().flat_map(|module| kernel.image(module).inline_names()).collect();
        let found = suggest::nearest_few(function, inline.iter().map(String::as_str), 3);
        near = found.into_iter().map(str::to_owned).collect();
    }
    near
}

/// A glob without matching functions.
pub(crate) fn nothing_inlined(kernel: &Kernel, modules: &[ModuleId], pattern: &str) -> Diagnostic {
    let place = place(kernel, modules);
    Diagnostic::error(tags::PDESC_ZERO, format!("no function{place} matches `{pattern}`"))
}

/// The number of probes that a glob would become.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    Exact {
        count: usize,
        functions: usize,
    },
    /// A lower bound, computed without a walk over debug information.
    AtLeast(usize),
}

impl Count {
    pub(crate) fn least(self) -> usize {
        let (Count::Exact { count, .. } | Count::AtLeast(count)) = self;
        count
    }
}

fn too_many(pattern: &str, count: Count) -> Diagnostic {
    let title = match count {
        Count::Exact { count, functions } => {
            format!("`{pattern}` would become {count} probes in {functions} functions")
        }
        Count::AtLeast(count) => format!("`{pattern}` would become {count} probes or more"),
    };
    Diagnostic::error(tags::PDESC_ZERO, title)
}

/// A glob that matches more than the kernel module arms, whatever the user's limit.
pub(crate) fn too_many_to_arm(pattern: &str, count: Count, most: usize) -> Diagnostic {
    too_many(pattern, count)
        .note(format!("the kernel module arms {most} for one program (its parameter max_probes)"))
        .help("name fewer functions, or a module: kinst:MODULE:PATTERN:entry")
}

/// A glob that matches more than the user's limit.
pub(crate) fn too_many_sites(pattern: &str, count: Count, most: usize) -> Diagnostic {
    let limit = match count {
        Count::Exact { count, .. } => count.to_string(),
        Count::AtLeast(_) => "N".to_owned(),
    };
    too_many(pattern, count)
        .note(format!("option maxprobes allows {most} for one description"))
        .help(format!("name fewer functions, or raise the limit: -x maxprobes={limit}"))
}

//! cli/complete/probes.rs: candidates for the descriptions of probes, field by field, from the catalog.

use super::line::Line;
use super::programs;
use clap_complete::CompletionCandidate;
use kinst_base::attributes;
use kinst_base::probe::{Description, Fields};
use kinst_sites::{Cache, Catalog, DTRACE, Kernel, ProbeCatalog as _};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::Arc;

/// The limit on candidates: no shell shows more, and no user reads them.
const MOST: usize = 20_000;

/// Completes -n: the description after the last comma. A program with a predicate or actions is not completed.
pub(super) fn descriptions(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    // Zsh and fish pass a word with its opening quote, and expect the candidates without it.
    let current = current.strip_prefix(['\'', '"']).unwrap_or(current);
    let at = current.rfind([',', ' ']).map_or(0, |at| at + 1);
    let (before, word) = current.split_at(at);
    if before.contains(['{', ';', '"']) || word.contains(['*', '?', '[', '{']) {
        return Vec::new();
    }
    // A predicate begins with a slash; within a description, that is part of a path.
    if format!(" {current}").contains(" /") {
        return Vec::new();
    }
    candidates(before, described(word))
}

/// Completes -P.
pub(super) fn providers(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let all = all_providers(&Line::current());
    candidates("", all.into_iter().filter(|name| name.starts_with(current)).map(str::to_owned))
}

/// Completes -m.
pub(super) fn modules(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let (before, module) = split(current);
    candidates(before, catalog().into_iter().flat_map(|catalog| named_modules(&catalog, module)))
}

/// Completes -f.
pub(super) fn functions(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let (before, function) = split(current);
    let module = before.trim_end_matches(':').rsplit(':').next().unwrap_or("");
    candidates(before, catalog().map(|catalog| functions_of(&catalog, module, function)).unwrap_or_default())
}

/// Completes --disas and the like: a function, including inlined ones.
pub(super) fn disassembled(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let (before, function) = split(current);
    let module = before.trim_end_matches(':');
    candidates(before, catalog().map(|catalog| of_kinst(&catalog, module, function)).unwrap_or_default())
}

/// Splits the text after its last colon.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.rfind(':').map_or(0, |at| at + 1))
}

fn candidates(before: &str, words: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let words = words.into_iter().take(MOST);
    words.map(|word| CompletionCandidate::new(format!("{before}{word}"))).collect()
}

/// Completes the last field of a description. A candidate for any field but the name ends with a colon.
fn described(word: &str) -> BTreeSet<String> {
    let (before, _) = split(word);
    let fields: Vec<&str> = word.split(':').collect();
    if let [provider] = fields[..] {
        return first_field(provider);
    }
    if let Some((provider, rest)) = fields.split_first()
        && let Some(found) = programs::described(provider, rest, &Line::current())
    {
        return found.into_iter().map(|name| format!("{before}{name}")).collect();
    }
    let Some(catalog) = catalog() else { return BTreeSet::new() };
    let (names, end) = match fields[..] {
        [provider, module] => (modules_of(&catalog, provider, module), ":"),
        ["kinst", module, function] => (of_kinst(&catalog, module, function), ":"),
        [provider, module, function] => {
            let matching = Fields::new(provider, module, &format!("{function}*"), "");
            (found(&catalog, matching, |fields| fields.function), ":")
        }
        ["kinst", _, _, name] => {
            let boundaries = ["entry", "return"].into_iter().filter(|boundary| boundary.starts_with(name));
            (boundaries.map(str::to_owned).collect(), "")
        }
        [provider, module, function, name] => {
            let matching = Fields::new(provider, module, function, &format!("{name}*"));
            (found(&catalog, matching, |fields| fields.name), "")
        }
        _ => return BTreeSet::new(),
    };
    names.into_iter().map(|name| format!("{before}{name}{end}")).collect()
}

fn all_providers(line: &Line) -> BTreeSet<&'static str> {
    attributes::providers().into_iter().chain(programs::providers(line)).collect()
}

/// Completes the first field: providers, and the probes that need no provider.
fn first_field(prefix: &str) -> BTreeSet<String> {
    let providers = all_providers(&Line::current()).into_iter().map(|name| format!("{name}:"));
    let alone = DTRACE.into_iter().map(|(name, _)| name.to_owned());
    providers.chain(alone).filter(|name| name.starts_with(prefix)).collect()
}

/// Completes the module, for a provider whose probes are in modules; an empty one means any.
fn modules_of(catalog: &Catalog, provider: &str, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if ["fbt", "kinst"].contains(&provider) {
        names.extend(named_modules(catalog, prefix));
    }
    if prefix.is_empty() {
        names.insert(String::new());
    }
    names
}

fn named_modules(catalog: &Catalog, prefix: &str) -> Vec<String> {
    let modules = catalog.kernel().modules().iter().map(|(_, module)| module.name.clone());
    let mut names: Vec<String> = modules.filter(|name| name.starts_with(prefix)).collect();
    names.sort_unstable();
    names
}

/// Returns the values of a field of the probes that match.
fn found(catalog: &Catalog, fields: Fields, field: fn(Fields) -> String) -> BTreeSet<String> {
    let probes = catalog.matches(&Description::Fields(Box::new(fields))).unwrap_or_default();
    probes.into_iter().map(|probe| field(probe.name)).collect()
}

/// Returns the functions that have out-of-line code.
fn functions_of(catalog: &Catalog, module: &str, prefix: &str) -> BTreeSet<String> {
    found(catalog, Fields::new("fbt", module, &format!("{prefix}*"), "entry"), |fields| fields.function)
}

/// Adds the inlined functions of existing indices to [`functions_of`]; completion never makes an index.
fn of_kinst(catalog: &Catalog, module: &str, prefix: &str) -> BTreeSet<String> {
    let mut names = functions_of(catalog, module, prefix);
    let kernel = catalog.kernel();
    for module in kernel.modules_matching(module) {
        let known = kernel.index(module).into_iter().flat_map(|index| index.names());
        names.extend(known.filter(|name| name.starts_with(prefix)).map(str::to_owned));
    }
    names
}

/// Opens the catalog of the running kernel, or of the command line's --sysroot.
fn catalog() -> Option<Catalog> {
    let kernel = match Line::current().sysroot {
        Some(sysroot) => Kernel::sysroot(&sysroot, None),
        None => Kernel::running(),
    };
    Some(Catalog::new(Arc::new(kernel.ok()?.with_cache(Cache::of_user(), None)), None))
}

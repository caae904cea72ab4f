//! cli/complete/programs.rs: candidates for probes in programs: files, and the functions in them.

use super::line::Line;
use kinst_base::space::{PROGRAM, Space, TARGET, UPROBE, USDT};
use kinst_sites::{Programs, libraries, library};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The providers of programs that the command line has a use for.
pub(super) fn providers(line: &Line) -> impl Iterator<Item = &'static str> {
    let target = line.pid.is_some() || line.program.is_some();
    [TARGET].into_iter().filter(move |_| target).chain([UPROBE, USDT])
}

/// The program that a provider means, before it runs or while it does.
enum Meant {
    Process(u32),
    /// The program of -c, which does not run yet.
    Program(PathBuf),
    /// Any file.
    File,
}

fn meant(provider: &str, line: &Line) -> Option<Meant> {
    if provider == TARGET {
        let process = line.pid.map(Meant::Process);
        return process.or_else(|| line.program.clone().map(Meant::Program));
    }
    Some(match Space::of_program(provider)? {
        Space::Process(pid) => Meant::Process(pid),
        Space::File => Meant::File,
        Space::Kernel => return None,
    })
}

/// Completes the last of the fields after a provider of programs; `None` for other providers. A candidate for any field
/// but the name ends with a colon.
pub(super) fn described(provider: &str, fields: &[&str], line: &Line) -> Option<BTreeSet<String>> {
    if provider == USDT {
        return Some(static_probes(fields));
    }
    if provider != TARGET && Space::of_program(provider).is_none() {
        return None;
    }
    let Some(meant) = meant(provider, line) else { return Some(BTreeSet::new()) };
    Some(match fields {
        [module] => match meant {
            Meant::File => paths(module),
            Meant::Process(pid) => starting(Programs::default().module_names(pid), module, ":"),
            Meant::Program(path) => {
                let all = [PROGRAM.to_owned()].into_iter().chain(libraries(&path).into_keys());
                starting(all.collect(), module, ":")
            }
        },
        [module, function] => starting(functions(&meant, module), function, ":"),
        [_, _, name] => starting(["entry", "return"].map(str::to_owned).into(), name, ""),
        _ => BTreeSet::new(),
    })
}

fn starting(names: BTreeSet<String>, prefix: &str, end: &str) -> BTreeSet<String> {
    let names = names.into_iter().filter(|name| name.starts_with(prefix));
    names.map(|name| format!("{name}{end}")).collect()
}

/// Completes the path, the provider, or the name of a static probe.
fn static_probes(fields: &[&str]) -> BTreeSet<String> {
    let names = |path: &str| Programs::default().static_names(path);
    match fields {
        [path] => paths(path),
        [path, provider] => {
            starting(names(path).into_iter().map(|(provider, _)| provider).collect(), provider, ":")
        }
        [path, provider, name] => {
            let of_provider = names(path).into_iter().filter(|(known, _)| known == provider);
            starting(of_provider.map(|(_, name)| name).collect(), name, "")
        }
        _ => BTreeSet::new(),
    }
}

fn functions(meant: &Meant, module: &str) -> BTreeSet<String> {
    let programs = Programs::default();
    match meant {
        Meant::Process(pid) => programs.function_names(Space::Process(*pid), module),
        Meant::File => programs.function_names(Space::File, module),
        Meant::Program(path) => {
            let is_it = matches!(module, "" | PROGRAM) || path.file_name().is_some_and(|name| name == module);
            let libraries = if is_it { BTreeMap::default() } else { libraries(path) };
            let path = match library(&libraries, module) {
                Some(library) => library.to_str(),
                None if is_it => path.to_str(),
                None => Some(module),
            };
            path.map(|path| programs.function_names(Space::File, path)).unwrap_or_default()
        }
    }
}

/// Completes a path: a folder ends with a slash, a file with a colon.
fn paths(written: &str) -> BTreeSet<String> {
    let Some((folder, prefix)) = written.rsplit_once('/') else { return BTreeSet::from(["/".to_owned()]) };
    let entries = std::fs::read_dir(Path::new("/").join(folder)).into_iter().flatten();
    let candidate = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_str().filter(|name| name.starts_with(prefix))?.to_owned();
        // A hidden file is meant only if its dot is written.
        let is_shown = prefix.starts_with('.') || !name.starts_with('.');
        let end = if entry.path().is_dir() { '/' } else { ':' };
        is_shown.then(|| format!("{folder}/{name}{end}"))
    };
    entries.filter_map(|entry| candidate(entry.ok()?)).collect()
}

//! sites/catalog/program_refusals.rs: diagnostics for descriptions of a program's functions that name no probe.

use super::program_function::{Function, NoEnd};
use super::refusals::unread_text;
use crate::code::decode::{self, Insn};
use crate::code::stapsdt::StaticProbe;
use crate::programs::Meant;
use kinst_base::diag::{Diagnostic, suggest, tags};
use kinst_base::glob::is_glob;
use kinst_base::probe::{End, Target};
use kinst_base::space::Space;
use std::collections::BTreeSet;

fn error(title: String) -> Diagnostic {
    Diagnostic::error(tags::PDESC_ZERO, title)
}

/// A catalog for a kernel alone, as of a sysroot.
pub(super) fn no_programs() -> Diagnostic {
    error("no program can be looked up: the probes are those of a kernel's files".to_owned())
        .help("leave out --sysroot to trace the programs of this machine")
}

/// A description of `usdt` without a path.
pub(super) fn static_path_needed(module: &str) -> Diagnostic {
    let title = match module {
        "" => "provider usdt needs the path of a file".to_owned(),
        module => format!("provider usdt needs the path of a file, not `{module}`"),
    };
    error(title)
        .help("write the path, the provider and the probe: usdt:/usr/bin/python3:python:line")
        .help("the static probes of one process: python1234:::line, or python$target with -p or -c")
}

/// No static probe has these names.
pub(super) fn no_static_probe(
    place: &str,
    (provider, name): (&str, &str),
    known: &[&StaticProbe],
) -> Diagnostic {
    if known.is_empty() {
        return error(format!("{place} has no static probes"))
            .note("they are in the section .note.stapsdt, which <sys/sdt.h> makes")
            .help("trace a function: its probes are those of pid and uprobe");
    }
    let of_provider: BTreeSet<&str> =
        known.iter().filter(|probe| probe.provider == provider).map(|probe| probe.name.as_str()).collect();
    let providers: BTreeSet<&str> = known.iter().map(|probe| probe.provider.as_str()).collect();
    let (title, wanted, names, what) = match of_provider.is_empty() {
        true if is_glob(provider) || provider.is_empty() => {
            let all = known.iter().map(|probe| probe.name.as_str()).collect();
            (format!("{place} has no static probe `{name}`"), name, all, "static probes")
        }
        true => {
            let title = format!("{place} has no static probes of provider `{provider}`");
            (title, provider, providers, "providers of static probes")
        }
        false => {
            let title = format!("provider `{provider}` has no static probe `{name}` in {place}");
            (title, name, of_provider, "static probes")
        }
    };
    let found = error(title).note(format!("its {what}: {}", suggest::listed(names.iter().copied())));
    match suggest::nearest(wanted, names) {
        Some(near) => found.help(format!("did you mean `{near}`?")),
        None => found,
    }
}

/// The last field names no probe of a program.
pub(super) fn no_such_name(function: &str, space: Space) -> Diagnostic {
    let provider = space.provider();
    error(format!("`{function}` has no such probe")).help(format!(
        "{provider} has entry, return, an offset in hexadecimal (3f), an edge (3f-52), a line (L12, file.c@12)"
    ))
}

/// No symbol contains an address.
pub(super) fn no_function_at(meant: &Meant, address: u64, anonymous: bool) -> Diagnostic {
    let path = meant.file.path().display();
    if anonymous {
        return error(format!("no function of {path} is at {address:x}"))
            .note("code that the process has made at run time is in no file, and cannot be traced");
    }
    error(format!("no function of {path} is at {address:x}"))
        .note("an address is that of the file, as nm(1) shows it, or one in the process")
        .note("the beginnings of instructions are known only in functions")
}

/// The instructions of a function are not in its file.
pub(super) fn no_code(function: &Function<'_>) -> Diagnostic {
    unread_text(function.name)
}

/// An end of a function has no probe.
pub(super) fn no_end(function: &Function<'_>, end: End, why: &NoEnd) -> Diagnostic {
    let end = match end {
        End::Entry => "entry",
        End::Return => "return",
    };
    error(format!("the {end} of `{}` cannot be traced: {why}", function.name))
}

/// No instruction begins at an offset.
pub(super) fn no_boundary(function: &Function<'_>, offset: u64, insns: &[Insn]) -> Diagnostic {
    let number = |offset: u64| function.space.number(offset);
    let name = function.name;
    if offset >= function.symbol.size {
        return error(format!("{} is outside of `{name}`", number(offset)))
            .note(format!("it has {} bytes (hexadecimal)", number(function.symbol.size)));
    }
    let found = error(format!("no instruction of `{name}` begins at {}", number(offset)))
        .note("a breakpoint inside an instruction would change it");
    let before = insns.iter().rev().find(|insn| u64::from(insn.offset) < offset);
    let after = insns.iter().find(|insn| u64::from(insn.offset) > offset);
    let shown = |insn: &Insn| {
        let address = function.symbol.address + u64::from(insn.offset);
        let text = decode::text(insn.machine, &insn.bytes, address);
        format!("{} `{text}`", number(insn.offset.into()))
    };
    let near: Vec<String> = before.into_iter().chain(after).map(shown).collect();
    if near.is_empty() { found } else { found.help(format!("the nearest are {}", near.join(" and "))) }
}

/// Control does not take an edge.
pub(super) fn no_edge(function: &Function<'_>, from: u64, to: &Target, ways: &[(u64, Target)]) -> Diagnostic {
    let name = |to: &Target| {
        let site = function.site(from, Some(to.clone())).name();
        site.split_once('-').map(|(_, to)| to.to_owned()).unwrap_or_default()
    };
    let number = function.space.number(from);
    let found = error(format!("control does not go from {number} to {} in `{}`", name(to), function.name));
    let provider = function.space.provider();
    match ways {
        [] => found.note(format!("{number} leaves the function")),
        ways => {
            let ways: Vec<String> = ways
                .iter()
                .map(|(_, to)| {
                    format!("{provider}:{}:{}:{number}-{}", function.meant.module, function.name, name(to))
                })
                .collect();
            found.help(format!("try {}", ways.join(" or ")))
        }
    }
}

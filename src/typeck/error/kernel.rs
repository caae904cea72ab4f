//! typeck/error/kernel.rs: messages about types and symbols of the kernel, and about args[].

use super::{Error, error};
use crate::diag::{Diagnostic, tags};

impl Error {
    pub(super) fn of_kernel(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::KernelType { name, why, span } => {
                let title = format!("there is no type {name} in the kernel");
                let diagnostic = error(tags::TYPE_ERR, title).at(*span, "unknown type");
                match why {
                    Some(why) => diagnostic.note(why.clone()).help(
                        "integers and pointers to integers need no types of the kernel: `*(uint64_t *)(arg0 + 8)`",
                    ),
                    None => diagnostic,
                }
            }
            Error::IncompleteMember { found, why, span } => {
                let diagnostic = error(tags::OP_INCOMPLETE, format!("the members of {found} are not known"));
                because(diagnostic.at(*span, format!("this is {found}, which is only declared")), why)
            }
            Error::IncompleteValue { tag, found, why, span } => {
                let diagnostic = error(*tag, format!("a value of {found} has no known size"));
                because(diagnostic.at(*span, format!("this is {found}")), why)
            }
            Error::LargeValue { found, bytes, span } => {
                let size = bytes.map_or("more bytes than can be counted".to_owned(), |bytes| format!("{bytes} bytes"));
                error(tags::UNKNOWN, format!("a value of {found} has {size}: that is too large"))
                    .at(*span, format!("this is {found}"))
                    .help("take a member of it, or a part of its memory with tracemem()")
            }
            Error::SymbolUndefined { name, span } => {
                error(tags::IDENT_UNDEF, format!("the kernel has no symbol `{}`", plain(name)))
                    .at(*span, "unknown symbol")
                    .help("/proc/kallsyms lists the symbols that there are; of a module that is not loaded there are none")
            }
            Error::UserSymbol { name, span } => {
                let symbol = name.replace("``", "`");
                error(tags::SYM_BADREF, format!("`{symbol}` is a symbol of the kernel, not of a process"))
                    .at(*span, "two backticks name a symbol of a process")
                    .help(format!("write it with one: `{symbol}`"))
            }
            Error::SymbolWithoutType { name, why, span } => {
                let title = format!("nothing says what type `{}` has", plain(name));
                let diagnostic = error(tags::SYM_NOTYPES, title).at(*span, "symbol without a type");
                because(diagnostic, why).help(
                    "the types of the kernel's variables are in its debug information: install it (apt install \
                     linux-image-$(uname -r)-dbg)",
                )
            }
            Error::Ambiguous { name, ty, span } => {
                error(tags::IDENT_AMBIG, format!("`{name}` is both a variable and a value of {ty}"))
                    .at(*span, "which one is meant?")
                    .help("rename the variable, or compare with the number of the value")
            }
            Error::ArgumentsSubscript { tag, span } => {
                error(*tag, "the index of `args[]` must be one integer constant").at(*span, "not such a constant")
            }
            Error::ArgumentsOutside { span } => {
                error(tags::ARGS_NONE, "`args[]` belongs to the probes of a clause")
                    .at(*span, "not in a clause")
            }
            Error::ArgumentsUnstable { span, probe } => {
                error(tags::ARGS_MULTI, "which probes the description matches, and so what `args[]` is, is not known")
                    .at(*span, "of which probe?")
                    .and(*probe, "may match several probes")
                    .help("name provider, function and probe in full, or use the raw arguments `arg0` to `arg9`")
            }
            Error::ArgumentsDiffer { span, probe, notes } => {
                let title = "the description matches probes with different arguments";
                let mut diagnostic = error(tags::ARGS_MULTI, title)
                    .at(*span, "of which probe?")
                    .and(*probe, "matches several")
                    .help("write a clause for each probe, or use the raw arguments `arg0` to `arg9`");
                diagnostic.notes.extend(notes.iter().cloned());
                diagnostic
            }
            Error::ArgumentIndex { number, count, span } => {
                let title = match count {
                    0 => "the probe has no typed arguments".to_string(),
                    1 => format!("args[{number}] is not there: the probe has one argument"),
                    count => format!("args[{number}] is not there: the probe has {count} arguments"),
                };
                error(tags::ARGS_IDX, title).at(*span, "out of range")
            }
            Error::ArgumentWithoutType { function, why, span } => {
                let title = format!("nothing says what type this argument of {function}() has");
                because(error(tags::ARGS_TYPE, title).at(*span, "argument without a type"), why)
                    .help("use the raw arguments `arg0` to `arg9`, which are 64-bit integers")
            }
            Error::BitField { what, span } => {
                let (tag, title) = match *what {
                    "&" => (tags::ADDROF_BITFIELD, "a bit-field has no address"),
                    _ => (tags::SIZEOF_BITFIELD, "a bit-field has no size in bytes"),
                };
                error(tag, title).at(*span, "a bit-field")
            }
            _ => return None,
        })
    }
}

fn because(diagnostic: Diagnostic, why: &Option<String>) -> Diagnostic {
    match why {
        Some(why) => diagnostic.note(why.clone()),
        None => diagnostic,
    }
}

/// Without the backtick in front, which asks all modules.
fn plain(name: &str) -> &str {
    name.strip_prefix('`').unwrap_or(name)
}

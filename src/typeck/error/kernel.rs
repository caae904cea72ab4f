//! typeck/error/kernel.rs: messages about types and symbols of the kernel.

use super::text::{because, error};
use kinst_base::diag::{Diagnostic, Tag, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// A type or symbol of the kernel that is unknown, incomplete or too large.
#[derive(Clone, Debug, PartialEq)]
pub enum Kernel {
    Type { name: String, why: Option<String>, span: Span },
    IncompleteMember { found: Type, why: Option<String>, span: Span },
    IncompleteValue { tag: Tag, found: Type, why: Option<String>, span: Span },
    LargeValue { found: Type, bytes: Option<u64>, span: Span },
    SymbolUndefined { name: String, span: Span },
    UserSymbol { name: String, span: Span },
    SymbolWithoutType { name: String, why: Option<String>, span: Span },
    Ambiguous { name: String, ty: Type, span: Span },
}

impl Kernel {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Type { name, why, span } => {
                let title = format!("the kernel has no type {name}");
                let diagnostic = error(tags::TYPE_ERR, title).at(*span, "unknown type");
                match why {
                    Some(why) => diagnostic.note(why.clone()).help(
                        "integers and pointers to integers need no types of the kernel: `*(uint64_t *)(arg0 + 8)`",
                    ),
                    None => diagnostic,
                }
            }
            Self::IncompleteMember { found, why, span } => {
                let diagnostic = error(tags::OP_INCOMPLETE, format!("the members of {found} are not known"));
                because(diagnostic.at(*span, format!("this is {found}, which is only declared")), why)
            }
            Self::IncompleteValue { tag, found, why, span } => {
                let is_empty = matches!(found.resolved(), Type::Record(tagged) if tagged.bytes == Some(0));
                let title = match is_empty {
                    true => format!("a value of {found} has no bytes"),
                    false => format!("a value of {found} has no known size"),
                };
                let diagnostic = error(*tag, title);
                because(diagnostic.at(*span, format!("this is {found}")), why)
            }
            Self::LargeValue { found, bytes, span } => {
                let size = bytes
                    .map_or("more bytes than can be counted".to_owned(), |bytes| format!("{bytes} bytes"));
                error(tags::UNKNOWN, format!("a value of {found} is too large: {size}"))
                    .at(*span, format!("this is {found}"))
                    .help("use a member of it, or record a part of its memory with tracemem()")
            }
            Self::SymbolUndefined { name, span } => {
                error(tags::IDENT_UNDEF, format!("the kernel has no symbol `{}`", plain(name)))
                    .at(*span, "unknown symbol")
                    .help("/proc/kallsyms lists all symbols; those of a module appear once it is loaded")
            }
            Self::UserSymbol { name, span } => {
                let symbol = name.replace("``", "`");
                error(tags::SYM_BADREF, format!("`{symbol}` is a symbol of the kernel, not of a process"))
                    .at(*span, "two backticks name a symbol of a process")
                    .help(format!("write it with one: `{symbol}`"))
            }
            Self::SymbolWithoutType { name, why, span } => {
                let title = format!("the type of `{}` is unknown", plain(name));
                let diagnostic = error(tags::SYM_NOTYPES, title).at(*span, "symbol without a type");
                because(diagnostic, why).help(
                    "the types of the kernel's variables are in its debug information: install it (apt install \
                     linux-image-$(uname -r)-dbg)",
                )
            }
            Self::Ambiguous { name, ty, span } => {
                error(tags::IDENT_AMBIG, format!("`{name}` is both a variable and a value of {ty}"))
                    .at(*span, "which one is meant?")
                    .help("rename the variable, or compare with the number of the value")
            }
        }
    }
}

/// The name without the leading backtick that means any module.
fn plain(name: &str) -> &str {
    name.strip_prefix('`').unwrap_or(name)
}

//! typeck/error/memory.rs: messages about pointers, members, addresses and sizes.

use super::text::{did_you_mean, error};
use kinst_base::diag::{Diagnostic, Tag, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// The probe that `args[]` refers to, and whether it is the return of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub probe: String,
    pub returns: bool,
}

/// An access to memory, or a query of its layout, that its type does not allow.
#[derive(Clone, Debug, PartialEq)]
pub enum Memory {
    NotPointer { found: Type, span: Span },
    ArrowNotPointer { found: Type, argument: Option<Argument>, span: Span },
    DereferenceVoid { span: Span },
    DereferenceFunction { span: Span },
    NotRecord { found: Type, span: Span },
    NoMember { tag: Tag, member: String, record: Type, similar: Option<String>, span: Span },
    BitField { what: &'static str, span: Span },
    AddressOfVariable { span: Span },
    AddressOfValue { span: Span },
    NoSize { found: Type, span: Span },
    OffsetofType { found: Type, span: Span },
    OffsetofBits { span: Span },
}

impl Memory {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::NotPointer { found, span } => {
                error(tags::DEREF_NONPTR, format!("a pointer is needed here, not {found}"))
                    .at(*span, format!("this is {found}"))
                    .help("cast an address first, for example `(int *)arg0`")
            }
            Self::ArrowNotPointer { found, argument, span } => {
                error(tags::OP_PTR, format!("`->` needs a pointer, not {found}"))
                    .at(*span, format!("this is {found}"))
                    .help(arrow_help(found, argument.as_ref()))
            }
            Self::DereferenceVoid { span } => error(tags::DEREF_VOID, "the target of a `void *` has no type")
                .at(*span, "cannot be loaded")
                .help("cast the pointer first, for example `*(int *)p`"),
            Self::DereferenceFunction { span } => {
                error(tags::DEREF_FUNC, "a function cannot be loaded").at(*span, "points to a function")
            }
            Self::NotRecord { found, span } => {
                let title = format!("only a struct or union has members, not {found}");
                let diagnostic = error(tags::OP_SOU, title).at(*span, format!("this is {found}"));
                match found.referent().is_some_and(Type::is_record) {
                    true => diagnostic.help("the members of what a pointer points to follow `->`"),
                    false => diagnostic,
                }
            }
            Self::NoMember { tag, member, record, similar, span } => {
                let diagnostic = error(*tag, format!("{record} has no member `{member}`"));
                did_you_mean(diagnostic.at(*span, "no such member"), similar)
            }
            Self::BitField { what, span } => {
                let (tag, title) = match *what {
                    "&" => (tags::ADDROF_BITFIELD, "a bit-field has no address"),
                    _ => (tags::SIZEOF_BITFIELD, "a bit-field has no size in bytes"),
                };
                error(tag, title).at(*span, "a bit-field")
            }
            Self::AddressOfVariable { span } => error(tags::ADDROF_VAR, "a variable of D has no address")
                .at(*span, "`&` is not possible here"),
            Self::AddressOfValue { span } => {
                error(tags::ADDROF_LVAL, "only a place in memory has an address").at(*span, "this is a value")
            }
            Self::NoSize { found, span } => {
                error(tags::SIZEOF_TYPE, format!("{found} has no size")).at(*span, "the size is not known")
            }
            Self::OffsetofType { found, span } => {
                error(tags::OFFSETOF_TYPE, format!("only a struct or union has members, not {found}"))
                    .at(*span, format!("this is {found}"))
            }
            Self::OffsetofBits { span } => {
                error(tags::OFFSETOF_BITFIELD, "a bit-field has no offset in bytes")
                    .at(*span, "this member is a bit-field")
            }
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::NoSize { found, .. } => found.is_void(),
            Self::NotPointer { .. }
            | Self::ArrowNotPointer { .. }
            | Self::DereferenceVoid { .. }
            | Self::DereferenceFunction { .. }
            | Self::NotRecord { .. }
            | Self::NoMember { .. }
            | Self::BitField { .. }
            | Self::AddressOfVariable { .. }
            | Self::AddressOfValue { .. }
            | Self::OffsetofType { .. }
            | Self::OffsetofBits { .. } => false,
        }
    }
}

fn arrow_help(found: &Type, argument: Option<&Argument>) -> String {
    match argument {
        _ if found.is_record() => "a struct's members follow a `.`".to_owned(),
        Some(Argument { returns: true, .. }) => {
            "at a return, args[0] is where the function returns from and args[1] its value; keep an argument at the entry: `self->x = args[0];`".to_owned()
        }
        Some(Argument { probe, .. }) => {
            format!("`dtrace -lvn '{probe}'` shows the type of each of the probe's arguments")
        }
        None => "cast an address first, for example `((struct s *)arg0)->m`".to_owned(),
    }
}

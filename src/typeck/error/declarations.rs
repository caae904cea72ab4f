//! typeck/error/declarations.rs: messages about declarations and types as written.

use super::{Error, did_you_mean, error};
use crate::diag::{Diagnostic, tags};

impl Error {
    pub(super) fn of_declarations(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::BadStorage { span } => {
                error(tags::DECL_BADCLASS, "a variable of D is global, `self` or `this`")
                    .at(*span, "not a class of a D variable")
            }
            Error::UselessDeclaration { span } => {
                error(tags::DECL_USELESS, "the declaration declares nothing").at(*span, "a name is missing")
            }
            Error::ScopedDeclaration { span } => {
                error(tags::DECL_SCOPE, "a declared name has no scope").at(*span, "has a backtick")
            }
            Error::LocalArrayDeclared { name, span } => {
                error(tags::DECL_LOCASSC, format!("`{name}` cannot be an associative array"))
                    .at(*span, "`this` has no associative arrays")
                    .help("declare it with `self`, or global")
            }
            Error::VoidObject { span } => {
                error(tags::DECL_VOIDOBJ, "a variable cannot be void").at(*span, "declared void")
            }
            Error::EmptyArray { name, span } => error(tags::DECL_ARRNULL, format!("`{name}` needs a length"))
                .at(*span, "an array of no length"),
            Error::ArrayLength { span } => {
                error(tags::DECL_ARRSUB, "the length of an array must be a positive integer constant")
                    .at(*span, "not such a constant")
            }
            Error::ArrayTooBig { span } => {
                error(tags::DECL_ARRBIG, "the array is too large").at(*span, "more than 2^32 - 1 elements")
            }
            Error::ArrayObject { span } => {
                error(tags::DECL_DYNOBJ, "an associative array cannot be part of another type")
                    .at(*span, "only a variable can be one")
            }
            Error::Redeclared { name, declared, span } => {
                let diagnostic = error(tags::DECL_IDRED, format!("`{name}` is already there"));
                let diagnostic = diagnostic.at(*span, "declared again");
                match declared {
                    Some((ty, at)) => diagnostic.and(*at, format!("here, as {ty}")),
                    None => diagnostic.note("the name belongs to D itself"),
                }
            }
            Error::UnknownType { name, similar, span } => {
                let diagnostic = error(tags::UNKNOWN, format!("there is no type `{name}`"));
                did_you_mean(diagnostic.at(*span, "unknown type"), similar)
            }
            Error::CharLength { span } => {
                error(tags::DECL_CHARATTR, "char is neither short nor long").at(*span, "this type")
            }
            Error::SignedNonInteger { span } => {
                error(tags::DECL_SIGNINT, "only an integer is signed or unsigned").at(*span, "this type")
            }
            Error::VoidModified { span } => {
                error(tags::DECL_VOIDATTR, "void is neither signed nor short nor long").at(*span, "this type")
            }
            Error::BadTypeMix { span } => {
                error(tags::DECL_COMBO, "these words do not make a type").at(*span, "this type")
            }
            _ => return None,
        })
    }
}

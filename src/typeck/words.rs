//! typeck/words.rs: the types of D's words, which the vocabulary stores as text.

use crate::vocabulary::constants;
use kinst_types::intrinsic::Intrinsic;
use kinst_types::{Type, TypeSource};

/// Parses a type as the vocabulary writes it: a base type or typedef, and stars.
pub(super) fn type_of(text: &str) -> Type {
    let name = text.trim_end_matches([' ', '*']);
    let base = Intrinsic.named(name).unwrap_or(Type::Void);
    text.chars().filter(|c| *c == '*').fold(base, |ty, _| Type::pointer_to(ty))
}

/// Returns the value and type of a named constant.
pub(super) fn constant(name: &str) -> Option<(i64, Type)> {
    constants::lookup(name).map(|(value, ty)| (value, type_of(ty)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::builtin::{TABLE, What};

    #[test]
    fn types_of_the_vocabulary_are_known() {
        for entry in TABLE {
            let types: Vec<&str> = match entry.what {
                What::Variable { ty, .. } => vec![ty],
                What::Subroutine(prototype) => [&[prototype.returns], prototype.params].concat(),
                _ => Vec::new(),
            };
            for text in types {
                assert_eq!(type_of(text).to_string(), text, "{}", entry.name);
            }
        }
        assert_eq!(constant("NULL").map(|(value, ty)| (value, ty.to_string())), Some((0, "long".to_owned())));
        assert_eq!(
            constant("ENOENT").map(|(value, ty)| (value, ty.to_string())),
            Some((2, "int".to_owned()))
        );
    }
}

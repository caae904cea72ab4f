//! dwarf/naming.rs: the names of functions in debug information, compared with those of users and of symbols.

use crate::mangled::path_of_symbol;
use crate::query::{Query, generic, is_plain, split};
use kinst_base::probe::is_mangled;

/// Whether a function's name without its path, as DW_AT_name has it, is that of the function with a path: `push` and
/// `push<i32>` are names of `Vec::push`. The function may be given by its symbol.
pub(crate) fn is_name_of(name: &str, function: &str) -> bool {
    if name == function || generic(name).0 == function {
        return true;
    }
    if is_mangled(function) {
        let path = path_of_symbol(function).unwrap_or_default();
        // The symbols of older Rust lack the arguments of generics.
        return path.last().is_some_and(|last| last == name || *last == generic(name).0);
    }
    let last = split(function, "::").last().copied().unwrap_or_default();
    !is_plain(function) && Query::new(last).matches(&[name])
}

#[cfg(test)]
mod tests {
    use super::is_name_of;

    #[test]
    fn names_without_paths() {
        for (name, function) in [
            ("f", "f"),
            ("push", "Vec::push"),
            ("sum<int>", "sum"),
            ("sum<int>", "app::sum"),
            ("s<u8>", "s<u8>"),
            ("scale", "_ZN3app4Rect5scaleEi"),
        ] {
            assert!(is_name_of(name, function), "{name} {function}");
        }
        for (name, function) in [("f", "g"), ("f", "f::g"), ("sum<int>", "app::sum<double>"), ("", "f")] {
            assert!(!is_name_of(name, function), "{name} {function}");
        }
    }
}

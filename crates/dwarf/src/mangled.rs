//! dwarf/mangled.rs: source names, from the symbols of C++ and Rust.

use super::query::split;

/// The name in the source: for Rust the path without its hash, for C++ the name with its parameter types.
/// Other names, and damaged ones, are unchanged.
pub fn demangled(name: &str) -> String {
    // Rust first: its older symbols are also valid in C++.
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    let cpp = || {
        let options = cpp_demangle::DemangleOptions::new().no_return_type();
        cpp_demangle::Symbol::new(name).ok()?.demangle_with_options(&options).ok()
    };
    name.starts_with("_Z").then(cpp).flatten().unwrap_or_else(|| name.to_owned())
}

/// The path of a Rust method, by its symbol: the path of its type, and its name. `<a::T as b::Trait>::f` is
/// `a::T::f`.
pub(crate) fn path_of_method(symbol: &str) -> Option<Vec<String>> {
    let symbol = rustc_demangle::try_demangle(symbol).ok()?;
    let symbol = format!("{symbol:#}");
    let parts = split(&symbol, "::");
    let (of_type, rest) = parts.split_first()?;
    let of_type = of_type.strip_prefix('<')?.strip_suffix('>')?;
    let of_type = split(of_type, " as ").first().copied()?;
    Some(split(of_type, "::").into_iter().chain(rest.iter().copied()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{demangled, path_of_method};

    #[test]
    fn names_are_those_of_the_source() {
        let cases = [
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"),
            ("_ZN3foo3barEiPKc", "foo::bar(int, char const*)"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
            ),
            ("main", "main"),
            ("_Znot a name", "_Znot a name"),
            ("_R", "_R"),
            ("", ""),
        ];
        for (symbol, name) in cases {
            assert_eq!(demangled(symbol), name, "{symbol}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_shown(name in "(_Z|_R|_ZN|_RNv)?[A-Za-z0-9_.$]{0,40}") {
            demangled(&name);
        }
    }
    #[test]
    fn methods_are_those_of_their_types() {
        let path = path_of_method("_ZN32_$LT$n..P$u20$as$u20$n..Area$GT$4area17h0123456789abcdefE");
        assert_eq!(path.expect("a path"), ["n", "P", "area"]);
        let path = path_of_method("_ZN4core6option15Option$LT$T$GT$6unwrap17h0123456789abcdefE");
        assert_eq!(path, None, "its type is in its path");
        assert_eq!(path_of_method("_ZN3foo3barEv"), None);
    }
}

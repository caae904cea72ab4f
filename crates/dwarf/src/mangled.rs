//! dwarf/mangled.rs: source names, from the symbols of C++ and Rust.

use super::query::{Query, method, split};
use kinst_base::probe::is_mangled;
use memchr::memmem::Finder;

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

/// The path of a function of C++ or Rust by its symbol, from the outside in: `app`, `Rect`, `scale` of
/// `_ZN3app4Rect5scaleEi`. The parameters of C++ are not part of it; a suffix of a clone (`.isra.0`) is ignored. `None`
/// for other symbols.
pub(crate) fn path_of_symbol(symbol: &str) -> Option<Vec<String>> {
    if let Some(path) = path_of_method(symbol) {
        return Some(path);
    }
    let text = match rustc_demangle::try_demangle(symbol) {
        Ok(rust) => format!("{rust:#}"),
        Err(_) => {
            let own = symbol.strip_prefix("_Z")?.split('.').next()?;
            let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
            let parsed = cpp_demangle::Symbol::new(format!("_Z{own}")).ok()?;
            parsed.demangle_with_options(&options).ok()?
        }
    };
    let mut path: Vec<String> = Vec::new();
    for part in split(&text, "::") {
        match path.last_mut() {
            // Rust writes the arguments of a generic function as in an expression: `push::<i32>`.
            Some(last) if part.starts_with('<') => last.push_str(part),
            _ => path.push(part.to_owned()),
        }
    }
    // `f[abi:cxx11]`
    let last = path.last_mut()?;
    if let Some((name, tag)) = last.split_once("[abi:")
        && tag.ends_with(']')
    {
        last.truncate(name.len());
    }
    Some(path)
}

/// The same path as one text: `app::Rect::scale`.
pub fn source_name(symbol: &str) -> Option<String> {
    Some(path_of_symbol(symbol)?.join("::"))
}

/// A search of the symbols that a user's name means.
pub struct SymbolSearch {
    query: Query,
    /// The part of the name that each such symbol has: the last component, preceded by its length; `None` for a pattern
    /// or an operator.
    needle: Option<Finder<'static>>,
}

impl SymbolSearch {
    /// Parses a name, which may be a path with globs.
    pub fn new(name: &str) -> SymbolSearch {
        let query = Query::new(name);
        let last = split(name, "::").last().copied().unwrap_or_default();
        let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        // The symbols of constructors and destructors end otherwise, but have the name of the class.
        let last = last.strip_prefix('~').unwrap_or(last);
        let needle = (!last.is_empty() && is_word(last)).then(|| match last.starts_with('_') {
            // Rust separates it from its length.
            true => Finder::new(last).into_owned(),
            false => Finder::new(&format!("{}{last}", last.len())).into_owned(),
        });
        SymbolSearch { query, needle }
    }

    /// Returns the path of a symbol that the name means.
    pub fn path(&self, symbol: &str) -> Option<Vec<String>> {
        let has_needle = || self.needle.as_ref().is_none_or(|one| one.find(symbol.as_bytes()).is_some());
        if !is_mangled(symbol) || !has_needle() {
            return None;
        }
        let path = path_of_symbol(symbol)?;
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        let is_of_trait = || self.query.is_of_trait(&trait_of_symbol(symbol).unwrap_or_default());
        (self.query.matches(&parts) && (!self.query.has_trait() || is_of_trait())).then_some(path)
    }
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

/// The path of the trait that a Rust method is of, by its symbol: `b`, `Trait` of `<a::T as b::Trait>::f`.
pub(crate) fn trait_of_symbol(symbol: &str) -> Option<Vec<String>> {
    let symbol = format!("{:#}", rustc_demangle::try_demangle(symbol).ok()?);
    let (_, of_trait, _) = method(&symbol)?;
    Some(split(of_trait, "::").into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{SymbolSearch, demangled, path_of_method, path_of_symbol};

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

    #[test]
    fn paths_of_symbols() {
        let cases: [(&str, &[&str]); 10] = [
            ("_ZN3app4Rect5scaleEi", &["app", "Rect", "scale"]),
            ("_ZNK3app4Rect4areaEv.isra.0", &["app", "Rect", "area"]),
            ("_ZN3app3sumIiEET_RKSt6vectorIS1_SaIS1_EE", &["app", "sum<int>"]),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                &["std", "vector<int, std::allocator<int> >", "push_back"],
            ),
            ("_ZN12_GLOBAL__N_11fEv", &["(anonymous namespace)", "f"]),
            (
                "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED1Ev",
                &[
                    "std",
                    "__cxx11",
                    "basic_string<char, std::char_traits<char>, std::allocator<char> >",
                    "~basic_string",
                ],
            ),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", &["core", "fmt", "Write", "write_fmt"]),
            ("_RINvCs1234_1a3sumlEB2_", &["a", "sum<i32>"]),
            ("_Z5emptyB5cxx11v", &["empty"]),
            ("_ZNK3FooclEi", &["Foo", "operator()"]),
        ];
        for (symbol, path) in cases {
            assert_eq!(path_of_symbol(symbol).expect(symbol), path, "{symbol}");
        }
        assert_eq!(path_of_symbol("main"), None);
        assert_eq!(path_of_symbol("_Zx"), None);
    }

    #[test]
    fn symbols_are_found_by_names() {
        let symbol = "_ZN3app4Rect5scaleEi";
        for name in ["scale", "Rect::scale", "app::Rect::scale", "sc*", "*::scale", "Re*::scale"] {
            assert!(SymbolSearch::new(name).path(symbol).is_some(), "{name}");
        }
        for name in ["cale", "Rect", "app::scale", "Rect<int>::scale", ""] {
            assert!(SymbolSearch::new(name).path(symbol).is_none(), "{name}");
        }
        assert!(SymbolSearch::new("_start").path("_ZN3app6_startEv").is_some());
        assert!(SymbolSearch::new("~Rect").path("_ZN4RectD1Ev").is_some());
        assert!(SymbolSearch::new("Foo::operator()").path("_ZNK3FooclEi").is_some());
        assert!(SymbolSearch::new("main").path("main").is_none(), "a name of C");
    }

    #[test]
    fn methods_are_found_by_their_traits() {
        let symbol = "_ZN32_$LT$n..P$u20$as$u20$n..Area$GT$4area17h0123456789abcdefE";
        for name in ["<P as Area>::area", "<n::P as n::Area>::area", "<* as Area>::a*", "P::area"] {
            assert!(SymbolSearch::new(name).path(symbol).is_some(), "{name}");
        }
        for name in ["<P as Display>::area", "<Q as Area>::area", "Area::area"] {
            assert!(SymbolSearch::new(name).path(symbol).is_none(), "{name}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_shown(name in "(_Z|_R|_ZN|_RNv)?[A-Za-z0-9_.$]{0,40}") {
            demangled(&name);
            path_of_symbol(&name);
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

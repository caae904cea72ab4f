//! dwarf/query.rs: functions as users name them: `f`, `ns::f`, `Vec<i32>::push`, `Option*::unwrap`.

use kinst_base::glob::{self, Pattern};

/// A name that matches each function whose path ends with its components.
#[derive(Clone, Debug)]
pub struct Query {
    components: Vec<Component>,
    /// The trait that the function is a method of.
    of_trait: Option<Box<Query>>,
}

/// A component of a path, or of the path of a type: `Vec<i32>`.
#[derive(Clone, Debug)]
struct Component {
    name: Pattern,
    /// The first arguments of a generic; without any, all instances match.
    arguments: Vec<Query>,
}

impl Query {
    /// Parses a path, whose components may be globs and may have arguments. The first one may be a type and a trait of
    /// Rust: `<T as Trait>`.
    pub fn new(text: &str) -> Query {
        if let Some((ty, of_trait, rest)) = method(text) {
            let inner = Query::new(&format!("{ty}::{rest}"));
            return Query { of_trait: Some(Box::new(Query::new(of_trait))), ..inner };
        }
        let component = |text: &str| {
            let (name, arguments) = generic(text);
            Component {
                name: Pattern::new(name),
                arguments: split(arguments, ",").into_iter().map(|one| Query::new(one.trim())).collect(),
            }
        };
        Query { components: split(text, "::").into_iter().map(component).collect(), of_trait: None }
    }

    /// Whether the function must be a method of a trait.
    pub fn has_trait(&self) -> bool {
        self.of_trait.is_some()
    }

    /// Whether a method of the trait with this path can match.
    pub fn is_of_trait<P: AsRef<str>>(&self, path: &[P]) -> bool {
        let path: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
        self.of_trait.as_ref().is_none_or(|of_trait| of_trait.matches(&path))
    }

    /// Whether a function with this path, from the outside in, matches.
    pub fn matches(&self, path: &[&str]) -> bool {
        let Some(outside) = path.len().checked_sub(self.components.len()) else { return false };
        !self.components.is_empty()
            && self.components.iter().zip(&path[outside..]).all(|(wanted, name)| wanted.matches(name))
    }
}

impl Component {
    fn matches(&self, text: &str) -> bool {
        let (name, arguments) = generic(text);
        if !self.name.matches(name) {
            return false;
        }
        let arguments = split(arguments, ",");
        self.arguments.len() <= arguments.len()
            && self
                .arguments
                .iter()
                .zip(arguments)
                .all(|(wanted, one)| wanted.matches(&split(one.trim(), "::")))
    }
}

/// Splits `<T as Trait>::f` into `T`, `Trait` and `f`.
pub(crate) fn method(text: &str) -> Option<(&str, &str, &str)> {
    let (first, rest) = (*split(text, "::").first()?, text);
    let inside = first.strip_prefix('<')?.strip_suffix('>')?;
    let [ty, of_trait] = split(inside, " as ")[..] else { return None };
    let rest = rest.get(first.len()..)?.strip_prefix("::")?;
    Some((ty.trim(), of_trait.trim(), rest))
}

/// Whether a string is the name of a C function, which matches only itself.
pub fn is_plain(text: &str) -> bool {
    !glob::is_glob(text) && !text.contains("::") && !text.contains('<')
}

/// Splits the name of a generic from its arguments: `Vec<i32>` into `Vec` and `i32`.
pub fn generic(name: &str) -> (&str, &str) {
    // The operators `<`, `<<`, `<=` and `->`, and names generated for unnamed items: `<impl …>`.
    if name.starts_with("operator") || name.starts_with('<') {
        return (name, "");
    }
    match name.strip_suffix('>').and_then(|name| name.split_once('<')) {
        Some((name, arguments)) => (name.trim_end(), arguments),
        None => (name, ""),
    }
}

/// A path without the arguments of generics: `Vec::push` of `Vec<u8>::push`.
pub fn without_arguments(path: &str) -> String {
    let names: Vec<&str> = split(path, "::").into_iter().map(|part| generic(part).0).collect();
    names.join("::")
}

/// The parts between separators outside of brackets; none for an empty string.
pub fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if depth == 0 && rest.starts_with(separator) {
            parts.push(&text[start..at]);
            at += separator.len();
            start = at;
            continue;
        }
        let first = rest.chars().next().unwrap_or_default();
        match first {
            '<' | '(' | '[' | '{' => depth += 1,
            // Not the end of an arrow.
            '>' if text[..at].ends_with('-') => {}
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += first.len_utf8();
    }
    if !text.is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{Query, generic, split};

    #[test]
    fn names_stand_for_paths() {
        let vec = ["alloc", "vec", "Vec<i32, alloc::alloc::Global>", "push"];
        for (query, meant) in [
            ("push", true),
            ("Vec::push", true),
            ("vec::Vec::push", true),
            ("Vec<i32>::push", true),
            ("Vec<i32, Global>::push", true),
            ("Vec<u32>::push", false),
            ("Vec<i32, Global, x>::push", false),
            ("V*::pu?h", true),
            ("*::push", true),
            ("*", true),
            ("String::push", false),
            ("a::alloc::vec::Vec::push", false),
            ("ush", false),
            ("", false),
        ] {
            assert_eq!(Query::new(query).matches(&vec), meant, "{query}");
        }
        assert!(Query::new("sq<fn() -> u8>").matches(&["a", "sq<fn() -> u8>"]));
        assert!(Query::new("f<(a, b), c>").matches(&["f<(a, b), x::c>"]));
        assert!(Query::new("operator<").matches(&["T", "operator<"]));
        assert!(Query::new("operator()").matches(&["T", "operator()"]));
    }

    #[test]
    fn methods_of_traits() {
        let query = Query::new("<P as Area>::area");
        assert!(query.has_trait() && query.matches(&["n", "P", "area"]));
        assert!(query.is_of_trait(&["n", "Area"]) && !query.is_of_trait(&["n", "Display"]));
        assert!(!query.is_of_trait::<&str>(&[]), "of no trait");
        let generic = Query::new("<Vec<*> as a::Area<u8>>::area");
        assert!(generic.matches(&["Vec<u8>", "area"]) && generic.is_of_trait(&["a", "Area<u8>"]));
        assert!(!Query::new("<P>::area").has_trait());
        assert!(!Query::new("P::area").has_trait() && Query::new("P::area").is_of_trait(&["any"]));
    }

    #[test]
    fn brackets_are_kept_together() {
        assert_eq!(split("a::<b::c>::d", "::"), ["a", "<b::c>", "d"]);
        assert_eq!(split("fn(a, b) -> c, d", ","), ["fn(a, b) -> c", " d"]);
        assert_eq!(split("", ","), [""; 0]);
        assert_eq!(split("ä::ö", "::"), ["ä", "ö"]);
        assert_eq!(generic("Vec<T, A>"), ("Vec", "T, A"));
        assert_eq!(generic("operator<<"), ("operator<<", ""));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_query(text: String, name: String) {
            let _ = Query::new(&text).matches(&split(&name, "::"));
        }
    }
}

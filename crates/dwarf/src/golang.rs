//! dwarf/golang.rs: the names of Go's functions: `net/http.(*Server).Serve`, `main.Map[...]`, `main.main.func1`.

use crate::query::split;
use kinst_base::glob::Pattern;
use std::borrow::Cow;

/// The arguments of a generic, as Go's runtime prints them.
const ARGUMENTS: &str = "[...]";

/// A name that matches each function whose path ends with its components.
#[derive(Clone, Debug)]
pub struct GoQuery {
    components: Vec<Pattern>,
}

impl GoQuery {
    /// Parses a path, whose components may be globs: `fib`, `main.fib`, `T.Method`, `(*T).Method`, `net/http.Get`.
    pub fn new(text: &str) -> GoQuery {
        GoQuery { components: components(text).into_iter().map(Pattern::new).collect() }
    }

    /// Whether a function with this name matches. A package may be named by the last part of its path.
    pub fn matches(&self, name: &str) -> bool {
        let path = components(name);
        let Some(outside) = path.len().checked_sub(self.components.len()) else { return false };
        let is_same = |(at, wanted): (usize, &Pattern)| {
            let one = path[outside + at];
            let is_package = outside + at == 0 && path.len() > 1;
            let last = one.rsplit('/').next().filter(|_| is_package);
            wanted.matches(one) || last.is_some_and(|last| wanted.matches(last))
        };
        !self.components.is_empty() && self.components.iter().enumerate().all(is_same)
    }
}

/// A function's name as Go's runtime has it: all instances of a generic have the same.
pub fn without_instance(name: &str) -> Cow<'_, str> {
    // Functions that the compiler makes for types have the whole names of these.
    if name.starts_with("type:") || name.starts_with("type..") {
        return name.into();
    }
    match (name.find('['), name.rfind(']')) {
        (Some(start), Some(end)) if start < end && &name[start..=end] != ARGUMENTS => {
            format!("{}{ARGUMENTS}{}", &name[..start], &name[end + 1..]).into()
        }
        _ => name.into(),
    }
}

/// The method that a wrapper for pointers calls, if the type has it: `main.T.Get` of `main.(*T).Get`. A type cannot have
/// both as methods.
pub fn method_of_value(name: &str) -> Option<String> {
    let (package, rest) = name.split_once("(*")?;
    let (of_type, method) = rest.split_once(')')?;
    Some(format!("{package}{of_type}{method}"))
}

/// The components of a name: the package with its path, the type of a method, the function, functions in it. A type is
/// without `*` and brackets, a generic without arguments.
fn components(name: &str) -> Vec<&str> {
    // The path of a package may have dots.
    let brackets = name.find(['(', '[', '{']).unwrap_or(name.len());
    let package = name[..brackets].rfind('/').map_or(0, |slash| slash + 1);
    let mut parts = split(&name[package..], ".");
    if let Some(first) = parts.first_mut() {
        *first = &name[..package + first.len()];
    }
    let bare = |part: &str| -> Option<(usize, usize)> {
        let start = if part.starts_with("(*") { 2 } else { usize::from(part.starts_with('(')) };
        let end = part.len() - usize::from(start > 0 && part.ends_with(')'));
        let end = part[..end].find('[').filter(|at| *at > start && part[..end].ends_with(']')).unwrap_or(end);
        (start < end).then_some((start, end))
    };
    parts.into_iter().map(|part| bare(part).map_or(part, |(start, end)| &part[start..end])).collect()
}

#[cfg(test)]
mod tests {
    use super::{GoQuery, components, method_of_value, without_instance};

    #[test]
    fn components_of_names() {
        let cases: [(&str, &[&str]); 10] = [
            ("main.fib", &["main", "fib"]),
            ("main.(*T).Add", &["main", "T", "Add"]),
            ("main.T.Value", &["main", "T", "Value"]),
            ("main.main.func1.2", &["main", "main", "func1", "2"]),
            ("example.org/a.b/c.(*T).M-fm", &["example.org/a.b/c", "T", "M-fm"]),
            ("main.Map[go.shape.int_0,example.org/x.T]", &["main", "Map"]),
            ("main.(*List[...]).Push", &["main", "List", "Push"]),
            ("runtime.gogo", &["runtime", "gogo"]),
            ("_rt0_amd64_linux", &["_rt0_amd64_linux"]),
            ("", &[]),
        ];
        for (name, path) in cases {
            assert_eq!(components(name), path, "{name}");
        }
    }

    #[test]
    fn functions_are_found_by_names() {
        for (query, name, meant) in [
            ("fib", "main.fib", true),
            ("main.fib", "main.fib", true),
            ("T.Add", "main.(*T).Add", true),
            ("(*T).Add", "main.(*T).Add", true),
            ("main.(*T).Add", "main.(*T).Add", true),
            ("Add", "main.(*T).Add", true),
            ("http.Get", "net/http.Get", true),
            ("net/http.Get", "net/http.Get", true),
            ("et/http.Get", "net/http.Get", false),
            ("Map", "main.Map[...]", true),
            ("main.Map[...]", "main.Map[go.shape.int_0]", true),
            ("List.Push", "main.(*List[go.shape.int]).Push", true),
            ("main.*", "main.fib", true),
            ("*.Get", "net/http.Get", true),
            ("ib", "main.fib", false),
            ("main", "main.fib", false),
            ("x.main.fib", "main.fib", false),
            ("", "main.fib", false),
        ] {
            assert_eq!(GoQuery::new(query).matches(name), meant, "{query} {name}");
        }
    }

    #[test]
    fn instances_have_one_name() {
        assert_eq!(without_instance("main.Map[go.shape.[]int_0,string]"), "main.Map[...]");
        assert_eq!(without_instance("main.(*List[int]).Push"), "main.(*List[...]).Push");
        assert_eq!(without_instance("main.fib"), "main.fib");
        assert_eq!(without_instance("main.Map[...]"), "main.Map[...]");
        assert_eq!(without_instance("]["), "][");
        assert_eq!(without_instance("type:.eq.[6]main.T"), "type:.eq.[6]main.T");
    }

    #[test]
    fn methods_of_values() {
        assert_eq!(method_of_value("main.(*T).Get").as_deref(), Some("main.T.Get"));
        assert_eq!(method_of_value("main.(*T[...]).Get").as_deref(), Some("main.T[...].Get"));
        assert_eq!(method_of_value("main.T.Get"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_name(text: String, name in "[a-z./()*\\[\\]ä]{0,30}") {
            let _ = GoQuery::new(&text).matches(&name);
            let _ = GoQuery::new(&name).matches(&text);
            without_instance(&name);
        }
    }
}

//! base/glob.rs: the patterns of probe descriptions: `* ? [set] [!set] \`.

/// Parts of names of Go that have no special meaning, `main.(*T).Method` and `main.Map[...]`, and how a pattern has them.
const LITERAL: [(&str, &str); 2] = [("(*", "(\\*"), ("[...]", "\\[...]")];

/// Whether the text has characters with a special meaning.
pub fn is_glob(pattern: &str) -> bool {
    let is_special = |text: &str| text.contains(['*', '?', '[', '\\']);
    is_special(pattern)
        && is_special(&LITERAL.iter().fold(pattern.to_owned(), |text, one| text.replace(one.0, "")))
}

/// A field of a probe description; an empty one matches anything.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// An empty field, or `*`: matches anything.
    Any,
    /// A field without special characters: matches itself.
    Exact(String),
    /// The characters of a field that contains special ones.
    Glob(Vec<char>),
}

impl Pattern {
    /// Parses a field as written in a description.
    pub fn new(field: &str) -> Pattern {
        match field {
            "" | "*" => Pattern::Any,
            text if is_glob(text) => {
                let text = LITERAL.iter().fold(text.to_owned(), |text, one| text.replace(one.0, one.1));
                Pattern::Glob(text.chars().collect())
            }
            text => Pattern::Exact(text.to_owned()),
        }
    }

    /// Whether the pattern matches all of `text`.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Pattern::Any => true,
            Pattern::Exact(exact) => exact == text,
            Pattern::Glob(glob) => glob_matches(glob, text),
        }
    }

    /// The only string that matches; `None` for an empty field and for a glob.
    pub fn exact(&self) -> Option<&str> {
        match self {
            Pattern::Exact(exact) => Some(exact),
            Pattern::Any | Pattern::Glob(_) => None,
        }
    }
}

/// Backtracks to the last `*` only: the time is at most the product of the lengths.
fn glob_matches(glob: &[char], text: &str) -> bool {
    let mut text = text.chars();
    let mut glob = glob;
    let mut retry: Option<(&[char], std::str::Chars<'_>)> = None;
    loop {
        if let Some(('*', rest)) = glob.split_first() {
            retry = Some((rest, text.clone()));
            glob = rest;
            continue;
        }
        match (text.next(), glob.is_empty()) {
            (None, true) => return true,
            (Some(c), false) => {
                if let Some(rest) = one_char(glob, c) {
                    glob = rest;
                    continue;
                }
            }
            // The text has ended; only another `*` could match, and those are handled above.
            (None, false) => return false,
            (Some(_), true) => {}
        }
        let Some((after, mut from)) = retry.take() else { return false };
        if from.next().is_none() {
            return false;
        }
        text = from.clone();
        glob = after;
        retry = Some((after, from));
    }
}

/// The rest of the pattern if its first element matches `c`.
fn one_char(glob: &[char], c: char) -> Option<&[char]> {
    match glob {
        ['?', rest @ ..] => Some(rest),
        ['\\', literal, rest @ ..] => (*literal == c).then_some(rest),
        ['[', set @ ..] => match set_end(set) {
            Some(end) => in_set(&set[..end], c).then(|| &set[end + 1..]),
            // Without a closing bracket, `[` is an ordinary character.
            None => (c == '[').then_some(set),
        },
        [literal, rest @ ..] => (*literal == c).then_some(rest),
        [] => None,
    }
}

/// The index of the bracket that closes a set; a `]` that comes first belongs to the set.
fn set_end(set: &[char]) -> Option<usize> {
    let first = if set.first() == Some(&'!') { 2 } else { 1 };
    (first..set.len()).find(|at| set[*at] == ']')
}

fn in_set(set: &[char], c: char) -> bool {
    let (negated, set) = match set {
        ['!', rest @ ..] => (true, rest),
        _ => (false, set),
    };
    let mut rest = set;
    let mut found = false;
    while let Some((first, tail)) = rest.split_first() {
        rest = match tail {
            ['-', last, after @ ..] => {
                found |= (*first..=*last).contains(&c);
                after
            }
            _ => {
                found |= *first == c;
                tail
            }
        };
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("", "anything", true),
            ("vfs_read", "vfs_read", true),
            ("vfs_read", "vfs_readv", false),
            ("vfs_*", "vfs_readv", true),
            ("*_lock", "mutex_lock", true),
            ("*_lock", "mutex_lock_nested", false),
            ("*a*b*c", "xxaxxbxxbxc", true),
            ("*a*b*c", "xxaxxbxxbx", false),
            ("vfs_rea?", "vfs_read", true),
            ("vfs_rea?", "vfs_rea", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[!a-c]x", "dx", true),
            ("[]]x", "]x", true),
            ("[x", "[x", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "axb", false),
            ("**", "", true),
            ("?", "", false),
            ("main.(*T).Add", "main.(*T).Add", true),
            ("main.(*T).Add", "main.(xT).Add", false),
            ("main.(*T).A*", "main.(*T).Add", true),
            ("main.(*T).A*", "main.(xT).Add", false),
            ("Map[...]", "Map[...]", true),
            ("*[...]", "main.Map[...]", true),
            ("*[...]", "main.Map.", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn names_of_go_are_no_patterns() {
        assert!(!super::is_glob("main.(*T).Add") && !super::is_glob("main.Map[...]"));
        assert!(super::is_glob("main.(*T).A*") && super::is_glob("(**") && super::is_glob("[..]"));
    }

    #[test]
    fn many_stars_are_quick() {
        assert!(!Pattern::new(&"*a".repeat(30)).matches(&"a".repeat(29)));
        assert!(!Pattern::new(&format!("{}b", "a*".repeat(30))).matches(&"a".repeat(2000)));
    }
}

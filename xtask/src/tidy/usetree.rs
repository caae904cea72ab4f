//! The paths that Rust code names after `crate::`, with groups in braces taken apart.

/// Each path below `crate::` with the line that it begins on.
pub fn crate_paths(lines: &[&str]) -> Vec<(usize, String)> {
    let text = lines.join("\n");
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let line = text[..at].matches('\n').count() + 1;
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let mut paths = Vec::new();
        expand(&text[at + "crate::".len()..], "", &mut paths);
        found.extend(paths.into_iter().map(|path| (line, path)));
    }
    found
}

/// Reads one use tree and returns what follows it.
fn expand<'a>(text: &'a str, prefix: &str, paths: &mut Vec<String>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            match rest.chars().next() {
                None => return rest,
                Some('}') => return &rest[1..],
                Some(',') => rest = &rest[1..],
                Some(_) => rest = skip_alias(expand(rest, prefix, paths)),
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        // Not a use tree after all; the caller must get ahead.
        return rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or("");
    }
    let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}::{name}") };
    match rest.strip_prefix("::") {
        Some(rest) => expand(rest, &path, paths),
        None => {
            paths.push(path);
            rest
        }
    }
}

/// Skips ` as NAME` up to the next comma or brace.
fn skip_alias(text: &str) -> &str {
    match text.find([',', '}']) {
        Some(end) => &text[end..],
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_taken_apart() {
        let code = [
            "use crate::{diag::{Label, Tag as T}, parser::ast};",
            "fn f() -> crate::source::Span {}",
            "$crate::x!()",
        ];
        let paths = crate_paths(&code);
        let paths: Vec<_> = paths.iter().map(|(line, path)| (*line, path.as_str())).collect();
        let wanted = [(1, "diag::Label"), (1, "diag::Tag"), (1, "parser::ast"), (2, "source::Span")];
        assert_eq!(paths, wanted);
    }
}

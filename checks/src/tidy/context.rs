//! The functions of the module's probe path: each is marked with where it may be called from, and none may be probed.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::{Finding, Source};

/// The words of kmod/context.h.
static MARKED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:[a-z_][\w\s\*]*[\s\*])?(__probe_path|__at_hit)\b[\w\s\*]*?\b(\w+)\("));
static NOKPROBE: LazyLock<Regex> = LazyLock::new(|| regex(r"^NOKPROBE_SYMBOL\((\w+)\)"));
static BARE: LazyLock<Regex> = LazyLock::new(|| regex(r"\bnotrace\b"));
static INLINE: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(__always_inline|inline)\b"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("it is a regular expression")
}

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let is_c = source.path.ends_with(".c") && source.is_in(&["kmod"]) && !source.is_in(&["kmod/tests"]);
    if !is_c {
        return Vec::new();
    }
    let (mut marked, mut forbidden) = (Vec::new(), BTreeSet::new());
    let mut findings = Vec::new();
    let mut comment = false;
    for (index, line) in source.text.lines().enumerate() {
        comment |= line.trim_start().starts_with("/*");
        if comment {
            comment = !line.contains("*/");
            continue;
        }
        if let Some(found) = MARKED.captures(line) {
            marked.push((index + 1, found[2].to_owned(), INLINE.is_match(line)));
        }
        if let Some(found) = NOKPROBE.captures(line) {
            forbidden.insert(found[1].to_owned());
        }
        if BARE.is_match(line) {
            findings.push(source.finding(index + 1, "notrace: say from where it is called (kmod/context.h)"));
        }
    }
    for (line, name, inline) in &marked {
        if !inline && !forbidden.contains(name) {
            findings
                .push(source.finding(*line, format!("{name} is of the probe path: NOKPROBE_SYMBOL({name})")));
        }
    }
    for name in forbidden.iter().filter(|name| !marked.iter().any(|(_, known, _)| known == *name)) {
        let line = source.text.lines().position(|line| line.starts_with(&format!("NOKPROBE_SYMBOL({name})")));
        let message =
            format!("{name} may not be probed, and does not say from where it is called (kmod/context.h)");
        findings.push(source.finding(line.map_or(1, |line| line + 1), message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.into(), text: text.into() };
        check(&source).into_iter().map(|f| format!("{}: {}", f.line, f.message)).collect()
    }

    #[test]
    fn a_function_of_the_path_says_so_and_is_not_probed() {
        let good = "static __at_hit u64 f(void)\n{\n}\nNOKPROBE_SYMBOL(f);\n";
        assert_eq!(messages("kmod/x.c", good), [""; 0]);
        let inline = "static __always_inline __probe_path struct a *f(void)\n{\n}\n";
        assert_eq!(messages("kmod/x.c", inline), [""; 0]);
        assert_eq!(
            messages("kmod/x.c", "__probe_path bool f(void)\n"),
            ["1: f is of the probe path: NOKPROBE_SYMBOL(f)"]
        );
        assert_eq!(messages("kmod/x.c", "static notrace int f(void)\n").len(), 1, "another word for it");
        assert_eq!(messages("kmod/x.c", "int f(void)\n{\n}\nNOKPROBE_SYMBOL(f);\n").len(), 1, "no word");
        assert_eq!(messages("kmod/x.c", "/* notrace */\n"), [""; 0]);
        assert_eq!(messages("kmod/tests/x.c", "static notrace int f(void)\n"), [""; 0]);
    }
}

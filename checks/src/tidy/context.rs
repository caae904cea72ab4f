//! The functions of the module's probe path: each is marked with the contexts that may call it, and none may be
//! probed.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::pattern::regex;
use super::{Finding, Source};

/// The markers of kmod/context.h.
static MARKED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:[a-z_][\w\s\*]*[\s\*])?(__probe_path|__at_hit)\b[\w\s\*]*?\b(\w+)\("));
static NOKPROBE: LazyLock<Regex> = LazyLock::new(|| regex(r"^NOKPROBE_SYMBOL\((\w+)\)"));
static BARE: LazyLock<Regex> = LazyLock::new(|| regex(r"\bnotrace\b"));
static INLINE: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(__always_inline|inline)\b"));

pub(super) fn check(source: &Source) -> Vec<Finding> {
    if !is_of_module(source) {
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
            findings.push(
                source.finding(*line, format!("{name} is on the probe path: add NOKPROBE_SYMBOL({name})")),
            );
        }
    }
    for name in forbidden.iter().filter(|name| !marked.iter().any(|(_, known, _)| known == *name)) {
        let line = source.text.lines().position(|line| line.starts_with(&format!("NOKPROBE_SYMBOL({name})")));
        let message = format!(
            "{name} has NOKPROBE_SYMBOL but no context (`__probe_path` or `__at_hit`, kmod/context.h)"
        );
        findings.push(source.finding(line.map_or(1, |line| line + 1), message));
    }
    findings
}

/// The objects that Kbuild compiles without sanitizers and plugins are exactly the objects of the probe path.
pub(super) fn objects(sources: &[Source]) -> Vec<Finding> {
    let listed: Vec<(&Source, usize, String)> = sources.iter().flat_map(listed).collect();
    let on_path =
        |source: &&Source| is_of_module(source) && source.text.lines().any(|line| MARKED.is_match(line));
    let marked: Vec<(&Source, String)> =
        sources.iter().filter(on_path).map(|source| (source, object(&source.path))).collect();
    let missing = marked.iter().filter(|(_, object)| !listed.iter().any(|(.., listed)| listed == object));
    let missing = missing.map(|(source, object)| {
        source.finding(1, format!("{object} is on the probe path: add it to kinst-path in its Kbuild"))
    });
    let needless = listed.iter().filter(|(.., listed)| !marked.iter().any(|(_, object)| object == listed));
    let needless = needless.map(|(source, line, object)| {
        source.finding(*line, format!("{object} has no function on the probe path (kmod/context.h)"))
    });
    missing.chain(needless).collect()
}

/// The objects of the probe path that a file of Kbuild lists, with their lines and their paths in kmod.
fn listed(source: &Source) -> Vec<(&Source, usize, String)> {
    let folder = match source.path.strip_prefix("kmod/") {
        Some("Kbuild") => "",
        Some(path) if path.ends_with("objects.mk") => path.trim_end_matches("objects.mk"),
        _ => return Vec::new(),
    };
    let is_list = |line: &str| {
        ["kinst-work ", "kinst-path ", "kinst-arch-path "].iter().any(|name| line.starts_with(name))
    };
    let lines = source.text.lines().enumerate().filter(|(_, line)| is_list(line));
    let objects = lines.flat_map(|(index, line)| {
        let words = line.split([' ', ',', ')']).filter(|word| word.ends_with(".o"));
        words.map(move |word| (index + 1, word))
    });
    objects.map(|(line, object)| (source, line, format!("{folder}{object}"))).collect()
}

fn is_of_module(source: &Source) -> bool {
    source.path.ends_with(".c") && source.is_in(&["kmod"]) && !source.is_in(&["kmod/tests"])
}

/// `text/trap.o` of `kmod/text/trap.c`.
fn object(path: &str) -> String {
    let path = path.strip_prefix("kmod/").unwrap_or(path);
    format!("{}.o", path.trim_end_matches(".c"))
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
            ["1: f is on the probe path: add NOKPROBE_SYMBOL(f)"]
        );
        assert_eq!(messages("kmod/x.c", "static notrace int f(void)\n").len(), 1, "another word for it");
        assert_eq!(messages("kmod/x.c", "int f(void)\n{\n}\nNOKPROBE_SYMBOL(f);\n").len(), 1, "no word");
        assert_eq!(messages("kmod/x.c", "/* notrace */\n"), [""; 0]);
        assert_eq!(messages("kmod/tests/x.c", "static notrace int f(void)\n"), [""; 0]);
    }

    #[test]
    fn the_objects_of_the_path_are_those_with_functions_of_it() {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        let path = "static __at_hit u64 f(void)\n{\n}\nNOKPROBE_SYMBOL(f);\n";
        let mut sources = vec![
            source("kmod/Kbuild", "kinst-y := main.o\nkinst-path := text/a.o $(kinst-arch-path)\n"),
            source("kmod/arch/m/objects.mk", "kinst-arch-path := $(addprefix arch/m/,insn.o)\n"),
            source("kmod/text/a.c", path),
            source("kmod/arch/m/insn.c", path),
            source("kmod/main.c", "/* No __at_hit f(void). */\nint f(void)\n{\n}\n"),
        ];
        assert_eq!(objects(&sources), []);
        sources.push(source("kmod/text/b.c", path));
        sources[2].text.clear();
        let shown: Vec<String> = objects(&sources).iter().map(Finding::shown).collect();
        assert_eq!(
            shown,
            [
                "kmod/text/b.c:1: text/b.o is on the probe path: add it to kinst-path in its Kbuild",
                "kmod/Kbuild:2: text/a.o has no function on the probe path (kmod/context.h)",
            ]
        );
    }
}

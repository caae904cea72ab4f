//! sites/catalog/short.rs: help for descriptions that begin with a provider but lack a colon or a name.

use kinst_base::attributes;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::probe::Fields;
use kinst_base::space::{Space, UPROBE};

/// Fields are counted from the right: `fbt::vfs_read` is a name in a module. Suggests the full description if
/// that module or function has a provider's name.
pub(crate) fn refusal(fields: &Fields) -> Option<Diagnostic> {
    let Fields { provider, module, function, name } = fields;
    let words = [("module", module), ("function", function), ("name", name)];
    let written = words.iter().position(|(_, word)| !word.is_empty()).filter(|_| provider.is_empty())?;
    let (field, provider) = words[written];
    let is_of_program = Space::of_program(provider).is_some() || Space::is_of_many(provider);
    if !is_of_program && !attributes::providers().contains(&provider.as_str()) {
        return None;
    }
    let rest: Vec<&str> =
        words[written + 1..].iter().map(|(_, word)| word.as_str()).filter(|word| !word.is_empty()).collect();
    let count = match written {
        0 => "three fields",
        1 => "two fields",
        _ => "one field",
    };
    let title = format!("a description of {count} begins with the {field}, but `{provider}` is a provider");
    let meant = match &rest[..] {
        [before @ .., line] if is_line(line) && (is_of_program || provider == "kinst") => {
            let anywhere = if provider == UPROBE { "/PATH" } else { "" };
            vec![format!("{provider}:{}::{line}", before.first().copied().unwrap_or(anywhere))]
        }
        _ if is_of_program => in_program(provider, &rest),
        _ => meant(provider, &rest),
    };
    let meant: Vec<String> = meant.into_iter().map(|meant| format!("`{meant}`")).collect();
    Some(Diagnostic::error(tags::PDESC_ZERO, title).help(format!("write {}", meant.join(" or "))))
}

/// Whether a word is a line of a file, such as `read_write.c@604`.
fn is_line(word: &str) -> bool {
    let line = word.rsplit_once('@').map(|(_, line)| line);
    line.is_some_and(|line| line.parse::<u32>().is_ok())
}

fn meant(provider: &str, rest: &[&str]) -> Vec<String> {
    let last = rest.last().copied().unwrap_or_default();
    let before = rest.len().checked_sub(2).map(|at| rest[at]);
    let is_name = match provider {
        "fbt" | "syscall" => matches!(last, "" | "entry" | "return"),
        "kinst" => matches!(last, "entry" | "return") || before.is_some(),
        _ => return vec![format!("{provider}:::{last}")],
    };
    match (is_name, before) {
        (true, Some(function)) => vec![format!("{provider}::{function}:{last}")],
        (true, None) if provider == "kinst" => vec![format!("{provider}::FUNCTION:{last}")],
        (true, None) => vec![format!("{provider}:::{last}")],
        (false, _) if provider == "kinst" && last.is_empty() => vec!["kinst::FUNCTION:entry".to_owned()],
        (false, _) => {
            let names: &[&str] = if provider == "kinst" {
                &["entry", "return", "OFFSET", "L123"]
            } else {
                &["entry", "return"]
            };
            names.iter().map(|name| format!("{provider}::{last}:{name}")).collect()
        }
    }
}

/// The description of a function in a program: its module may be empty for `pid`, and is a path for `uprobe`.
fn in_program(provider: &str, rest: &[&str]) -> Vec<String> {
    let anywhere = if provider == UPROBE { "/PATH" } else { "" };
    let (module, function, names): (&str, &str, &[&str]) = match rest {
        [] => (anywhere, "FUNCTION", &["entry"]),
        [one @ ("entry" | "return")] => (anywhere, "FUNCTION", &[one]),
        [path] if path.starts_with('/') => (path, "FUNCTION", &["entry"]),
        [function] => (anywhere, function, &["entry", "return"]),
        [path, name @ ("entry" | "return")] if path.starts_with('/') => (path, "FUNCTION", &[name]),
        [function, name @ ("entry" | "return")] => (anywhere, function, &[name]),
        [module, function, ..] => (module, function, &["entry", "return"]),
    };
    names.iter().map(|name| format!("{provider}:{module}:{function}:{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_written_in_full() {
        for (description, meant) in [
            (["", "fbt", "", "vfs_read"], "write `fbt::vfs_read:entry` or `fbt::vfs_read:return`"),
            (["", "fbt", "vfs_read", "entry"], "write `fbt::vfs_read:entry`"),
            (["", "", "fbt", "entry"], "write `fbt:::entry`"),
            (["", "syscall", "read", "return"], "write `syscall::read:return`"),
            (["", "", "syscall", "read"], "write `syscall::read:entry` or `syscall::read:return`"),
            (
                ["", "kinst", "", "vfs_read"],
                "write `kinst::vfs_read:entry` or `kinst::vfs_read:return` or `kinst::vfs_read:OFFSET` or `kinst::vfs_read:L123`",
            ),
            (["", "kinst", "vfs_read", "17"], "write `kinst::vfs_read:17`"),
            (["", "kinst", "", "read_write.c@604"], "write `kinst:::read_write.c@604`"),
            (["", "", "kinst", "entry"], "write `kinst::FUNCTION:entry`"),
            (["", "", "", "kinst"], "write `kinst::FUNCTION:entry`"),
            (["", "io", "", "start"], "write `io:::start`"),
            (["", "", "sdt", "sched_switch"], "write `sdt:::sched_switch`"),
            (["", "", "", "proc"], "write `proc:::`"),
            (["", "pid17", "malloc", "entry"], "write `pid17::malloc:entry`"),
            (
                ["", "pid17", "libc", "malloc"],
                "write `pid17:libc:malloc:entry` or `pid17:libc:malloc:return`",
            ),
            (["", "pid17", "", "jv.c@9"], "write `pid17:::jv.c@9`"),
            (["", "pid17", "libjq", "jv.c@9"], "write `pid17:libjq::jv.c@9`"),
            (["", "uprobe", "", "jv.c@9"], "write `uprobe:/PATH::jv.c@9`"),
            (["", "", "pid17", "malloc"], "write `pid17::malloc:entry` or `pid17::malloc:return`"),
            (["", "uprobe", "main", "return"], "write `uprobe:/PATH:main:return`"),
            (["", "uprobe", "/bin/bash", "entry"], "write `uprobe:/bin/bash:FUNCTION:entry`"),
        ] {
            let [provider, module, function, name] = description;
            let said = refusal(&Fields::new(provider, module, function, name)).unwrap();
            assert_eq!(said.help, [meant], "{description:?}");
        }
        for other in [["fbt", "", "f", ""], ["", "ext4", "f", "entry"], ["", "", "", "start"]] {
            let [provider, module, function, name] = other;
            assert!(refusal(&Fields::new(provider, module, function, name)).is_none());
        }
    }
}

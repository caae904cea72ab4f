//! options/help.rs: what -x help prints: the options by groups, a line each.

use super::key;
use super::table::{Kind, Spec, TABLE, When};

type Group = (&'static str, &'static [(&'static str, &'static str)]);

/// The options that have an effect, each in one group.
const GROUPS: &[Group] = &[
    (
        "Output",
        &[
            ("quiet", "print only what the program prints (-q)"),
            ("flowindent", "indent by entry and return (-F)"),
            ("rawbytes", "print arrays of bytes as hex dumps, even if they could be text"),
            ("encoding", "the letters of distributions: plain or drawn"),
            ("stackindent", "columns before the lines of a stack"),
            ("droptags", "begin each message about lost data with its tag"),
            ("errtags", "begin each error of the compiler with its tag"),
        ],
    ),
    (
        "Aggregations",
        &[
            ("aggrate", "how often the buffers are read"),
            ("aggsortkey", "sort by key instead of by value"),
            ("aggsortrev", "sort in descending order"),
            ("aggsortpos", "of several aggregations, sort by the one at this position"),
            ("aggsortkeypos", "of several keys, sort by the one at this position first"),
            ("agghist", "print a distribution over the keys"),
            ("aggzoom", "scale distributions to their largest row"),
        ],
    ),
    (
        "Buffers and limits",
        &[
            ("bufsize", "bytes of a CPU's trace buffer (-b)"),
            ("bufpolicy", "a full buffer: print as it goes, keep the newest, or stop"),
            ("bufresize", "halve buffers that are too large for the machine, or fail"),
            ("aggsize", "bytes of a CPU's aggregation buffer"),
            ("dynvarsize", "bytes for associative arrays and thread-local variables"),
            ("cleanrate", "how often what these have freed is made ready again"),
            ("strsize", "bytes of a string, its end included"),
            ("nspec", "speculations at a time"),
            ("specsize", "bytes of a CPU's speculation buffer"),
            ("statusrate", "how often losses and exit() are looked for"),
            ("stackframes", "frames of stack()"),
            ("ustackframes", "frames of ustack()"),
            ("jstackframes", "frames of jstack()"),
            ("jstackstrsize", "bytes for the names of jstack()"),
            ("cpu", "trace on this CPU alone"),
        ],
    ),
    (
        "Probes",
        &[
            ("destructive", "permit actions that change the system (-w)"),
            ("zdefs", "permit descriptions that match no probe (-Z)"),
            ("maxprobes", "how many probes a description with a glob may become"),
            (
                "missinglocals",
                "a variable that is not available at a place: refuse it, take 0, or leave the clause out",
            ),
            ("nojump", "probe with breakpoints alone, never with jumps"),
        ],
    ),
    (
        "The kernel's files",
        &[
            ("sysroot", "take vmlinux, modules and debug files from under this folder (--sysroot)"),
            ("vmlinux", "take the kernel's debug information from this file (--vmlinux)"),
            ("nocache", "keep no index of inlined functions (--no-cache)"),
        ],
    ),
    (
        "The language and the compiler",
        &[
            ("defaultargs", "a macro argument that is not given is 0 or \"\""),
            ("argref", "permit arguments that the program does not use"),
            ("empty", "permit a program without clauses"),
            ("pspec", "a type's name between clauses is a probe description, not a declaration"),
            ("version", "names that are newer than this D are the program's own"),
            ("amin", "refuse names that are less stable than this"),
            ("nolibs", "use no D libraries"),
            ("libdir", "a further folder of D libraries (-L)"),
            ("syslibdir", "the folder of D libraries in the place of the built-in ones"),
            ("cpp", "run scripts through the C preprocessor (-C)"),
            ("cpppath", "the preprocessor"),
            ("cppargs", "a further argument for it"),
            ("cpphdrs", "name the files that it includes (-H)"),
            ("define", "define a macro for it (-D)"),
            ("undef", "undefine a macro for it (-U)"),
            ("incdir", "a folder of files that it includes (-I)"),
            ("stdc", "its conformance (-X)"),
            ("verbose", "print the compiled code (-S)"),
            ("tree", "print trees: 1 as parsed, 2 and 4 as checked, 8 the text after sugar"),
            ("dump", "print one stage of the compiler"),
        ],
    ),
];

/// Describes the options for the user.
pub fn describe() -> String {
    let (mut text, mut last) = (String::new(), "");
    for (group, spec, does) in described() {
        if group != last {
            text += if last.is_empty() { "" } else { "\n" };
            text += &format!("{group}:\n");
            last = group;
        }
        text += &line(spec, does);
    }
    text.push('\n');
    text += "* also by setopt() while tracing; ! not by #pragma D option. DTRACE_OPT_NAME=VALUE in the environment sets one.\n";
    let ignored = TABLE.iter().filter(|spec| !has_effect(spec) && !matches!(spec.when, When::Refused(_)));
    let names: Vec<&str> = ignored.map(|spec| spec.name).collect();
    text + "\nAccepted for programs of other DTraces, without effect:\n" + &wrapped(&names)
}

/// The options that have an effect, by groups: the group, the option with the kind of its value, and what it does.
pub fn described() -> impl Iterator<Item = (&'static str, &'static Spec, &'static str)> {
    let rows = GROUPS.iter().flat_map(|(group, rows)| rows.iter().map(|row| (*group, row)));
    rows.filter_map(|(group, (name, does))| {
        Some((group, TABLE.iter().find(|spec| spec.name == *name)?, *does))
    })
}

fn has_effect(spec: &Spec) -> bool {
    key::NAMES.contains(&spec.name)
}

/// What is written for an option's value, with the equals sign.
pub fn value_of(spec: &Spec) -> String {
    match spec.kind {
        Kind::Flag => String::new(),
        Kind::Size { .. } => "=SIZE".to_owned(),
        Kind::Rate { .. } => "=RATE".to_owned(),
        Kind::Number { .. } | Kind::Mask => "=N".to_owned(),
        Kind::Choice(choices) => format!("={}", choices.join("|")),
        Kind::Version => "=N.N".to_owned(),
        Kind::Attributes => "=NAME/DATA/CLASS".to_owned(),
        Kind::Text | Kind::List => "=TEXT".to_owned(),
    }
}

fn line(spec: &Spec, does: &str) -> String {
    let mark = match spec.when {
        When::Dynamic => "*",
        When::Context => "!",
        _ => "",
    };
    let usage = format!("{}{} {mark}", spec.name, value_of(spec));
    let default = if spec.default.is_empty() { String::new() } else { format!(" [{}]", spec.default) };
    format!("  {usage:<28} {does}{default}\n")
}

/// Lays words out in lines that fit a screen.
fn wrapped(words: &[&str]) -> String {
    const WIDTH: usize = 78;
    let (mut text, mut column) = (String::new(), 0);
    for word in words {
        if column > 0 && column + 1 + word.len() > WIDTH {
            text.push('\n');
            column = 0;
        }
        text += if column == 0 { "  " } else { " " };
        text += word;
        column += word.len() + if column == 0 { 2 } else { 1 };
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_with_an_effect_is_described_once() {
        let mut described: Vec<&str> =
            GROUPS.iter().flat_map(|(_, rows)| rows.iter().map(|(name, _)| *name)).collect();
        described.sort_unstable();
        let mut read = key::NAMES.to_vec();
        read.sort_unstable();
        assert_eq!(described, read);
        let text = describe();
        for spec in TABLE.iter().filter(|spec| !matches!(spec.when, When::Refused(_))) {
            let named = text.split_whitespace().any(|word| word.split('=').next() == Some(spec.name));
            assert!(named, "{}", spec.name);
        }
    }
}

//! options/help.rs: the output of -x help: the options by groups, a line each.

#[cfg(test)]
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
            ("encoding", "the bars of aggpack: digits or blocks; with utf8, bytes beyond ASCII can be text"),
            ("printsize", "bytes of a value that print() and trace() show; the rest is left out"),
            ("stackindent", "columns before the lines of a stack"),
            ("noinline", "stacks without the functions that are inlined at each frame"),
            ("stacklines", "stacks with the file and line of each frame"),
            ("noresolve", "addresses of programs as numbers, not by name"),
            ("outputsize", "begin a new file of -o and -O when one would be larger: FILE becomes FILE.1"),
            ("outputtime", "begin a new file of -o and -O after this time"),
            ("outputfiles", "how many old files to keep"),
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
            ("aggpack", "print a distribution on one line"),
            ("aggzoom", "scale distributions to their largest row"),
            ("otlpqueue", "bytes that may wait for a collector (-O otlp=URL)"),
            (
                "promlabels",
                "names of keys as labels of metrics: A,B, or AGGREGATION:A,B; may be given more than once",
            ),
            ("promseries", "how many series the metrics may have"),
        ],
    ),
    (
        "Buffers and limits",
        &[
            ("bufsize", "bytes of a CPU's trace buffer (-b)"),
            ("bufpolicy", "a full buffer: print as it goes, keep the newest, or stop"),
            ("bufresize", "halve buffers that are too large for the machine, or fail"),
            ("quietresize", "do not say that buffers were halved"),
            ("switchrate", "how often records are read; unset: as soon as there are any"),
            ("aggsize", "bytes of a CPU's aggregation buffer"),
            ("dynvarsize", "bytes for associative arrays and thread-local variables"),
            ("cleanrate", "how often the memory that these free becomes available again"),
            ("strsize", "bytes of a string, including its NUL"),
            ("nspec", "speculations at a time"),
            ("specsize", "bytes of a CPU's speculation buffer"),
            ("statusrate", "how often to check for losses and exit()"),
            ("stackframes", "frames of stack()"),
            ("ustackframes", "frames of ustack()"),
            (
                "ustackcopy",
                "bytes of the stack that ustack() copies, to unwind it; unset: 8k in clauses of programs",
            ),
            ("jstackframes", "frames of jstack()"),
            ("maxframes", "the most frames of any stack"),
            ("jstackstrsize", "bytes for the names of jstack()"),
            ("cpu", "trace only on this CPU"),
        ],
    ),
    (
        "Probes",
        &[
            ("destructive", "permit actions that change the system (-w)"),
            ("zdefs", "permit descriptions that match no probe, or none that can be traced (-Z)"),
            ("maxprobes", "how many probes a description with a glob may become"),
            (
                "missinglocals",
                "for a variable that is not available at a place: refuse it, read 0, or leave the clause out",
            ),
            ("backend", "what runs programs in the kernel: the module, BPF, or whichever is available"),
            ("nojump", "probe only with breakpoints, never with jumps"),
            (
                "once",
                "remove each kinst probe at its first hit: it costs nothing afterwards, and 500,000 are possible",
            ),
        ],
    ),
    (
        "Processes",
        &[
            (
                "evaltime",
                "where the command of -c waits; unset: postinit for pid$target, else before its exec",
            ),
            ("setenv", "a variable of its environment"),
            ("unsetenv", "a variable to remove from its environment"),
            ("pgmax", "processes whose mappings are cached"),
        ],
    ),
    (
        "The kernel's files",
        &[
            (
                "sysroot",
                "read the kernel's files from this directory; to trace, they must be the running kernel's (--sysroot)",
            ),
            ("vmlinux", "take the kernel's debug information from this file (--vmlinux)"),
            ("sourcepath", "folders of the kernel's source, for --annotate"),
            ("nocache", "do not cache the index of inlined functions (--no-cache)"),
        ],
    ),
    (
        "The language and the compiler",
        &[
            ("defaultargs", "a macro argument that is not given is 0 or \"\""),
            ("argref", "permit arguments that the program does not use"),
            ("empty", "permit a program without clauses"),
            ("pspec", "a type's name between clauses is a probe description, not a declaration"),
            ("version", "names newer than this version of D are left to the program"),
            ("amin", "refuse names that are less stable than this"),
            ("nolibs", "use no D libraries"),
            ("libdir", "a further folder of D libraries (-L)"),
            ("syslibdir", "the folder of D libraries that replace the built-in ones"),
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
    for (title, reason) in REASONS {
        text += &format!("\n{title}:\n");
        for (spec, why) in TABLE.iter().filter_map(|spec| Some((spec, reason(spec)?))) {
            text += &format!("  {:<28} {why}\n", spec.name);
        }
    }
    text
}

type Reason = fn(&Spec) -> Option<&'static str>;

/// The options of other DTraces that have no effect, by reason.
const REASONS: &[(&str, Reason)] = &[
    ("Always in effect", |spec| match spec.when {
        When::Always(why) => Some(why),
        _ => None,
    }),
    ("No effect here; a notice says so", |spec| match spec.when {
        When::Without(why) => Some(why),
        _ => None,
    }),
    ("Refused", |spec| match spec.when {
        When::Refused(why) => Some(why),
        _ => None,
    }),
];

/// The table of all options by name, for the guide.
pub fn markdown() -> String {
    let mut text = "| option | what it does here | default |\n|---|---|---|\n".to_owned();
    for spec in TABLE {
        let does = described().find(|(_, described, _)| described.name == spec.name).map(|(.., does)| does);
        let what = match (spec.when, does) {
            (When::Always(why), _) => format!("always in effect: {why}"),
            (When::Without(why), _) => format!("no effect, and a notice: {why}"),
            (When::Refused(why), _) => format!("refused: {why}"),
            (When::Dynamic, Some(does)) => format!("{does} (also by setopt())"),
            (When::Context, Some(does)) => format!("{does} (not in a program)"),
            (_, does) => does.unwrap_or_default().to_owned(),
        };
        let value = value_of(spec).replace('|', "\\|");
        text += &format!("| `{}{value}` | {} | {} |\n", spec.name, what.replace('|', "\\|"), spec.default);
    }
    text
}

/// The options that have an effect, by group: the group, the option with the kind of its value, and its effect.
pub fn described() -> impl Iterator<Item = (&'static str, &'static Spec, &'static str)> {
    let rows = GROUPS.iter().flat_map(|(group, rows)| rows.iter().map(|row| (*group, row)));
    rows.filter_map(|(group, (name, does))| {
        Some((group, TABLE.iter().find(|spec| spec.name == *name)?, *does))
    })
}

/// Describes an option's value in the help, with the equals sign.
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
        for spec in TABLE {
            let named = text.split_whitespace().any(|word| word.split('=').next() == Some(spec.name));
            assert!(named, "{}", spec.name);
        }
    }

    #[test]
    fn an_option_has_an_effect_or_a_reason() {
        for spec in TABLE {
            let reasons = REASONS.iter().filter_map(|(_, reason)| reason(spec)).count();
            assert_eq!(reasons, usize::from(!key::NAMES.contains(&spec.name)), "{}", spec.name);
        }
    }
}

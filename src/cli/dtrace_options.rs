//! cli/dtrace_options.rs: the options of dtrace, in the groups of --help.

use kinst_base::source::Origin;

/// The mode of the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Runs the programs, unless an option such as --disas or --fmt does something else.
    #[default]
    Trace,
    /// -e
    Compile,
    /// -l
    List,
    /// -V
    Version,
    /// --index
    Index,
    /// -h
    Header,
    /// -G
    Object,
}

/// The effect of an option.
#[derive(Clone, Copy)]
pub(super) enum Does {
    Program(Origin),
    /// Sets this option of [`crate::options`], to the argument if the letter takes one.
    Set(&'static str),
    /// -x
    AnyOption,
    Mode(Mode),
    Desugared,
    Verbose,
    Output,
    /// -O
    OutputFormat,
    Command,
    Pid,
    /// --fmt
    Format,
    /// --disas
    Disassemble,
    /// --coverage
    Cover,
    Lcov,
    Merge,
    Against,
    Annotate,
    Path,
    Into,
    Calls,
    Differ,
    /// --for
    Time,
    When,
    /// --html
    Page,
    Exact,
    Latency,
    Dump,
    /// --json
    Objects,
    Export,
    Import,
    MessageFormat,
    DataModel,
    Help,
    Refused(&'static str),
}

pub(super) struct Row {
    pub short: Option<char>,
    /// A name that starts with a dot is internal: the option has no long form.
    pub long: &'static str,
    /// The name of the argument, or empty if there is none.
    pub value: &'static str,
    pub help: &'static str,
    pub does: Does,
}

const fn row(short: char, long: &'static str, value: &'static str, help: &'static str, does: Does) -> Row {
    Row { short: Some(short), long, value, help, does }
}

const fn long(long: &'static str, value: &'static str, help: &'static str, does: Does) -> Row {
    Row { short: None, long, value, help, does }
}

/// The options, by the groups of --help, which does not show the last group.
const GROUPS: &[(&str, &[Row])] = &[
    (
        "Programs",
        &[
            row(
                'n',
                "name",
                "PROBE",
                "Enable probes by name: [[[provider:]module:]function:]name, and [/predicate/] { actions }; \
                 pid$target:a.out:f:entry and uprobe:/path:f:entry are in programs",
                Does::Program(Origin::Name),
            ),
            row(
                's',
                "script",
                "FILE",
                "Compile the D script FILE; the operands are $1, $2 …",
                Does::Program(Origin::Script),
            ),
            row('P', "provider", "PROVIDER", "Enable a provider's probes", Does::Program(Origin::Provider)),
            row(
                'm',
                "module",
                "MODULE",
                "Enable a module's probes: [provider:]module",
                Does::Program(Origin::Module),
            ),
            row(
                'f',
                "function",
                "FUNCTION",
                "Enable a function's probes: [[provider:]module:]function",
                Does::Program(Origin::Function),
            ),
            row('i', "id", "ID", "Enable a probe by its id", Does::Program(Origin::Id)),
        ],
    ),
    (
        "Instead of tracing",
        &[
            row(
                'e',
                "execute-nothing",
                "",
                "Compile only: needs neither root nor the kernel module",
                Does::Mode(Mode::Compile),
            ),
            row(
                'l',
                "list",
                "",
                "List the probes that match, instead of enabling them",
                Does::Mode(Mode::List),
            ),
            long(
                "disas",
                "[MODULE:]FUNCTION",
                "List the instructions of a function, or of its inlined copies, with source lines and which can be \
                 traced. In programs, here and below: a.out:f or libfoo:f with -c or -p, or /PATH:f",
                Does::Disassemble,
            ),
            long(
                "annotate",
                "[MODULE:]FUNCTION",
                "Count how often each line of a function, or of its inlined copies, is executed \
                 (-v: each instruction); end with ^C, -c, -p or --for",
                Does::Annotate,
            ),
            long(
                "coverage",
                "PATTERN",
                "Show which blocks, lines and branches are executed at all, in functions ([MODULE:]FUNCTION), \
                 a module, or a source file or directory (fs/ext4/); in programs, a.out:* or a.out:src/",
                Does::Cover,
            ),
            long(
                "path",
                "[MODULE:]FUNCTION",
                "Record the path of each call through a function, by lines (-v: by instructions), with the values that \
                 branches test; equal paths are folded",
                Does::Path,
            ),
            long(
                "json",
                "",
                "With -l, --disas, --annotate, --coverage or --path: one JSON object a line",
                Does::Objects,
            ),
            long(
                "fmt",
                "FILE",
                "Rewrite the D script FILE in its canonical layout; - is standard input",
                Does::Format,
            ),
            long(
                "index",
                "",
                "Make the index of inlined functions now, for later runs",
                Does::Mode(Mode::Index),
            ),
            long(
                "export",
                "FILE",
                "With --index: write all indices of the kernel to FILE, for other machines, or to a directory",
                Does::Export,
            ),
            long(
                "import",
                "FILE",
                "With --index: import the indices from FILE, or from a directory, that --export made",
                Does::Import,
            ),
            row(
                'h',
                "header",
                "",
                "Write a header for C and C++ with the static probes that the script of -s defines, to the file of -o",
                Does::Mode(Mode::Header),
            ),
            row(
                'G',
                "object",
                "",
                "Write an object file for programs with these static probes; the operands are their other objects",
                Does::Mode(Mode::Object),
            ),
            row('V', "version", "", "Print the version of the D language", Does::Mode(Mode::Version)),
            long("help", "", "Print this help", Does::Help),
        ],
    ),
    (
        "Tracing",
        &[
            row(
                'c',
                "command",
                "COMMAND",
                "Run COMMAND, with its pid in $target, and end with it; quoting is as in a shell, but no shell is \
                 started. pid$target:a.out:f:entry traces the program itself; -x evaltime says where it is stopped for \
                 its probes",
                Does::Command,
            ),
            row(
                'p',
                "pid",
                "PID",
                "Set $target to PID, for pid$target:a.out:f:entry and others, and end with that process",
                Does::Pid,
            ),
            long(
                "for",
                "TIME",
                "With --annotate, --coverage or --path: end after TIME (10s, 500ms)",
                Does::Time,
            ),
            long(
                "when",
                "PREDICATE",
                "With --annotate or --path: only calls for which PREDICATE, a D expression about their arguments, is \
                 true",
                Does::When,
            ),
            long("html", "FILE", "With --annotate or --coverage: write an HTML page to FILE", Does::Page),
            long(
                "lcov",
                "FILE",
                "With --coverage: write FILE in lcov's format, for genhtml and others",
                Does::Lcov,
            ),
            long(
                "merge",
                "FILE",
                "With --coverage: add the coverage of another run, from a file of --lcov",
                Does::Merge,
            ),
            long(
                "against",
                "FILE",
                "With --coverage: list the lines that only this run executed, or only another one, from a file of \
                 --lcov",
                Does::Against,
            ),
            long(
                "exact",
                "",
                "With --annotate: count every instruction, and compare with the derived counts",
                Does::Exact,
            ),
            long(
                "latency",
                "",
                "With --annotate: show where a call spends its time, without the cost of the probes; not in programs",
                Does::Latency,
            ),
            long(
                "differ",
                "PREDICATE",
                "With --path: show the first branch at which calls for which PREDICATE, about their return value \
                 (arg1), is true diverge from the others",
                Does::Differ,
            ),
            long(
                "into",
                "FUNCTION,…",
                "With --path: also follow calls that it makes of these functions",
                Does::Into,
            ),
            long("calls", "N", "With --path: end after N calls (default 1000)", Does::Calls),
            long(
                "dump",
                "",
                "With --annotate, --coverage or --path: print the generated D program, and stop",
                Does::Dump,
            ),
            row('w', "destructive", "", "Permit destructive actions", Does::Set("destructive")),
            row('Z', "zero", "", "Permit descriptions that match no probe", Does::Set("zdefs")),
            row('x', "option", "NAME[=VALUE]", "Set an option; -x help lists them", Does::AnyOption),
            row('b', "bufsize", "SIZE", "Size of each CPU's trace buffer (k, m, g)", Does::Set("bufsize")),
        ],
    ),
    (
        "Output",
        &[
            row('d', "desugar", "", "Print the program with its syntactic sugar expanded", Does::Desugared),
            row('o', "output", "FILE", "Append the trace data to FILE", Does::Output),
            row(
                'O',
                "format",
                "FORMAT[=FILE]",
                "Write the trace in another output format: json, one object a line; folded, one stack a line; \
                 pprof=FILE; flame=FILE, a flame graph; perfetto=FILE, tracks of threads; prom=FILE, aggregations \
                 for Prometheus; \
                 otlp=FILE or otlp=URL, metrics and logs for an OpenTelemetry collector",
                Does::OutputFormat,
            ),
            row('q', "quiet", "", "Print only what the program prints", Does::Set("quiet")),
            row('F', "flow", "", "Indent by entry and return", Does::Set("flowindent")),
            row(
                'v',
                "verbose",
                "",
                "Say more: stability, refused places, what was skipped and why, which probes never fired",
                Does::Verbose,
            ),
            row('S', "disassemble", "", "Print the compiled code to standard error", Does::Set("verbose")),
            long("message-format", "text|json", "Format of messages on standard error", Does::MessageFormat),
        ],
    ),
    (
        "The kernel's files",
        &[
            long(
                "sysroot",
                "DIR",
                "Take vmlinux, modules and debug files from under DIR; a trace needs those of the running kernel",
                Does::Set("sysroot"),
            ),
            long("vmlinux", "FILE", "Take the kernel's debug information from FILE", Does::Set("vmlinux")),
            long(
                "no-cache",
                "",
                "Read the debug information directly, and cache no index",
                Does::Set("nocache"),
            ),
        ],
    ),
    (
        "Libraries and the preprocessor",
        &[
            row('L', "libdir", "DIR", "Search DIR for D libraries too", Does::Set("libdir")),
            row('C', "cpp", "", "Run scripts through the C preprocessor", Does::Set("cpp")),
            row('D', "define", "NAME[=VALUE]", "Define a macro for -C", Does::Set("define")),
            row('U', "undef", "NAME", "Undefine a macro for -C", Does::Set("undef")),
            row('I', "include", "DIR", "Search DIR for the files that -C includes", Does::Set("incdir")),
            row(
                'H',
                "headers",
                "",
                "Name the files that -C includes, on standard error",
                Does::Set("cpphdrs"),
            ),
            row('X', "std", "a|c|s|t", "Conformance of -C", Does::Set("stdc")),
        ],
    ),
    (
        "",
        &[
            row('3', ".3", "2", "Data model -32", Does::DataModel),
            row('6', ".6", "4", "Data model -64", Does::DataModel),
            row('a', ".a", "", "", Does::Refused("anonymous tracing is not supported on Linux")),
            row('A', ".A", "", "", Does::Refused("anonymous tracing is not supported on Linux")),
            row('B', ".B", "", "", Does::Refused("it is only for tests of another implementation")),
        ],
    ),
];

/// Returns all options, each with its group.
pub(super) fn table() -> impl Iterator<Item = (&'static str, &'static Row)> {
    GROUPS.iter().flat_map(|(group, rows)| rows.iter().map(|row| (*group, row)))
}

/// The end of --help.
pub(super) const AFTER_HELP: &str = "\
Exit status:
  0  success, even if data was lost or a probe's actions failed; messages say so
  1  an error, or -l with a description that matches nothing
  2  an error in the command line
  N  the program's exit(N)

Environment:
  DTRACE_OPT_NAME=VALUE  sets the option NAME of -x, before the command line does
  DEBUGINFOD_URLS        the servers for debug information that is not installed
  XDG_CACHE_HOME         the cache directory, for kinst/index (default ~/.cache); packages use /usr/share/kinst/index
  OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES  the sender's attributes in -O otlp
  NO_COLOR               no colours
  DTRACE_COMPLETE=bash   prints the completion script for bash; also for zsh and fish

Commands:
  dtrace doctor [--json]  checks what tracing needs, and prints the commands that mend what is wrong

Examples:
  dtrace -n 'BEGIN { printf(\"hello\"); exit(0); }'
  dtrace -n 'fbt::vfs_read:entry { @[execname] = count(); }'
  dtrace -dn 'kinst::fsnotify_open:entry { @[probefunc] = count(); }'
  dtrace -l -n 'fbt::vfs_*:entry'
  dtrace --disas vfs_read";

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
    /// --annotate
    Annotate,
    /// --path
    Path,
    /// --into
    Into,
    /// --calls
    Calls,
    /// --differ
    Differ,
    /// --for
    Time,
    /// --when
    When,
    /// --html
    Page,
    /// --exact
    Exact,
    /// --latency
    Latency,
    /// --dump
    Dump,
    /// --json
    Objects,
    /// --export
    Export,
    /// --import
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
                "Enable probes by name: [[[provider:]module:]function:]name, and [/predicate/] { actions }",
                Does::Program(Origin::Name),
            ),
            row(
                's',
                "script",
                "FILE",
                "Compile the D script FILE; operands are its $1, $2 …",
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
            row('i', "id", "ID", "Enable a probe by its number", Does::Program(Origin::Id)),
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
                "List a function's instructions, or its inlined copies', with source lines and what can be traced",
                Does::Disassemble,
            ),
            long(
                "annotate",
                "[MODULE:]FUNCTION",
                "Count how often each line and instruction of a function, or of its inlined copies, is executed (-v: the instructions), \
                 until ^C, with -c, -p, or --for a time",
                Does::Annotate,
            ),
            long(
                "coverage",
                "PATTERN",
                "Find out which blocks, lines and branches are executed at all: of the functions [MODULE:]FUNCTION, of a module, or \
                 of a source file or folder (fs/ext4/)",
                Does::Cover,
            ),
            long(
                "path",
                "[MODULE:]FUNCTION",
                "Record the way that each call of a function goes, by its lines (-v: its instructions), with what branches decide on; equal \
                 ways are folded",
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
                "Make the index of inlined functions now, for the runs to come",
                Does::Mode(Mode::Index),
            ),
            long(
                "export",
                "FILE",
                "With --index: write all indices of the kernel to FILE, to be carried, or into a folder",
                Does::Export,
            ),
            long(
                "import",
                "FILE",
                "With --index: take the indices that were exported to FILE, or to a folder",
                Does::Import,
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
                "Run COMMAND, with its pid in $target, and end with it; words are quoted as in a shell, and none is started",
                Does::Command,
            ),
            row('p', "pid", "PID", "Put PID into $target, and end with that process", Does::Pid),
            long(
                "for",
                "TIME",
                "With --annotate, --coverage or --path: end after TIME (10s, 500ms)",
                Does::Time,
            ),
            long(
                "when",
                "PREDICATE",
                "With --annotate or --path: only calls for which PREDICATE, a D expression about their arguments, is true",
                Does::When,
            ),
            long("html", "FILE", "With --annotate or --coverage: write a page to FILE", Does::Page),
            long("lcov", "FILE", "With --coverage: write a file of lcov, for genhtml and others", Does::Lcov),
            long(
                "merge",
                "FILE",
                "With --coverage: add what another run has executed, a file of --lcov",
                Does::Merge,
            ),
            long(
                "against",
                "FILE",
                "With --coverage: list the lines that only this run or only another one, a file of --lcov, has executed",
                Does::Against,
            ),
            long("exact", "", "With --annotate: count every instruction itself, and compare", Does::Exact),
            long(
                "latency",
                "",
                "With --annotate: where the time of a call goes, without what the probes take of it",
                Does::Latency,
            ),
            long(
                "differ",
                "PREDICATE",
                "With --path: the first branch at which calls for which PREDICATE, about what they return (arg1), is true part from the others",
                Does::Differ,
            ),
            long(
                "into",
                "FUNCTION,…",
                "With --path: follow calls of these functions, too, inside of it",
                Does::Into,
            ),
            long("calls", "N", "With --path: end after N calls (1000)", Does::Calls),
            long(
                "dump",
                "",
                "With --annotate, --coverage or --path: print the D program that it is, and do no more",
                Does::Dump,
            ),
            row('w', "destructive", "", "Permit destructive actions", Does::Set("destructive")),
            row('Z', "zero", "", "Permit descriptions that match no probe", Does::Set("zdefs")),
            row('x', "option", "NAME[=VALUE]", "Set an option; -x help lists them", Does::AnyOption),
            row('b', "bufsize", "SIZE", "Bytes of a CPU's trace buffer (k, m, g)", Does::Set("bufsize")),
        ],
    ),
    (
        "Output",
        &[
            row('d', "desugar", "", "Print the program as it is after syntactic sugar", Does::Desugared),
            row('o', "output", "FILE", "Append the trace data to FILE", Does::Output),
            row(
                'O',
                "format",
                "FORM[=FILE]",
                "Write the trace in another format than text: json, one object a line; stacks as folded lines, pprof=FILE or \
                 a flame=FILE graph; threads as tracks, perfetto=FILE; prom, the aggregations as Prometheus reads them; otlp, metrics and logs for \
                 OpenTelemetry's collector, to its http:// URL or a file",
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
            long(
                "message-format",
                "text|json",
                "How messages on standard error are written",
                Does::MessageFormat,
            ),
        ],
    ),
    (
        "The kernel's files",
        &[
            long(
                "sysroot",
                "DIR",
                "Take vmlinux, modules and debug files from under DIR; to trace, those of the running kernel",
                Does::Set("sysroot"),
            ),
            long("vmlinux", "FILE", "Take the kernel's debug information from FILE", Does::Set("vmlinux")),
            long(
                "no-cache",
                "",
                "Read the debug information itself, and keep no index",
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
            row('G', ".G", "", "", Does::Refused("programs with static probes are not supported yet")),
            row(
                'h',
                ".h",
                "",
                "",
                Does::Refused("headers of static probes are not supported yet; help is --help"),
            ),
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
  0  success, also where data was lost or a probe's actions failed; the messages say so
  1  an error, or -l with a description that matches nothing
  2  a command line that cannot be understood
  N  the program's exit(N)

Environment:
  DTRACE_OPT_NAME=VALUE  sets the option NAME of -x, before the command line does
  DEBUGINFOD_URLS        the servers that are asked for debug information that is not installed
  XDG_CACHE_HOME         where kinst/index is kept (else ~/.cache); packages bring theirs to /usr/share/kinst/index
  OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES  what -O otlp says of the sender
  NO_COLOR               no colours
  DTRACE_COMPLETE=bash   prints what bash has to read to complete dtrace; zsh and fish too

Commands:
  dtrace doctor [--json]  what tracing needs, what of it is wrong, and the commands that mend it

Examples:
  dtrace -n 'BEGIN { printf(\"hello\"); exit(0); }'
  dtrace -n 'fbt::vfs_read:entry { @[execname] = count(); }'
  dtrace -dn 'kinst::fsnotify_open:entry { @[probefunc] = count(); }'
  dtrace -l -n 'fbt::vfs_*:entry'
  dtrace --disas vfs_read";

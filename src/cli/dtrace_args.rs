//! cli/dtrace_args.rs: the command line of dtrace, as one table.

use crate::source::Origin;
use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// The version of the D language: major, minor, micro.
pub const D_VERSION: (u32, u32, u32) = (1, 13, 0);

/// What the command line asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    pub mode: Mode,
    /// -s -n -P -m -f -i, in their order.
    pub programs: Vec<ProgramArg>,
    /// -x, and the letters that set an option, in their order.
    pub settings: Vec<(String, Option<String>)>,
    /// -d
    pub desugared: bool,
    /// -v
    pub verbose: bool,
    /// -o
    pub output: Option<String>,
    /// -c
    pub commands: Vec<String>,
    /// -p
    pub pids: Vec<String>,
    /// --fmt
    pub formatted: Vec<String>,
    /// --disas
    pub disassembled: Vec<String>,
    /// --json: what --disas prints is one object a line.
    pub objects: bool,
    /// $1 …
    pub operands: Vec<String>,
    /// --message-format=json
    pub json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramArg {
    pub origin: Origin,
    /// A file's path, or D text.
    pub text: String,
}

/// Why there is nothing to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// --help: to standard output, and done.
    Help(String),
    /// Bad usage: the message, and the usage if it helps.
    Usage { message: String, usage: String },
    /// An option that is not there yet.
    Refused { option: String, why: &'static str },
}

/// What an option does.
#[derive(Clone, Copy)]
enum Does {
    Program(Origin),
    /// Sets this option of [`crate::options`], to the argument if it takes one.
    Set(&'static str),
    /// -x
    AnyOption,
    Mode(Mode),
    Desugared,
    Verbose,
    Output,
    Command,
    Pid,
    /// --fmt
    Format,
    /// --disas
    Disassemble,
    /// --json
    Objects,
    MessageFormat,
    DataModel,
    Help,
    Refused(&'static str),
}

struct Row {
    short: Option<char>,
    /// With a dot in front it is only a name for us: there is no long form.
    long: &'static str,
    /// Empty: it takes none.
    value: &'static str,
    help: &'static str,
    does: Does,
}

const fn row(short: char, long: &'static str, value: &'static str, help: &'static str, does: Does) -> Row {
    Row { short: Some(short), long, value, help, does }
}

const fn long(long: &'static str, value: &'static str, help: &'static str, does: Does) -> Row {
    Row { short: None, long, value, help, does }
}

const TABLE: &[Row] = &[
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
    row('d', "desugar", "", "Print the program as it is after syntactic sugar", Does::Desugared),
    row(
        'e',
        "execute-nothing",
        "",
        "Compile only: needs neither root nor the kernel module",
        Does::Mode(Mode::Compile),
    ),
    row('l', "list", "", "List the probes that match, instead of enabling them", Does::Mode(Mode::List)),
    row('q', "quiet", "", "Print only what the program prints", Does::Set("quiet")),
    row('S', "disassemble", "", "Print the compiled code to standard error", Does::Set("verbose")),
    row('v', "verbose", "", "Say more: stability, refused places, what was skipped and why", Does::Verbose),
    row('w', "destructive", "", "Permit destructive actions", Does::Set("destructive")),
    row('Z', "zero", "", "Permit descriptions that match no probe", Does::Set("zdefs")),
    row('F', "flow", "", "Indent by entry and return", Does::Set("flowindent")),
    row('o', "output", "FILE", "Append the trace data to FILE", Does::Output),
    row('c', "command", "COMMAND", "Run COMMAND, with its pid in $target, and end with it", Does::Command),
    row('p', "pid", "PID", "Put PID into $target, and end with that process", Does::Pid),
    row('x', "option", "NAME[=VALUE]", "Set an option; -x help lists them", Does::AnyOption),
    row('b', "bufsize", "SIZE", "Bytes of a CPU's trace buffer (k, m, g)", Does::Set("bufsize")),
    row('C', "cpp", "", "Run scripts through the C preprocessor", Does::Set("cpp")),
    row('D', "define", "NAME[=VALUE]", "Define a macro for -C", Does::Set("define")),
    row('U', "undef", "NAME", "Undefine a macro for -C", Does::Set("undef")),
    row('I', "include", "DIR", "Search DIR for the files that -C includes", Does::Set("incdir")),
    row('H', "headers", "", "Name the files that -C includes, on standard error", Does::Set("cpphdrs")),
    row('X', "std", "a|c|s|t", "Conformance of -C", Does::Set("stdc")),
    row('L', "libdir", "DIR", "Search DIR for D libraries too", Does::Set("libdir")),
    row('V', "version", "", "Print the version of the D language", Does::Mode(Mode::Version)),
    long("sysroot", "DIR", "Take vmlinux, modules and debug files from under DIR", Does::Set("sysroot")),
    long(
        "index",
        "",
        "Make the index of inlined functions now, for the runs to come",
        Does::Mode(Mode::Index),
    ),
    long("no-cache", "", "Read the debug information itself, and keep no index", Does::Set("nocache")),
    long("vmlinux", "FILE", "Take the kernel's debug information from FILE", Does::Set("vmlinux")),
    long(
        "fmt",
        "FILE",
        "Rewrite the D script FILE in its canonical layout; - is standard input",
        Does::Format,
    ),
    long(
        "disas",
        "[MODULE:]FUNCTION",
        "List a function's instructions, or its inlined copies', with source lines and what can be traced",
        Does::Disassemble,
    ),
    long("json", "", "With --disas: one JSON object a line", Does::Objects),
    long("message-format", "text|json", "How messages on standard error are written", Does::MessageFormat),
    long("help", "", "Print this help", Does::Help),
    row('3', ".3", "2", "Data model -32", Does::DataModel),
    row('6', ".6", "4", "Data model -64", Does::DataModel),
    row('a', ".a", "", "", Does::Refused("anonymous tracing is not supported on Linux")),
    row('A', ".A", "", "", Does::Refused("anonymous tracing is not supported on Linux")),
    row('B', ".B", "", "", Does::Refused("it is for tests of another implementation")),
    row('G', ".G", "", "", Does::Refused("programs with static probes are not supported yet")),
    row('h', ".h", "", "", Does::Refused("headers of static probes are not supported yet; help is --help")),
    row('O', ".O", "", "", Does::Refused("structured output is not supported yet")),
];

/// Reads the arguments; the first is the command's name.
pub fn parse(arguments: &[String]) -> Result<Invocation, Stop> {
    let mut command = command();
    if arguments.len() < 2 {
        return Err(Stop::Usage { message: String::new(), usage: command.render_help().to_string() });
    }
    let usage = command.render_usage().to_string();
    let matches = command.clone().try_get_matches_from(arguments).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp => Stop::Help(error.to_string()),
        _ => Stop::Usage { message: message(&error), usage: usage.clone() },
    })?;
    let mut invocation = Invocation {
        operands: matches.get_many("operands").map(|all| all.cloned().collect()).unwrap_or_default(),
        ..Invocation::default()
    };
    let mut modes: Vec<(Mode, String)> = Vec::new();
    for (row, value) in in_order(&matches) {
        let value = value.unwrap_or_default();
        let bad = |message: String| Stop::Usage { message, usage: usage.clone() };
        match row.does {
            Does::Program(Origin::Id) if !starts_with_id(&value) => {
                return Err(bad(format!("-i {value}: a probe's number is expected; -l lists them")));
            }
            Does::Program(origin) => invocation.programs.push(ProgramArg { origin, text: value }),
            Does::Set(name) => {
                let value = (!row.value.is_empty()).then_some(value);
                invocation.settings.push((name.to_owned(), value));
            }
            Does::AnyOption => {
                let (name, value) = value.split_once('=').map_or((&*value, None), |(n, v)| (n, Some(v)));
                invocation.settings.push((name.to_owned(), value.map(str::to_owned)));
            }
            Does::Mode(mode) => modes.push((mode, shown(row))),
            Does::Desugared => invocation.desugared = true,
            Does::Verbose => invocation.verbose = true,
            Does::Output => invocation.output = Some(value),
            Does::Command => invocation.commands.push(value),
            Does::Pid => invocation.pids.push(value),
            Does::Format => invocation.formatted.push(value),
            Does::Disassemble => invocation.disassembled.push(value),
            Does::Objects => invocation.objects = true,
            Does::MessageFormat => invocation.json = message_format(&value).map_err(bad)?,
            Does::DataModel => data_model(row, &value).map_err(bad)?,
            Does::Help => return Err(Stop::Help(command.render_help().to_string())),
            Does::Refused(why) => return Err(Stop::Refused { option: shown(row), why }),
        }
    }
    invocation.mode = one_mode(&modes).map_err(|message| Stop::Usage { message, usage: usage.clone() })?;
    Ok(invocation)
}

/// For --help, and for the man page.
pub fn command() -> Command {
    let options = TABLE.iter().map(|row| {
        let arg = Arg::new(row.long).short(row.short).help(row.help);
        let arg = if row.long.starts_with('.') { arg.hide(true) } else { arg.long(row.long) };
        if row.value.is_empty() {
            // Giving it twice is the same as giving it once.
            return arg.action(ArgAction::SetTrue).overrides_with(row.long);
        }
        // A value may begin with a dash: a probe name, a negative number, a compiler flag.
        let parser = ValueParser::string();
        arg.value_name(row.value).action(ArgAction::Append).allow_hyphen_values(true).value_parser(parser)
    });
    Command::new("dtrace")
        .about("Traces the kernel with programs in D: any instruction, any function, inlined ones too")
        .override_usage(
            "dtrace [OPTIONS] [-n PROBE]… [-s FILE] [-P|-m|-f|-i …] [-c COMMAND|-p PID] [ARGUMENT]…",
        )
        .disable_help_flag(true)
        .disable_version_flag(true)
        .max_term_width(100)
        .args(options)
        .arg(
            Arg::new("operands")
                .value_name("ARGUMENT")
                .help("Arguments of the program: $1, $2 …")
                .num_args(0..)
                .action(ArgAction::Append),
        )
        .after_help(
            "Examples:\n  dtrace -n 'BEGIN { printf(\"hello\"); exit(0); }'\n  dtrace -n 'fbt::vfs_read:entry { @[execname] = count(); }'\n  dtrace -dn 'kinst::get_page:entry { @[probefunc] = count(); }'\n  dtrace -l -n 'fbt::vfs_*:entry'\n  dtrace --disas vfs_read",
        )
}

fn shown(row: &Row) -> String {
    row.short.map_or_else(|| format!("--{}", row.long), |short| format!("-{short}"))
}

/// The options given, with their arguments, in the order of the command line.
fn in_order(matches: &ArgMatches) -> Vec<(&'static Row, Option<String>)> {
    let mut given: Vec<(usize, &Row, Option<String>)> = Vec::new();
    for row in TABLE {
        let indices = matches.indices_of(row.long).into_iter().flatten();
        if row.value.is_empty() {
            if matches.get_flag(row.long) {
                given.extend(indices.last().map(|index| (index, row, None)));
            }
        } else if let Some(values) = matches.get_many::<String>(row.long) {
            given.extend(indices.zip(values).map(|(index, value)| (index, row, Some(value.clone()))));
        }
    }
    given.sort_by_key(|(index, ..)| *index);
    given.into_iter().map(|(_, row, value)| (row, value)).collect()
}

/// -e goes with the others, which exclude one another.
fn one_mode(modes: &[(Mode, String)]) -> Result<Mode, String> {
    let exclusive: Vec<_> = modes.iter().filter(|(mode, _)| *mode != Mode::Compile).collect();
    match exclusive.as_slice() {
        [] => Ok(modes.first().map_or(Mode::Trace, |(mode, _)| *mode)),
        [(mode, _)] => Ok(*mode),
        _ => Err("only one of -l, -V and --index can be given: they cannot be combined".to_owned()),
    }
}

/// A number, or a macro that stands for one.
fn starts_with_id(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '$')
}

fn message_format(value: &str) -> Result<bool, String> {
    match value {
        "json" => Ok(true),
        "text" => Ok(false),
        _ => Err(format!("invalid value '{value}' for --message-format: expected text or json")),
    }
}

fn data_model(row: &Row, value: &str) -> Result<(), String> {
    let letter = row.short.unwrap_or_default();
    match (letter, value) {
        ('6', "4") => Ok(()),
        ('3', "2") => Err("-32: only the 64-bit data model is supported".to_owned()),
        _ => Err(format!("illegal option -- {letter}{value}")),
    }
}

/// clap's message without its usage, which we print ourselves.
fn message(error: &clap::Error) -> String {
    let text = error.to_string();
    let end = text.find("\n\nUsage:").or(text.find("\n\nFor more")).unwrap_or(text.len());
    // "use '-- -y' to pass it as a value" does not help with a misspelt letter.
    let end = text.find("\n\n  tip: to pass").map_or(end, |tip| tip.min(end));
    let text = text[..end].trim_end();
    text.strip_prefix("error: ").unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Invocation, Stop> {
        let all = ["dtrace"].iter().chain(arguments).map(|text| (*text).to_owned());
        parse(&all.collect::<Vec<_>>())
    }

    fn program(origin: Origin, text: &str) -> ProgramArg {
        ProgramArg { origin, text: text.to_owned() }
    }

    #[test]
    fn the_table_makes_a_sound_command() {
        command().debug_assert();
    }

    #[test]
    fn order_is_kept_over_letters_and_operands_are_mixed_in() {
        let read = read(&[
            "one",
            "-n",
            "BEGIN",
            "-qs",
            "a.d",
            "-P",
            "fbt",
            "two",
            "-nEND",
            "-x",
            "strsize=9",
            "-b4m",
        ])
        .unwrap();
        let expected = [
            program(Origin::Name, "BEGIN"),
            program(Origin::Script, "a.d"),
            program(Origin::Provider, "fbt"),
            program(Origin::Name, "END"),
        ];
        assert_eq!(read.programs, expected);
        assert_eq!(read.operands, ["one", "two"]);
        let set = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        assert_eq!(
            read.settings,
            [set("quiet", None), set("strsize", Some("9")), set("bufsize", Some("4m"))]
        );
    }

    #[test]
    fn combined_letters() {
        let read = read(&["-dn", "kinst::f:entry { printf(\"a=b\"); }"]).unwrap();
        assert!(read.desugared);
        assert_eq!(read.programs, [program(Origin::Name, "kinst::f:entry { printf(\"a=b\"); }")]);
    }

    #[test]
    fn values_may_begin_with_a_dash() {
        let read = read(&["-n", "-x", "-c", "-y"]).unwrap();
        assert_eq!(read.programs, [program(Origin::Name, "-x")]);
        assert_eq!(read.commands, ["-y"]);
    }

    #[test]
    fn modes() {
        assert_eq!(read(&["-l"]).unwrap().mode, Mode::List);
        assert_eq!(read(&["-e", "-n", "BEGIN"]).unwrap().mode, Mode::Compile);
        assert_eq!(read(&["-e", "-l"]).unwrap().mode, Mode::List);
        assert!(matches!(read(&["-l", "-V"]), Err(Stop::Usage { .. })));
        assert!(matches!(read(&["-64", "-V"]).map(|read| read.mode), Ok(Mode::Version)));
        assert!(matches!(read(&["-32", "-V"]), Err(Stop::Usage { .. })));
        assert!(
            matches!(read(&["-39", "-V"]), Err(Stop::Usage { message, .. }) if message == "illegal option -- 39")
        );
    }

    #[test]
    fn what_is_not_there_is_told() {
        assert!(matches!(read(&[]), Err(Stop::Usage { .. })));
        assert!(matches!(read(&["--help"]), Err(Stop::Help(_))));
        assert!(matches!(read(&["-y"]), Err(Stop::Usage { .. })));
        assert!(matches!(read(&["-n"]), Err(Stop::Usage { .. })));
        assert!(matches!(read(&["-G"]), Err(Stop::Refused { .. })));
        assert!(matches!(read(&["-h"]), Err(Stop::Refused { .. })));
    }
}

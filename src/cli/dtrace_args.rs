//! cli/dtrace_args.rs: the command line of dtrace, as one table.

pub use super::dtrace_options::Mode;
use super::dtrace_options::{AFTER_HELP, Does, Row, table};
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
    /// --json: what -l or --disas prints is one object a line.
    pub objects: bool,
    /// --export: files, or folders that exist.
    pub exported: Vec<String>,
    /// --import
    pub imported: Vec<String>,
    /// $1 …
    pub operands: Vec<String>,
    /// --message-format=json
    pub json: bool,
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
            Does::Export => invocation.exported.push(value),
            Does::Import => invocation.imported.push(value),
            Does::MessageFormat => invocation.json = message_format(&value).map_err(bad)?,
            Does::DataModel => data_model(row, &value).map_err(bad)?,
            Does::Help => return Err(Stop::Help(command.render_help().to_string())),
            Does::Refused(why) => return Err(Stop::Refused { option: shown(row), why }),
        }
    }
    invocation.mode = one_mode(&modes).map_err(|message| Stop::Usage { message, usage: usage.clone() })?;
    if invocation.objects && invocation.mode != Mode::List && invocation.disassembled.is_empty() {
        let message = "--json goes with -l or --disas; --message-format=json is for messages".to_owned();
        return Err(Stop::Usage { message, usage });
    }
    let carries = !invocation.exported.is_empty() || !invocation.imported.is_empty();
    if carries && invocation.mode != Mode::Index {
        return Err(Stop::Usage { message: "--export and --import go with --index".to_owned(), usage });
    }
    Ok(invocation)
}

/// For --help, and for the man page.
pub fn command() -> Command {
    let options = table().map(|(group, row)| {
        let arg = Arg::new(row.long).short(row.short).help(row.help).help_heading(group);
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
                .help_heading("Programs")
                .num_args(0..)
                .action(ArgAction::Append),
        )
        .after_help(AFTER_HELP)
}

fn shown(row: &Row) -> String {
    row.short.map_or_else(|| format!("--{}", row.long), |short| format!("-{short}"))
}

/// The options given, with their arguments, in the order of the command line.
fn in_order(matches: &ArgMatches) -> Vec<(&'static Row, Option<String>)> {
    let mut given: Vec<(usize, &Row, Option<String>)> = Vec::new();
    for (_, row) in table() {
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

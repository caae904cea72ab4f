//! cli/dtrace_args.rs: the command line of dtrace, as one table.

pub use super::dtrace_options::Mode;
use super::dtrace_options::{AFTER_HELP, Does, Row, table};
pub use super::invocation::{CoverageFiles, Invocation, ProgramArg};
use crate::consumer::export::format::{self, Format, Output};
use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};
use kinst_base::source::Origin;

/// The reason why there is nothing to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The text of --help, for standard output.
    Help(String),
    /// A usage error.
    Usage {
        /// The error; empty without arguments.
        message: String,
        /// The usage line, or the whole help without arguments.
        usage: String,
    },
    /// An option that is not supported.
    Refused {
        /// The option with its dashes: `-G`.
        option: String,
        /// The reason.
        why: &'static str,
    },
}

/// Parses the arguments; the first is the command's name.
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
                return Err(bad(format!("-i {value}: expected a probe id; -l lists them")));
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
            Does::OutputFormat => invocation.outputs.push(format::parse(&value).map_err(bad)?),
            Does::Command => invocation.commands.push(value),
            Does::Pid => invocation.pids.push(value),
            Does::Format => invocation.formatted.push(value),
            Does::Disassemble => invocation.disassembled.push(value),
            Does::Path | Does::Into | Does::Calls | Does::Differ | Does::When | Does::Time => {
                of_calls(row.does, value, &mut invocation).map_err(bad)?
            }
            Does::Objects => invocation.objects = true,
            Does::Export => invocation.exported.push(value),
            Does::Import => invocation.imported.push(value),
            Does::MessageFormat => invocation.json = message_format(&value).map_err(bad)?,
            Does::DataModel => data_model(row, &value).map_err(bad)?,
            Does::Help => return Err(Stop::Help(command.render_help().to_string())),
            Does::Refused(why) => return Err(Stop::Refused { option: shown(row), why }),
            does => of_views(does, value, &mut invocation),
        }
    }
    invocation.mode = one_mode(&modes).map_err(|message| Stop::Usage { message, usage: usage.clone() })?;
    combined(&mut invocation).map_err(|message| Stop::Usage { message, usage })?;
    Ok(invocation)
}

/// Returns whether --annotate, --coverage or --path is given; checks the options that depend on them.
fn has_view(given: &Invocation) -> Result<bool, &'static str> {
    let views = [&given.annotated, &given.covered, &given.followed].map(|functions| !functions.is_empty());
    let [annotates, covers, follows] = views;
    let any = views.contains(&true);
    let of_path = !given.into.is_empty() || given.calls.is_some() || given.differ.is_some();
    // Each row: an option is given, its requirement is met, and the message if not.
    let rules = [
        (
            given.time.is_some() || given.dump,
            any,
            "--for and --dump go with --annotate, --coverage or --path",
        ),
        (given.when.is_some(), annotates || follows, "--when goes with --annotate or --path"),
        (given.page.is_some(), annotates || covers, "--html goes with --annotate or --coverage"),
        (given.exact || given.latency, annotates, "--exact and --latency go with --annotate"),
        (given.files != CoverageFiles::default(), covers, "--lcov, --merge and --against go with --coverage"),
        (of_path, follows, "--into, --calls and --differ go with --path"),
        (
            any,
            views.iter().filter(|view| **view).count() == 1 && given.disassembled.is_empty(),
            "--annotate, --coverage, --path and --disas exclude each other",
        ),
        (
            follows,
            given.operands.is_empty(),
            "--path takes one function; --into names functions to follow inside it",
        ),
        (
            given.exact && given.latency,
            false,
            "--exact and --latency exclude each other: more probes would distort the times",
        ),
        (
            given.followed.len() > 1,
            false,
            "--path takes one function; --into names functions to follow inside it",
        ),
        (
            any,
            given.programs.is_empty() && given.outputs.is_empty(),
            "--annotate, --coverage and --path make their own program and output: they take no -n, -s or -O",
        ),
    ];
    let broken = rules.iter().find(|(given, fits, _)| *given && !fits);
    broken.map_or(Ok(any), |(.., message)| Err(message))
}

/// Checks options that are valid only with others.
fn combined(invocation: &mut Invocation) -> Result<(), String> {
    format::in_one_stream(&invocation.outputs)?;
    let lists = invocation.mode == Mode::List || has_view(invocation)? || !invocation.disassembled.is_empty();
    // Without a trace, -O sets the format of the listing.
    let json = |output: &Output| output.format == Format::Json && output.target.is_none();
    if lists && !invocation.outputs.iter().all(json) {
        return Err("with -l or --disas, -O takes only json, which goes to standard output".to_owned());
    }
    invocation.objects |= lists && !invocation.outputs.is_empty();
    if invocation.objects && !lists {
        let of = "-l, --disas, --annotate, --coverage or --path";
        return Err(format!("--json goes with {of}; --message-format=json is for messages"));
    }
    let carries = !invocation.exported.is_empty() || !invocation.imported.is_empty();
    if carries && invocation.mode != Mode::Index {
        return Err("--export and --import go with --index".to_owned());
    }
    // Their programs take no arguments, so operands are further functions.
    let functions = [&mut invocation.annotated, &mut invocation.covered, &mut invocation.disassembled];
    if let Some(functions) = functions.into_iter().find(|functions| !functions.is_empty()) {
        functions.append(&mut invocation.operands);
    }
    Ok(())
}

/// Returns the command line, for parsing, --help, the manual page and shell completion.
pub fn command() -> Command {
    let options = table().map(|(group, row)| {
        let arg = Arg::new(row.long).short(row.short).help(row.help).help_heading(group);
        let arg = if row.long.starts_with('.') { arg.hide(true) } else { arg.long(row.long) };
        if row.value.is_empty() {
            // An option may be given twice.
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
                .help("Arguments of the program: $1, $2 …; with --annotate, --coverage or --disas: further functions")
                .help_heading("Programs")
                .num_args(0..)
                .action(ArgAction::Append),
        )
        .after_help(AFTER_HELP)
}

fn shown(row: &Row) -> String {
    row.short.map_or_else(|| format!("--{}", row.long), |short| format!("-{short}"))
}

/// Returns the given options with their arguments, in the order of the command line.
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

/// Returns the mode: -e goes with any other, but the others exclude each other.
fn one_mode(modes: &[(Mode, String)]) -> Result<Mode, String> {
    let exclusive: Vec<_> = modes.iter().filter(|(mode, _)| *mode != Mode::Compile).collect();
    match exclusive.as_slice() {
        [] => Ok(modes.first().map_or(Mode::Trace, |(mode, _)| *mode)),
        [(mode, _)] => Ok(*mode),
        _ => Err("-l, -V and --index exclude each other".to_owned()),
    }
}

/// Whether the text starts with a number, or with a macro that expands to one.
fn starts_with_id(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '$')
}

/// Parses a time as in the name of a tick probe: `10s`, `500ms`. A number without a unit is in seconds.
fn time(value: &str) -> Result<String, String> {
    let split = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(split);
    let unit = if unit.is_empty() { "s" } else { unit };
    match number.parse::<u32>() {
        Ok(number) if number > 0 && ["us", "ms", "s", "m", "h"].contains(&unit) => {
            Ok(format!("{number}{unit}"))
        }
        _ => Err(format!("--for {value}: expected a time such as 10s, 500ms or 2m")),
    }
}

/// Takes --annotate, --coverage and their options.
fn of_views(does: Does, value: String, invocation: &mut Invocation) {
    match does {
        Does::Annotate => invocation.annotated.push(value),
        Does::Page => invocation.page = Some(value),
        Does::Exact => invocation.exact = true,
        Does::Latency => invocation.latency = true,
        Does::Dump => invocation.dump = true,
        Does::Lcov => invocation.files.lcov = Some(value),
        Does::Merge => invocation.files.merged.push(value),
        Does::Against => invocation.files.against = Some(value),
        _ => invocation.covered.push(value),
    }
}

/// Takes --path, and the options that select calls.
fn of_calls(does: Does, value: String, invocation: &mut Invocation) -> Result<(), String> {
    match does {
        Does::Time => invocation.time = Some(time(&value)?),
        Does::When => invocation.when = Some(predicate("--when '/arg2 > 4096/'", &value)?),
        Does::Into => invocation.into.extend(into(&value)?),
        Does::Calls => invocation.calls = Some(calls(&value)?),
        Does::Differ => invocation.differ = Some(predicate("--differ '/arg1 == -22/'", &value)?),
        _ => invocation.followed.push(value),
    }
    Ok(())
}

/// Parses names separated by commas.
fn into(value: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = value.split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        return Err(format!("--into {value}: expected names of functions: --into path_openat,may_open"));
    }
    Ok(names)
}

fn calls(value: &str) -> Result<u64, String> {
    let number = value.parse().ok().filter(|number| (1..=u64::from(u32::MAX)).contains(number));
    number.ok_or_else(|| format!("--calls {value}: expected a number of calls"))
}

/// Parses a predicate, with or without slashes.
fn predicate(example: &str, value: &str) -> Result<String, String> {
    let text = value.trim();
    let text = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')).unwrap_or(text).trim();
    if text.is_empty() {
        let option = example.split(' ').next().unwrap_or_default();
        Err(format!("{option}: expected a predicate: {example}"))
    } else {
        Ok(text.to_owned())
    }
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

/// Returns clap's message without the usage, which we print ourselves.
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

    fn complaint(arguments: &[&str]) -> String {
        match read(arguments) {
            Err(Stop::Usage { message, .. }) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn further_functions_are_operands() {
        assert_eq!(read(&["--annotate", "f", "g", "h"]).unwrap().annotated, ["f", "g", "h"]);
        assert_eq!(read(&["--disas", "f", "g"]).unwrap().disassembled, ["f", "g"]);
        assert_eq!(read(&["--coverage", "fs/", "mm/"]).unwrap().covered, ["fs/", "mm/"]);
        assert!(complaint(&["--path", "f", "g"]).contains("--path takes one function"));
        assert!(complaint(&["--annotate", "f", "--disas", "g"]).contains("exclude each other"));
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
    }
}

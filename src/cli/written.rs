//! cli/written.rs: runs the programs that --annotate, --coverage and --path generate.

use super::backend::Backend;
use super::compile::{compile, with_given};
use super::config::Config;
use super::console::{Console, Failed};
use super::dtrace_args::{Invocation, Mode, ProgramArg};
use super::output::{AtEnd, reason};
use super::report::Inserted;
use super::subject::Subject;
use crate::analysis::whose::Whose;
use crate::backend;
use crate::options::key;
use crate::pipeline;
use kinst_base::source::{FileId, Origin, Source, Span};

/// Returns the threads that -c or -p select.
pub(super) fn whose(invocation: &Invocation) -> Whose {
    match (&invocation.commands[..], &invocation.pids[..]) {
        ([], []) => Whose::All,
        ([], _) => Whose::Target,
        _ => Whose::Progeny,
    }
}

/// Checks early that a backend can trace, unless the program is only printed or compiled.
pub(super) fn require_backend(config: &Config, subject: &Subject, console: &Console) -> Result<(), Failed> {
    if config.invocation.dump || config.invocation.mode == Mode::Compile {
        return Ok(());
    }
    subject.require_running(console)?;
    match Backend::choose(config, subject, console) {
        Ok(_) => Ok(()),
        Err(error) => console.fail(&error.to_string(), error.help().as_deref()),
    }
}

/// Checks early that programs can be traced, unless the D program is only printed or compiled.
pub(super) fn require_programs(config: &Config, subject: &Subject, console: &Console) -> Result<(), Failed> {
    if config.invocation.dump || config.invocation.mode == Mode::Compile {
        return Ok(());
    }
    let error = match config.options.text(key::BACKEND) {
        Some("module") => Err(backend::Error::from(backend::module::Error::OfPrograms)),
        _ => backend::bpf::check().map_err(backend::Error::from),
    };
    match error {
        Ok(()) => {
            subject.without_module.get_or_init(|| None);
            Ok(())
        }
        Err(error) => console.fail(&error.to_string(), error.help().as_deref()),
    }
}

/// Returns the option values that are D expressions, each as a separate source. A syntax error is reported in the
/// value, not in the generated program.
fn predicates(
    config: &mut Config,
    subject: &Subject,
    console: &Console,
) -> Result<Vec<(FileId, String)>, Failed> {
    let Invocation { when, differ, .. } = &config.invocation;
    let all = [("--when", when.clone()), ("--differ", differ.clone())];
    let mut predicates = Vec::new();
    for (option, text) in all.into_iter().filter_map(|(option, text)| Some((option, text?))) {
        let source = Source { name: option.to_owned(), text: text.clone(), origin: Origin::Predicate };
        let file = config.sources.add(source);
        let read = with_given(config, subject, 0, |given| pipeline::expression(&config.sources, file, given));
        if let Err(diagnostic) = read {
            console.report.diagnostic(&config.sources, &diagnostic, Some(file));
            return Err(Failed);
        }
        predicates.push((file, text));
    }
    Ok(predicates)
}

/// Makes the text the program of the run. Returns the exit status if it was only printed or compiled.
pub(super) fn take(
    config: &mut Config,
    subject: &mut Subject,
    console: &mut Console,
    option: &str,
    text: String,
) -> Result<Option<u8>, Failed> {
    let predicates = predicates(config, subject, console)?;
    if config.invocation.dump {
        return Ok(Some(console.report.print(&text)));
    }
    // Messages name the program after the option.
    let name = option.to_owned();
    config.invocation.programs = vec![ProgramArg { origin: Origin::Script, text: name.clone() }];
    let program = config.sources.add(Source { text: text.clone(), name, origin: Origin::Script });
    config.files = vec![program];
    for (file, predicate) in predicates {
        let places =
            text.match_indices(&*predicate).map(|(at, _)| Span::new(program, at, at + predicate.len()));
        config.inserted.extend(places.map(|place| Inserted { place, file }));
    }
    if config.invocation.mode == Mode::Compile {
        return compile(config, subject, console, 0).map(|_| Some(0));
    }
    Ok(None)
}

/// Opens a file that is written when the trace has ended.
pub(super) fn open(console: &Console, path: Option<&String>) -> Result<Option<AtEnd>, Failed> {
    let open = |path: &String| {
        AtEnd::open(path)
            .or_else(|error| console.fail(&format!("failed to open {path}: {}", reason(&error)), None))
    };
    path.map(open).transpose()
}

/// Writes a file that was opened before the trace.
pub(super) fn put(console: &Console, file: &mut AtEnd, text: &str) -> Result<(), Failed> {
    let name = file.name().to_owned();
    file.write(text)
        .or_else(|error| console.fail(&format!("failed to write {name}: {}", reason(&error)), None))
}

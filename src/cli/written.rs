//! cli/written.rs: programs that an option writes in the place of the user: --annotate, --coverage and --path.

use super::backend::Backend;
use super::dtrace_args::{Invocation, Mode, ProgramArg};
use super::output::{AtEnd, reason};
use super::report::Inserted;
use super::run::{Failed, Run};
use crate::analysis::whose::Whose;
use crate::pipeline;
use crate::source::{FileId, Origin, Source, Span};

/// The threads that the command line means.
pub fn whose(invocation: &Invocation) -> Whose {
    match (&invocation.commands[..], &invocation.pids[..]) {
        ([], []) => Whose::All,
        ([], _) => Whose::Target,
        _ => Whose::Progeny,
    }
}

/// Reports at once what hinders the trace, if there is to be one.
pub fn require_backend(run: &Run) -> Result<(), Failed> {
    if run.invocation.dump || run.invocation.mode == Mode::Compile {
        return Ok(());
    }
    run.require_running()?;
    match Backend::choose(run) {
        Ok(_) => Ok(()),
        Err(error) => run.fail_as(&error.to_string(), error.help().as_deref()),
    }
}

/// The values of options that are D, each a text of its own. One that is no expression is reported as it was written.
fn predicates(run: &mut Run) -> Result<Vec<(FileId, String)>, Failed> {
    let Invocation { when, differ, .. } = &run.invocation;
    let all = [("--when", when.clone()), ("--differ", differ.clone())];
    let mut predicates = Vec::new();
    for (option, text) in all.into_iter().filter_map(|(option, text)| Some((option, text?))) {
        let source = Source { name: option.to_owned(), text: text.clone(), origin: Origin::Predicate };
        let file = run.sources.add(source);
        let read = run.with_given(0, |given| pipeline::expression(&run.sources, file, given));
        if let Err(diagnostic) = read {
            run.report.diagnostic(&run.sources, &diagnostic, Some(file));
            return Err(Failed);
        }
        predicates.push((file, text));
    }
    Ok(predicates)
}

/// Makes the text the program of the run. Returns the status if it was only to be printed or compiled.
pub fn take(run: &mut Run, option: &str, text: String) -> Result<Option<u8>, Failed> {
    let predicates = predicates(run)?;
    if run.invocation.dump {
        return Ok(Some(run.report.print(&text)));
    }
    // Its name is that of the option, in the messages about the program.
    let name = option.to_owned();
    run.invocation.programs = vec![ProgramArg { origin: Origin::Script, text: name.clone() }];
    let program = run.sources.add(Source { text: text.clone(), name, origin: Origin::Script });
    run.files = vec![program];
    for (file, predicate) in predicates {
        let places =
            text.match_indices(&*predicate).map(|(at, _)| Span::new(program, at, at + predicate.len()));
        run.inserted.extend(places.map(|place| Inserted { place, file }));
    }
    if run.invocation.mode == Mode::Compile {
        return run.compile(0).map(|_| Some(0));
    }
    Ok(None)
}

/// Opens a file that is written when the trace has ended.
pub fn open(run: &Run, path: Option<&String>) -> Result<Option<AtEnd>, Failed> {
    let open = |path: &String| {
        AtEnd::open(path)
            .or_else(|error| run.fail_as(&format!("failed to open {path}: {}", reason(&error)), None))
    };
    path.map(open).transpose()
}

/// Writes a file that was opened before the trace.
pub fn put(run: &Run, file: &mut AtEnd, text: &str) -> Result<(), Failed> {
    let name = file.name().to_owned();
    file.write(text)
        .or_else(|error| run.fail_as(&format!("failed to write {name}: {}", reason(&error)), None))
}

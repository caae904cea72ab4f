//! cli/complete/candidates.rs: candidates that need no kernel: options of -x, processes, words.

use crate::consumer::export::format::{FORMATS, Format};
use crate::options::{self, Kind};
use clap_complete::CompletionCandidate;
use clap_complete::engine::{PathCompleter, ValueCompleter as _};
use std::ffi::OsStr;

/// Completes -x: option names, with `=` if the option takes a value, and the values of a choice.
pub(super) fn settings(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let mut all: Vec<(String, &str)> = Vec::new();
    for (_, spec, does) in options::described() {
        match spec.kind {
            Kind::Flag => all.push((spec.name.to_owned(), does)),
            Kind::Choice(choices) if current.starts_with(&format!("{}=", spec.name)) => {
                all.extend(choices.iter().map(|choice| (format!("{}={choice}", spec.name), does)));
            }
            _ => all.push((format!("{}=", spec.name), does)),
        }
    }
    all.push(("help".to_owned(), "list the options"));
    all.retain(|(text, _)| text.starts_with(current));
    all.into_iter().map(|(text, does)| CompletionCandidate::new(text).help(Some(does.into()))).collect()
}

/// Completes -O: output formats, with `=` if the format can go to a file, then files.
pub(super) fn output_formats(current: &OsStr) -> Vec<CompletionCandidate> {
    if let Some((format, file)) = current.to_str().and_then(|current| current.split_once('=')) {
        let files = PathCompleter::file().complete(OsStr::new(file));
        return files.into_iter().map(|file| file.add_prefix(format!("{format}="))).collect();
    }
    let mut all: Vec<String> = Vec::new();
    for (name, format, needs_target) in FORMATS {
        all.extend((!needs_target).then(|| (*name).to_owned()));
        all.extend((*format != Format::Text).then(|| format!("{name}=")));
        all.extend((*format == Format::Otlp).then(|| format!("{name}=http://localhost:4318")));
    }
    let current = current.to_str().unwrap_or_default();
    all.into_iter().filter(|text| text.starts_with(current)).map(CompletionCandidate::new).collect()
}

/// Completes --message-format.
pub(super) fn message_formats(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    ["text", "json"]
        .into_iter()
        .filter(|word| word.starts_with(current))
        .map(CompletionCandidate::new)
        .collect()
}

/// Completes -p: the running processes, with their names.
pub(super) fn processes(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let mut pids: Vec<u32> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| pid.to_string().starts_with(current))
        .collect();
    pids.sort_unstable();
    let name = |pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    pids.into_iter()
        .map(|pid| {
            CompletionCandidate::new(pid.to_string()).help(Some(name(pid).trim_end().to_owned().into()))
        })
        .collect()
}

//! consumer/export/format.rs: the argument of -O: an output format, and its destination.

use super::destination::Destination;
use super::exporter::Export;
use super::exports::Exports;
use super::flame::Flame;
use super::folded::Folded;
use super::json::Json;
use super::labels;
use super::metrics::Metrics;
use super::otlp::collector::{self, Address, Collector};
use super::otlp::{Envelope, Otlp, Receiver};
use super::perfetto::Perfetto;
use super::pprof::Pprof;
use super::prom::Prom;
use super::{destination, profile};
use crate::options::{Options, key};
use kinst_dif::enabled::Enabled;
use kinst_dif::{Program, StatementKind};

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text, as DTrace prints it.
    Text,
    /// One JSON object a line.
    Json,
    /// One stack a line, for programs that draw flame graphs.
    Folded,
    /// A gzipped `profile.proto`.
    Pprof,
    /// A flame graph as one HTML file.
    Flame,
    /// A trace of threads for Perfetto.
    Perfetto,
    /// Prometheus' text format, for node_exporter's textfile collector.
    Prom,
    /// OTLP/JSON, in a file or for OpenTelemetry's collector.
    Otlp,
}

/// The argument of one -O: `json`, `json=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The format, before `=`.
    pub format: Format,
    /// A file or URL; `None` for the destination of text.
    pub target: Option<String>,
}

/// The name of each format, the format, and whether it needs a target.
pub const FORMATS: &[(&str, Format, bool)] = &[
    ("text", Format::Text, false),
    ("json", Format::Json, false),
    ("folded", Format::Folded, false),
    ("pprof", Format::Pprof, true),
    ("flame", Format::Flame, true),
    ("perfetto", Format::Perfetto, true),
    ("prom", Format::Prom, true),
    ("otlp", Format::Otlp, true),
];

/// Returns the name of a format as an argument of -O: `json`.
pub fn name(format: Format) -> &'static str {
    FORMATS.iter().find(|(_, known, _)| *known == format).map_or("", |(name, ..)| name)
}

/// The reason why an output cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error(transparent)]
    Destination(#[from] destination::Error),
    /// A setting of `promlabels` does not match the program.
    #[error(transparent)]
    Labels(#[from] labels::Error),
    /// No aggregation can be a metric, for this format: `prom`, `otlp`.
    #[error("-O {0}: the program has no aggregation that can be a metric")]
    NoMetrics(&'static str),
    /// The URL of a collector, and the reason why nothing can be sent to it.
    #[error("-O otlp={0}: {1}")]
    Url(String, String),
}

/// Parses the argument of -O. Returns an error message.
pub fn parse(argument: &str) -> Result<Output, String> {
    let (name, target) = argument.split_once('=').map_or((argument, None), |(name, to)| (name, Some(to)));
    let Some((_, format, needs_target)) = FORMATS.iter().find(|(known, ..)| *known == name) else {
        let names: Vec<&str> = FORMATS.iter().map(|(name, ..)| *name).collect();
        return Err(format!(
            "-O {argument}: unknown output format '{name}'; known formats: {}",
            names.join(", ")
        ));
    };
    match target {
        Some("") => Err(format!("-O {argument}: expected a file name after '='")),
        Some(_) if *format == Format::Text => Err("-O text takes no file; name it with -o".to_owned()),
        Some(url) if is_url(url) => match format {
            Format::Otlp => match Address::new(url) {
                Ok(_) => Ok(Output { format: *format, target: Some(url.to_owned()) }),
                Err(why) => Err(format!("-O {argument}: {why}")),
            },
            _ => Err(format!("-O {argument}: only otlp can be sent to a URL")),
        },
        Some(host) if *format == Format::Otlp && is_address(host) => Err(format!(
            "-O {argument}: a collector's URL begins with http://: -O otlp=http://{host}; \
             for a file of this name: otlp=./{host}"
        )),
        None if *format == Format::Otlp => {
            Err("-O otlp: expected a file or the URL of a collector: -O otlp=FILE, -O otlp=http://HOST:4318"
                .to_owned())
        }
        None if *needs_target => Err(format!("-O {name}: expected a file: -O {name}=FILE")),
        _ => Ok(Output { format: *format, target: target.map(str::to_owned) }),
    }
}

/// Fails if two formats would share one stream, where no reader could parse either.
pub fn in_one_stream(outputs: &[Output]) -> Result<(), String> {
    let mut together = outputs.iter().filter(|output| output.target.is_none()).map(|output| output.format);
    let Some((first, second)) =
        together.next().and_then(|first| Some((first, together.find(|other| *other != first)?)))
    else {
        return Ok(());
    };
    let file = if second == Format::Text { first } else { second };
    let [first, second, file] = [first, second, file].map(name);
    Err(format!(
        "-O {first} and -O {second} would be mixed in one stream: give one a file, such as -O {file}=FILE"
    ))
}

/// Opens the outputs. Text is included if it is named or if no format is.
pub fn open(
    outputs: &[Output],
    program: &Program,
    enabled: &Enabled,
    options: &Options,
) -> Result<Exports, Error> {
    let text = outputs.is_empty() || outputs.iter().any(|output| output.format == Format::Text);
    let mut exports = Exports { text, ..Exports::default() };
    for output in outputs {
        let export: Box<dyn Export> = match (output.format, &output.target) {
            (Format::Text, _) => continue,
            (Format::Json, _) => Box::new(Json::new()),
            (Format::Folded, _) => Box::new(Folded),
            (Format::Pprof, _) => Box::new(Pprof::new(program, enabled)),
            (Format::Flame, _) => Box::new(Flame::default()),
            (Format::Perfetto, _) => Box::new(Perfetto::new(enabled)),
            (Format::Prom, target) => {
                let metrics = Metrics::new("prom", program, options, kinst_os::time_of_day())?;
                if metrics.is_empty() {
                    return Err(Error::NoMetrics("prom"));
                }
                Box::new(Prom::new(metrics, target.as_deref().unwrap_or_default()))
            }
            (Format::Otlp, target) => {
                let metrics = Metrics::new("otlp", program, options, kinst_os::time_of_day())?;
                let receiver = receiver(target.as_deref().unwrap_or_default(), options)?;
                Box::new(Otlp::new(metrics, receiver))
            }
        };
        let destination = match (output.format, &output.target) {
            (_, None) => Destination::Main,
            (Format::Prom, Some(path)) => Destination::replace(path)?,
            (Format::Otlp, Some(url)) if is_url(url) => Destination::Closed,
            (Format::Folded | Format::Pprof | Format::Flame | Format::Perfetto, Some(path)) => {
                Destination::create(path)?
            }
            (_, Some(path)) => Destination::append(path)?,
        };
        exports.add(export, destination);
    }
    Ok(exports)
}

fn is_url(target: &str) -> bool {
    target.contains("://")
}

/// Whether the target is a host with a port, like a URL without its scheme: `localhost:4318`, `[::1]:4318/v1`.
fn is_address(target: &str) -> bool {
    let authority = target.split('/').next().unwrap_or_default();
    let port = authority.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    port.is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn receiver(target: &str, options: &Options) -> Result<Receiver, Error> {
    if !is_url(target) {
        return Ok(Receiver::Lines);
    }
    let wrong = |why: String| Error::Url(target.to_owned(), why);
    let address = Address::new(target).map_err(wrong)?;
    let bound = usize::try_from(options.number(key::OTLPQUEUE)).unwrap_or(usize::MAX);
    let started = Collector::start(address, bound, Envelope::of_this_machine(), collector::Times::default());
    started.map(Receiver::Collector).map_err(|error| wrong(kinst_os::io_text(&error)))
}

/// Whether a format needs the thread of each record.
pub fn draws_threads(outputs: &[Output]) -> bool {
    outputs.iter().any(|output| output.format == Format::Perfetto)
}

/// Returns warnings, before the trace, about parts of the program that the output formats leave out.
pub fn unsuited(outputs: &[Output], program: &Program) -> Vec<String> {
    let names = FORMATS.iter().filter(|(_, format, _)| {
        let profile = matches!(format, Format::Folded | Format::Pprof | Format::Flame);
        profile && outputs.iter().any(|output| output.format == *format)
    });
    let names: Vec<&str> = names.map(|(name, ..)| *name).collect();
    let profiles =
        (!names.is_empty()).then(|| profile::left_out(&format!("-O {}", names.join(", -O ")), program));
    let metrics = outputs.iter().find(|output| matches!(output.format, Format::Prom | Format::Otlp));
    let metrics = metrics.and_then(|output| for_the_eye(name(output.format), program));
    profiles.flatten().into_iter().chain(metrics).collect()
}

/// Returns a remark on statements that change only the printed text, not the metrics.
fn for_the_eye(what: &str, program: &Program) -> Option<String> {
    let statements = || program.clauses.iter().flat_map(|clause| &clause.statements).map(|one| &one.kind);
    let clears = statements().any(|kind| matches!(kind, StatementKind::Clear(_)));
    let truncates = statements().any(|kind| matches!(kind, StatementKind::Trunc { .. }));
    let divides = statements().any(|kind| matches!(kind, StatementKind::Normalize(_)));
    let again = match (clears, truncates) {
        (true, true) => Some("clear() and trunc()"),
        (true, false) => Some("clear()"),
        (false, true) => Some("trunc()"),
        (false, false) => None,
    };
    let again =
        again.map(|by| format!("{by} restarts series from 0, and values since the last reading are lost"));
    let divided = divides.then(|| "normalize() has no effect".to_owned());
    let all: Vec<String> = again.into_iter().chain(divided).collect();
    (!all.is_empty()).then(|| format!("-O {what}: {}", all.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        assert_eq!(parse("json"), Ok(Output { format: Format::Json, target: None }));
        assert_eq!(parse("json=a=b"), Ok(Output { format: Format::Json, target: Some("a=b".into()) }));
        assert!(parse("otlp=http://localhost:4318").is_ok() && parse("otlp=file").is_ok());
        assert!(parse("otlp=./localhost:4318").is_ok() && parse("otlp=/var/log/a:b").is_ok());
        for (wrong, message) in [
            ("yaml", "unknown output format"),
            ("json=", "a file name"),
            ("text=x", "-o"),
            ("prom", "expected a file"),
            ("prom=http://localhost", "only otlp can be sent to a URL"),
            ("otlp", "expected a file or the URL of a collector: -O otlp=FILE, -O otlp=http://HOST:4318"),
            (
                "otlp=localhost:4318",
                "begins with http://: -O otlp=http://localhost:4318; for a file of this name: otlp=./localhost:4318",
            ),
            ("otlp=[::1]:4318/v1/metrics", "begins with http://"),
            ("otlp=https://localhost", "TLS is not supported"),
            ("otlp=grpc://localhost", "expected a URL with http://"),
            ("otlp=http://", "not a URL"),
            ("otlp=http://:4318", "expected a host"),
            ("otlp=http://user@localhost", "without a user"),
            ("otlp=http://localhost:4318/v1/logs", "which are added"),
            ("otlp=http://localhost:4318?x=y", "has a query"),
            ("flame", "flame=FILE"),
        ] {
            assert!(parse(wrong).is_err_and(|error| error.contains(message)), "{wrong}");
        }
    }

    #[test]
    fn two_forms_do_not_share_a_stream() {
        let all = |arguments: &[&str]| arguments.iter().map(|one| parse(one).unwrap()).collect::<Vec<_>>();
        assert_eq!(
            in_one_stream(&all(&["json", "text"])).unwrap_err(),
            "-O json and -O text would be mixed in one stream: give one a file, such as -O json=FILE"
        );
        assert!(in_one_stream(&all(&["json", "folded"])).unwrap_err().contains("-O folded=FILE"));
        assert!(in_one_stream(&all(&["text", "json=f", "folded=g", "text"])).is_ok());
    }
}

//! diag/render.rs: a diagnostic as text for people and as JSON for tools; by way of codespan-reporting.

use std::ops::Range;

use codespan_reporting::diagnostic as codespan;
use codespan_reporting::files::{self, Files};
use codespan_reporting::term;
use serde::Serialize;

use super::color::{Painted, paint, title_style};
use super::{Diagnostic, Label, Severity};
use crate::source::{FileId, Origin, Sources, Span};

/// How to render.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// The start of every message: `dtrace`.
    pub program: &'a str,
    pub color: bool,
    /// -xerrtags
    pub errtags: bool,
    /// The compiled text, for diagnostics without a place.
    pub subject: Option<FileId>,
}

/// The longest line in bytes that is shown whole; of a longer one only the part around the place is shown.
const LONGEST_LINE: usize = 400;

/// The number of bytes shown before and after the place on such a line.
const AROUND: usize = 60;

/// The most characters of an argument, and of a title that quotes the program, in the first line.
const LONGEST_QUOTE: usize = 240;

/// Renders the first line as in dtrace(1), then the place in the text, then notes and help. Ends with a newline.
pub fn text(sources: &Sources, diagnostic: &Diagnostic, style: &Style<'_>) -> String {
    let mut out = first_line(sources, diagnostic, style);
    out.push('\n');
    match snippet(sources, diagnostic, style) {
        Some(snippet) => out.push_str(&snippet),
        None => remarks(diagnostic).for_each(|remark| out.push_str(&format!("  = {remark}\n"))),
    }
    out
}

/// Renders one JSON object, without a newline.
pub fn json(sources: &Sources, diagnostic: &Diagnostic, style: &Style<'_>) -> String {
    let plain = Style { color: false, ..*style };
    let object = JsonDiagnostic {
        tag: diagnostic.tag.0,
        severity: severity_word(diagnostic.severity),
        title: &diagnostic.title,
        labels: diagnostic.labels.iter().map(|label| json_label(sources, label)).collect(),
        notes: &diagnostic.notes,
        help: &diagnostic.help,
        rendered: text(sources, diagnostic, &plain),
    };
    // Only strings and numbers: serde_json cannot fail on them.
    serde_json::to_string(&object).unwrap_or_default()
}

#[derive(Serialize)]
struct JsonDiagnostic<'a> {
    tag: &'a str,
    severity: &'a str,
    title: &'a str,
    labels: Vec<JsonLabel<'a>>,
    notes: &'a [String],
    help: &'a [String],
    rendered: String,
}

#[derive(Serialize)]
struct JsonLabel<'a> {
    file: String,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    /// The offset in bytes in the compiled text.
    start: u32,
    end: u32,
    primary: bool,
    text: &'a str,
}

fn json_label<'a>(sources: &Sources, label: &'a Label) -> JsonLabel<'a> {
    let source = sources.get(label.span.file);
    let (from, to) = (source.place(label.span.start as usize), source.place(label.span.end as usize));
    JsonLabel {
        file: from.file.unwrap_or_else(|| short_name(sources, label.span.file)),
        line: from.line,
        column: from.column,
        end_line: to.line,
        end_column: to.column,
        start: label.span.start,
        end: label.span.end,
        primary: label.primary,
        text: &label.text,
    }
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn first_line(sources: &Sources, diagnostic: &Diagnostic, style: &Style<'_>) -> String {
    let primary = primary(diagnostic);
    let file = primary.map(|span| span.file).or(style.subject);
    let tag = if style.errtags { format!("[{}] ", diagnostic.tag.0) } else { String::new() };
    let mut line = String::new();
    let severity = match diagnostic.severity {
        Severity::Error => "",
        Severity::Warning => "warning: ",
    };
    let subject = file.map(|file| sources.get(file));
    let is_error = diagnostic.severity == Severity::Error;
    match subject {
        Some(source) if source.origin.is_file() => {
            let what = if source.origin == Origin::Library { "library" } else { "script" };
            if is_error {
                line.push_str(&format!("failed to compile {what} {}: ", source.name));
            } else {
                line.push_str(&format!("{}: ", source.name));
            }
            line.push_str(&tag);
            if let Some(span) = primary {
                let place = source.place(span.start as usize);
                let library = (source.origin == Origin::Library).then(|| source.name.clone());
                match place.file.filter(|name| *name != source.name).or(library) {
                    Some(name) => line.push_str(&format!("\"{name}\", line {}: ", place.line)),
                    None => line.push_str(&format!("line {}: ", place.line)),
                }
            }
        }
        Some(source) if is_error => {
            line.push_str(&format!("invalid probe specifier {}: {tag}", shorten(&source.name)));
        }
        _ => line.push_str(&tag),
    }
    let title = paint(&shorten(&diagnostic.title), title_style(diagnostic.severity), style.color);
    format!("{}: {severity}{line}{title}", style.program)
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn primary(diagnostic: &Diagnostic) -> Option<Span> {
    diagnostic.labels.iter().find(|label| label.primary).map(|label| label.span)
}

fn remarks(diagnostic: &Diagnostic) -> impl Iterator<Item = String> {
    let notes = diagnostic.notes.iter().map(|note| format!("note: {note}"));
    notes.chain(diagnostic.help.iter().map(|help| format!("help: {help}")))
}

/// Renders the text around the labels, with notes and help; `None` if there is no place to show.
fn snippet(sources: &Sources, diagnostic: &Diagnostic, style: &Style<'_>) -> Option<String> {
    let at = primary(diagnostic)?;
    let texts = Texts::new(sources, at, diagnostic.labels.iter().map(|label| label.span.file));
    let shown_label = |label: &Label| {
        let range = texts.range(label.span)?;
        let kind =
            if label.primary { codespan::LabelStyle::Primary } else { codespan::LabelStyle::Secondary };
        Some(codespan::Label::new(kind, label.span.file.0 as usize, range).with_message(&label.text))
    };
    let labels: Vec<codespan::Label<usize>> = diagnostic.labels.iter().filter_map(shown_label).collect();
    let severity = match diagnostic.severity {
        Severity::Error => codespan::Severity::Error,
        Severity::Warning => codespan::Severity::Warning,
    };
    let shown =
        codespan::Diagnostic::new(severity).with_labels(labels).with_notes(remarks(diagnostic).collect());
    let mut out = Painted::new(style.color);
    term::emit_to_write_style(&mut out, &term::Config::default(), &texts, &shown).ok()?;
    let all = out.into_string();
    // We write the header: the first line already contains the title.
    let (_, snippet) = all.split_once('\n')?;
    let lines: Vec<&str> = snippet.trim_end_matches('\n').lines().map(str::trim_end).collect();
    Some(format!("{}\n", lines.join("\n")))
}

/// Returns the name to show: `-n` for an argument, as the whole argument would not fit beside a line number.
fn short_name(sources: &Sources, file: FileId) -> String {
    let source = sources.get(file);
    match source.origin {
        Origin::Script | Origin::Library => source.name.clone(),
        Origin::Provider => "-P".to_owned(),
        Origin::Module => "-m".to_owned(),
        Origin::Function => "-f".to_owned(),
        Origin::Name => "-n".to_owned(),
        Origin::Id => "-i".to_owned(),
    }
}

/// The sources in codespan's terms: line markers count, and control characters do not reach the terminal.
struct Texts<'a> {
    sources: &'a Sources,
    /// The place of the error, which decides the file name shown for the whole text.
    at: Span,
    texts: Vec<Text>,
}

/// One source, or the part of it around the place if its line is very long.
struct Text {
    file: FileId,
    text: String,
    /// The offset of `text` in the source.
    from: usize,
    line_starts: Vec<usize>,
}

impl<'a> Texts<'a> {
    fn new(sources: &'a Sources, at: Span, labelled: impl Iterator<Item = FileId>) -> Texts<'a> {
        let mut texts: Vec<Text> = Vec::new();
        for file in labelled {
            if texts.iter().all(|known| known.file != file) {
                texts.push(Text::new(sources, file, at));
            }
        }
        Texts { sources, at, texts }
    }

    fn find(&self, id: usize) -> Result<&Text, files::Error> {
        self.texts.iter().find(|text| text.file.0 as usize == id).ok_or(files::Error::FileMissing)
    }

    /// Returns the part of the span on its first line, if it is shown.
    fn range(&self, span: Span) -> Option<Range<usize>> {
        let text = self.find(span.file.0 as usize).ok()?;
        let start = (span.start as usize).checked_sub(text.from)?;
        let end = (span.end as usize).saturating_sub(text.from);
        if start > text.text.len() {
            return None;
        }
        let (start, end) = (floor(&text.text, start), floor(&text.text, end));
        let line_end = text.text[start..].find('\n').map_or(text.text.len(), |newline| start + newline);
        Some(start..end.min(line_end).max(start))
    }
}

impl Text {
    fn new(sources: &Sources, file: FileId, at: Span) -> Text {
        let whole = &sources.get(file).text;
        let place = floor(whole, if file == at.file { at.start as usize } else { 0 });
        let line_start = whole[..place].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = whole[place..].find('\n').map_or(whole.len(), |newline| place + newline);
        let (from, to) = match line_end - line_start > LONGEST_LINE {
            true => {
                let from = floor(whole, place.saturating_sub(AROUND).max(line_start));
                (from, floor(whole, (place + AROUND).min(line_end)))
            }
            false => (0, whole.len()),
        };
        let clean = |c: char| if c.is_ascii_control() && c != '\n' && c != '\t' { ' ' } else { c };
        let text: String = whole[from..to].chars().map(clean).collect();
        let line_starts = files::line_starts(&text).collect();
        Text { file, text, from, line_starts }
    }
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

impl<'a> Files<'a> for Texts<'_> {
    type FileId = usize;
    type Name = String;
    type Source = &'a str;

    fn name(&'a self, id: usize) -> Result<String, files::Error> {
        let file = self.find(id)?.file;
        let marked = self.sources.get(file).place(self.at.start as usize).file;
        Ok(marked.unwrap_or_else(|| short_name(self.sources, file)))
    }

    fn source(&'a self, id: usize) -> Result<&'a str, files::Error> {
        Ok(&self.find(id)?.text)
    }

    fn line_index(&'a self, id: usize, byte: usize) -> Result<usize, files::Error> {
        Ok(self.find(id)?.line_starts.partition_point(|&start| start <= byte).saturating_sub(1))
    }

    fn line_number(&'a self, id: usize, line: usize) -> Result<usize, files::Error> {
        let text = self.find(id)?;
        let start = text.line_starts.get(line).copied().unwrap_or_default();
        // codespan counts the digits, and would find none in 0.
        Ok(self.sources.get(text.file).place(text.from + start).line.max(1))
    }

    fn column_number(&'a self, id: usize, _: usize, byte: usize) -> Result<usize, files::Error> {
        let text = self.find(id)?;
        Ok(self.sources.get(text.file).place(text.from + byte).column)
    }

    fn line_range(&'a self, id: usize, line: usize) -> Result<Range<usize>, files::Error> {
        let text = self.find(id)?;
        let start = text.line_starts.get(line).copied().unwrap_or(text.text.len());
        Ok(start..text.line_starts.get(line + 1).copied().unwrap_or(text.text.len()))
    }
}

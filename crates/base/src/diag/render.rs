//! base/diag/render.rs: renders a diagnostic as text for people and as JSON for tools, with codespan-reporting.

use std::ops::Range;

use codespan_reporting::diagnostic as codespan;
use codespan_reporting::files::{self, Files};
use codespan_reporting::term;
use serde::Serialize;

use super::color::{Painted, paint, title_style};
use super::diagnostic::{Diagnostic, Label, Severity};
use super::tags;
use crate::source::{FileId, Origin, Sources, Span};

/// How a diagnostic is rendered.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// The start of every message: `dtrace`.
    pub program: &'a str,
    /// Whether escape sequences color the text.
    pub color: bool,
    /// Whether the tag is shown (-xerrtags).
    pub errtags: bool,
    /// The compiled text, for diagnostics without a place.
    pub subject: Option<FileId>,
    /// Columns of the terminal; `None` if the output is not a terminal.
    pub width: Option<usize>,
}

/// The longest line that is shown whole without a terminal. Of a longer line only the part around the place
/// is shown.
const LONGEST_LINE: usize = 400;

/// The length of that part.
const PART: usize = 120;

/// The fewest columns that the program's text gets on a narrow terminal.
const LEAST: usize = 24;

/// The maximum characters of an argument, and of a title that quotes the program, in the first line.
const LONGEST_QUOTE: usize = 240;

/// Marks omitted text.
const CUT: &str = "…";

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
    let plain = Style { color: false, width: None, ..*style };
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
    // A program that the kernel refuses did compile.
    let subject = file.filter(|_| diagnostic.tag != tags::ENABLE).map(|file| sources.get(file));
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
        Some(source) if is_error && source.origin == Origin::Predicate => {
            line.push_str(&format!("invalid predicate of {}: {tag}", source.name));
        }
        Some(source) if is_error => {
            let rest = style.program.len() + ": invalid probe specifier : ".len() + tag.len();
            let rest = rest + diagnostic.title.chars().count();
            let most = style.width.map_or(LONGEST_QUOTE, |width| width.saturating_sub(rest).max(LEAST));
            let described = descriptions(&source.name);
            let cut = if described == source.name.trim() { String::new() } else { format!(" {CUT}") };
            let shown = shorten(&format!("{described}{cut}"), most);
            line.push_str(&format!("invalid probe specifier {shown}: {tag}"));
        }
        _ => line.push_str(&tag),
    }
    let title =
        paint(&shorten(&diagnostic.title, LONGEST_QUOTE), title_style(diagnostic.severity), style.color);
    format!("{}: {severity}{line}{title}", style.program)
}

/// Returns a program's first probe descriptions, up to their predicate or body; the whole program if it
/// starts with something else.
fn descriptions(program: &str) -> &str {
    let program = program.trim();
    match program[..end_of_descriptions(program)].trim_end() {
        "" => program,
        descriptions => descriptions,
    }
}

/// Returns the position of the predicate or body after a program's first probe descriptions.
pub fn end_of_descriptions(program: &str) -> usize {
    let is_blank = |c: char| c == '{' || c == ',' || c.is_whitespace();
    // A line description may contain the folder of its file: `f:linux/file.h@12`.
    let in_path = |rest: &str| rest.split(is_blank).next().is_some_and(|word| word.contains('@'));
    // The second field may be the path of a program: `uprobe:/usr/bin/x:main:entry`.
    let in_field = |before: &str| {
        let word = before.rsplit(is_blank).next().unwrap_or_default();
        let field = word.split_once(':').filter(|(provider, _)| !provider.is_empty()).map(|(_, field)| field);
        field.is_some_and(|field| !field.contains(':') && (field.is_empty() || field.starts_with('/')))
    };
    let ends = |(at, c): &(usize, char)| match c {
        '{' | ';' | '\n' => true,
        '/' => !in_path(&program[*at..]) && !in_field(&program[..*at]),
        _ => false,
    };
    program.char_indices().find(ends).map_or(program.len(), |(at, _)| at)
}

/// Cuts text to a number of characters, including the mark.
fn shorten(text: &str, most: usize) -> String {
    let end = text.char_indices().nth(most.saturating_sub(1)).map(|(end, _)| end);
    match end.filter(|_| text.chars().count() > most) {
        Some(end) => format!("{}{CUT}", &text[..end]),
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

/// Renders the text around the labels, with notes and help; `None` without a place to show.
fn snippet(sources: &Sources, diagnostic: &Diagnostic, style: &Style<'_>) -> Option<String> {
    let at = primary(diagnostic)?;
    let texts = Texts::new(sources, diagnostic, at, style.width);
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
    // The first line already contains the title, so codespan's header is dropped.
    let (_, snippet) = all.split_once('\n')?;
    let lines: Vec<&str> = snippet.trim_end_matches('\n').lines().map(str::trim_end).collect();
    Some(format!("{}\n", lines.join("\n")))
}

/// Returns the name to show: `-n` for an argument, because a whole argument would not fit beside a line
/// number.
fn short_name(sources: &Sources, file: FileId) -> String {
    let source = sources.get(file);
    match source.origin {
        Origin::Script | Origin::Library | Origin::Predicate => source.name.clone(),
        Origin::Provider => "-P".to_owned(),
        Origin::Module => "-m".to_owned(),
        Origin::Function => "-f".to_owned(),
        Origin::Name => "-n".to_owned(),
        Origin::Id => "-i".to_owned(),
    }
}

/// The sources as codespan sees them: line markers count, and control characters do not reach the terminal.
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
    /// Offset in the source of the text after the mark.
    from: usize,
    /// Length of the mark at the start, if any.
    mark: usize,
    line_starts: Vec<usize>,
}

impl<'a> Texts<'a> {
    fn new(sources: &'a Sources, diagnostic: &Diagnostic, at: Span, width: Option<usize>) -> Texts<'a> {
        let mut texts: Vec<Text> = Vec::new();
        for Label { span, text, .. } in &diagnostic.labels {
            if texts.iter().all(|known| known.file != span.file) {
                let message = if *span == at { text.chars().count() } else { 0 };
                texts.push(Text::new(sources, span.file, at, message, width));
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
        let start = (span.start as usize).checked_sub(text.from)? + text.mark;
        let end = (span.end as usize).saturating_sub(text.from) + text.mark;
        if start > text.text.len() {
            return None;
        }
        let (start, end) = (floor(&text.text, start), floor(&text.text, end));
        let line_end = text.text[start..].find('\n').map_or(text.text.len(), |newline| start + newline);
        Some(start..end.min(line_end).max(start))
    }
}

impl Text {
    /// `message` is the length of the text after the carets, which needs space too.
    fn new(sources: &Sources, file: FileId, at: Span, message: usize, width: Option<usize>) -> Text {
        let source = sources.get(file);
        let whole = &source.text;
        let (start, end) = if file == at.file { (at.start as usize, at.end as usize) } else { (0, 0) };
        let place = floor(whole, start);
        let line_start = whole[..place].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = whole[place..].find('\n').map_or(whole.len(), |newline| place + newline);
        // The line number, and the bar after it.
        let gutter = source.place(place).line.to_string().len() + 3;
        let most = width.map_or(LONGEST_LINE, |width| width.saturating_sub(gutter).max(LEAST));
        let line = &whole[line_start..line_end];
        let (from, to) = match line.chars().count() > most {
            true => {
                let room = width.map_or(PART, |_| most) - 2;
                let place = place - line_start..floor(whole, end).clamp(place, line_end) - line_start;
                let part = around(line, place, message, room);
                (line_start + part.start, line_start + part.end)
            }
            false => (0, whole.len()),
        };
        let is_part = |cut: bool| if cut { CUT } else { "" };
        let (before, after) = (is_part(from > line_start && from > 0), is_part(to < line_end));
        let clean = |c: char| if c.is_ascii_control() && c != '\n' && c != '\t' { ' ' } else { c };
        let shown: String = whole[from..to].chars().map(clean).collect();
        let text = format!("{before}{shown}{after}");
        let line_starts = files::line_starts(&text).collect();
        Text { file, text, from, mark: before.len(), line_starts }
    }
}

/// Returns the part of a line that shows the place and leaves space for the message, `room` characters in
/// all.
fn around(line: &str, place: Range<usize>, message: usize, room: usize) -> Range<usize> {
    let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
    let column = |at: usize| starts.partition_point(|start| *start < at);
    let (first, last) = (column(place.start), column(place.end));
    let wide = (last - first).min(room);
    let after = (message + 1).max((room - wide) / 2).min(room - wide);
    let before = room - wide - after;
    // Space left free at the end of the line goes to its beginning, except for the message's.
    let latest = starts.len().max(last + message + 1).saturating_sub(room);
    let from = first.saturating_sub(before).min(latest);
    let offset = |column: usize| starts.get(column).copied().unwrap_or(line.len());
    offset(from)..offset(from + room)
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
        // codespan counts the digits, and 0 would have none.
        Ok(self.sources.get(text.file).place(text.from + start).line.max(1))
    }

    fn column_number(&'a self, id: usize, _: usize, byte: usize) -> Result<usize, files::Error> {
        let text = self.find(id)?;
        Ok(self.sources.get(text.file).place(text.from + byte.saturating_sub(text.mark)).column)
    }

    fn line_range(&'a self, id: usize, line: usize) -> Result<Range<usize>, files::Error> {
        let text = self.find(id)?;
        let start = text.line_starts.get(line).copied().unwrap_or(text.text.len());
        Ok(start..text.line_starts.get(line + 1).copied().unwrap_or(text.text.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::tags;
    use crate::source::Source;

    fn rendered(text: &str, wanted: &str, width: Option<usize>) -> String {
        let mut sources = Sources::default();
        let file = sources.add(Source { name: text.to_owned(), origin: Origin::Name, text: text.to_owned() });
        let at = text.find(wanted).unwrap();
        let diagnostic = Diagnostic::error(tags::IDENT_UNDEF, format!("`{wanted}` is not defined"))
            .at(Span::new(file, at, at + wanted.len()), "not assigned so far");
        super::text(
            &sources,
            &diagnostic,
            &Style { program: "dtrace", color: false, errtags: false, subject: None, width },
        )
    }

    #[test]
    fn a_title_has_the_descriptions_alone() {
        for (program, shown) in [
            (" fbt::f:entry, BEGIN /pid == 1/ { trace(1); }", "fbt::f:entry, BEGIN"),
            ("kinst::f:linux/file.h@12{ trace(1); }", "kinst::f:linux/file.h@12"),
            ("BEGIN/x/{ @ = count(); }", "BEGIN"),
            ("BEGIN\n{ trace(1); }", "BEGIN"),
            ("fbt::f:entry", "fbt::f:entry"),
            ("{ trace(1); }", "{ trace(1); }"),
        ] {
            assert_eq!(descriptions(program), shown);
        }
    }

    #[test]
    fn a_long_line_is_cut_to_the_screen_around_the_place() {
        let fill = "trace(\"äöü\"); ".repeat(20);
        for wanted in ["first", "middle", "last"] {
            let text = format!("BEGIN {{ first; {fill}middle; {fill}last; }}");
            for width in [40, 60, 80, 132] {
                let shown = rendered(&text, wanted, Some(width));
                let lines: Vec<&str> = shown.lines().collect();
                let widest = lines.iter().map(|line| line.chars().count()).max();
                // The first line contains the whole title.
                assert!(lines.iter().skip(1).all(|line| line.chars().count() <= width), "{width}\n{shown}");
                assert!(widest <= Some(width.max(84)), "{width}\n{shown}");
                let code = lines.iter().position(|line| line.starts_with("1 │")).unwrap();
                let carets = lines[code + 1].chars().position(|c| c == '^').unwrap();
                let under: String = lines[code].chars().skip(carets).take(wanted.len()).collect();
                assert_eq!(under, wanted, "{width}\n{shown}");
                assert!(
                    shown.contains(&format!("-n:1:{}", text.find(wanted).unwrap() + 1)) || wanted != "first",
                    "{shown}"
                );
                assert!(lines[code].contains(CUT), "{shown}");
            }
            let shown = rendered("BEGIN { first; middle; last; }", wanted, Some(100));
            assert!(shown.starts_with("dtrace: invalid probe specifier BEGIN …: "), "{shown}");
            assert!(!shown.lines().skip(1).any(|line| line.contains(CUT)), "{shown}");
        }
    }

    #[test]
    fn slashes_in_descriptions() {
        for (program, end) in [
            ("BEGIN/1/{}", "BEGIN"),
            ("f:linux/file.h@12 /1/ {}", "f:linux/file.h@12 "),
            ("uprobe:/usr/bin/x:main:entry /pid == 1/", "uprobe:/usr/bin/x:main:entry "),
            ("pid$target:/usr/lib/x.so:f:entry,\nBEGIN {}", "pid$target:/usr/lib/x.so:f:entry,"),
            ("syscall:::/1/ {}", "syscall:::"),
            ("uprobe:/x::entry/1/", "uprobe:/x::entry"),
        ] {
            assert_eq!(&program[..end_of_descriptions(program)], end);
        }
    }
}

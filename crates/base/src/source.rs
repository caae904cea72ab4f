//! base/source.rs: the D sources of a run, and spans into them.

/// The id of a source in [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// Bytes `start..end` of one source. Synthesised nodes carry the span of what the user wrote.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The source in [`Sources`].
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Makes a span; offsets are below 4 GiB.
    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        Span { file, start: start as u32, end: end as u32 }
    }

    /// The span from the start of `self` to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A value and where it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spanned<T> {
    /// The value.
    pub node: T,
    /// The bytes that the value was parsed from.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Puts a value and its place together.
    pub fn new(node: T, span: Span) -> Spanned<T> {
        Spanned { node, span }
    }
}

/// The origin of a source, which decides the kind of a probe specifier's rightmost field and the shape of
/// messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `-s FILE`
    Script,
    /// `-P`
    Provider,
    /// `-m`
    Module,
    /// `-f`
    Function,
    /// `-n`
    Name,
    /// `-i`
    Id,
    /// A D library file.
    Library,
    /// A D expression given as an option's value, `--when PREDICATE`.
    Predicate,
}

impl Origin {
    /// Whether the source is a file rather than an argument of the command line.
    pub fn is_file(self) -> bool {
        matches!(self, Origin::Script | Origin::Library)
    }
}

/// One D source.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file's path, or the option's argument as typed.
    pub name: String,
    /// The option that supplied the source, or the file's kind.
    pub origin: Origin,
    /// The text to compile: after the preprocessor, if -C is given.
    pub text: String,
}

/// All sources of a run.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
}

impl Sources {
    /// Adds a source; its id is valid only in these sources.
    pub fn add(&mut self, source: Source) -> FileId {
        self.files.push(source);
        FileId(self.files.len() as u32 - 1)
    }

    /// Returns the source of an id; panics if the id is from other sources.
    pub fn get(&self, id: FileId) -> &Source {
        &self.files[id.0 as usize]
    }

    /// The bytes of a span; empty if the source does not contain them.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
}

/// The position of a byte in a source, as messages print it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file that a line marker (`# 12 "probe.h"`) names, if one does.
    pub file: Option<String>,
    /// The line number from 1, as line markers set it. The preprocessor numbers the line before the first one 0.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Source {
    /// The position of a byte; for an offset beyond the end, the position of the end.
    pub fn place(&self, offset: usize) -> Place {
        let before = self.text.get(..offset.min(self.text.len())).unwrap_or_default();
        let (mut file, mut line) = (None, 1);
        let mut column = 1;
        for text in before.split_inclusive('\n') {
            if !text.ends_with('\n') {
                column = text.chars().count() + 1;
            } else if let Some((number, name)) = line_marker(text) {
                line = number;
                file = name.map(str::to_owned).or(file);
            } else {
                line = line.saturating_add(1);
            }
        }
        Place { file, line, column }
    }
}

/// Parses `# N "file" …` or `#line N "file"` into the number of the next line and its file.
fn line_marker(line: &str) -> Option<(usize, Option<&str>)> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = rest[..digits].parse().ok()?;
    let name = rest[digits..].trim_start().strip_prefix('"').and_then(|name| name.split('"').next());
    Some((number, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_markers_move_the_place() {
        let text = "BEGIN\n# 7 \"a.h\" 1\nx\n  #line 40\né y".to_owned();
        let source = Source { name: "t.d".to_owned(), origin: Origin::Script, text };
        let place = |offset| {
            let place = source.place(offset);
            (place.file, place.line, place.column)
        };
        assert_eq!(place(2), (None, 1, 3));
        assert_eq!(place(source.text.find('x').unwrap()), (Some("a.h".to_owned()), 7, 1));
        assert_eq!(place(source.text.find('y').unwrap()), (Some("a.h".to_owned()), 40, 3));
        assert_eq!(place(1000).1, 40);
    }
}

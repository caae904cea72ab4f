//! sites/cache/records.rs: encoding of functions with their copies, and of line rows.

use std::collections::HashMap;
use std::sync::Arc;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::numbers::{Reader, Writer};
use kinst_dwarf::{Body, CallSite, Definition, Frame, Lines, Row, Sequence};

/// Rows of lines in a block.
const ROWS: usize = 4096;

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Span {
    pub start: u64,
    pub end: u64,
}

#[derive(Default)]
pub(super) struct Texts {
    pub paths: Vec<String>,
    pub definitions: Vec<Arc<Definition>>,
}

/// Indices of interned strings.
#[derive(Default)]
pub(super) struct Numbered {
    pub paths: HashMap<String, u64>,
    pub definitions: HashMap<Definition, u64>,
    pub texts: [Writer; 2],
}

impl Numbered {
    fn path(&mut self, path: &str) -> u64 {
        if let Some(number) = self.paths.get(path) {
            return *number;
        }
        let number = self.paths.len() as u64;
        self.paths.insert(path.to_owned(), number);
        self.texts[0].text(path);
        number
    }

    fn definition(&mut self, definition: &Definition) -> u64 {
        if let Some(number) = self.definitions.get(definition) {
            return *number;
        }
        let (number, path) = (self.definitions.len() as u64, self.path(&definition.file));
        self.definitions.insert(definition.clone(), number);
        self.texts[1].text(&definition.name);
        self.texts[1].number(path);
        self.texts[1].number(definition.line);
        number
    }
}

pub(super) fn write_body(
    writer: &mut Writer,
    body: &Body,
    numbered: &mut Numbered,
    definition: &impl Fn(u64) -> Arc<Definition>,
) {
    writer.number(body.frames().count() as u64);
    let mut last = (0, 0);
    for (frame, parent) in body.nodes() {
        writer.number(parent as u64);
        writer.step(last.0, frame.die);
        // The definition has the name.
        writer.number(numbered.definition(&definition(frame.origin)));
        match &frame.call {
            None => writer.number(0),
            Some(call) => {
                writer.number(numbered.path(&call.file) + 1);
                writer.number(call.line);
                writer.number(frame.is_tail.into());
            }
        }
        writer.number(frame.entries.len() as u64);
        let mut at = last.1;
        for entry in &frame.entries {
            writer.step(at, *entry);
            at = *entry;
        }
        at = frame.entries.first().copied().unwrap_or(at);
        writer.number(frame.ranges.len() as u64);
        last = (frame.die, at);
        for range in &frame.ranges {
            writer.step(at, range.start);
            writer.number(range.end - range.start);
            at = range.end;
        }
    }
}

pub(super) fn read_body(reader: &mut Reader<'_>, texts: &Texts) -> Option<Body> {
    let count = reader.count()?;
    let (mut nodes, mut last) = (Vec::with_capacity(count), (0, 0));
    for _ in 0..count {
        let parent = usize::try_from(reader.number()?).ok()?;
        let die = reader.step(last.0)?;
        let origin = reader.number()?;
        let definition = texts.definitions.get(usize::try_from(origin).ok()?)?;
        let (call, is_tail) = match reader.number()? {
            0 => (None, false),
            path => {
                let file = texts.paths.get(usize::try_from(path - 1).ok()?)?.clone();
                (Some(CallSite { file, line: reader.number()? }), reader.number()? != 0)
            }
        };
        let (mut at, mut entries) = (last.1, Vec::new());
        for _ in 0..reader.count()? {
            at = reader.step(at)?;
            entries.push(at);
        }
        at = entries.first().copied().unwrap_or(last.1);
        last = (die, at);
        let mut ranges = Vec::new();
        for _ in 0..reader.count()? {
            let start = reader.step(at)?;
            at = start.checked_add(reader.number()?)?;
            ranges.push(start..at);
        }
        let sound =
            ranges.is_sorted_by(|a, b| a.end < b.start) && ranges.iter().all(|range| !range.is_empty());
        if !sound || !entries.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let name = definition.name.clone();
        nodes.push((Frame { die, origin, name, call, is_tail, entries, ranges }, parent));
    }
    Body::of(nodes)
}

/// Returns the sequences of all tables by address, cut into pieces of at most [`ROWS`] rows, in groups; and
/// the span of each group.
pub(super) fn pieces(lines: &[Lines], numbered: &mut Numbered) -> Vec<(Vec<Sequence>, Span)> {
    let mut all: Vec<Sequence> = Vec::new();
    for table in lines {
        let files: Vec<u64> = table.files().iter().map(|path| numbered.path(path)).collect();
        for sequence in table.sequences() {
            let mut piece = Sequence { range: sequence.range.clone(), rows: Vec::new() };
            for row in &sequence.rows {
                let Some(file) = files.get(row.file as usize) else { continue };
                let row = Row { file: *file as u32, column: 0, ..*row };
                // A row that changes only the column or the view is redundant.
                let same =
                    piece.rows.last().is_some_and(|last| (last.file, last.line) == (row.file, row.line));
                if same && !row.is_stmt {
                    continue;
                }
                if piece.rows.len() >= ROWS
                    && piece.rows.last().is_some_and(|last| last.address < row.address)
                {
                    let rest = Sequence { range: row.address..piece.range.end, rows: Vec::new() };
                    piece.range.end = row.address;
                    all.push(std::mem::replace(&mut piece, rest));
                }
                piece.rows.push(row);
            }
            all.push(piece);
        }
    }
    all.retain(|piece| !piece.rows.is_empty());
    all.sort_by_key(|piece| (piece.range.start, piece.range.end));
    let mut groups: Vec<(Vec<Sequence>, Span)> = Vec::new();
    let mut rows = ROWS;
    for piece in all {
        rows += piece.rows.len();
        if rows > ROWS {
            rows = piece.rows.len();
            groups.push((Vec::new(), Span { start: piece.range.start, end: 0 }));
        }
        if let Some((group, span)) = groups.last_mut() {
            span.end = span.end.max(piece.range.end);
            group.push(piece);
        }
    }
    groups
}

pub(super) fn write_sequence(writer: &mut Writer, sequence: &Sequence) {
    writer.number(sequence.range.start);
    writer.number(sequence.range.end - sequence.range.start);
    writer.number(sequence.rows.len() as u64);
    let (mut at, mut file, mut line) = (sequence.range.start, 0, 0);
    for row in &sequence.rows {
        let changes = row.file != file;
        writer.number((row.address - at) << 2 | u64::from(changes) << 1 | u64::from(row.is_stmt));
        if changes {
            writer.number(row.file.into());
        }
        writer.step(line, row.line.into());
        (at, file, line) = (row.address, row.file, row.line.into());
    }
}

pub(super) fn read_sequence(reader: &mut Reader<'_>) -> Option<Sequence> {
    let start = reader.number()?;
    let end = start.checked_add(reader.number()?)?;
    let count = reader.count()?;
    let (mut rows, mut at, mut file, mut line) = (Vec::with_capacity(count), start, 0, 0);
    for _ in 0..count {
        let word = reader.number()?;
        at = at.checked_add(word >> 2)?;
        if word & 2 != 0 {
            file = reader.small()?;
        }
        line = reader.step(line)?;
        let line = u32::try_from(line).ok()?;
        rows.push(Row { address: at, file, line, column: 0, is_stmt: word & 1 != 0 });
    }
    Some(Sequence { range: start..end, rows })
}

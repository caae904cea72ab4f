//! sites/kept/source.rs: the inlined functions at each address of a file, and its source lines, as they are kept on disk.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::file::{self, Cache, Sealed};
use super::numbers::{Block, Reader, Writer};
use crate::debuginfo::BuildId;
use crate::dwarf::{Body, CallSite, Definition, Frame, InlineCopy, Lines, Row, Sequence};

/// The kind of these files in their header.
pub const KIND: u32 = 0x736f_7501;

/// The functions in a block, and the rows of lines: enough to be packed well, and unpacked in no time.
const BODIES: usize = 128;
const ROWS: usize = 4096;

/// The name of the file of a build id.
pub fn file_name(id: &BuildId) -> String {
    format!("{id}.source")
}

/// An open file. Blocks are unpacked when they are asked for; one that is damaged has nothing.
pub struct Source {
    file: Sealed,
    texts: OnceLock<Texts>,
}

#[derive(Clone, Copy)]
enum Table {
    /// One [`Block`]: paths, then definitions.
    Texts,
    /// [`Block`]s of functions.
    Bodies,
    /// [`Block`]s of sequences of rows, and the [`Span`] of each.
    Lines,
    Spans,
    /// [`PlaceRecord`]s by address.
    Places,
    Packed,
}

/// A range of the code of a function.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct PlaceRecord {
    start: u64,
    len: u32,
    /// The function: its block, times [`BODIES`], and its place there.
    body: u32,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Span {
    start: u64,
    end: u64,
}

#[derive(Default)]
struct Texts {
    paths: Vec<String>,
    definitions: Vec<Arc<Definition>>,
}

/// Numbers that stand for texts.
#[derive(Default)]
struct Numbered {
    paths: HashMap<String, u64>,
    definitions: HashMap<Definition, u64>,
    texts: [Writer; 2],
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

impl Source {
    /// The contents of the file; `definition` is asked with [`Frame::origin`].
    pub fn write(
        id: &BuildId,
        mut bodies: Vec<Body>,
        lines: Vec<Lines>,
        definition: impl Fn(u64) -> Arc<Definition>,
    ) -> Option<Vec<u8>> {
        let (mut numbered, mut packed) = (Numbered::default(), Vec::new());
        bodies.sort_by_key(|body| {
            (body.function().ranges.first().map(|range| range.start), body.function().die)
        });
        let (mut blocks, mut places) = (Vec::new(), Vec::new());
        for (number, group) in bodies.chunks(BODIES).enumerate() {
            let mut writer = Writer::default();
            for (index, body) in group.iter().enumerate() {
                write_body(&mut writer, body, &mut numbered, &definition);
                let record = |range: &Range<u64>| PlaceRecord {
                    start: range.start,
                    len: u32::try_from(range.end - range.start).unwrap_or(u32::MAX),
                    body: (number * BODIES + index) as u32,
                };
                places.extend(body.function().ranges.iter().map(record));
            }
            blocks.push(Block::pack(&writer.0, group.len(), &mut packed)?);
        }
        places.sort_by_key(|place| (place.start, place.body));
        let (mut line_blocks, mut spans) = (Vec::new(), Vec::new());
        for (group, span) in pieces(&lines, &mut numbered) {
            let mut writer = Writer::default();
            group.iter().for_each(|sequence| write_sequence(&mut writer, sequence));
            line_blocks.push(Block::pack(&writer.0, group.len(), &mut packed)?);
            spans.push(span);
        }
        let mut writer = Writer::default();
        writer.number(numbered.paths.len() as u64);
        writer.number(numbered.definitions.len() as u64);
        numbered.texts.iter().for_each(|texts| writer.0.extend_from_slice(&texts.0));
        let texts = [Block::pack(&writer.0, 1, &mut packed)?];
        let tables = [
            texts.as_bytes(),
            blocks.as_bytes(),
            line_blocks.as_bytes(),
            spans.as_bytes(),
            places.as_bytes(),
            &packed,
        ];
        file::seal(KIND, id.bytes(), &tables)
    }

    pub fn of(file: Sealed) -> Source {
        Source { file, texts: OnceLock::new() }
    }

    pub fn into_file(self) -> Sealed {
        self.file
    }

    pub fn file(&self) -> &Sealed {
        &self.file
    }

    /// Whether all blocks can be unpacked and read.
    pub fn is_sound(&self) -> bool {
        let bodies = self.blocks(Table::Bodies);
        let lines = self.blocks(Table::Lines);
        self.read_texts().is_some()
            && bodies.iter().all(|block| self.bodies(block).is_some())
            && lines.iter().all(|block| self.sequences(block).is_some())
            && self.file.rows::<Span>(Table::Spans as usize).len() == lines.len()
    }

    /// The function that has the code at an address.
    pub fn body_at(&self, address: u64) -> Option<Arc<Body>> {
        // Functions in functions are of other languages than C.
        const NEAR: usize = 64;
        let places = self.file.rows::<PlaceRecord>(Table::Places as usize);
        let after = places.partition_point(|place| place.start <= address);
        let has = |place: &&PlaceRecord| address - place.start < place.len.into();
        let place = places[..after].iter().rev().take(NEAR).find(has)?;
        let block = self.blocks(Table::Bodies).get(place.body as usize / BODIES)?;
        self.bodies(block)?.into_iter().nth(place.body as usize % BODIES).map(Arc::new)
    }

    /// The lines of a range of addresses.
    pub fn lines_in(&self, range: &Range<u64>) -> Lines {
        let spans = self.file.rows::<Span>(Table::Spans as usize).iter();
        let meet = spans.zip(self.blocks(Table::Lines));
        let meet = meet.filter(|(span, _)| span.start < range.end && range.start < span.end);
        let sequences = meet.flat_map(|(_, block)| self.sequences(block).unwrap_or_default());
        let here = |sequence: &Sequence| sequence.range.start < range.end && range.start < sequence.range.end;
        let mut sequences: Vec<Sequence> = sequences.filter(here).collect();
        sequences.sort_by_key(|sequence| (sequence.range.start, sequence.range.end));
        Lines::of(self.texts().paths.clone(), sequences)
    }

    pub fn definition(&self, origin: u64) -> Arc<Definition> {
        let known = usize::try_from(origin).ok().and_then(|at| self.texts().definitions.get(at));
        known.cloned().unwrap_or_default()
    }

    /// The copies of a function in the order of the debug information.
    pub fn copies(&self, name: &str) -> Vec<InlineCopy> {
        if !self.texts().definitions.iter().any(|definition| definition.name == name) {
            return Vec::new();
        }
        let bodies = self.blocks(Table::Bodies).iter().filter_map(|block| self.bodies(block)).flatten();
        let mut copies: Vec<InlineCopy> = bodies.flat_map(|body| self.copies_in(&body, name)).collect();
        copies.sort_by_key(|copy| copy.die);
        copies
    }

    fn copies_in(&self, body: &Body, name: &str) -> Vec<InlineCopy> {
        let nodes: Vec<(&Frame, usize)> = body.nodes().collect();
        let is_copy = |(frame, parent): &&(&Frame, usize)| {
            // The second half of a split function, as the walk has it.
            let is_tail = nodes.get(*parent).is_some_and(|(outer, _)| outer.origin == frame.origin)
                && frame.call.as_ref().map(|call| call.line) == Some(self.definition(frame.origin).line);
            frame.name == name && frame.call.is_some() && !is_tail
        };
        let copy = |(frame, _): &(&Frame, usize)| {
            let (entry, ranges) = (frame.entry?, frame.ranges.clone());
            Some(InlineCopy { die: frame.die, entry, entry_is_exact: true, ranges, call: frame.call.clone() })
        };
        nodes.iter().filter(is_copy).filter_map(copy).collect()
    }

    fn blocks(&self, table: Table) -> &[Block] {
        self.file.rows(table as usize)
    }

    fn unpack(&self, block: &Block) -> Option<Vec<u8>> {
        block.unpack(self.file.table(Table::Packed as usize))
    }

    fn texts(&self) -> &Texts {
        self.texts.get_or_init(|| self.read_texts().unwrap_or_default())
    }

    fn read_texts(&self) -> Option<Texts> {
        let bytes = self.unpack(self.blocks(Table::Texts).first()?)?;
        let mut reader = Reader(&bytes);
        let (paths, definitions) = (reader.count()?, reader.count()?);
        let mut texts = Texts::default();
        for _ in 0..paths {
            texts.paths.push(reader.text()?.to_owned());
        }
        for _ in 0..definitions {
            let name = reader.text()?.to_owned();
            let file = texts.paths.get(usize::try_from(reader.number()?).ok()?)?.clone();
            texts.definitions.push(Arc::new(Definition { name, file, line: reader.number()? }));
        }
        Some(texts)
    }

    fn bodies(&self, block: &Block) -> Option<Vec<Body>> {
        let (bytes, texts) = (self.unpack(block)?, self.texts());
        let mut reader = Reader(&bytes);
        (0..block.count).map(|_| read_body(&mut reader, texts)).collect()
    }

    fn sequences(&self, block: &Block) -> Option<Vec<Sequence>> {
        let bytes = self.unpack(block)?;
        let mut reader = Reader(&bytes);
        (0..block.count).map(|_| read_sequence(&mut reader)).collect()
    }
}

impl Cache {
    /// Opens the file of a build id, if it is here and whole.
    pub fn source(&self, id: &BuildId) -> Option<Source> {
        self.open(&file_name(id), KIND, id.bytes()).map(Source::of)
    }
}

fn write_body(
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
        // The name is the definition's.
        writer.number(numbered.definition(&definition(frame.origin)));
        match &frame.call {
            None => writer.number(0),
            Some(call) => {
                writer.number(numbered.path(&call.file) + 1);
                writer.number(call.line);
            }
        }
        writer.number(frame.entry.is_some().into());
        let mut at = last.1;
        if let Some(entry) = frame.entry {
            writer.step(at, entry);
            at = entry;
        }
        writer.number(frame.ranges.len() as u64);
        last = (frame.die, at);
        for range in &frame.ranges {
            writer.step(at, range.start);
            writer.number(range.end - range.start);
            at = range.end;
        }
    }
}

fn read_body(reader: &mut Reader<'_>, texts: &Texts) -> Option<Body> {
    let count = reader.count()?;
    let (mut nodes, mut last) = (Vec::with_capacity(count), (0, 0));
    for _ in 0..count {
        let parent = usize::try_from(reader.number()?).ok()?;
        let die = reader.step(last.0)?;
        let origin = reader.number()?;
        let definition = texts.definitions.get(usize::try_from(origin).ok()?)?;
        let call = match reader.number()? {
            0 => None,
            path => {
                let file = texts.paths.get(usize::try_from(path - 1).ok()?)?.clone();
                Some(CallSite { file, line: reader.number()? })
            }
        };
        let mut at = last.1;
        let entry = match reader.number()? {
            0 => None,
            _ => Some(reader.step(at)?),
        };
        at = entry.unwrap_or(at);
        last = (die, at);
        let mut ranges = Vec::new();
        for _ in 0..reader.count()? {
            let start = reader.step(at)?;
            at = start.checked_add(reader.number()?)?;
            ranges.push(start..at);
        }
        let sound =
            ranges.is_sorted_by(|a, b| a.end < b.start) && ranges.iter().all(|range| !range.is_empty());
        if !sound {
            return None;
        }
        nodes.push((Frame { die, origin, name: definition.name.clone(), call, entry, ranges }, parent));
    }
    Body::of(nodes)
}

/// The sequences of all tables by address, cut to pieces of some rows, in groups; and the span of each group.
fn pieces(lines: &[Lines], numbered: &mut Numbered) -> Vec<(Vec<Sequence>, Span)> {
    let mut all: Vec<Sequence> = Vec::new();
    for table in lines {
        let files: Vec<u64> = table.files().iter().map(|path| numbered.path(path)).collect();
        for sequence in table.sequences() {
            let mut piece = Sequence { range: sequence.range.clone(), rows: Vec::new() };
            for row in &sequence.rows {
                let Some(file) = files.get(row.file as usize) else { continue };
                let row = Row { file: *file as u32, column: 0, ..*row };
                // A row that changes nothing is one of a column, or of a view.
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

fn write_sequence(writer: &mut Writer, sequence: &Sequence) {
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

fn read_sequence(reader: &mut Reader<'_>) -> Option<Sequence> {
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

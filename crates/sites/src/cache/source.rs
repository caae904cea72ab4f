//! sites/cache/source.rs: the cached source lines and inlined functions at each address of a file.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::file::{self, Cache, Sealed};
use super::numbers::{Block, Reader, Writer};
use super::records::{Numbered, Span, Texts, pieces, read_body, read_sequence, write_body, write_sequence};
use kinst_debuginfo::BuildId;
use kinst_dwarf::{Body, Definition, Evidence, Frame, InlineCopy, Lines, Recurring, Sequence, is_of};

/// Kind of these files in their header.
pub(crate) const KIND: u32 = 0x736f_7503;

/// Functions in a block: enough to compress well, and few enough to decompress quickly.
const BODIES: usize = 128;

/// Returns the file name for a build id.
pub(crate) fn file_name(id: &BuildId) -> String {
    format!("{id}.source")
}

/// An open file. Blocks are decompressed on demand; a damaged one is empty.
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
    /// [`Block`]s of row sequences, and the [`Span`] of each.
    Lines,
    Spans,
    /// [`PlaceRecord`]s, by address.
    Places,
    Packed,
}

/// A range of a function's code.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct PlaceRecord {
    start: u64,
    len: u32,
    /// Index of the function: its block times [`BODIES`], plus its position there.
    body: u32,
}

impl Source {
    /// Returns the contents of the file; `definition` is called with [`Frame::origin`].
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

    /// Whether all blocks can be decompressed and read.
    pub fn is_sound(&self) -> bool {
        let bodies = self.blocks(Table::Bodies);
        let lines = self.blocks(Table::Lines);
        self.read_texts().is_some()
            && bodies.iter().all(|block| self.bodies(block).is_some())
            && lines.iter().all(|block| self.sequences(block).is_some())
            && self.file.rows::<Span>(Table::Spans as usize).len() == lines.len()
    }

    /// Returns the function whose code includes an address.
    pub fn body_at(&self, address: u64) -> Option<Arc<Body>> {
        // Nested functions occur in languages other than C.
        const NEAR: usize = 64;
        let places = self.file.rows::<PlaceRecord>(Table::Places as usize);
        let after = places.partition_point(|place| place.start <= address);
        let has = |place: &&PlaceRecord| {
            address.checked_sub(place.start).is_some_and(|inside| inside < place.len.into())
        };
        let place = places[..after].iter().rev().take(NEAR).find(has)?;
        let block = self.blocks(Table::Bodies).get(place.body as usize / BODIES)?;
        self.bodies(block)?.into_iter().nth(place.body as usize % BODIES).map(Arc::new)
    }

    /// Returns the lines of a range of addresses.
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

    /// Returns the code of the functions that are defined in a file, or in a folder if the path ends with `/`.
    pub fn code_from(&self, path: &str) -> Vec<Range<u64>> {
        let bodies = self.blocks(Table::Bodies).iter().filter_map(|block| self.bodies(block)).flatten();
        let is_from = |body: &Body| is_of(&self.definition(body.function().origin).file, path);
        bodies.filter(is_from).flat_map(|body| body.function().ranges.clone()).collect()
    }

    /// Returns the copies of a function in the order of the debug information.
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
        let is_copy = |frame: &&Frame| {
            frame.name == name && frame.call.is_some() && !frame.is_tail && !frame.entries.is_empty()
        };
        let copy = |frame: &Frame| InlineCopy {
            die: frame.die,
            origin: frame.origin,
            function: None,
            entry_pc: frame.entries.first().copied().unwrap_or_default(),
            entries: frame.entries.clone(),
            evidence: Evidence::Named,
            rows: Arc::default(),
            recurring: Recurring::default(),
            ranges: frame.ranges.clone(),
            call: frame.call.clone(),
        };
        body.frames().filter(is_copy).map(copy).collect()
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
            texts.definitions.push(Arc::new(Definition {
                name,
                file,
                line: reader.number()?,
                column: 0,
                by_macro: false,
            }));
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
    /// Opens the file of a build id, if it is cached and valid.
    pub fn source(&self, id: &BuildId) -> Option<Source> {
        self.open(&file_name(id), KIND, id.bytes()).map(Source::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinst_dwarf::{CallSite, Row};

    const TAIL: u64 = 99;

    fn frame(die: u64, origin: u64, call: Option<u64>, ranges: &[Range<u64>]) -> Frame {
        let call = call.map(|line| CallSite { file: "b.h".to_owned(), line });
        let name = definition(origin).name.clone();
        // As in a copy whose beginning was duplicated.
        let entries = ranges.iter().map(|range| range.start).collect();
        let is_tail = die == TAIL;
        Frame { die, origin, name, call, is_tail, entries, ranges: ranges.to_vec() }
    }

    fn definition(origin: u64) -> Arc<Definition> {
        let (name, file) = (format!("f{origin}"), "a.c".to_owned());
        Arc::new(Definition { name, file, line: 10 * origin, column: 0, by_macro: false })
    }

    fn made() -> Source {
        let (outer, far, tail) = (0x1000..0x1080, 0xffff_8000..0xffff_8010, 0x1070..0x1074);
        let body = Body::of(vec![
            (frame(7, 0, None, &[outer, far]), 0),
            (frame(70, 1, Some(3), &[0x1010..0x1020, 0x1030..0x1038]), 0),
            (frame(90, 2, Some(4), &[]), 1),
            (frame(TAIL, 2, Some(20), &[tail]), 2),
        ]);
        let row = |address, line, is_stmt| Row { address, file: 1, line, column: 3, is_stmt };
        let rows = (0..30_000_u32).map(|at| row(0x1000 + u64::from(at) * 2, 5 + at / 3, at % 3 == 0));
        let sequence = Sequence { range: 0x1000..0x1000 + 60_000, rows: rows.collect() };
        let lines = Lines::of(vec!["??".to_owned(), "a.c".to_owned()], vec![sequence]);
        let id = BuildId::new(&[5; 20]);
        let bytes = Source::write(&id, body.into_iter().collect(), vec![lines], definition).expect("a file");
        Source::of(Sealed::any(bytes).expect("a file"))
    }

    #[test]
    fn what_is_written_is_read() {
        let source = made();
        assert!(source.is_sound());
        let body = source.body_at(0x1011).expect("a function");
        assert_eq!(source.body_at(0xffff_800f).expect("its far part").frames().count(), 4);
        assert!(source.body_at(0x1080).is_none() && source.body_at(0).is_none());
        let names: Vec<&str> = body.at(0x1011).into_iter().map(|frame| &*frame.name).collect();
        assert_eq!(names, ["f1", "f0"]);
        // One has no address; another is the second half of a split function.
        assert_eq!(source.copies("f2"), []);
        let copies = source.copies("f1");
        assert_eq!(copies.len(), 1);
        assert_eq!((copies[0].die, copies[0].ranges.len()), (70, 2));
        assert_eq!(copies[0].entries, [0x1010, 0x1030]);
        assert_eq!(source.definition(1), definition(1));
        assert!(source.blocks(Table::Lines).len() > 1, "it is cut");
        for address in (0x1000..0x1000 + 60_000_u64).step_by(7) {
            let lines = source.lines_in(&(address..address + 1));
            let line = lines.at(address).expect("a line");
            assert_eq!((line.file, u64::from(line.line)), ("a.c", 5 + (address - 0x1000) / 6));
        }
        let all = source.lines_in(&(0x1000..0x1000 + 60_000));
        assert_eq!(all.statements(0x1000..0x1000 + 60_000).count(), 10_000);
        assert_eq!(all.statements(0x1006..0x100d).count(), 2);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_block_or_none(bytes: Vec<u8>) {
            let texts = Texts { paths: vec!["a.c".to_owned()], definitions: vec![definition(0)] };
            let mut reader = Reader(&bytes);
            while read_body(&mut reader, &texts).is_some() {}
            let mut reader = Reader(&bytes);
            while read_sequence(&mut reader).is_some() {}
        }

        /// The checksum is valid; the tables are not.
        #[test]
        fn damaged_tables_have_nothing(edits in proptest::collection::vec((0_usize..4000, 0_u8..), 1..6)) {
            let mut bytes = made().file().bytes().to_vec();
            for (at, value) in edits {
                let len = bytes.len();
                bytes[24 + at % (len - 24)] = value;
            }
            let checksum = crc32fast::hash(&bytes[20..]);
            bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
            let Some(source) = Sealed::any(bytes).map(Source::of) else { return Ok(()) };
            source.is_sound();
            for address in [0, 0x1000, 0x1011, 0x1071, 0xffff_8004, u64::MAX] {
                source.body_at(address);
                source.lines_in(&(address..address.saturating_add(9))).at(address);
            }
            source.copies("f1");
        }
    }
}

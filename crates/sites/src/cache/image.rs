//! sites/cache/image.rs: the cached sites and symbols of one ELF file.

use std::fmt;
use std::ops::Range;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::directory::hash;
use super::file::{self, Cache, Sealed};
use super::known::{Dropped, Known};
use super::layout::{self, Layout};
use crate::flow::Undecodable;
use crate::flow::doubts::Doubt;
use crate::flow::points::{Over, Point};
use crate::symtab::{Stored, Symbol, Symbols};
use kinst_debuginfo::{BuildId, ElfFile};

/// Kind of these files in their `Header`; a change of layout or meaning changes it.
pub(crate) const KIND: u32 = 0x7369_7405;

/// Returns the file name for a build id.
pub(crate) fn file_name(id: &BuildId) -> String {
    format!("{id}.sites")
}

/// Returns the name of the file with the functions of a program that a name means. A linker can give two versions of a
/// program the same build id, so the checksum of the file is part of it.
fn meant_file_name(id: &BuildId, image: &ElfFile, name: &str) -> String {
    format!("{id}-{:08x}-{:016x}.{MEANT}", image.crc(), hash(name))
}

/// Extension of these files, and their greatest number: most have one or a few kilobytes.
const MEANT: &str = "functions";
const MOST_MEANT: usize = 4096;

impl Cache {
    /// Opens the index of a build id, if it is cached and valid.
    pub fn index(&self, id: &BuildId) -> Option<ImageIndex> {
        ImageIndex::of(self.open(&file_name(id), KIND, id.bytes())?)
    }

    /// Whether a valid index of a build id is cached.
    pub fn has_index(&self, id: &BuildId) -> bool {
        self.index(id).is_some()
    }

    /// Returns the functions of a program that a name means, with their sites, if they are cached.
    pub(crate) fn meant(&self, id: &BuildId, image: &ElfFile, name: &str) -> Option<Vec<(String, Known)>> {
        let file = self.open(&meant_file_name(id, image, name), KIND, id.bytes())?;
        let index = ImageIndex::of(file)?;
        let found = index.names().map(|name| Some((name.to_owned(), index.function(name)?)));
        found.collect()
    }

    /// Caches the functions of a program that a name means. A failure costs only time: they are looked up again.
    pub(crate) fn write_meant(&self, id: &BuildId, image: &ElfFile, name: &str, found: &[(String, Known)]) {
        if let Some(bytes) = ImageIndex::write(id, image, found, &Symbols::default()) {
            let _ = self.write(&meant_file_name(id, image, name), &bytes);
            self.limit(MEANT, MOST_MEANT);
        }
    }
}

/// All inlined functions of a file with their sites, and its symbols. Every access is checked: an
/// inconsistent file at worst gives wrong answers, and its checksum has been verified.
pub struct ImageIndex {
    file: Sealed,
}

/// Tables of the file.
#[derive(Clone, Copy)]
enum Table {
    /// One [`Facts`].
    Facts,
    /// Names of the functions, concatenated, in order.
    Names,
    /// [`FunctionRecord`]s, by name.
    Functions,
    /// Entries and exits, as distances from the base; an edge takes several words, all but the last with [`EDGE`].
    Places,
    /// [`DroppedRecord`]s of the functions that have any.
    Dropped,
    SymbolNames,
    Symbols,
    /// Indices of the symbols, by name.
    SymbolsByName,
    /// Records of [`layout`]: the file's sections, and the symbols around its tables.
    Sections,
    Bounds,
    LayoutNames,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Facts {
    /// Base of the addresses in this file.
    base: u64,
    /// Address of `_stext`; 0 if it does not exist.
    text_start: u64,
    /// Whether the sections' addresses were assigned by [`ElfFile`].
    relocatable: u64,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct FunctionRecord {
    name_at: u32,
    name_len: u32,
    /// Index in the table of places; the exits follow the entries.
    first: u32,
    /// Number of words, not of entries.
    entries: u32,
    exits: u32,
    /// Index in the table of dropped records, from 1; 0 if there is nothing to report except `copies`.
    dropped: u32,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct DroppedRecord {
    /// Counts in the order of [`Dropped`].
    counts: [u32; 11],
    /// 0 for none; for others see [`DroppedRecord::why`].
    why_unread: u32,
    at: [u64; 2],
    /// 0 for none, else see [`DroppedRecord::doubt`]; and the address.
    doubt: [u64; 2],
}

/// Marks every word of an edge but the last.
const EDGE: u32 = 1 << 31;

impl ImageIndex {
    /// Returns the contents of the file; `None` if the addresses are too far apart to be stored. `functions`
    /// is sorted by name.
    pub fn write(
        id: &BuildId,
        image: &ElfFile,
        functions: &[(String, Known)],
        symbols: &Symbols,
    ) -> Option<Vec<u8>> {
        let code = image.sections().iter().filter(|section| section.executable);
        let base = code.map(|section| section.address).min().unwrap_or(0);
        let place = |address: u64| {
            let distance = u32::try_from(address.checked_sub(base)?).ok()?;
            (distance & EDGE == 0).then_some(distance)
        };
        let push = |places: &mut Vec<u32>, point: &Point| {
            match point {
                Point::At(address) => places.push(place(*address)?),
                Point::Edge { from, over, to } => {
                    for address in std::iter::once(from).chain(over.keys()) {
                        places.push(place(*address)? | EDGE);
                    }
                    places.push(place(*to)?);
                }
            }
            Some(())
        };
        let (mut names, mut records) = (String::new(), Vec::with_capacity(functions.len()));
        let (mut places, mut dropped): (Vec<u32>, Vec<DroppedRecord>) = (Vec::new(), Vec::new());
        for (name, known) in functions {
            let first = places.len();
            for entry in &known.entries {
                push(&mut places, entry)?;
            }
            let exits = places.len();
            for exit in &known.exits {
                push(&mut places, exit)?;
            }
            let counts = DroppedRecord::of(&known.dropped);
            let plain = Dropped { copies: count(&known.entries), ..Dropped::default() };
            let is_plain = known.dropped == plain;
            if !is_plain {
                dropped.push(counts);
            }
            records.push(FunctionRecord {
                name_at: u32::try_from(names.len()).ok()?,
                name_len: u32::try_from(name.len()).ok()?,
                first: u32::try_from(first).ok()?,
                entries: (exits - first) as u32,
                exits: (places.len() - exits) as u32,
                dropped: if is_plain { 0 } else { dropped.len() as u32 },
            });
            names.push_str(name);
        }
        let (symbol_names, symbol_table) = symbols.parts();
        let facts = Facts {
            base,
            text_start: symbols.text_start().unwrap_or(0),
            relocatable: image.is_relocatable().into(),
        };
        let layout = Layout::of(image)?;
        let by_name = symbols.sorted_by_name();
        file::seal(
            KIND,
            id.bytes(),
            &[
                facts.as_bytes(),
                names.as_bytes(),
                records.as_bytes(),
                places.as_bytes(),
                dropped.as_bytes(),
                symbol_names,
                symbol_table.as_bytes(),
                by_name.as_bytes(),
                layout.sections.as_bytes(),
                layout.bounds.as_bytes(),
                layout.names.as_bytes(),
            ],
        )
    }

    /// Returns the layout of the indexed file, for use without the file.
    pub fn layout(&self, id: BuildId) -> ElfFile {
        let names = self.file.table(Table::LayoutNames as usize);
        let sections = self.file.rows(Table::Sections as usize);
        let bounds = self.file.rows(Table::Bounds as usize);
        let relocatable = self.facts().is_some_and(|facts| facts.relocatable != 0);
        layout::image(id, relocatable, sections, bounds, names)
    }

    /// Parses a file; `None` if it is of another kind.
    pub fn of(file: Sealed) -> Option<ImageIndex> {
        let index = ImageIndex { file };
        let symbols = index.parts().1.len();
        let sane = index.facts().is_some()
            && index.by_name().len() == symbols
            && index.by_name().iter().all(|place| (*place as usize) < symbols);
        sane.then_some(index)
    }

    pub fn into_file(self) -> Sealed {
        self.file
    }

    pub fn file(&self) -> &Sealed {
        &self.file
    }

    /// Whether all places referenced by records exist, which [`ImageIndex::of`] does not check.
    pub fn is_sound(&self) -> bool {
        let len = |table: Table| self.file.table(table as usize).len() as u64;
        let within = |at: u32, count: u64, of: u64| u64::from(at).saturating_add(count) <= of;
        let (names, places) = (len(Table::Names), self.file.rows::<u32>(Table::Places as usize).len() as u64);
        let dropped = self.file.rows::<DroppedRecord>(Table::Dropped as usize).len() as u64;
        let functions = self.records().iter().all(|record| {
            within(record.name_at, record.name_len.into(), names)
                && within(record.first, u64::from(record.entries) + u64::from(record.exits), places)
                && u64::from(record.dropped) <= dropped
        });
        let sorted = self.records().is_sorted_by(|a, b| self.name(a) < self.name(b));
        let (names, symbols) = self.parts();
        functions && sorted && symbols.iter().all(|symbol| symbol.is_named_in(names))
    }

    pub fn function(&self, name: &str) -> Option<Known> {
        let records = self.records();
        let at = records.binary_search_by(|record| self.name(record).cmp(name)).ok()?;
        Some(self.known(&records[at]))
    }

    /// Returns all names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.records().iter().map(|record| self.name(record))
    }

    fn facts(&self) -> Option<&Facts> {
        self.file.rows::<Facts>(Table::Facts as usize).first()
    }

    fn records(&self) -> &[FunctionRecord] {
        self.file.rows(Table::Functions as usize)
    }

    fn name(&self, record: &FunctionRecord) -> &str {
        let start = record.name_at as usize;
        text(self.file.table(Table::Names as usize), start..start.saturating_add(record.name_len as usize))
    }

    fn known(&self, record: &FunctionRecord) -> Known {
        let base = self.facts().map_or(0, |facts| facts.base);
        let places = self.file.rows::<u32>(Table::Places as usize);
        let first = record.first as usize;
        let points = |start: usize, len: u32| {
            let words = places.get(start..start.saturating_add(len as usize)).unwrap_or(&[]);
            let points = words.chunk_by(|word, _| word & EDGE != 0);
            points.filter_map(|words| point(base, words)).collect::<Vec<Point>>()
        };
        let entries = points(first, record.entries);
        let exits = points(first.saturating_add(record.entries as usize), record.exits);
        let dropped = self.file.rows::<DroppedRecord>(Table::Dropped as usize);
        let dropped = match (record.dropped as usize).checked_sub(1).and_then(|at| dropped.get(at)) {
            Some(record) => record.dropped(),
            None => Dropped { copies: count(&entries), ..Dropped::default() },
        };
        Known { inline: true, entries, exits, dropped }
    }
}

impl Stored for ImageIndex {
    fn parts(&self) -> (&[u8], &[Symbol]) {
        (self.file.table(Table::SymbolNames as usize), self.file.rows(Table::Symbols as usize))
    }

    fn by_name(&self) -> &[u32] {
        self.file.rows(Table::SymbolsByName as usize)
    }

    fn text_start(&self) -> Option<u64> {
        self.facts().map(|facts| facts.text_start).filter(|address| *address != 0)
    }
}

impl DroppedRecord {
    fn of(dropped: &Dropped) -> DroppedRecord {
        let Dropped { copies, freed, dead, split_tails, without_address, duplicates, undecodable, .. } =
            *dropped;
        let Dropped { unread, lost, shared, doubtful, why_unread, why_doubtful, .. } = *dropped;
        let doubt = match why_doubtful {
            None => [0, 0],
            Some(Doubt::Bypassed(at)) => [1, at],
            Some(Doubt::Looped(at)) => [2, at],
            Some(Doubt::Unrolled(at)) => [3, at],
            Some(Doubt::Unmarked(at)) => [4, at],
            Some(Doubt::Reentered(at)) => [5, at],
            Some(Doubt::Combined(at)) => [6, at],
            Some(Doubt::Shared(at)) => [7, at],
        };
        let (why_unread, at) = match why_unread {
            None => (0, [0, 0]),
            Some(Undecodable::NoCode) => (1, [0, 0]),
            Some(Undecodable::Bytes(at)) => (2, [at, 0]),
            Some(Undecodable::Inside(at, to)) => (3, [at, to]),
            Some(Undecodable::Indirect(at)) => (4, [at, 0]),
            Some(Undecodable::Entry(at)) => (5, [at, 0]),
            Some(Undecodable::Exceptions) => (6, [0, 0]),
        };
        let counts = [
            copies,
            freed,
            dead,
            split_tails,
            without_address,
            duplicates,
            undecodable,
            unread,
            lost,
            shared,
            doubtful,
        ];
        DroppedRecord { counts, why_unread, at, doubt }
    }

    fn dropped(&self) -> Dropped {
        let [
            copies,
            freed,
            dead,
            split_tails,
            without_address,
            duplicates,
            undecodable,
            unread,
            lost,
            shared,
            doubtful,
        ] = self.counts;
        Dropped {
            copies,
            freed,
            dead,
            split_tails,
            without_address,
            duplicates,
            undecodable,
            unread,
            why_unread: self.why(),
            lost,
            shared,
            doubtful,
            why_doubtful: self.doubt(),
        }
    }

    fn doubt(&self) -> Option<Doubt> {
        let [kind, at] = self.doubt;
        match kind {
            1 => Some(Doubt::Bypassed(at)),
            2 => Some(Doubt::Looped(at)),
            3 => Some(Doubt::Unrolled(at)),
            4 => Some(Doubt::Unmarked(at)),
            5 => Some(Doubt::Reentered(at)),
            6 => Some(Doubt::Combined(at)),
            7 => Some(Doubt::Shared(at)),
            _ => None,
        }
    }

    fn why(&self) -> Option<Undecodable> {
        let [at, to] = self.at;
        match self.why_unread {
            1 => Some(Undecodable::NoCode),
            2 => Some(Undecodable::Bytes(at)),
            3 => Some(Undecodable::Inside(at, to)),
            4 => Some(Undecodable::Indirect(at)),
            5 => Some(Undecodable::Entry(at)),
            6 => Some(Undecodable::Exceptions),
            _ => None,
        }
    }
}

impl fmt::Debug for ImageIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImageIndex({} functions, {} symbols)", self.records().len(), self.parts().1.len())
    }
}

/// Decodes a point from its words.
fn point(base: u64, words: &[u32]) -> Option<Point> {
    let address = |word: &u32| base.wrapping_add(u64::from(word & !EDGE));
    match words {
        [at] => Some(Point::At(address(at))),
        [from, over @ .., to] => {
            let over: Vec<u64> = over.iter().map(address).collect();
            Some(Point::Edge { from: address(from), over: Over::new(&over)?, to: address(to) })
        }
        [] => None,
    }
}

/// Returns the number of copies with nothing to report: those with a single entry.
fn count(entries: &[Point]) -> u32 {
    entries.len() as u32
}

fn text(bytes: &[u8], range: Range<usize>) -> &str {
    bytes.get(range).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}

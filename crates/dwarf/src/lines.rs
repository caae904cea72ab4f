//! dwarf/lines.rs: the line tables: the source line of an address, and where the statements of a line begin.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use gimli::ColumnType;

use super::sections::Dwarf;
use super::unit::Unit;

/// The line table of one unit.
#[derive(Debug, Default)]
pub struct Lines {
    /// Paths by index of the file in the unit, as in [`CallSite`](super::CallSite).
    files: Vec<String>,
    /// The sequences by address.
    sequences: Vec<Sequence>,
    /// The inverse of `files`, computed on demand.
    numbers: OnceLock<HashMap<String, u64>>,
}

/// Contiguous code.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// From the first row's address to the end of the sequence.
    pub range: Range<u64>,
    /// The rows by address; of several at one address, the last one counts.
    pub rows: Vec<Row>,
}

/// A row of a line table; it applies up to the address of the next one.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Address of its first instruction.
    pub address: u64,
    /// The index of the file.
    pub file: u32,
    /// 0: the instructions belong to no line.
    pub line: u32,
    /// 0: not given.
    pub column: u32,
    /// Whether a statement begins there.
    pub is_stmt: bool,
}

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'l> {
    /// Path as in [`CallSite`](super::CallSite).
    pub file: &'l str,
    /// 0: the instruction belongs to no line.
    pub line: u32,
    /// 0: not given.
    pub column: u32,
}

/// The beginning of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement<'l> {
    /// Address of its first instruction.
    pub address: u64,
    /// The line and column of the statement; the line is not 0.
    pub place: Line<'l>,
}

impl Lines {
    /// Takes the parts of a table that was read earlier; the sequences are by address.
    pub fn of(files: Vec<String>, sequences: Vec<Sequence>) -> Lines {
        Lines { files, sequences, numbers: OnceLock::new() }
    }

    /// The paths of the unit's files, by index in its line table.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The index of a file; of several with one path, the last one: DWARF 5 lists the first file twice.
    pub fn number(&self, path: &str) -> Option<u64> {
        let numbers = self.numbers.get_or_init(|| self.files.iter().cloned().zip(0..).collect());
        numbers.get(path).copied()
    }

    /// The sequences by address.
    pub fn sequences(&self) -> &[Sequence] {
        &self.sequences
    }

    /// The line of the instruction at an address.
    pub fn at(&self, address: u64) -> Option<Line<'_>> {
        let after = self.sequences.partition_point(|sequence| sequence.range.start <= address);
        let sequence = self.sequences[..after]
            .iter()
            .rev()
            .take(4)
            .find(|sequence| sequence.range.contains(&address))?;
        let after = sequence.rows.partition_point(|row| row.address <= address);
        self.place(sequence.rows[..after].last()?)
    }

    /// The statements that begin in a range of addresses, by address.
    pub fn statements(&self, within: Range<u64>) -> impl Iterator<Item = Statement<'_>> {
        self.rows_in(within)
            .filter(|row| row.is_stmt && row.line != 0)
            .filter_map(|row| Some(Statement { address: row.address, place: self.place(row)? }))
    }

    /// The rows in a range of addresses, by address.
    pub fn rows_in(&self, within: Range<u64>) -> impl Iterator<Item = &Row> {
        let Range { start, end } = within;
        let meets = move |sequence: &&Sequence| sequence.range.start < end && start < sequence.range.end;
        let rows = move |sequence: &'_ Sequence| {
            let first = sequence.rows.partition_point(|row| row.address < start);
            let after = sequence.rows.partition_point(|row| row.address < end);
            first..after.max(first)
        };
        self.sequences.iter().filter(meets).flat_map(move |sequence| &sequence.rows[rows(sequence)])
    }

    fn place(&self, row: &Row) -> Option<Line<'_>> {
        let file = self.files.get(row.file as usize)?;
        Some(Line { file, line: row.line, column: row.column })
    }
}

pub(super) fn read<'d>(dwarf: &Dwarf<'d>, unit: &Unit<'d>) -> gimli::Result<Lines> {
    let Some(program) = unit.line_program(dwarf)? else { return Ok(Lines::default()) };
    let mut lines = Lines::default();
    let mut rows = program.rows();
    let mut sequence = Vec::new();
    while let Some((_, row)) = rows.next_row()? {
        let address = row.address();
        if row.end_sequence() {
            lines.add(std::mem::take(&mut sequence), address);
            continue;
        }
        sequence.push(Row {
            address,
            file: row.file_index() as u32,
            line: row.line().map_or(0, |line| line.get() as u32),
            column: match row.column() {
                ColumnType::LeftEdge => 0,
                ColumnType::Column(column) => column.get() as u32,
            },
            is_stmt: row.is_stmt(),
        });
    }
    let header = rows.header();
    let last = lines.sequences.iter().flat_map(|sequence| &sequence.rows).map(|row| row.file).max();
    // A damaged row may name any file; the table itself gives the number of files.
    let files = (header.file_names().len() as u32 + 1).min(last.map_or(0, |last| last.saturating_add(1)));
    lines.files = unit.paths_in(dwarf, header, files.into());
    lines.sequences.sort_by_key(|sequence| (sequence.range.start, sequence.range.end));
    Ok(lines)
}

impl Lines {
    /// Keeps the sequences that begin at an address for which `keep` is true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u64) -> bool) {
        self.sequences.retain(|sequence| keep(sequence.range.start));
    }

    fn add(&mut self, mut rows: Vec<Row>, end: u64) {
        // The rows of a sequence ascend, except in a damaged one.
        rows.sort_by_key(|row| row.address);
        if let Some(start) = rows.first().map(|row| row.address).filter(|start| *start < end) {
            self.sequences.push(Sequence { range: start..end, rows });
        }
    }
}

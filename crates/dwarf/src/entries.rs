//! dwarf/entries.rs: the instructions where calls of inlined copies begin, from the line table.

use std::ops::Range;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use gimli::ColumnType;

use super::lines::Lines;
use super::sections::Dwarf;
use super::unit::Unit;

/// A place in the source: index of the file in the unit, line and column.
pub(crate) type Place = (u64, u64, u64);

/// A set of places; most rows of a line table are not in it.
#[derive(Debug, Default)]
pub(crate) struct Places {
    places: HashSet<Place>,
    /// Whether a line has a place, by the line's number.
    lines: Vec<bool>,
}

impl FromIterator<Place> for Places {
    fn from_iter<T: IntoIterator<Item = Place>>(places: T) -> Places {
        let places = HashSet::from_iter(places);
        let mut lines = Vec::new();
        for (_, line, _) in &places {
            let line = index(*line);
            lines.resize(lines.len().max(line + 1), false);
            lines[line] = true;
        }
        Places { places, lines }
    }
}

impl Places {
    fn has(&self, place: &Place) -> bool {
        self.lines.get(index(place.1)).is_some_and(|is_there| *is_there) && self.places.contains(place)
    }
}

/// The index of a line, bounded: in damaged debug information, the line may be any number.
fn index(line: u64) -> usize {
    const MOST: u64 = 1 << 20;
    MOST.min(line) as usize
}

/// The rows of statements at the places where functions are declared.
///
/// gcc puts a marker into its code for the beginning of each inlined call, and copies it together with the
/// code: every path on which a call begins has such a row, while an instruction that was moved ahead of the
/// call has none. DW_AT_entry_pc is only the first of them in address order. All statements of a function
/// that a macro generates are at one place, where the macro is used: its markers cannot be distinguished from
/// its statements.
#[derive(Debug, Default)]
pub(crate) struct Markers {
    /// Addresses by place, ascending; an address where several calls begin is repeated.
    rows: HashMap<Place, Vec<u64>>,
    /// Whether the compiler marks statements: some rows do not begin one.
    has_statements: bool,
    /// The addresses where rows of the unit's line table begin, ascending.
    pub starts: Arc<[u64]>,
}

/// The source of a copy's entries in the debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The compiler's markers in the line table.
    Marked,
    /// DW_AT_entry_pc; the compiler omits it only if it would be the lowest address.
    Named,
    /// The same, although the compiler marks where calls begin: this copy has lost its marker.
    Lost,
    /// The lowest address: the compiler does not say where control enters.
    Lowest,
}

impl Evidence {
    /// The evidence once control flow has shown where control enters.
    pub fn known(self) -> Evidence {
        if self == Evidence::Lowest { Evidence::Named } else { self }
    }
}

/// A copy before its entries are determined.
#[derive(Debug)]
pub(crate) struct Unentered {
    /// The place of the function's name in its declaration, if it is in one of the unit's files and nothing else of the
    /// function is there.
    pub declared: Option<Place>,
    /// The index of the copy that contains this one; lower than its own index.
    pub parent: Option<usize>,
    /// The ranges as listed, including empty ones.
    pub listed: Vec<Range<u64>>,
    /// DW_AT_entry_pc, or its substitute.
    pub entry: Option<u64>,
    /// Whether the compiler states where control enters.
    pub told: bool,
}

impl Markers {
    /// Reads the line table of a unit for these places.
    pub(crate) fn of_unit<'a>(dwarf: &Dwarf<'a>, unit: &Unit<'a>, places: &Places) -> gimli::Result<Markers> {
        let mut markers = Markers::default();
        let Some(program) = unit.line_program(dwarf)? else { return Ok(markers) };
        let mut rows = program.rows();
        let mut starts: Vec<u64> = Vec::new();
        while let Some((_, row)) = rows.next_row()? {
            if starts.last() != Some(&row.address()) {
                starts.push(row.address());
            }
            let ColumnType::Column(column) = row.column() else { continue };
            let place = (row.file_index(), row.line().map_or(0, |line| line.get()), column.get());
            markers.has_statements |= !row.is_stmt();
            if row.is_stmt() && !row.end_sequence() && places.has(&place) {
                markers.rows.entry(place).or_default().push(row.address());
            }
        }
        starts.sort_unstable();
        markers.starts = starts.into();
        Ok(markers.sorted())
    }

    /// The markers in the code of one function, from a line table that was read earlier.
    pub(crate) fn of_lines(table: &Lines, code: &[Range<u64>], places: &Places) -> Markers {
        let mut markers = Markers::default();
        for row in code.iter().flat_map(|range| table.rows_in(range.clone())) {
            let place = (row.file.into(), row.line.into(), row.column.into());
            if row.is_stmt && places.has(&place) {
                markers.rows.entry(place).or_default().push(row.address);
            }
        }
        markers.sorted()
    }

    fn sorted(mut self) -> Markers {
        self.rows.values_mut().for_each(|addresses| addresses.sort_unstable());
        self
    }

    /// The entries of the copies in the code of one function, each in address order; none for a copy without
    /// an address.
    pub(crate) fn entries(&self, copies: &[Unentered]) -> Vec<(Vec<u64>, Evidence)> {
        let mut begun: Vec<Vec<u64>> = copies.iter().map(|copy| self.within(copy)).collect();
        self.settle(copies, &mut begun);
        let entries = copies.iter().zip(begun).map(|(copy, begun)| match copy.entry {
            Some(_) if !begun.is_empty() => (begun, Evidence::Marked),
            entry if copy.told => (entry.into_iter().collect(), self.without(copy)),
            entry => (entry.into_iter().collect(), Evidence::Lowest),
        });
        entries.collect()
    }

    /// The evidence for a copy that has no marker.
    fn without(&self, copy: &Unentered) -> Evidence {
        match copy.declared.is_some() && self.has_statements {
            true => Evidence::Lost,
            false => Evidence::Named,
        }
    }

    /// The markers in the ranges of a copy, or at an empty range.
    fn within(&self, copy: &Unentered) -> Vec<u64> {
        let Some(addresses) = copy.declared.and_then(|place| self.rows.get(&place)) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for range in &copy.listed {
            let first = addresses.partition_point(|address| *address < range.start);
            let inside = |address: &&u64| range.contains(address) || **address == range.start;
            found.extend(addresses[first..].iter().take_while(inside));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Removes markers if more copies claim one than calls begin there. Wrong claims come from copies with
    /// only an empty range there; from copies around another claimant, as one call of a recursive function is
    /// around the next, and the first half of a split function around the second; and from copies whose first
    /// entry is elsewhere, which have only a moved instruction there. A copy keeps its last marker.
    fn settle(&self, copies: &[Unentered], begun: &mut [Vec<u64>]) {
        let mut claims: Vec<(Place, u64, usize)> = Vec::new();
        for (index, (copy, begun)) in copies.iter().zip(&*begun).enumerate() {
            let Some(place) = copy.declared else { continue };
            claims.extend(begun.iter().map(|address| (place, *address, index)));
        }
        claims.sort_unstable();
        for claims in claims.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|claims| claims.len() > 1) {
            let (place, address, _) = claims[0];
            let claimants: Vec<usize> = claims.iter().map(|claim| claim.2).collect();
            let mut surplus = claimants.len().saturating_sub(self.calls_at(place, address));
            let has_code = |index: &usize| copies[*index].listed.iter().any(|range| range.contains(&address));
            let is_around = |index: &usize| claimants.iter().any(|other| is_in(copies, *other, *index));
            let empty = claimants.iter().filter(|index| !has_code(index));
            // Copies come after the copies that contain them: the outermost first.
            let around = claimants.iter().filter(|index| has_code(index) && is_around(index));
            let moved = claimants.iter().filter(|index| {
                has_code(index) && !is_around(index) && copies[**index].entry != Some(address)
            });
            for index in empty.chain(around).chain(moved) {
                if surplus > 0 && begun[*index].len() > 1 {
                    begun[*index].retain(|begin| *begin != address);
                    surplus -= 1;
                }
            }
        }
    }

    /// The number of calls that begin at an address.
    fn calls_at(&self, place: Place, address: u64) -> usize {
        let Some(addresses) = self.rows.get(&place) else { return 0 };
        addresses.partition_point(|at| *at <= address) - addresses.partition_point(|at| *at < address)
    }
}

/// Whether a call's line and column are where the function is declared. gcc splits a function (f, f.part.0)
/// and may inline both halves: the second is then "called" by the first, at the name in the declaration of f.
pub(crate) fn is_declaration(declared: (u64, u64), called: (u64, u64)) -> bool {
    declared.0 == called.0 && (declared.1 == called.1 || declared.1 == 0 || called.1 == 0)
}

/// Whether one copy is inside another, at any depth.
fn is_in(copies: &[Unentered], inner: usize, outer: usize) -> bool {
    std::iter::successors(copies[inner].parent, |index| copies[*index].parent).any(|index| index == outer)
}

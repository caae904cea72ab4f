//! dwarf/recurring.rs: statements that recur in the code of an inlined copy: one copy may be several calls.

use std::collections::HashMap;
use std::ops::Range;

use super::lines::{Lines, Row};

/// The statements of a copy that occur more than once in its code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recurring {
    /// Pairs of instructions that begin the same statement.
    pub again: Vec<(u64, u64)>,
    /// Whether the whole copy is one statement, so that only its instructions can show that it recurs.
    pub is_single: bool,
}

/// The owner of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Copy,
    /// A copy inside it.
    Inner,
    Caller,
}

/// Finds the statements of a copy that recur in its code after something else: when a compiler unrolls a loop
/// around a call, it makes one copy for all rounds. The copy's first statement counts if any other statement
/// is in between, the others only if a statement of the caller is: loops in the function itself are unrolled,
/// too.
///
/// `ranges` are the copy's, `inner` those of the copies inside it; in any order.
pub(crate) fn recurring(lines: &Lines, ranges: &[Range<u64>], inner: &[Range<u64>]) -> Recurring {
    let (Some(start), Some(end)) =
        (ranges.iter().map(|range| range.start).min(), ranges.iter().map(|range| range.end).max())
    else {
        return Recurring::default();
    };
    let has = |ranges: &[Range<u64>], address: u64| ranges.iter().any(|range| range.contains(&address));
    let owner = |row: &Row| match () {
        () if has(inner, row.address) => Owner::Inner,
        () if has(ranges, row.address) => Owner::Copy,
        () => Owner::Caller,
    };
    let mut rows = lines.rows_in(start..end).peekable();
    let rows = std::iter::from_fn(|| rows.next().map(|row| (row, rows.peek().copied())));
    // Among several rows at one address, the last one counts.
    let counts = |row: &Row, next: Option<&Row>| next.is_none_or(|next| next.address != row.address);
    let rows = rows.filter(|(row, next)| row.line != 0 && counts(row, *next));
    again(rows.map(|(row, _)| (*row, owner(row))))
}

fn again(rows: impl Iterator<Item = (Row, Owner)>) -> Recurring {
    let mut first = None;
    // Each statement's last instruction so far, with its row index.
    let mut last: HashMap<(u32, u32, u32), (usize, u64)> = HashMap::new();
    // The last rows of the caller, and of anything but the first statement and copies inside this one.
    let (mut of_caller, mut of_other) = (0, 0);
    let mut again = Vec::new();
    for (number, (row, owner)) in (1..).zip(rows) {
        let place = (row.file, row.line, row.column);
        match owner {
            Owner::Inner => continue,
            Owner::Caller => (of_caller, of_other) = (number, number),
            Owner::Copy => {
                let is_first = *first.get_or_insert(place) == place;
                let since = if is_first { of_other } else { of_caller };
                let earlier = last.insert(place, (number, row.address));
                again.extend(earlier.filter(|(at, _)| *at < since).map(|(_, from)| (from, row.address)));
                if !is_first {
                    of_other = number;
                }
            }
        }
    }
    Recurring { is_single: last.len() == 1 && again.is_empty(), again }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &[(u32, Owner)]) -> Vec<(u64, u64)> {
        let row = |(address, (line, owner)): (u64, &(u32, Owner))| {
            (Row { address, file: 1, line: *line, column: 1, is_stmt: true }, *owner)
        };
        again((0..).zip(rows).map(row)).again
    }

    #[test]
    fn statements_that_come_again() {
        use Owner::{Caller, Copy, Inner};
        assert_eq!(found(&[(1, Copy), (2, Copy), (1, Copy), (2, Copy)]), [(0, 2)], "the first one");
        assert_eq!(found(&[(1, Copy), (9, Caller), (1, Copy)]), [(0, 2)], "the only one");
        assert_eq!(found(&[(1, Copy), (2, Copy), (9, Caller), (2, Copy)]), [(1, 3)], "round the caller");
        assert_eq!(found(&[(1, Copy), (2, Copy), (3, Copy), (2, Copy)]), [], "a loop in the function");
        assert_eq!(found(&[(1, Copy), (1, Copy), (5, Inner), (1, Copy)]), [], "a call of another one");
        assert_eq!(found(&[(9, Caller), (1, Copy), (2, Copy), (9, Caller)]), []);
    }

    #[test]
    fn one_statement() {
        let row = |address, line| Row { address, file: 1, line, column: 1, is_stmt: true };
        let single = |lines: &[u32]| {
            let rows = (0..).zip(lines).map(|(address, line)| (row(address, *line), Owner::Copy));
            again(rows).is_single
        };
        assert!(single(&[1]) && single(&[1, 1]));
        assert!(!single(&[]) && !single(&[1, 2]));
    }
}

//! base/diag/suggest.rs: "did you mean" suggestions: the nearest of the known names.

/// Returns the candidate that is nearest to `name`, if one is near enough to be meant.
///
/// Near enough is one edit per three letters, at least one; letter case does not count as an edit.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(name, candidates, 1).into_iter().next()
}

/// Returns up to `limit` near candidates, the nearest first; ties are broken by length, then alphabetically.
pub fn nearest_few<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    limit: usize,
) -> Vec<&'a str> {
    let mut measure = Measure::new(name);
    let most = (measure.name.len() / 3).max(1);
    // Swapped letters (prinft) are a likelier slip than an extra one at the same distance.
    let mut near: Vec<(usize, usize, &str)> = candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .filter_map(|candidate| {
            Some((measure.distance(candidate, most)?, candidate.len().abs_diff(name.len()), candidate))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(limit);
    near.into_iter().map(|(_, _, candidate)| candidate).collect()
}

/// Returns a list of names for a message, which says how many are left out.
pub fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.take(SHOWN).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown}, and {more} more") }
}

/// Returns Damerau's distance with adjacent swaps (optimal string alignment), or `None` above `most`.
pub fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    Measure::new(a).distance(b, most)
}

/// A name to compare with many others; the comparisons share its buffers.
struct Measure {
    /// In lower case, like the names that it is compared with.
    name: Vec<char>,
    other: Vec<char>,
    /// Rows of the table: for the letter before the last, for the last, and the current one.
    before: Vec<usize>,
    last: Vec<usize>,
    row: Vec<usize>,
}

impl Measure {
    fn new(name: &str) -> Measure {
        let name = name.chars().flat_map(char::to_lowercase).collect();
        Measure { name, other: Vec::new(), before: Vec::new(), last: Vec::new(), row: Vec::new() }
    }

    /// Computes only a band of `most` cells beside the diagonal, so that 100,000 symbols are searched in milliseconds.
    fn distance(&mut self, other: &str, most: usize) -> Option<usize> {
        // Most candidates differ in length by more than that.
        if other.is_ascii() && other.len().abs_diff(self.name.len()) > most {
            return None;
        }
        self.other.clear();
        match other.is_ascii() {
            true => self.other.extend(other.bytes().map(|byte| char::from(byte.to_ascii_lowercase()))),
            false => self.other.extend(other.chars().flat_map(char::to_lowercase)),
        }
        let (a, b) = (&self.name, &self.other);
        if a.len().abs_diff(b.len()) > most {
            return None;
        }
        let far = most + 1;
        let (before, last, row) = (&mut self.before, &mut self.last, &mut self.row);
        for cells in [&mut *before, &mut *row] {
            cells.clear();
            cells.resize(b.len() + 1, far);
        }
        last.clear();
        last.extend(0..=b.len());
        for i in 1..=a.len() {
            row.fill(far);
            row[0] = i;
            for j in i.saturating_sub(most).max(1)..=(i + most).min(b.len()) {
                let substituted = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
                row[j] = substituted.min(last[j] + 1).min(row[j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    row[j] = row[j].min(before[j - 2] + 1);
                }
            }
            if row.iter().all(|&cell| cell > most) {
                return None;
            }
            std::mem::swap(before, last);
            std::mem::swap(last, row);
        }
        (last[b.len()] <= most).then_some(last[b.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_a_slip_and_a_missing_letter_are_near() {
        let known = ["execname", "timestamp", "vfs_read", "vfs_write", "count"];
        assert_eq!(nearest("excename", known), Some("execname"));
        assert_eq!(nearest("timestmp", known), Some("timestamp"));
        assert_eq!(nearest("vfs_raed", known), Some("vfs_read"));
        assert_eq!(nearest("COUNT", known), Some("count"));
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest("tcp_sendmsg", known), None);
    }

    #[test]
    fn distances() {
        assert_eq!(distance("", "", 0), Some(0));
        assert_eq!(distance("kitten", "sitting", 3), Some(3));
        assert_eq!(distance("kitten", "sitting", 2), None);
        assert_eq!(distance("ab", "ba", 1), Some(1));
        assert_eq!(distance("", "abc", 3), Some(3));
    }

    #[test]
    fn the_nearest_come_first() {
        assert_eq!(
            nearest_few("vfs_rea", ["vfs_write", "vfs_reab", "vfs_read"], 3),
            ["vfs_reab", "vfs_read"]
        );
    }
}

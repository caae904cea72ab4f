//! analysis/coverage/against.rs: --against: code that only this run or only the other run executed.

use super::tally::{File, Tally};
use super::text::CYAN;
use kinst_base::diag::color;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Writes the differences; `name` is the file of the other run.
pub(crate) fn write(ours: &Tally, theirs: &Tally, name: &str, colored: bool) -> String {
    let here = only(ours, theirs);
    let there = only(theirs, ours);
    let mut out = String::new();
    for (title, tally, lines) in
        [(format!("here but not in {name}"), ours, here), (format!("in {name} but not here"), theirs, there)]
    {
        let count: usize = lines.iter().map(|(_, lines)| lines.len()).sum();
        let plural = if count == 1 { "line was" } else { "lines were" };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "\n{count} {plural} executed {title}");
        for (file, lines) in &lines {
            let _ = writeln!(out, "  {}", color::paint(file, CYAN, colored));
            let known = tally.files.get(*file);
            for (function, lines) in by_function(known, lines) {
                let _ = writeln!(out, "    {function}{}", ranges(&lines));
            }
        }
    }
    out
}

/// Returns the lines that one run executed and the other is not known to have executed.
pub(crate) fn only<'t>(one: &'t Tally, other: &Tally) -> Vec<(&'t str, BTreeSet<u32>)> {
    let lines = |(name, file): (&'t String, &File)| {
        let known = other.files.get(name);
        let was = |file: &File, line: &u32| file.lines.get(line).copied().flatten() == Some(true);
        let is_new = |line: &&u32| was(file, line) && !known.is_some_and(|known| was(known, line));
        (name.as_str(), file.lines.keys().filter(is_new).copied().collect::<BTreeSet<u32>>())
    };
    one.files.iter().map(lines).filter(|(_, lines)| !lines.is_empty()).collect()
}

/// Groups the lines by the preceding function: `ext4_write_begin(): `, or nothing if none is known.
fn by_function(file: Option<&File>, lines: &BTreeSet<u32>) -> Vec<(String, Vec<u32>)> {
    let mut starts: Vec<(u32, &String)> =
        file.iter().flat_map(|file| &file.functions).map(|(name, called)| (called.line, name)).collect();
    starts.sort_unstable();
    let mut all: Vec<(String, Vec<u32>)> = Vec::new();
    for line in lines {
        let after = starts.partition_point(|(start, _)| start <= line);
        let name = after.checked_sub(1).map_or_else(String::new, |at| format!("{}(): ", starts[at].1));
        match all.last_mut().filter(|(last, _)| *last == name) {
            Some((_, lines)) => lines.push(*line),
            None => all.push((name, vec![*line])),
        }
    }
    all
}

/// `3-5, 9`
fn ranges(lines: &[u32]) -> String {
    let ranges = lines.chunk_by(|one, next| one.checked_add(1) == Some(*next)).map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        _ => range.iter().map(u32::to_string).collect(),
    });
    ranges.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{ranges, write};
    use crate::analysis::coverage::lcov;

    #[test]
    fn lines_in_a_row_are_one_range() {
        assert_eq!(ranges(&[1, 3, 4, 5, 9, 10]), "1, 3-5, 9-10");
    }

    #[test]
    fn both_sides_are_told() {
        let one = lcov::read("SF:a.c\nFN:1,f\nFN:10,g\nDA:2,1\nDA:3,1\nDA:12,1\nDA:13,0\n").expect("a file");
        let other = lcov::read("SF:a.c\nFN:1,f\nDA:2,0\nDA:12,4\nDA:13,1\n").expect("a file");
        let text = write(&one, &other, "base", false);
        let wanted = "\n2 lines were executed here but not in base\n  a.c\n    f(): 2-3\n\
                      \n1 line was executed in base but not here\n  a.c\n    f(): 13\n";
        assert_eq!(text, wanted);
    }
}

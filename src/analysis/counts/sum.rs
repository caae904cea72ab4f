//! analysis/counts/sum.rs: the copies of an inlined function, joined by source line.

use super::view::{self, Branch, Line, Lines};
use crate::analysis::counts::counted::{Counted, Executions};
use kinst_sites::listing::Place;

/// A function or copy with its executions.
pub(crate) type One<'a> = (&'a Counted, &'a Executions);

/// A unit of output.
pub(crate) enum Shown<'a> {
    One(One<'a>),
    /// Several copies of a function.
    Copies(Copies<'a>),
}

/// The copies of a function; the ones with the most calls come first.
pub(crate) struct Copies<'a> {
    pub function: String,
    pub source: Option<Place>,
    pub members: Vec<One<'a>>,
    /// The number of copies that were called; they come first.
    pub called: usize,
    /// `None`: unknown for some copy.
    pub calls: Option<u64>,
    pub lines: Lines,
}

/// Joins the copies of a function.
pub(crate) fn shown<'a>(all: &'a [(&'a Counted, Executions)]) -> Vec<Shown<'a>> {
    let mut groups: Vec<(Option<&str>, Vec<One<'a>>)> = Vec::new();
    for (counted, executions) in all {
        let copy = counted.listings.first().and_then(|listing| listing.copy.as_ref());
        let name = copy.map(|copy| copy.function.as_str());
        match groups.iter_mut().find(|(known, _)| name.is_some() && *known == name) {
            Some((_, members)) => members.push((counted, executions)),
            None => groups.push((name, vec![(counted, executions)])),
        }
    }
    let one = |(name, members): (Option<&str>, Vec<One<'a>>)| match (name, &members[..]) {
        (Some(name), [_, _, ..]) => Shown::Copies(copies(name, members)),
        _ => Shown::One(members[0]),
    };
    groups.into_iter().map(one).collect()
}

fn copies<'a>(function: &str, mut members: Vec<One<'a>>) -> Copies<'a> {
    // A copy whose calls are unknown may have been called.
    members.sort_by_key(|(_, executions)| std::cmp::Reverse(executions.calls.unwrap_or(u64::MAX)));
    let called = members.iter().take_while(|(_, executions)| executions.calls != Some(0)).count();
    let source = members.iter().find_map(|(counted, _)| counted.listings.first()?.source.clone());
    let each: Vec<Lines> =
        members.iter().map(|(counted, executions)| view::lines(counted, executions)).collect();
    Copies {
        function: function.to_owned(),
        source,
        called,
        calls: members.iter().map(|(_, executions)| executions.calls).sum(),
        lines: summed(&each, called),
        members,
    }
}

/// The lines of copies, of which the first `called` were executed.
fn summed(each: &[Lines], called: usize) -> Lines {
    let mut all: Lines = Vec::new();
    for (file, lines) in each.iter().flatten() {
        if !all.iter().any(|(known, _)| known == file) {
            all.push((file.clone(), Default::default()));
        }
        let Some((_, known)) = all.iter_mut().find(|(known, _)| known == file) else { continue };
        known.extend(lines.keys().map(|line| (*line, Line::default())));
    }
    for (file, lines) in &mut all {
        let of = |lines: &'_ Lines| lines.iter().position(|(known, _)| known == file);
        for (number, line) in lines {
            let there = |lines: &'_ Lines| -> Option<Line> { lines[of(lines)?].1.get(number).cloned() };
            *line = sum(each[..called].iter().filter_map(there).collect(), called);
        }
    }
    all
}

/// Joins one line from the copies that have code for it, out of `called` copies that were executed.
fn sum(lines: Vec<Line>, called: usize) -> Line {
    let mut notes = Vec::new();
    if !lines.is_empty() && lines.len() < called {
        notes.push(format!("in {} of {called} copies", lines.len()));
    }
    let unknown = lines.iter().filter(|line| line.count.is_none()).count();
    if unknown > 0 {
        let known: u64 = lines.iter().filter_map(|line| line.count).sum();
        notes.push(format!("{known} but for {unknown} of these where it is not known"));
    }
    let branches = branches(lines.iter().map(|line| &line.branches[..]).collect());
    if branches.is_none() {
        notes.push("its branches differ from copy to copy".to_owned());
    }
    let mut total = Line {
        count: lines.iter().map(|line| line.count).sum(),
        branches: branches.unwrap_or_default(),
        notes,
        ..Line::default()
    };
    for line in &lines {
        for (name, count) in &line.inlined {
            match total.inlined.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum = sum.zip(*count).map(|(one, other)| one + other),
                None => total.inlined.push((name.clone(), *count)),
            }
        }
        if let Some(spent) = line.spent {
            total.spent.get_or_insert_default().add(spent);
        }
        total.reason = total.reason.or_else(|| line.reason.clone());
    }
    total
}

/// Joins the branches of a line over copies with the same branches; the compiler may have inverted one.
/// `None` if they differ.
fn branches(each: Vec<&[Branch]>) -> Option<Vec<Branch>> {
    let mut each = each.into_iter();
    let mut total = each.next().unwrap_or_default().to_vec();
    for branches in each {
        if branches.len() != total.len() {
            return None;
        }
        for (sum, branch) in total.iter_mut().zip(branches) {
            let jumps = match () {
                () if (&branch.to, &branch.next) == (&sum.to, &sum.next) => branch.jumps,
                () if (&branch.to, &branch.next) == (&sum.next, &sum.to) => {
                    branch.count.zip(branch.jumps).map(|(count, jumps)| count.saturating_sub(jumps))
                }
                () => return None,
            };
            sum.count = sum.count.zip(branch.count).map(|(one, other)| one + other);
            sum.jumps = sum.jumps.zip(jumps).map(|(one, other)| one + other);
        }
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::{Branch, Line, Place, branches, sum};

    fn place(line: u64) -> Option<Place> {
        (line > 0).then(|| Place { file: "f.c".to_owned(), line })
    }

    fn branch(count: u64, jumps: u64, to: u64, next: u64) -> Branch {
        Branch { count: Some(count), jumps: Some(jumps), to: place(to), next: place(next) }
    }

    #[test]
    fn branches_are_summed_where_copies_agree() {
        let (one, turned) = ([branch(10, 3, 7, 0)], [branch(5, 4, 0, 7)]);
        assert_eq!(branches(vec![&one, &turned]), Some(vec![branch(15, 4, 7, 0)]));
        assert_eq!(branches(vec![&one, &[branch(5, 4, 8, 0)]]), None);
        assert_eq!(branches(vec![&one, &[]]), None);
        let unknown = [Branch { jumps: None, ..branch(1, 0, 7, 0) }];
        assert_eq!(branches(vec![&one, &unknown]).unwrap()[0].jumps, None);
    }

    #[test]
    fn a_count_is_that_of_all_copies_or_none() {
        let known = |count| Line { count: Some(count), ..Line::default() };
        let line = sum(vec![known(3), known(4)], 3);
        assert_eq!((line.count, &line.notes[..]), (Some(7), &["in 2 of 3 copies".to_owned()][..]));
        let line = sum(vec![known(3), Line::default()], 2);
        assert_eq!(line.count, None);
        assert_eq!(line.notes, ["3 but for 1 of these where it is not known"]);
        // The line has code only in copies that were not called.
        assert_eq!(sum(Vec::new(), 2).count, Some(0));
    }
}

//! analysis/paths/lines.rs: the source lines of a path, with loops folded.

use super::gathered::Seen;
use super::program::Group;
use super::values::Form;
use super::ways::{self, Item, Of, Shown, Way};
use kinst_sites::listing::Place;
use kinst_sites::listing::disas::Listed;
use std::collections::HashMap;

/// One execution of a source line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// The number of enclosing followed functions.
    pub depth: usize,
    /// `None`: the debug information has no line for it.
    pub place: Option<Place>,
    /// The enclosing functions, from the followed one inwards, each with the line where it is inlined.
    pub within: Vec<(String, Option<Place>)>,
    /// The functions that it calls; an empty name is an indirect call.
    pub calls: Vec<String>,
    pub branches: Vec<Decided>,
    pub note: Option<Note>,
}

/// The outcome of a branch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decided {
    pub values: Vec<Shown>,
    pub jumps: bool,
    pub to: Option<Place>,
    /// The place of the branch instruction, for comparisons.
    pub key: Decision,
}

/// One exit of one branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Decision {
    pub of: Of,
    pub insn: (usize, usize),
    pub to: Option<(usize, usize)>,
}

/// An entry that is not a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Note {
    Enter { function: String, arguments: Vec<Shown> },
    Leave { function: String, returned: Option<Shown>, tail: Option<String> },
    Unknown,
}

/// Lines, and the number of consecutive repetitions of a loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Line(Line),
    Loop { times: usize, body: Vec<Piece> },
}

/// Returns the lines of a path.
pub(crate) fn lines(way: &Way, groups: &[Group]) -> Vec<Line> {
    let mut lines = Lines { groups, all: Vec::new(), run: 0, depth: 0 };
    way.items.iter().for_each(|item| lines.add(item));
    lines.all
}

struct Lines<'g> {
    groups: &'g [Group],
    all: Vec<Line>,
    /// The start of the current run of code without branches.
    run: usize,
    depth: usize,
}

impl Lines<'_> {
    fn add(&mut self, item: &Item) {
        match item {
            Item::Enter { of, arguments } => {
                self.note(Note::Enter { function: self.name(*of), arguments: arguments.clone() });
                self.depth += 1;
            }
            Item::Leave { of, returned, tail } => {
                self.depth = self.depth.saturating_sub(1);
                self.note(Note::Leave {
                    function: self.name(*of),
                    returned: returned.clone(),
                    tail: tail.clone(),
                });
            }
            Item::Unknown => self.note(Note::Unknown),
            Item::Block { of, insns } => {
                let Some(followed) = of.followed(self.groups) else { return };
                for insn in insns.iter().filter_map(|insn| followed.insn(*insn)) {
                    // The compiler reorders instructions; the starts of statements are in order.
                    let called = ways::callee(insn);
                    if called.is_some() || insn.begins && !insn.fentry {
                        self.line(*of, insn).calls.extend(called);
                    }
                }
            }
            Item::Branch { of, insn, to, jumps, values } => {
                let Some(followed) = of.followed(self.groups) else { return };
                let Some(listed) = followed.insn(*insn) else { return };
                let target = to.and_then(|to| followed.insn(to)).and_then(|insn| insn.place.clone());
                let key = Decision { of: *of, insn: *insn, to: *to };
                let decided = Decided { values: values.clone(), jumps: *jumps, to: target, key };
                let line = self.line(*of, listed);
                line.branches.push(decided);
                // A loop's repetition starts a new line.
                let again = to.is_some_and(|to| to <= *insn);
                self.run = self.all.len() + usize::from(again);
            }
        }
    }

    fn name(&self, of: Of) -> String {
        of.followed(self.groups).map(|followed| followed.name().to_owned()).unwrap_or_default()
    }

    fn note(&mut self, note: Note) {
        self.all.push(Line {
            depth: self.depth,
            place: None,
            within: Vec::new(),
            calls: Vec::new(),
            branches: Vec::new(),
            note: Some(note),
        });
        self.run = self.all.len();
    }

    /// Returns the line of an instruction: a line since the last branch, or of that branch, as the
    /// instructions of lines are interleaved.
    fn line(&mut self, of: Of, insn: &Listed) -> &mut Line {
        let within = self.within(of, insn);
        let depth = self.depth;
        let is_same = |line: &Line| {
            line.note.is_none() && line.place == insn.place && line.within == within && line.depth == depth
        };
        let from = self.run.saturating_sub(1);
        let at = match self.all[from..].iter().rposition(is_same) {
            Some(at) => from + at,
            None => {
                self.all.push(Line {
                    depth,
                    place: insn.place.clone(),
                    within,
                    calls: Vec::new(),
                    branches: Vec::new(),
                    note: None,
                });
                self.all.len() - 1
            }
        };
        &mut self.all[at]
    }

    /// Returns the functions around an instruction, from the followed one inwards.
    fn within(&self, of: Of, insn: &Listed) -> Vec<(String, Option<Place>)> {
        let place = |call: &kinst_dwarf::CallSite| Place { file: call.file.clone(), line: call.line };
        let frames = insn.frames.iter().rev().skip(1);
        let all = frames.map(|frame| (frame.name.clone(), frame.call.as_ref().map(place)));
        let Some(followed) = of.followed(self.groups).filter(|followed| followed.is_copy()) else {
            return all.collect();
        };
        // In a copy, only the functions inside it count.
        let mut inside = all.skip_while(|(name, _)| name != followed.name());
        inside.next();
        inside.collect()
    }
}

impl Line {
    /// Whether it is the same line with the same calls, and its branches take the same exits.
    fn is_like(&self, other: &Line) -> bool {
        let branches = |line: &Line| line.branches.iter().map(|one| one.key).collect::<Vec<_>>();
        let note = |line: &Line| match &line.note {
            None => (0, String::new()),
            Some(Note::Unknown) => (1, String::new()),
            Some(Note::Enter { function, .. }) => (2, function.clone()),
            Some(Note::Leave { function, tail, .. }) => (3, format!("{function} {tail:?}")),
        };
        self.depth == other.depth
            && self.place == other.place
            && self.within == other.within
            && self.calls == other.calls
            && branches(self) == branches(other)
            && note(self) == note(other)
    }

    /// Adds the values of the same line.
    fn join(&mut self, other: &Line) {
        for (mine, theirs) in self.branches.iter_mut().zip(&other.branches) {
            join(&mut mine.values, &theirs.values);
        }
        match (&mut self.note, &other.note) {
            (Some(Note::Enter { arguments: mine, .. }), Some(Note::Enter { arguments: theirs, .. })) => {
                join(mine, theirs)
            }
            (
                Some(Note::Leave { returned: Some(mine), .. }),
                Some(Note::Leave { returned: Some(theirs), .. }),
            ) => {
                mine.seen.join(&theirs.seen);
            }
            _ => {}
        }
    }
}

fn join(mine: &mut [Shown], theirs: &[Shown]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.seen.join(&theirs.seen));
}

/// The longest loop that is detected, in lines.
const LONGEST: usize = 96;

/// Folds consecutive repetitions, including nested loops.
pub(crate) fn folded(lines: Vec<Line>) -> Vec<Piece> {
    // Equal lines have equal indices.
    let mut known: HashMap<_, Vec<(Line, usize)>> = HashMap::new();
    let mut count = 0;
    let mut numbers = Vec::with_capacity(lines.len());
    for line in &lines {
        let same = known.entry((line.place.clone(), line.depth)).or_default();
        let number = match same.iter().find(|(other, _)| other.is_like(line)) {
            Some((_, number)) => *number,
            None => {
                count += 1;
                same.push((line.clone(), count));
                count
            }
        };
        numbers.push(number);
    }
    let pieces: Vec<(usize, Piece)> = numbers.into_iter().zip(lines.into_iter().map(Piece::Line)).collect();
    let mut next = count;
    // Shorter loops are folded first, then enclosing ones.
    let mut pieces = pieces;
    let mut loops: HashMap<(Vec<usize>, usize), usize> = HashMap::new();
    loop {
        let before = pieces.len();
        for len in 1..=LONGEST {
            pieces = fold(pieces, len, &mut next, &mut loops);
        }
        if pieces.len() == before {
            return pieces.into_iter().map(|(_, piece)| piece).collect();
        }
    }
}

/// Folds the loops of this length in pieces.
fn fold(
    pieces: Vec<(usize, Piece)>,
    len: usize,
    next: &mut usize,
    loops: &mut HashMap<(Vec<usize>, usize), usize>,
) -> Vec<(usize, Piece)> {
    let numbers: Vec<usize> = pieces.iter().map(|(number, _)| *number).collect();
    let mut rest = pieces.into_iter();
    let mut out = Vec::new();
    let mut at = 0;
    while at < numbers.len() {
        let left = &numbers[at..];
        let same = left.chunks_exact(len).take_while(|chunk| left.starts_with(chunk));
        let times = same.count();
        if times < 2 {
            out.extend(rest.next());
            at += 1;
            continue;
        }
        let mut body: Vec<Piece> = rest.by_ref().take(len).map(|(_, piece)| piece).collect();
        for number in 0..len * (times - 1) {
            if let (Some((_, again)), Some(mine)) = (rest.next(), body.get_mut(number % len)) {
                mine.join(&again);
            }
        }
        let number = *loops.entry((left[..len].to_vec(), times)).or_insert_with(|| {
            *next += 1;
            *next
        });
        out.push((number, Piece::Loop { times, body }));
        at += len * times;
    }
    out
}

impl Piece {
    fn join(&mut self, other: &Piece) {
        match (self, other) {
            (Piece::Line(mine), Piece::Line(theirs)) => mine.join(theirs),
            (Piece::Loop { body: mine, .. }, Piece::Loop { body: theirs, .. }) => {
                mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.join(theirs));
            }
            _ => {}
        }
    }
}

/// `size=4096`, `i=0,1,2,…`; empty without values.
pub(crate) fn values(all: &[Shown]) -> String {
    let shown = all.iter().filter(|one| !one.seen.values.is_empty());
    shown.map(|one| format!("{}={}", one.name, seen(one))).collect::<Vec<_>>().join(" ")
}

/// `dfd=-100`: an argument is rarely an error code.
pub(crate) fn arguments(all: &[Shown]) -> String {
    let one = |shown: &Shown| format!("{}={}", shown.name, written(shown, Form::plain));
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

pub(crate) fn seen(shown: &Shown) -> String {
    written(shown, Form::show)
}

fn written(shown: &Shown, form: fn(Form, u64) -> String) -> String {
    let Seen { values, more } = &shown.seen;
    let mut texts: Vec<String> = Vec::new();
    for value in values {
        let text = form(shown.form, *value);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if *more {
        texts.push("…".to_owned());
    }
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64) -> Line {
        let place = Some(Place { file: "f.c".to_owned(), line: number });
        Line { depth: 0, place, within: Vec::new(), calls: Vec::new(), branches: Vec::new(), note: None }
    }

    fn shape(pieces: &[Piece]) -> String {
        let one = |piece: &Piece| match piece {
            Piece::Line(line) => line.place.as_ref().map(|place| place.line.to_string()).unwrap_or_default(),
            Piece::Loop { times, body } => format!("{times}({})", shape(body)),
        };
        pieces.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn loops_and_loops_in_loops_are_folded() {
        let cases: [(&[u64], &str); 6] = [
            (&[1, 2, 3], "1 2 3"),
            (&[1, 2, 2, 2, 3], "1 3(2) 3"),
            (&[1, 2, 3, 2, 3, 2, 4], "1 2(2 3) 2 4"),
            (&[1, 2, 2, 3, 1, 2, 2, 3], "2(1 2(2) 3)"),
            (&[1, 2, 2, 3, 1, 2, 3], "1 2(2) 3 1 2 3"),
            (&[], ""),
        ];
        for (numbers, expected) in cases {
            assert_eq!(
                shape(&folded(numbers.iter().map(|number| line(*number)).collect())),
                expected,
                "{numbers:?}"
            );
        }
    }
}

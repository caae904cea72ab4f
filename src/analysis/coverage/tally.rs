//! analysis/coverage/tally.rs: coverage by source file, line, branch and function.

use crate::analysis::coverage::covered::{Covered, Function, Line, Scope};
use std::collections::BTreeMap;

/// Whether an item was executed; `None`: unknown.
pub(crate) type State = Option<bool>;

/// The coverage of a run, by the name of the source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub files: BTreeMap<String, File>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct File {
    pub lines: BTreeMap<u32, State>,
    pub branches: BTreeMap<Way, State>,
    /// By name; a module's function that has namesakes is `module:name`.
    pub functions: BTreeMap<String, Called>,
}

/// One exit of a line, whatever the number of instructions that branch there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way {
    pub line: u32,
    /// 0: to a line of the same file. Otherwise a hash of the other file's name.
    pub file: u32,
    /// The target line; 0: unknown.
    pub to: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Called {
    pub line: u32,
    pub called: State,
    pub blocks: Sum,
}

/// The numbers of executed, not executed, and unknown items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub yes: u64,
    pub no: u64,
    pub unknown: u64,
}

impl Sum {
    pub(crate) fn of(states: impl IntoIterator<Item = State>) -> Sum {
        states.into_iter().fold(Sum::default(), Sum::with)
    }

    fn with(mut self, state: State) -> Sum {
        match state {
            Some(true) => self.yes += 1,
            Some(false) => self.no += 1,
            None => self.unknown += 1,
        }
        self
    }

    pub(crate) fn and(self, other: Sum) -> Sum {
        Sum { yes: self.yes + other.yes, no: self.no + other.no, unknown: self.unknown + other.unknown }
    }

    /// The number of known items.
    pub(crate) fn known(self) -> u64 {
        self.yes + self.no
    }
}

impl File {
    pub(crate) fn lines_sum(&self) -> Sum {
        Sum::of(self.lines.values().copied())
    }

    pub(crate) fn branches_sum(&self) -> Sum {
        Sum::of(self.branches.values().copied())
    }

    pub(crate) fn blocks_sum(&self) -> Sum {
        self.functions.values().fold(Sum::default(), |sum, function| sum.and(function.blocks))
    }

    pub(crate) fn functions_sum(&self) -> Sum {
        Sum::of(self.functions.values().map(|function| function.called))
    }
}

/// The joint state of two places: executed if either is.
pub(crate) fn either(one: State, other: State) -> State {
    match (one, other) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

pub(crate) fn note<K: Ord>(states: &mut BTreeMap<K, State>, key: K, state: State) {
    states.entry(key).and_modify(|known| *known = either(*known, state)).or_insert(state);
}

impl Tally {
    fn file(&mut self, scope: &Scope, line: Line) -> &mut File {
        self.files.entry(scope.files[line.0 as usize].clone()).or_default()
    }

    /// Adds a function.
    pub(crate) fn add(&mut self, scope: &Scope, function: &Function, covered: &Covered<'_>) {
        for block in &function.blocks {
            for line in &block.lines {
                note(&mut self.file(scope, *line).lines, line.1, covered.block(block));
            }
        }
        for branch in &function.branches {
            let (came, ways) = covered.ways(branch);
            for (to, taken) in ways {
                // At a branch that was not reached, the edges that the kernel's patches leave open are unknown.
                let taken = if came == Some(false) { came } else { taken };
                let way = Way {
                    line: branch.line.1,
                    file: to
                        .filter(|to| to.0 != branch.line.0)
                        .map_or(0, |to| number(&scope.files[to.0 as usize])),
                    to: to.map_or(0, |to| to.1),
                };
                note(&mut self.file(scope, branch.line).branches, way, taken);
            }
        }
        let source =
            function.source.or_else(|| function.blocks.iter().flat_map(|block| &block.lines).next().copied());
        let file = match source {
            Some(line) => self.file(scope, line),
            None => self.files.entry(String::new()).or_default(),
        };
        let blocks = Sum::of(function.blocks.iter().map(|block| covered.block(block)));
        let called = Called { line: source.map_or(0, |line| line.1), called: covered.entry(), blocks };
        let name = match file.functions.contains_key(&function.name) {
            true => format!("{}:{}", function.module, function.name),
            false => function.name.clone(),
        };
        file.functions.insert(name, called);
    }

    /// Renames a file.
    pub(crate) fn renamed(mut self, path: &str, name: &str) -> Tally {
        if let Some(file) = self.files.remove(path) {
            self.files.insert(name.to_owned(), file);
        }
        self
    }

    /// Adds the coverage of another run.
    pub(crate) fn merge(&mut self, other: &Tally) {
        for (name, theirs) in &other.files {
            let file = self.files.entry(name.clone()).or_default();
            theirs.lines.iter().for_each(|(line, state)| note(&mut file.lines, *line, *state));
            theirs.branches.iter().for_each(|(way, state)| note(&mut file.branches, *way, *state));
            for (name, function) in &theirs.functions {
                let known = file.functions.entry(name.clone());
                known
                    .and_modify(|known| known.called = either(known.called, function.called))
                    .or_insert_with(|| function.clone());
            }
        }
    }
}

/// A hash of a file's name, the same in all runs; never 0.
fn number(name: &str) -> u32 {
    let hash =
        name.bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % 999_999 + 1
}

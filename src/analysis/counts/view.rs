//! analysis/counts/view.rs: the source lines of a function, with their counts.

use crate::analysis::counts::counted::{Counted, Executed, Executions, Spent, Way};
use kinst_dwarf::Frame;
use kinst_sites::listing::Place;
use kinst_sites::listing::disas::{Listed, Listing};
use std::collections::BTreeMap;

/// A line of the function or copy itself, without inlined code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The count of its most executed instruction; `None`: it cannot be inferred.
    pub count: Option<u64>,
    /// The branches, in the order of their instructions.
    pub branches: Vec<Branch>,
    /// The functions inlined there, in the order of their instructions, with counts as for a line.
    pub inlined: Vec<(String, Option<u64>)>,
    /// The reason why its instructions could not be counted, if the count cannot be inferred.
    pub reason: Option<String>,
    /// Remarks about the line.
    pub notes: Vec<String>,
    /// The time of the code shown there.
    pub spent: Option<Spent>,
}

/// A branch, with its target if it is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    pub count: Option<u64>,
    pub jumps: Option<u64>,
    /// `None`: outside the function or copy.
    pub to: Option<Place>,
    /// The target if it is not taken.
    pub next: Option<Place>,
}

/// The lines of a function by file and number; its main file comes first.
pub(crate) type Lines = Vec<(String, BTreeMap<u64, Line>)>;

/// Returns the lines of the counted code. Empty if the source is unknown.
pub(crate) fn lines(counted: &Counted, executions: &Executions) -> Lines {
    let mut lines: Lines = Vec::new();
    if let Some(source) = counted.listings.first().and_then(|listing| listing.source.as_ref()) {
        lines.push((source.file.clone(), BTreeMap::new()));
    }
    for (listing, executed) in counted.listings.iter().zip(&executions.parts) {
        for (insn, executed) in listing.instructions.iter().zip(executed) {
            let Some((place, inlined)) = own(listing, insn) else { continue };
            let file = match lines.iter().position(|(file, _)| *file == place.file) {
                Some(file) => file,
                None => {
                    lines.push((place.file.clone(), BTreeMap::new()));
                    lines.len() - 1
                }
            };
            let line = lines[file].1.entry(place.line).or_default();
            line.add(counted, insn, executed, inlined);
        }
    }
    lines.retain(|(_, lines)| !lines.is_empty());
    lines
}

impl Line {
    fn add(&mut self, counted: &Counted, insn: &Listed, executed: &Executed, inlined: Option<&Frame>) {
        self.count = self.count.max(executed.count);
        if executed.count.is_none() && self.reason.is_none() {
            self.reason = insn.refused.map(|refused| refused.to_string());
        }
        if let Some(spent) = executed.spent {
            self.spent.get_or_insert_default().add(spent);
        }
        if let Some(frame) = inlined {
            match self.inlined.iter_mut().find(|(name, _)| *name == frame.name) {
                Some((_, count)) => *count = (*count).max(executed.count),
                None => self.inlined.push((frame.name.clone(), executed.count)),
            }
            return;
        }
        let place = |way: &Way| {
            let (listing, insn) = counted.target(way)?;
            own(listing, insn).map(|(place, _)| place)
        };
        let next = executed.ways.iter().find(|way| way.falls_through).and_then(place);
        for way in executed.ways.iter().filter(|way| !way.falls_through) {
            let (to, next) = (place(way), next.clone());
            self.branches.push(Branch { count: executed.count, jumps: way.count, to, next });
        }
    }
}

/// Returns the line of the function or copy that an instruction belongs to, and the inlined function that
/// it is part of.
fn own<'i>(listing: &Listing, insn: &'i Listed) -> Option<(Place, Option<&'i Frame>)> {
    let frames = &insn.frames;
    let depth = match &listing.copy {
        Some(copy) => frames.iter().rposition(|frame| frame.die == copy.die)?,
        None => frames.len().saturating_sub(1),
    };
    let Some(inside) = depth.checked_sub(1).and_then(|inside| frames.get(inside)) else {
        return insn.place.clone().map(|place| (place, None));
    };
    let call = inside.call.as_ref()?;
    Some((Place { file: call.file.clone(), line: call.line }, Some(inside)))
}

//! dwarf/frames/body.rs: a function with its inlined copies, as frames at its addresses.

use std::ops::Range;

use crate::copies::found::CallSite;
use crate::naming::is_name_of;

/// One function at an address: an inlined copy, or the function that has the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Offset in .debug_info of the copy's entry, or of the function's.
    pub die: u64,
    /// The origin's offset: the function that it is an instance of, or `die` if it is not an instance.
    pub origin: u64,
    /// Empty if the debug information has none.
    pub name: String,
    /// The call in the frame outside; `None` for the function that has the code.
    pub call: Option<CallSite>,
    /// Whether it is the second half of a split function, inlined back into the first: not a separate call.
    pub is_tail: bool,
    /// The addresses where it is entered, ascending; none if it has no address, one for the function that has the code.
    pub entries: Vec<u64>,
    /// Sorted, disjoint, not empty.
    pub ranges: Vec<Range<u64>>,
}

/// The definition of a function in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Definition {
    /// DW_AT_name; empty if the debug information has none.
    pub name: String,
    /// The file of the definition, as in [`CallSite`].
    pub file: String,
    /// DW_AT_decl_line; 0: not given.
    pub line: u64,
    /// 0: not given.
    pub column: u64,
    /// Whether something in it is declared at the same place: a macro generated all of it.
    pub by_macro: bool,
}

/// A function with code, and all copies in it.
#[derive(Debug)]
pub struct Body {
    /// Each parent before its children; the first one is the function.
    pub(super) nodes: Vec<Node>,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) frame: Frame,
    pub(super) parent: usize,
}

impl Frame {
    /// Whether an address is in one of its ranges.
    pub fn contains(&self, address: u64) -> bool {
        self.ranges.iter().any(|range| range.contains(&address))
    }
}

impl Body {
    /// Builds a body from a function and its copies, each with the index of its parent, which precedes it;
    /// `None` if one does not, or the list is empty.
    pub fn of(nodes: Vec<(Frame, usize)>) -> Option<Body> {
        let follows = |(index, (_, parent)): (usize, &(Frame, usize))| *parent < index.max(1);
        let sound = !nodes.is_empty() && nodes.iter().enumerate().all(follows);
        let nodes = nodes.into_iter().map(|(frame, parent)| Node { frame, parent });
        sound.then(|| Body { nodes: nodes.collect() })
    }

    /// The inverse of [`Body::of`].
    pub fn nodes(&self) -> impl Iterator<Item = (&Frame, usize)> {
        self.nodes.iter().map(|node| (&node.frame, node.parent))
    }

    /// The function that has the code.
    pub fn function(&self) -> &Frame {
        &self.nodes[0].frame
    }

    /// The address itself, or that of the first instruction described by the debug information, if the
    /// address is in the space for a call of ftrace before it.
    pub fn described(&self, address: u64) -> u64 {
        let Frame { entries, ranges, .. } = self.function();
        let in_room = |entry: &&u64| {
            ranges.iter().any(|range| range.contains(entry) && (range.start..**entry).contains(&address))
        };
        entries.first().filter(in_room).copied().unwrap_or(address)
    }

    /// The function first, then its copies in the order of the debug information.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.nodes.iter().map(|node| &node.frame)
    }

    /// The frames at an address of the function, the innermost first.
    pub fn at(&self, address: u64) -> Vec<&Frame> {
        let mut inner = 0;
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            if node.parent == inner && node.frame.contains(address) {
                inner = index;
            }
        }
        self.outwards(inner)
    }

    /// The frame of this entry and the frames around it, even for a copy without instructions. Empty if the
    /// entry is not in this body.
    pub fn around(&self, die: u64) -> Vec<&Frame> {
        let index = self.nodes.iter().position(|node| node.frame.die == die);
        index.map(|index| self.outwards(index)).unwrap_or_default()
    }

    /// The frames around each copy of a function at an address: the copies that begin there, or else the one
    /// that contains the address, or else the one that ends there. The innermost frame is first; the copy's
    /// own frame is left out.
    pub fn copies_at(&self, address: u64, function: &str) -> Vec<Vec<&Frame>> {
        let inside: Vec<u64> = self.at(address).into_iter().map(|frame| frame.die).collect();
        let begins = |frame: &Frame| frame.entries.contains(&address);
        let is_in = |frame: &Frame| inside.contains(&frame.die);
        let ends = |frame: &Frame| frame.ranges.iter().any(|range| range.end == address);
        let rules: [&dyn Fn(&Frame) -> bool; 3] = [&begins, &is_in, &ends];
        let copies = |rule: &dyn Fn(&Frame) -> bool| -> Vec<Vec<&Frame>> {
            let named = |node: &&Node| is_name_of(&node.frame.name, function) && node.frame.call.is_some();
            let nodes = self.nodes.iter().filter(named).filter(|node| rule(&node.frame));
            nodes.map(|node| self.outwards(node.parent)).collect()
        };
        rules.into_iter().map(copies).find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn outwards(&self, inner: usize) -> Vec<&Frame> {
        let mut index = inner;
        let mut frames = vec![&self.nodes[index].frame];
        while index != 0 {
            index = self.nodes[index].parent;
            frames.push(&self.nodes[index].frame);
        }
        frames
    }
}

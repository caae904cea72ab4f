//! sites/flow/scratch.rs: scratch memory for queries on a flow graph.

/// Scratch memory of one query, reused by the next. A mark is valid if it has the number of the query.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub question: u32,
    /// By block: the query, and the end of its live instructions.
    pub live: Vec<(u32, u32)>,
    /// By block: the query in which its start can be reached without passing an entry.
    bypassed: Vec<u32>,
    /// By block: the query in which its start became a site.
    pub left: Vec<u32>,
    /// Blocks with live instructions.
    pub found: Vec<u32>,
}

impl Scratch {
    pub(crate) fn begin(&mut self, blocks: usize) {
        self.question += 1;
        self.live.resize(blocks, (0, 0));
        self.left.resize(blocks, 0);
        self.bypassed.resize(blocks, 0);
        self.found.clear();
    }

    /// Marks all instructions of the block up to `end` as live (in the entry's block, from the entry on).
    pub(crate) fn mark(&mut self, block: u32, end: u32) {
        let live = &mut self.live[block as usize];
        if live.0 == self.question {
            live.1 = live.1.max(end);
        } else {
            *live = (self.question, end);
            self.found.push(block);
        }
    }

    pub(crate) fn live_to(&self, block: u32) -> Option<u32> {
        let (question, end) = self.live[block as usize];
        (question == self.question).then_some(end)
    }

    /// Marks the block's start as reachable without passing an entry; returns whether it was not marked yet.
    pub(crate) fn bypass(&mut self, block: u32) -> bool {
        std::mem::replace(&mut self.bypassed[block as usize], self.question) != self.question
    }

    pub(crate) fn is_bypassed(&self, block: u32) -> bool {
        self.bypassed[block as usize] == self.question
    }

    /// Whether the start of the block becomes a site for the first time in this query.
    pub(crate) fn is_first(&mut self, block: u32) -> bool {
        std::mem::replace(&mut self.left[block as usize], self.question) != self.question
    }
}

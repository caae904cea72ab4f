//! sites/flow/scratch.rs: what questions about a flow graph are answered on.

/// What one question needs, kept for the next. A mark is valid if it carries the number of the question.
#[derive(Debug, Default)]
pub(in crate::sites) struct Scratch {
    pub question: u32,
    /// By block: the question, and behind which instruction the block is dead.
    pub live: Vec<(u32, u32)>,
    /// By block: the question in which its start became a site.
    pub left: Vec<u32>,
    /// Blocks with live instructions.
    pub found: Vec<u32>,
}

impl Scratch {
    pub fn begin(&mut self, blocks: usize) {
        self.question += 1;
        self.live.resize(blocks, (0, 0));
        self.left.resize(blocks, 0);
        self.found.clear();
    }

    /// All instructions of the block up to `end` are live (in the entry's block, from the entry on).
    pub fn mark(&mut self, block: u32, end: u32) {
        let live = &mut self.live[block as usize];
        if live.0 == self.question {
            live.1 = live.1.max(end);
        } else {
            *live = (self.question, end);
            self.found.push(block);
        }
    }

    pub fn live_to(&self, block: u32) -> Option<u32> {
        let (question, end) = self.live[block as usize];
        (question == self.question).then_some(end)
    }

    /// `true` the first time.
    pub fn is_first(&mut self, block: u32) -> bool {
        std::mem::replace(&mut self.left[block as usize], self.question) != self.question
    }
}

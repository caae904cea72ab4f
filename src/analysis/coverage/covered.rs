//! analysis/coverage/covered.rs: functions of which it is to be known what was executed at all: where to watch, and what follows for blocks,
//! lines and branches.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use kinst_base::diag::{Diagnostic, tags};
use kinst_base::probe::Site;
use kinst_dwarf::Lines;
use kinst_sites::flow::Flow;
use kinst_sites::flow::counts::{Counts, What};
use kinst_sites::listing::chosen::{Chosen, FunctionCode};
use kinst_sites::listing::disas::Disassembler;

/// Some functions.
#[derive(Default)]
pub(crate) struct Scope {
    pub functions: Vec<Function>,
    /// The source files, by their number in [`Line`].
    pub files: Vec<String>,
    /// Functions whose control flow is not known, each with the reason.
    pub unread: Vec<(String, String)>,
}

/// One of them, with what the compiler put elsewhere.
pub(crate) struct Function {
    pub module: String,
    /// As probe descriptions name it.
    pub name: String,
    /// The line that defines it.
    pub source: Option<Line>,
    pub blocks: Vec<Block>,
    pub branches: Vec<Branch>,
    /// The watched parts, by their numbers in the graph.
    pub watched: Vec<(usize, Site)>,
    counts: Counts,
    /// The block that it begins with.
    entry: u32,
}

/// Bytes of code for a place to watch: 14 on the average of a kernel.
const PLACE: u64 = 16;

/// A line of the source: the number of the file, and of the line.
pub(crate) type Line = (u32, u32);

/// A basic block.
pub(crate) struct Block {
    pub lines: Vec<Line>,
    number: u32,
}

/// The end of a block from which control goes to several.
pub(crate) struct Branch {
    pub line: Line,
    /// The number of each way in the graph, and the line that it leads to.
    ways: Vec<(usize, Option<Line>)>,
    block: u32,
}

/// The knowledge of a function: `Some(true)` was executed, `None` is not known.
pub(crate) struct Covered<'f> {
    function: &'f Function,
    states: Vec<Option<bool>>,
}

impl Function {
    /// Works out what follows; `reached` has what was watched, as far as it could be.
    pub(crate) fn covered(&self, reached: &HashMap<usize, bool>) -> Covered<'_> {
        Covered { function: self, states: self.counts.covered(reached) }
    }
}

impl Covered<'_> {
    pub(crate) fn block(&self, block: &Block) -> Option<bool> {
        self.function.counts.is_covered(&self.states, block.number)
    }

    /// Whether the function was called.
    pub(crate) fn entry(&self) -> Option<bool> {
        self.function.counts.is_covered(&self.states, self.function.entry)
    }

    /// Whether control came to a branch, and for each way, the line that it leads to and whether it was taken.
    pub(crate) fn ways(
        &self,
        branch: &Branch,
    ) -> (Option<bool>, impl Iterator<Item = (Option<Line>, Option<bool>)>) {
        let ways = branch.ways.iter().map(|(way, to)| (*to, self.states[*way]));
        (self.function.counts.is_covered(&self.states, branch.block), ways)
    }
}

/// The numbers of the source files.
#[derive(Default)]
struct Files {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Files {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

impl Scope {
    /// The functions of some patterns, as of [`Disassembler::chosen`]. More than `most` places to watch are refused.
    pub(crate) fn read(
        disassembler: &mut Disassembler<'_>,
        patterns: &[String],
        most: usize,
    ) -> Result<Scope, Box<Diagnostic>> {
        let mut scope = Scope::default();
        let mut files = Files::default();
        let mut seen = HashSet::new();
        let mut watched = 0;
        for pattern in patterns {
            let chosen = disassembler.chosen(pattern)?;
            // To read a kernel for what will not fit takes minutes.
            let bytes: u64 = chosen.iter().map(Chosen::size).sum();
            if bytes / PLACE > most as u64 {
                return Err(too_many(pattern, most));
            }
            for function in chosen.iter().filter(|function| seen.insert(function.key())) {
                let code = disassembler.code(function)?;
                if let Some(function) = Function::new(&code, &mut files, &mut scope.unread) {
                    watched += function.watched.len();
                    scope.functions.push(function);
                }
                if watched > most {
                    return Err(too_many(pattern, most));
                }
            }
        }
        scope.files = files.names;
        Ok(scope)
    }
}

impl Function {
    /// `None`: its control flow is not known, of which `unread` gets the reason.
    fn new(
        code: &FunctionCode<'_>,
        files: &mut Files,
        unread: &mut Vec<(String, String)>,
    ) -> Option<Function> {
        let around = &code.around;
        let flow = match &around.flow {
            Ok(flow) => flow,
            Err(why) => {
                unread.push((code.name.clone(), why.to_string()));
                return None;
            }
        };
        let counts =
            flow.counts(None, |address| around.room(address), |from, to| around.leads(flow, from, to));
        let site = |(way, point)| Some((way, code.site(point)?));
        let watched: Vec<(usize, Site)> = counts.watched().into_iter().filter_map(site).collect();
        let source = code.source.as_ref().map(|place| (files.number(&place.file), place.line as u32));
        let mut table = Table { parts: &code.lines, files };
        let block = |number| Block { lines: table.of_block(flow, number), number };
        let blocks = counts.looked_at().map(block).collect();
        let branches = table.branches(flow, &counts);
        let entry = flow.block_at(code.address).unwrap_or(0);
        let (module, name) = (code.module.to_owned(), code.name.clone());
        Some(Function { module, name, source, blocks, branches, watched, counts, entry })
    }
}

fn too_many(pattern: &str, most: usize) -> Box<Diagnostic> {
    let title = format!("`{pattern}` has more than {most} places to watch");
    Box::new(
        Diagnostic::error(tags::PDESC_INVAL, title)
            .help("name fewer functions; the module's limit is /sys/module/kinst/parameters/max_once"),
    )
}

/// The lines of a function's code, part by part.
struct Table<'f> {
    parts: &'f [(Range<u64>, Arc<Lines>)],
    files: &'f mut Files,
}

impl Table<'_> {
    fn line(&mut self, address: u64) -> Option<Line> {
        let (_, lines) = self.parts.iter().find(|(part, _)| part.contains(&address))?;
        let line = lines.at(address).filter(|line| line.line != 0)?;
        Some((self.files.number(line.file), line.line))
    }

    fn of_block(&mut self, flow: &Flow, block: u32) -> Vec<Line> {
        let mut lines: Vec<Line> = flow.addresses(block).iter().filter_map(|at| self.line(*at)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The branches of the source: neither what a fault leads to, nor a way that the kernel's patches have closed.
    fn branches(&mut self, flow: &Flow, counts: &Counts) -> Vec<Branch> {
        let mut branches: Vec<Branch> = Vec::new();
        for (way, what) in counts.ways().enumerate() {
            let What::Edge { from, to } = what else { continue };
            let (first, last) = (flow.bounds(to).0, flow.bounds(from).1);
            let (Some(line), true) = (self.line(last), flow.decides(from)) else { continue };
            let to = self.line(first);
            match branches.last_mut().filter(|branch| branch.block == from) {
                Some(branch) => branch.ways.push((way, to)),
                None => branches.push(Branch { line, ways: vec![(way, to)], block: from }),
            }
        }
        branches.retain(|branch| branch.ways.len() > 1);
        branches
    }
}

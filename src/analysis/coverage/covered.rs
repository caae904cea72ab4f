//! analysis/coverage/covered.rs: functions whose coverage is measured: places to watch, and inferred states.

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

/// The functions of a measurement.
#[derive(Default)]
pub(crate) struct Scope {
    pub functions: Vec<Function>,
    /// The source files, by their index in [`Line`].
    pub files: Vec<String>,
    /// Functions whose control flow is unknown, each with the reason. Those of programs are watched all the same.
    pub unread: Vec<(String, String)>,
}

/// A function, with the parts that the compiler placed elsewhere.
pub(crate) struct Function {
    pub module: String,
    /// The name in probe descriptions.
    pub name: String,
    /// The line of its definition.
    pub source: Option<Line>,
    pub blocks: Vec<Block>,
    pub branches: Vec<Branch>,
    /// The watched blocks and edges, by their indices in the graph.
    pub watched: Vec<(usize, Site)>,
    /// The arcs; if the control flow is unknown, each instruction is a block.
    counts: Counts,
    /// The entry block.
    entry: u32,
}

/// The bytes of code per watched place: 14 on average over a kernel.
const PLACE: u64 = 16;

/// A source line: the index of the file, and the line number.
pub(crate) type Line = (u32, u32);

/// A basic block.
pub(crate) struct Block {
    pub lines: Vec<Line>,
    number: u32,
}

/// The end of a block with several exits.
pub(crate) struct Branch {
    pub line: Line,
    /// The index of each exit in the graph, and the line of its target.
    ways: Vec<(usize, Option<Line>)>,
    block: u32,
}

/// The state of a function's code: `Some(true)` was executed, `None` is unknown.
pub(crate) struct Covered<'f> {
    function: &'f Function,
    states: Vec<Option<bool>>,
}

impl Function {
    /// Infers the state; `reached` has the watched places, as far as they could be armed.
    pub(crate) fn covered(&self, reached: &HashMap<usize, bool>) -> Covered<'_> {
        Covered { function: self, states: self.counts.covered(reached) }
    }
}

impl Covered<'_> {
    pub(crate) fn block(&self, block: &Block) -> Option<bool> {
        self.of(block.number)
    }

    /// Whether the function was called.
    pub(crate) fn entry(&self) -> Option<bool> {
        self.of(self.function.entry)
    }

    fn of(&self, block: u32) -> Option<bool> {
        self.function.counts.is_covered(&self.states, block)
    }

    /// Whether control reached a branch, and for each exit, the line of its target and whether it was taken.
    pub(crate) fn ways(
        &self,
        branch: &Branch,
    ) -> (Option<bool>, impl Iterator<Item = (Option<Line>, Option<bool>)>) {
        let ways = branch.ways.iter().map(|(way, to)| (*to, self.states[*way]));
        (self.of(branch.block), ways)
    }
}

/// The indices of the source files.
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
    /// Reads the functions of some patterns, as [`Disassembler::chosen`] does. Refuses more than `most`
    /// places to watch.
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
            // Reading code that exceeds the limit anyway would take minutes.
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
    /// `None`: the control flow of a kernel's function is unknown; `unread` gets the reason.
    fn new(
        code: &FunctionCode<'_>,
        files: &mut Files,
        unread: &mut Vec<(String, String)>,
    ) -> Option<Function> {
        let around = &code.around;
        let flow = match &around.flow {
            Ok(flow) => flow,
            Err(why) => {
                unread.push((code.in_source(), why.to_string()));
                let (insns, counts) = code.instructions()?;
                return Some(Function::of_each(code, &insns, counts, files));
            }
        };
        let counts =
            flow.counts(None, |address| around.room(address), |from, to| around.leads(flow, from, to));
        let watched = watched(code, &counts);
        let source = code.source.as_ref().map(|place| (files.number(&place.file), place.line as u32));
        let mut table = Table { parts: &code.lines, files };
        let block = |number| Block { lines: table.of_block(flow, number), number };
        let blocks = counts.looked_at().map(block).collect();
        let branches = table.branches(flow, &counts);
        let entry = flow.block_at(code.address).unwrap_or(0);
        let (module, name) = (code.module.to_owned(), code.in_source());
        Some(Function { module, name, source, blocks, branches, watched, counts, entry })
    }

    /// A function whose control flow is unknown: each of its instructions is watched.
    fn of_each(code: &FunctionCode<'_>, insns: &[u64], counts: Counts, files: &mut Files) -> Function {
        let watched = watched(code, &counts);
        let source = code.source.as_ref().map(|place| (files.number(&place.file), place.line as u32));
        let mut table = Table { parts: &code.lines, files };
        let block = |(number, address): (u32, &u64)| Block {
            lines: table.line(*address).into_iter().collect(),
            number,
        };
        let blocks = (0..).zip(insns).map(block).collect();
        let entry = insns.iter().position(|insn| *insn == code.address).unwrap_or(0) as u32;
        let (module, name) = (code.module.to_owned(), code.in_source());
        Function { module, name, source, blocks, branches: Vec::new(), watched, counts, entry }
    }
}

/// The places to watch in a function.
fn watched(code: &FunctionCode<'_>, counts: &Counts) -> Vec<(usize, Site)> {
    let site = |(way, point)| Some((way, code.site(point)?));
    counts.watched().into_iter().filter_map(site).collect()
}

fn too_many(pattern: &str, most: usize) -> Box<Diagnostic> {
    let title = format!("`{pattern}` has more than {most} places to watch");
    Box::new(
        Diagnostic::error(tags::PDESC_INVAL, title)
            .help("name fewer functions; the kernel module's limit is /sys/module/kinst/parameters/max_once"),
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

    /// The branches of the source: neither exits for exceptions, nor edges that the kernel's patches have
    /// closed.
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

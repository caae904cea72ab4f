//! sites/listing/covered.rs: functions of which it is to be known what was executed at all: where to watch, and what follows for blocks,
//! lines and branches.

use kinst_base::image::ModuleId;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::Place;
use super::disas::{Disassembler, Lister, split};
use crate::catalog::refusals;
use crate::flow::Flow;
use crate::flow::counts::{Counts, What};
use crate::symtab::Symbol;
use crate::target::Kernel;
use crate::target::refusals::no_module;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::glob::Pattern;
use kinst_base::probe::Site;
use kinst_dwarf::Lines;

/// Some functions.
#[derive(Default)]
pub struct Scope {
    pub functions: Vec<Function>,
    /// The source files, by their number in [`Line`].
    pub files: Vec<String>,
    /// Those whose control flow is not known, each with the reason.
    pub unread: Vec<(String, String)>,
}

/// One of them, with what the compiler put elsewhere.
pub struct Function {
    pub module: String,
    /// As probe descriptions name it.
    pub name: String,
    /// Where it is defined.
    pub source: Option<Line>,
    pub blocks: Vec<Block>,
    pub branches: Vec<Branch>,
    /// What is watched, by its number in the graph.
    pub watched: Vec<(usize, Site)>,
    counts: Counts,
    /// The block that it begins with.
    entry: u32,
}

/// Bytes of code for a place to watch: 14 on the average of a kernel.
const PLACE: u64 = 16;

/// A line of the source: the number of the file, and of the line.
pub type Line = (u32, u32);

/// A basic block.
pub struct Block {
    /// Its first instruction, in bytes from the start of the function; `None`: it is in a part elsewhere.
    pub offset: Option<u64>,
    pub lines: Vec<Line>,
    number: u32,
}

/// The end of a block from which control goes to several.
pub struct Branch {
    pub line: Line,
    /// The number of each way in the graph, and the line that it leads to.
    ways: Vec<(usize, Option<Line>)>,
    block: u32,
}

/// What is known of a function: `Some(true)` was executed, `None` is not known.
pub struct Covered<'f> {
    function: &'f Function,
    states: Vec<Option<bool>>,
}

impl Function {
    /// Works out what follows; `reached` has what was watched, as far as it could be.
    pub fn covered(&self, reached: &HashMap<usize, bool>) -> Covered<'_> {
        Covered { function: self, states: self.counts.covered(reached) }
    }
}

impl Covered<'_> {
    pub fn block(&self, block: &Block) -> Option<bool> {
        self.function.counts.is_covered(&self.states, block.number)
    }

    /// Whether the function was called.
    pub fn entry(&self) -> Option<bool> {
        self.function.counts.is_covered(&self.states, self.function.entry)
    }

    /// Whether control came to a branch, and for each way, the line that it leads to and whether it was taken.
    pub fn ways(
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

impl Disassembler<'_> {
    /// The functions of some patterns: a source file or folder (it has a `/`), a module, or `[module:]function`, where both may be
    /// globs. More than `most` places to watch are refused.
    pub fn scope(&mut self, patterns: &[String], most: usize) -> Result<Scope, Box<Diagnostic>> {
        let mut scope = Scope::default();
        let mut files = Files::default();
        let mut seen = HashSet::new();
        let mut watched = 0;
        for pattern in patterns {
            let meant = self.lister.meant_by(pattern)?;
            // To read a kernel for what will not fit takes minutes.
            let bytes: u64 = meant.iter().map(|(_, symbol)| symbol.size).sum();
            if bytes / PLACE > most as u64 {
                return Err(too_many(pattern, most));
            }
            for (module, symbol) in meant {
                if !seen.insert((module, symbol.address)) {
                    continue;
                }
                match self.lister.watch(module, &symbol, &mut files)? {
                    Ok(function) => {
                        watched += function.watched.len();
                        scope.functions.push(function);
                    }
                    Err(unread) => scope.unread.push(unread),
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

impl Lister<'_> {
    fn meant_by(&mut self, pattern: &str) -> Result<Vec<(ModuleId, Symbol)>, Box<Diagnostic>> {
        let kernel = self.kernel;
        if pattern.contains('/') {
            return self.compiled_from(pattern);
        }
        let module = match pattern {
            "kernel" => Some(ModuleId::PROPER),
            name => kernel.modules().named(name),
        };
        if let Some(module) = module {
            return Ok(functions(kernel, module, |_| true));
        }
        let (module, function) = split(pattern);
        let modules = kernel.modules_matching(module);
        if modules.is_empty() {
            return Err(Box::new(no_module(kernel, module)));
        }
        let glob = Pattern::new(function);
        let found: Vec<(ModuleId, Symbol)> = match glob.exact() {
            Some(_) => kernel.functions_named(&modules, function),
            None => modules
                .iter()
                .flat_map(|module| {
                    functions(kernel, *module, |symbol| is_named(kernel, *module, symbol, &glob))
                })
                .collect(),
        };
        match found.is_empty() {
            true => Err(Box::new(refusals::no_function(kernel, &modules, function, ""))),
            false => Ok(found),
        }
    }

    /// The functions that are compiled from a source file, or from those in a folder.
    fn compiled_from(&mut self, path: &str) -> Result<Vec<(ModuleId, Symbol)>, Box<Diagnostic>> {
        let mut found = Vec::new();
        let path = path.trim_start_matches("./");
        // A folder may be written without the slash at its end.
        let folder = format!("{}/", path.trim_end_matches('/'));
        for module in self.kernel.modules().all() {
            let Some(info) = self.opened.info(module) else { continue };
            let code = [path, &folder].map(|path| info.code_from(path));
            let mut code = code
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| Box::new(error.diagnostic()))?
                .concat();
            if !code.is_empty() {
                code.sort_unstable_by_key(|range| range.start);
                let is_in = |symbol: &Symbol| {
                    let after = code.partition_point(|range| range.start <= symbol.address);
                    code[..after].last().is_some_and(|range| range.contains(&symbol.address))
                };
                found.extend(functions(self.kernel, module, is_in));
            }
        }
        if found.is_empty() {
            let title = format!("no loaded code that has debug information is compiled from `{path}`");
            return Err(Box::new(
                Diagnostic::error(tags::PDESC_ZERO, title)
                    .help("name a file or folder as from the root of the kernel's source: fs/ext4/")
                    .help(self.kernel.debug_package()),
            ));
        }
        Ok(found)
    }

    fn watch(
        &mut self,
        module: ModuleId,
        symbol: &Symbol,
        files: &mut Files,
    ) -> Result<Result<Function, (String, String)>, Box<Diagnostic>> {
        let kernel = self.kernel;
        let around = self.around(module, symbol)?;
        let name = kernel.function_ref(module, symbol).map(|name| name.function).unwrap_or_default();
        let flow = match &around.flow {
            Ok(flow) => Rc::clone(flow),
            Err(why) => return Ok(Err((name, why.to_string()))),
        };
        let counts =
            flow.counts(None, |address| around.room(address), |from, to| around.leads(&flow, from, to));
        let site = |(way, point)| Some((way, kernel.point(module, point).ok()?.site));
        let watched: Vec<(usize, Site)> = counts.watched().into_iter().filter_map(site).collect();
        let body = self.body(module, symbol.address);
        let source = body.and_then(|body| self.source(module, body.function()));
        let source = source.map(|Place { file, line }| (files.number(&file), line as u32));
        let mut table =
            Table { parts: self.lines(module, std::iter::once(symbol).chain(&around.elsewhere)), files };
        let block = |number| {
            let offset =
                flow.bounds(number).0.checked_sub(symbol.address).filter(|offset| *offset < symbol.size);
            Block { offset, lines: table.of_block(&flow, number), number }
        };
        let blocks = counts.looked_at().map(block).collect();
        let branches = table.branches(&flow, &counts);
        let module = kernel.modules()[module].name.clone();
        let entry = flow.block_at(symbol.address).unwrap_or(0);
        Ok(Ok(Function { module, name, source, blocks, branches, watched, counts, entry }))
    }

    fn lines<'s>(
        &mut self,
        module: ModuleId,
        parts: impl Iterator<Item = &'s Symbol>,
    ) -> Vec<(Range<u64>, Arc<Lines>)> {
        let Some(info) = self.opened.info(module) else { return Vec::new() };
        parts
            .filter_map(|part| {
                let range = part.address..part.address.saturating_add(part.size);
                let lines = info.lines_in(&range).ok()??;
                Some((range, lines))
            })
            .collect()
    }
}

fn too_many(pattern: &str, most: usize) -> Box<Diagnostic> {
    let title = format!("`{pattern}` has more than {most} places to watch");
    Box::new(
        Diagnostic::error(tags::PDESC_INVAL, title)
            .help("name fewer functions; the module's limit is /sys/module/kinst/parameters/max_once"),
    )
}

fn is_named(kernel: &Kernel, module: ModuleId, symbol: &Symbol, glob: &Pattern) -> bool {
    let symbols = kernel.symbols(module);
    symbols.is_some_and(|symbols| symbols.names_at(symbol.address).any(|name| glob.matches(name)))
}

/// The functions of a module that stay after the start, each once, with their unlikely parts as part of them.
fn functions(kernel: &Kernel, module: ModuleId, wanted: impl Fn(&Symbol) -> bool) -> Vec<(ModuleId, Symbol)> {
    let Some(symbols) = kernel.symbols(module) else { return Vec::new() };
    let mut found: Vec<Symbol> = symbols
        .iter()
        .filter(|(name, symbol)| {
            !symbol.gone() && symbol.size > 0 && !name.contains(".cold") && wanted(symbol)
        })
        .map(|(_, symbol)| *symbol)
        .collect();
    found.sort_by_key(|symbol| symbol.address);
    found.dedup_by_key(|symbol| symbol.address);
    found.into_iter().map(|symbol| (module, symbol)).collect()
}

/// The lines of a function's code, part by part.
struct Table<'f> {
    parts: Vec<(Range<u64>, Arc<Lines>)>,
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

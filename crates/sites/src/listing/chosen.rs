//! sites/listing/chosen.rs: the functions that patterns name, each with its graph and its lines.

use std::ops::Range;
use std::sync::Arc;

use super::Place;
use super::disas::{Disassembler, Lister, split};
use super::members::Around;
use kinst_base::diag::{Diagnostic, tags};
use kinst_dwarf::Lines;
use kinst_base::glob::Pattern;
use kinst_base::probe::Site;
use crate::catalog::refusals;
use crate::flow::points::Point;
use crate::symtab::Symbol;
use crate::target::refusals::no_module;
use crate::target::Kernel;
use kinst_base::image::ModuleId;

/// A function.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    module: ModuleId,
    symbol: Symbol,
}

/// A function that was read, with what the compiler put elsewhere.
pub struct FunctionCode<'k> {
    pub module: &'k str,
    /// As probe descriptions name it.
    pub name: String,
    /// Where it is defined.
    pub source: Option<Place>,
    pub address: u64,
    pub size: u64,
    pub around: Around,
    /// The lines of each part.
    pub lines: Vec<(Range<u64>, Arc<Lines>)>,
    kernel: &'k Kernel,
    id: ModuleId,
}

impl Chosen {
    /// Says which function it is, among all of a kernel.
    pub fn key(&self) -> (ModuleId, u64) {
        (self.module, self.symbol.address)
    }

    /// The size of its code, in bytes.
    pub fn size(&self) -> u64 {
        self.symbol.size
    }
}

impl FunctionCode<'_> {
    /// The site of a point in the graph, if there can be one.
    pub fn site(&self, point: Point) -> Option<Site> {
        Some(self.kernel.point(self.id, point).ok()?.site)
    }
}

impl<'k> Disassembler<'k> {
    /// The functions of a pattern: a source file or folder (it has a `/`), a module, or `[module:]function`, where both may be
    /// globs.
    pub fn chosen(&mut self, pattern: &str) -> Result<Vec<Chosen>, Box<Diagnostic>> {
        let meant = self.lister.meant_by(pattern)?;
        Ok(meant.into_iter().map(|(module, symbol)| Chosen { module, symbol }).collect())
    }

    /// Reads a function. What the source says of it is read only if its control flow is known.
    pub fn code(&mut self, chosen: &Chosen) -> Result<FunctionCode<'k>, Box<Diagnostic>> {
        self.lister.read(chosen.module, &chosen.symbol)
    }
}

impl<'k> Lister<'k> {
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

    fn read(&mut self, module: ModuleId, symbol: &Symbol) -> Result<FunctionCode<'k>, Box<Diagnostic>> {
        let kernel = self.kernel;
        let around = self.around(module, symbol)?;
        let name = kernel.function_ref(module, symbol).map(|name| name.function).unwrap_or_default();
        let (mut source, mut lines) = (None, Vec::new());
        if around.flow.is_ok() {
            let body = self.body(module, symbol.address);
            source = body.and_then(|body| self.source(module, body.function()));
            lines = self.lines(module, std::iter::once(symbol).chain(&around.elsewhere));
        }
        let Symbol { address, size, .. } = *symbol;
        let (id, module) = (module, &*kernel.modules()[module].name);
        Ok(FunctionCode { module, name, source, address, size, around, lines, kernel, id })
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

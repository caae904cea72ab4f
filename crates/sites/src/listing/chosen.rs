//! sites/listing/chosen.rs: the functions that patterns match, with their graphs and lines.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::disas::{Disassembler, Lister, in_source};
use super::members::Around;
use super::place::Place;
use super::searched::Named;
use crate::flow::counts::Counts;
use crate::flow::points::Point;
use crate::image::Image;
use crate::symtab::Symbol;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::glob::Pattern;
use kinst_base::image::ImageId;
use kinst_base::probe::Site;
use kinst_base::space::Space;
use kinst_dwarf::Lines;

/// A function.
#[derive(Clone, Copy)]
pub struct Chosen<'k> {
    named: Named<'k>,
    symbol: Symbol,
}

/// A function that was read, including parts that the compiler put elsewhere.
pub struct FunctionCode<'k> {
    /// Its module: `vmlinux` for the kernel proper, `a.out` for the program of a process.
    pub module: &'k str,
    /// Its name in probe descriptions.
    pub name: String,
    /// Line of its definition.
    pub source: Option<Place>,
    /// Start address in the file.
    pub address: u64,
    /// Size of its symbol in bytes, without parts that the compiler put elsewhere.
    pub size: u64,
    /// Its control flow, and which of its instructions can have a probe.
    pub around: Around,
    /// Lines of each part.
    pub lines: Vec<(Range<u64>, Arc<Lines>)>,
    named: Named<'k>,
}

impl Chosen<'_> {
    /// Returns a key that is unique among the functions of all images.
    pub fn key(&self) -> (ImageId, u64) {
        (self.named.image.id(), self.symbol.address)
    }

    /// Returns the size of its code in bytes.
    pub fn size(&self) -> u64 {
        self.symbol.size
    }
}

impl FunctionCode<'_> {
    /// Returns its name in the source.
    pub fn in_source(&self) -> String {
        in_source(&self.name)
    }

    /// Returns the addresses of the instructions, and a graph in which each of them is a block, if the function is a
    /// program's; those of a kernel are too many to watch each.
    pub fn instructions(&self) -> Option<(Vec<u64>, Counts)> {
        if self.named.space == Space::Kernel {
            return None;
        }
        let (around, insns) = (&self.around, self.around.addresses());
        let counts = Counts::of_each(&insns, |address| around.room(address), |address| around.after(address));
        Some((insns, counts))
    }

    /// Returns the site of a point in the graph, if it can be one.
    pub fn site(&self, point: Point) -> Option<Site> {
        Some(self.named.site(self.named.image.point(point).ok()?.site))
    }
}

impl<'k> Disassembler<'k> {
    /// Returns the functions that match a pattern: a source file or folder (with a `/`), a module, or
    /// `[module:]function`, where both may be globs.
    pub fn chosen(&mut self, pattern: &str) -> Result<Vec<Chosen<'k>>, Box<Diagnostic>> {
        let meant = self.lister.meant_by(pattern)?;
        Ok(meant.into_iter().map(|(named, symbol)| Chosen { named, symbol }).collect())
    }

    /// Reads a function. Of a kernel's, source information is read only if its control flow is known.
    pub fn code(&mut self, chosen: &Chosen<'k>) -> Result<FunctionCode<'k>, Box<Diagnostic>> {
        self.lister.read(chosen.named, &chosen.symbol)
    }
}

impl<'k> Lister<'k> {
    fn meant_by(&mut self, pattern: &str) -> Result<Vec<(Named<'k>, Symbol)>, Box<Diagnostic>> {
        let searched = self.searched;
        let (sources, path) = searched.with_sources(pattern)?;
        if path.contains('/') {
            return self.compiled_from(&sources, &path);
        }
        if let Some(module) = searched.module(pattern) {
            return Ok(functions(module, |_| true));
        }
        let (images, function) = searched.meant(pattern)?;
        let glob = Pattern::new(&function);
        let found: Vec<(Named<'k>, Symbol)> = match glob.exact() {
            Some(_) => searched.functions_named(&images, &function),
            None => {
                let each = images.iter().flat_map(|named| {
                    let of_paths: HashSet<u64> =
                        named.of_paths(&function).iter().map(|symbol| symbol.address).collect();
                    let is_meant = |symbol: &Symbol| {
                        of_paths.contains(&symbol.address) || is_named(named.image, symbol, &glob)
                    };
                    functions(*named, is_meant)
                });
                each.collect()
            }
        };
        match found.is_empty() {
            true => Err(Box::new(searched.no_function(&images, &function))),
            false => Ok(found),
        }
    }

    /// Returns the functions that are compiled from a source file or from those in a folder.
    fn compiled_from(
        &mut self,
        images: &[Named<'k>],
        path: &str,
    ) -> Result<Vec<(Named<'k>, Symbol)>, Box<Diagnostic>> {
        let mut found = Vec::new();
        let path = path.trim_start_matches("./");
        // The trailing slash of a folder may be omitted.
        let folder = format!("{}/", path.trim_end_matches('/'));
        for named in images {
            let Some(info) = self.opened.info(named.image) else { continue };
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
                found.extend(functions(*named, is_in));
            }
        }
        if found.is_empty() {
            let title = format!("no loaded code with debug information is compiled from `{path}`");
            return Err(Box::new(
                Diagnostic::error(tags::PDESC_ZERO, title)
                    .help(self.searched.name_of_source())
                    .help(self.searched.debug_package(images)),
            ));
        }
        Ok(found)
    }

    fn read(&mut self, named: Named<'k>, symbol: &Symbol) -> Result<FunctionCode<'k>, Box<Diagnostic>> {
        let image = named.image;
        let around = self.around(image, symbol)?;
        let name = image.function_ref(symbol).map(|name| name.function).unwrap_or_default();
        let (mut source, mut lines) = (None, Vec::new());
        if around.flow.is_ok() || named.space != Space::Kernel {
            let body = self.body(image, symbol.address);
            source = body.and_then(|body| self.source(image, body.function()));
            lines = self.lines(image, std::iter::once(symbol).chain(&around.elsewhere));
        }
        let Symbol { address, size, .. } = *symbol;
        let module = named.module;
        Ok(FunctionCode { module, name, source, address, size, around, lines, named })
    }

    fn lines<'s>(
        &mut self,
        image: Image<'k>,
        parts: impl Iterator<Item = &'s Symbol>,
    ) -> Vec<(Range<u64>, Arc<Lines>)> {
        let Some(info) = self.opened.info(image) else { return Vec::new() };
        parts
            .filter_map(|part| {
                let range = part.address..part.address.saturating_add(part.size);
                let lines = info.lines_in(&range).ok()??;
                Some((range, lines))
            })
            .collect()
    }
}

fn is_named(image: Image<'_>, symbol: &Symbol, glob: &Pattern) -> bool {
    image.symbols().is_some_and(|symbols| symbols.names_at(symbol.address).any(|name| glob.matches(name)))
}

/// Returns the functions of an image that are not freed after boot, each once, including their unlikely parts.
fn functions<'k>(named: Named<'k>, wanted: impl Fn(&Symbol) -> bool) -> Vec<(Named<'k>, Symbol)> {
    let Some(symbols) = named.image.symbols() else { return Vec::new() };
    let mut found: Vec<Symbol> = symbols
        .iter()
        .filter(|(name, symbol)| {
            !symbol.gone() && symbol.size > 0 && !name.contains(".cold") && wanted(symbol)
        })
        .map(|(_, symbol)| *symbol)
        .collect();
    found.sort_by_key(|symbol| symbol.address);
    found.dedup_by_key(|symbol| symbol.address);
    found.into_iter().map(|symbol| (named, symbol)).collect()
}

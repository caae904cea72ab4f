//! sites/listing/variables.rs: the variables in scope at instructions of a kernel, given by probe descriptions.

use crate::catalog::Catalog;
use crate::image::Image;
use crate::symtab::Symbol;
use crate::target::Kernel;
use kinst_base::diag::Diagnostic;
use kinst_base::image::ModuleId;
use kinst_base::probe::{Fields, Site};
use kinst_dwarf::Variables;
use kinst_dwarf::variables::scope::{NoScope, Scope};

/// An instruction located in an image.
struct Found<'q> {
    /// Index in the list of queried sites.
    index: usize,
    asked: &'q Site,
    image: Image<'q>,
    symbol: Symbol,
}

impl Kernel {
    /// Returns the variables in scope at each instruction, in order. The debug information of each module is
    /// opened once.
    pub fn scopes(&self, asked: &[Site]) -> Vec<Result<Scope, NoScope>> {
        let mut answers: Vec<Result<Scope, NoScope>> = Vec::with_capacity(asked.len());
        let mut found: Vec<Found<'_>> = Vec::new();
        for (index, asked) in asked.iter().enumerate() {
            answers.push(Err(NoScope::Function(asked.function.clone())));
            if let Some((module, symbol)) = self.place_of(asked) {
                found.push(Found { index, asked, image: self.image(module), symbol });
            }
        }
        found.sort_by_key(|found| found.image.id());
        for group in found.chunk_by(|a, b| a.image.id() == b.image.id()) {
            let Some(first) = group.first() else { continue };
            let opened = open(first.image);
            for found in group {
                answers[found.index] = match &opened {
                    Ok(variables) => scope(variables, found),
                    Err(why) => Err(why.clone()),
                };
            }
        }
        answers
    }

    fn place_of(&self, asked: &Site) -> Option<(ModuleId, Symbol)> {
        let modules = self.modules_matching(&asked.module);
        let named = self.functions_named(&modules, &asked.function);
        named.into_iter().find(|(_, symbol)| asked.offset < symbol.size || symbol.size == 0)
    }
}

fn open(image: Image<'_>) -> Result<Variables<'_>, NoScope> {
    let file = image.debug().ok_or_else(|| {
        let name = image.name();
        let found = match image.layout() {
            Some(_) => format!("the index of {name} has no variables: they need its debug information"),
            None => format!("no debug information of {name}"),
        };
        NoScope::DebugInformation(format!("{found}; {}", image.all().debug_package()))
    })?;
    Variables::open(file).map_err(|cause| NoScope::Damaged(cause.to_string()))
}

fn scope(variables: &Variables<'_>, found: &Found<'_>) -> Result<Scope, NoScope> {
    let Found { asked, image, symbol, .. } = found;
    let within = symbol.address..symbol.address.saturating_add(symbol.size);
    let at = |address| {
        let (symbol, copy) = (within.clone(), asked.copy.as_deref());
        let instruction = kinst_dwarf::Instruction { address, symbol, copy };
        variables.at(&instruction, &|linked| image.run_time(linked))
    };
    let address = symbol.address.wrapping_add(asked.offset);
    let mut frames = at(address);
    if matches!(frames, Err(NoScope::Copy { .. })) {
        // The probe may substitute for the entry of a copy.
        let others = same_state(*image, symbol, asked);
        frames = others.into_iter().map(at).find(Result::is_ok).unwrap_or(frames);
    }
    let frames = frames.map_err(|why| match why {
        NoScope::Function(_) => NoScope::Function(asked.function.clone()),
        why => why,
    })?;
    let module = image.name().to_owned();
    Ok(Scope { module, function: asked.function.clone(), offset: asked.offset, frames })
}

/// Returns sites at which all registers have the same values as at `asked`: the end of an edge from a branch,
/// and the static keys that lead to the site.
fn same_state(image: Image<'_>, symbol: &Symbol, asked: &Site) -> Vec<u64> {
    const FAR: usize = 4;
    let address = |offset: &u64| symbol.address.wrapping_add(*offset);
    let Some(callers) = image.callers() else { return Vec::new() };
    let path = asked.path();
    if !path.is_empty() {
        let branches = callers.is_branch(address(&asked.offset));
        return if branches { path.iter().map(address).collect() } else { Vec::new() };
    }
    let mut found = vec![address(&asked.offset)];
    let mut next = 0;
    while let Some(to) = found.get(next).copied().filter(|_| found.len() <= FAR) {
        next += 1;
        found.extend(callers.keys_to(to));
    }
    found.split_off(1)
}

impl Catalog {
    /// Returns the instructions that match a kinst description, each as an unambiguous site. Fails if the
    /// description is impossible.
    pub fn instructions_named(&self, fields: &Fields) -> Result<Vec<Site>, Box<Diagnostic>> {
        let mut named = Vec::new();
        for (of, symbol, probe) in self.kinst_probes(fields)? {
            let Some(site) = probe.site() else { continue };
            let (function, needed) = match self.kernel().image(of).function_ref(&symbol) {
                Some(reference) => (reference.function, reference.module_needed),
                None => (probe.name.function, true),
            };
            let module =
                if needed { self.kernel().modules()[of].name.clone() } else { fields.module.clone() };
            named.push(Site { module, function, ..site });
        }
        Ok(named)
    }
}

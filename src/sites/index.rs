//! sites/index.rs: the sites of all functions that a script names, from one walk over the debug information.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use rayon::prelude::*;

use super::callers::{Callers, Left};
use super::dwarf::{self, Function, InlineCopy};
use super::exits::Exit;
use super::flow::Undecodable;
use super::kernel::Kernel;
use super::naming::NoSite;
use super::{Boundary, FunctionSites, Site, SiteIndex, refusals};
use crate::diag::Diagnostic;

/// A function that a script wants the boundaries of: the fields of `kinst:module:function:entry`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InlineProbe {
    /// A glob, or empty.
    pub module: String,
    pub function: String,
}

/// [`SiteIndex`] over the debug information of a kernel. Nothing is read before the first question; then all wanted
/// functions are looked for at once.
pub struct DwarfIndex {
    kernel: Arc<Kernel>,
    wanted: Vec<InlineProbe>,
    known: Mutex<HashMap<(usize, String), Arc<Known>>>,
    walked: Mutex<HashSet<InlineProbe>>,
}

/// What one module knows of one function.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// There is a definition that was inlined, or could be.
    pub inline: bool,
    entries: Vec<Site>,
    returns: Vec<Site>,
    pub out_of_line: Vec<String>,
    pub dropped: Dropped,
}

/// Copies and boundaries that are no sites, by reason.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    pub copies: usize,
    freed: usize,
    dead: usize,
    split_tails: usize,
    without_address: usize,
    duplicates: usize,
    undecodable: usize,
    /// Copies whose caller's control flow is not known, and why not in the first case.
    unread: usize,
    why_unread: Option<Undecodable>,
    /// Ways out that no probe can be put on.
    lost: usize,
}

impl DwarfIndex {
    pub fn new(kernel: Arc<Kernel>, wanted: impl IntoIterator<Item = InlineProbe>) -> DwarfIndex {
        DwarfIndex {
            kernel,
            wanted: wanted.into_iter().collect(),
            known: Mutex::default(),
            walked: Mutex::default(),
        }
    }

    /// Looks for the function asked for, and for all wanted ones with it, unless that has been done.
    fn walk_for(&self, asked: InlineProbe) {
        let mut walked = lock(&self.walked);
        if walked.contains(&asked) {
            return;
        }
        let mut by_module: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for probe in self.wanted.iter().chain([&asked]) {
            if walked.insert(probe.clone()) {
                for module in self.kernel.modules_matching(&probe.module) {
                    by_module.entry(module).or_default().insert(probe.function.clone());
                }
            }
        }
        let by_module: Vec<(usize, Vec<String>)> =
            by_module.into_iter().map(|(module, names)| (module, names.into_iter().collect())).collect();
        let found: Vec<_> =
            by_module.into_par_iter().flat_map(|(module, names)| self.explore(module, names)).collect();
        let mut known = lock(&self.known);
        for (module, name, what) in found {
            what.dropped.remark(&self.kernel, module, &name);
            known.insert((module, name), Arc::new(what));
        }
    }

    fn explore(&self, module: usize, names: Vec<String>) -> Vec<(usize, String, Known)> {
        let kernel = &self.kernel;
        let functions = match kernel.debug(module) {
            // Most modules do not know a name; a search for its bytes is much quicker than a walk.
            Some(image) if module != 0 && !dwarf::may_know(image, &names) => return Vec::new(),
            // The names of the sites take as long to read as the sites themselves: both at once.
            Some(image) => {
                match rayon::join(|| dwarf::find(image, &names, false), || kernel.symbols(module).map(|_| ()))
                    .0
                {
                    Ok(findings) => {
                        findings
                            .damaged
                            .iter()
                            .for_each(|line| kernel.remark(format!("{}: {line}", image.path().display())));
                        findings.functions
                    }
                    Err(error) => {
                        kernel.warn(error.warning());
                        return Vec::new();
                    }
                }
            }
            None => vec![Function::default(); names.len()],
        };
        let inlined = functions.iter().any(|function| !function.copies.is_empty());
        let callers = if inlined { kernel.callers(module) } else { None };
        let found = names.into_iter().zip(functions).map(|(name, function)| {
            let known = self.resolve(module, &name, &function, callers.as_ref());
            (module, name, known)
        });
        found.filter(|(_, _, known)| known.inline || !known.out_of_line.is_empty()).collect()
    }

    /// Addresses become sites.
    fn resolve(
        &self,
        module: usize,
        name: &str,
        function: &Function,
        callers: Option<&Callers<'_>>,
    ) -> Known {
        let out_of_line =
            self.kernel.symbols(module).map(|symbols| symbols.instances(name)).unwrap_or_default();
        let mut known = Known { inline: function.inline, out_of_line, ..Known::default() };
        known.dropped.split_tails = function.split_tails;
        known.dropped.without_address = function.without_address;
        known.dropped.copies = function.copies.len() + function.without_address;
        let mut entries = HashSet::new();
        let mut returns = HashSet::new();
        let copies: Vec<&InlineCopy> = function.copies.iter().collect();
        let left = match callers {
            Some(callers) => callers.left(&copies),
            None => vec![Left { unread: Some(Undecodable::NoCode), ..Left::default() }; copies.len()],
        };
        for (copy, left) in copies.into_iter().zip(left) {
            match self.kernel.site(module, copy.entry) {
                // A copy that cannot be entered is not left either.
                Err(NoSite::Freed) => known.dropped.freed += 1,
                Err(NoSite::Dead) => known.dropped.dead += 1,
                Ok(site) => {
                    if !entries.insert(copy.entry) {
                        known.dropped.duplicates += 1;
                    } else {
                        known.entries.push(site);
                    }
                    self.exits(module, left, &mut returns, &mut known);
                }
            }
        }
        known
    }

    /// Where a copy is left.
    fn exits(&self, module: usize, left: Left, seen: &mut HashSet<Exit>, known: &mut Known) {
        known.dropped.undecodable += left.missing;
        known.dropped.lost += left.lost as usize;
        if let Some(reason) = left.unread {
            known.dropped.unread += 1;
            known.dropped.why_unread.get_or_insert(reason);
        }
        for exit in left.sites {
            if seen.insert(exit)
                && let Ok(site) = self.kernel.exit_site(module, exit)
            {
                known.returns.push(site);
            }
        }
    }
}

impl SiteIndex for DwarfIndex {
    fn inline_sites(
        &self,
        module: &str,
        function: &str,
        boundary: Boundary,
    ) -> Result<Vec<FunctionSites>, Box<Diagnostic>> {
        let modules = self.kernel.modules_matching(module);
        if modules.is_empty() {
            return Err(Box::new(refusals::no_module(&self.kernel, module)));
        }
        self.walk_for(InlineProbe { module: module.to_owned(), function: function.to_owned() });
        let known = lock(&self.known);
        let found: Vec<(usize, Arc<Known>)> = modules
            .iter()
            .filter_map(|module| Some((*module, known.get(&(*module, function.to_owned()))?.clone())))
            .collect();
        drop(known);
        // Without the debug information of the kernel proper an out-of-line instance is not the whole truth.
        if modules.contains(&0)
            && self.kernel.debug(0).is_none()
            && found.iter().all(|(module, _)| *module == 0)
        {
            return Err(Box::new(refusals::no_debug_information(
                &self.kernel,
                0,
                function,
                !found.is_empty(),
            )));
        }
        let sites = |known: &Known| match boundary {
            Boundary::Entry => known.entries.clone(),
            Boundary::Return => known.returns.clone(),
        };
        let answer: Vec<FunctionSites> = found
            .iter()
            .map(|(module, known)| FunctionSites {
                module: self.kernel.modules()[*module].name.clone(),
                sites: sites(known),
                out_of_line: known.out_of_line.clone(),
            })
            .filter(|function| !function.sites.is_empty() || !function.out_of_line.is_empty())
            .collect();
        if answer.is_empty() {
            let known: Vec<&Known> = found.iter().map(|(_, known)| &**known).collect();
            return Err(Box::new(refusals::no_sites(&self.kernel, &modules, function, &known)));
        }
        Ok(answer)
    }
}

impl Dropped {
    /// `2 of 7 copies in code that is freed after boot, …`; empty if all became sites.
    pub fn reasons(&self) -> String {
        let reasons = [
            (self.freed, "in code that is freed after boot"),
            (self.dead, "in code that was not linked in"),
            (self.without_address, "without an address"),
            (self.split_tails, "the second half of a split function"),
            (self.duplicates, "at the address of another copy"),
            (self.undecodable, "with a range that is not made of whole instructions"),
        ];
        let reasons: Vec<String> = reasons
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, reason)| format!("{count} {reason}"))
            .collect();
        reasons.join(", ")
    }

    fn remark(&self, kernel: &Kernel, module: usize, function: &str) {
        let reasons = self.reasons();
        let module = &kernel.modules()[module].name;
        if let Some(why) = self.why_unread {
            let copies = self.unread;
            kernel.remark(format!(
                "{module}: {function}: {copies} inlined copies are left at the ends of their ranges, which is not exact: {why}"
            ));
        }
        if self.lost > 0 {
            let ways = self.lost;
            kernel.remark(format!("{module}: {function}: {ways} ways out by a fault cannot be traced"));
        }
        if !reasons.is_empty() {
            kernel
                .remark(format!("{module}: {function}: {} inlined copies; left out: {reasons}", self.copies));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind a lock is only ever added to: it is whole even if a thread died.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

//! sites/catalog/kinst.rs: the probes of kinst: the instructions and edges that a description names.

use kinst_base::image::ModuleId;
use std::sync::Arc;

use super::edges::{self, Asked, Destination, EdgeTo};
use super::refusals;
use super::store::{Catalog, Text};
use crate::model::LiveInsn;
use crate::symtab::Symbol;
use kinst_base::diag::Diagnostic;
use kinst_base::glob::Pattern;
use kinst_base::probe::{Fields, Place, Probe, Site};

/// Above all ids of fbt: a kernel with all its modules has some 100,000 functions. The value is fixed, so
/// that only the named modules have to be read.
pub(super) const FIRST_KINST_ID: u32 = 500_000;

/// The maximum number of instructions that one description may match.
const MAX_MATCHES: usize = 100_000;

/// The instructions or edges of a function that a description selects.
pub(super) enum Wanted {
    /// A single one.
    Site { offset: u32, over: Vec<u32>, to: Option<Destination> },
    /// All with matching names.
    Matching { pattern: Pattern, edges: bool },
    /// A name that no instruction can have.
    Nothing { name: String },
}

impl Wanted {
    pub(super) fn of_site(site: &Site) -> Wanted {
        let number = |offset: &u64| u32::try_from(*offset).ok();
        let over: Option<Vec<u32>> = site.over.iter().map(number).collect();
        let to = site.to.clone().map(|target| Destination { text: target.to_string(), target });
        match (number(&site.offset), over) {
            (Some(offset), Some(over)) => Wanted::Site { offset, over, to },
            _ => Wanted::Nothing { name: site.name() },
        }
    }

    /// Parses a name: `53`, `53-61`, `53-61-80`, `53-f.cold+4`, `5*`, `*-*`.
    fn of_name(name: &str) -> Wanted {
        let edges = edges::is_edge(name);
        if !matches!(Pattern::new(name), Pattern::Exact(_)) {
            return Wanted::Matching { pattern: Pattern::new(name), edges };
        }
        let nothing = || Wanted::Nothing { name: name.to_owned() };
        let (path, to) = match name.rsplit_once('-').filter(|_| edges) {
            Some((_, "")) => return nothing(),
            Some((path, to)) => (path, Some(Destination::of_text(to))),
            None => (name, None),
        };
        let path: Option<Vec<u32>> = path.split('-').map(refusals::decimal).collect();
        match path.as_deref() {
            Some([offset, over @ ..]) => Wanted::Site { offset: *offset, over: over.to_vec(), to },
            _ => nothing(),
        }
    }
}

impl Catalog {
    /// Returns the kinst probes that match the fields, each with its module and its function.
    pub(crate) fn kinst_probes(
        &self,
        fields: &Fields,
    ) -> Result<Vec<(ModuleId, Symbol, Probe)>, Box<Diagnostic>> {
        self.kinst(&fields.module, &fields.function, &Wanted::of_name(&fields.name))
    }

    pub(super) fn kinst(
        &self,
        module: &str,
        function: &str,
        wanted: &Wanted,
    ) -> Result<Vec<(ModuleId, Symbol, Probe)>, Box<Diagnostic>> {
        let modules = self.kernel.modules_matching(module);
        let one = Pattern::new(function).exact().is_some();
        let functions: Vec<(ModuleId, Symbol, String)> = match one {
            true => {
                let named = self.kernel.functions_named(&modules, function);
                named.into_iter().map(|(module, symbol)| (module, symbol, function.to_owned())).collect()
            }
            false => self.functions_matching(&modules, function),
        };
        let mut probes = Vec::new();
        let mut refusal = None;
        for (module, symbol, name) in &functions {
            match self.instructions(*module, symbol, name, wanted) {
                Ok(found) => probes.extend(found.into_iter().map(|probe| (*module, *symbol, probe))),
                Err(error) => refusal = refusal.or(Some(error)),
            }
            if probes.len() > MAX_MATCHES {
                return Err(Box::new(refusals::too_many(function, MAX_MATCHES)));
            }
        }
        match refusal {
            // Among several functions with one name, only those with such an instruction count.
            Some(refusal) if probes.is_empty() && one => Err(refusal),
            _ => Ok(probes),
        }
    }

    fn instructions(
        &self,
        module: ModuleId,
        symbol: &Symbol,
        function: &str,
        wanted: &Wanted,
    ) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let text = self.text(module, symbol);
        let asked = |insns| Asked {
            module,
            symbol,
            function,
            insns,
            live: matches!(&*text, Text::Known { live: true, .. }),
        };
        match (wanted, &*text) {
            (Wanted::Nothing { name }, _) => Err(Box::new(refusals::no_such_name(function, name))),
            (Wanted::Site { offset, over, to: None }, _) if over.is_empty() => {
                if let Text::Known { insns, live } = &*text
                    && insns.iter().all(|insn| insn.offset != *offset)
                    && !(*live && self.is_boundary_in_file(module, symbol, *offset))
                {
                    return Err(Box::new(refusals::no_boundary(function, symbol, *offset, insns)));
                }
                Ok(vec![self.make(module, symbol, function, *offset, None)])
            }
            (Wanted::Site { offset, over, to: Some(to) }, Text::Known { insns, .. }) => {
                let path: Vec<u32> = std::iter::once(*offset).chain(over.iter().copied()).collect();
                self.edge(&asked(insns), &path, to).map(|probe| vec![probe])
            }
            (Wanted::Site { offset, to, .. }, _) => {
                let name = to.iter().fold(offset.to_string(), |name, to| format!("{name}-{}", to.text));
                Err(Box::new(refusals::no_such_name(function, &name)))
            }
            (Wanted::Matching { pattern, edges: true }, Text::Known { insns, .. }) => {
                Ok(self.edges_matching(&asked(insns), pattern))
            }
            (Wanted::Matching { pattern, .. }, Text::Known { insns, .. }) => {
                self.instructions_matching(&asked(insns), pattern)
            }
            (Wanted::Matching { .. }, Text::Unknown { reason }) => {
                if let Some(reason) = reason {
                    let text = format!("kinst::{function}: cannot be traced: {reason}");
                    self.made().left_out.insert((module, symbol.address, None), text);
                }
                Err(Box::new(refusals::no_text(&self.kernel, function, reason.as_ref())))
            }
        }
    }

    fn instructions_matching(
        &self,
        asked: &Asked<'_>,
        pattern: &Pattern,
    ) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let Asked { module, symbol, function, insns, .. } = *asked;
        let mut probes = Vec::new();
        for insn in insns.iter().filter(|insn| pattern.matches(&insn.offset.to_string())) {
            match &insn.refused {
                None => probes.push(self.make(module, symbol, function, insn.offset, None)),
                Some(reason) => {
                    let place = (module, symbol.address, Some(insn.offset));
                    let text = format!("kinst::{function}:{} cannot be traced: {reason}", insn.offset);
                    self.made().left_out.insert(place, text);
                }
            }
        }
        let mut reasons = insns.iter().filter_map(|insn| insn.refused);
        match reasons.next() {
            Some(reason) if probes.is_empty() && insns.iter().all(|insn| insn.refused.is_some()) => {
                Err(Box::new(refusals::all_refused(function, reason)))
            }
            _ => Ok(probes),
        }
    }

    /// Returns the places that glob descriptions skipped because they cannot be traced, one line for each.
    pub fn left_out(&self) -> Vec<String> {
        let made = self.made();
        let of_programs = made.in_programs.left_out.iter();
        let of_programs = of_programs.map(|(place, why)| format!("{place}: {why}"));
        made.left_out.values().cloned().chain(of_programs).collect()
    }

    /// Returns the instructions of a function from memory, or from the file without a kernel to read.
    fn text(&self, module: ModuleId, symbol: &Symbol) -> Arc<Text> {
        let place = (module, symbol.address);
        if let Some(text) = self.made().text.get(&place) {
            return text.clone();
        }
        let run_time = self.kernel.run_time(module, symbol.address);
        let text = match (&self.live, run_time) {
            (Some(live), Some(address)) => match live.instructions(address) {
                Ok(insns) => Text::Known { insns, live: true },
                Err(reason) => Text::Unknown { reason: Some(reason) },
            },
            _ => match self.file_text(module, symbol) {
                Some(insns) => Text::Known { insns, live: false },
                None => Text::Unknown { reason: None },
            },
        };
        let text = Arc::new(text);
        self.made().text.insert(place, text.clone());
        text
    }

    fn file_text(&self, module: ModuleId, symbol: &Symbol) -> Option<Vec<LiveInsn>> {
        let insns = self.kernel.image(module).instructions(symbol)?;
        Some(
            insns
                .into_iter()
                .map(|insn| LiveInsn {
                    offset: insn.offset,
                    bytes: insn.bytes,
                    refused: None,
                    machine: insn.machine,
                })
                .collect(),
        )
    }

    /// Whether an instruction of the file begins at an offset. The kernel patches its text (alternatives), so
    /// the instruction may no longer exist in memory; then the kernel refuses that one site, and the
    /// description is still correct.
    fn is_boundary_in_file(&self, module: ModuleId, symbol: &Symbol, offset: u32) -> bool {
        let insns = self.file_text(module, symbol).unwrap_or_default();
        insns.iter().any(|insn| insn.offset == offset)
    }

    /// Makes the probe at an offset; with `edge`, it fires only when control takes that edge.
    pub(super) fn make(
        &self,
        module: ModuleId,
        symbol: &Symbol,
        function: &str,
        offset: u32,
        edge: Option<EdgeTo>,
    ) -> Probe {
        let at = (module, symbol.address, offset, edge.as_ref().map(|edge| (edge.over, edge.to)));
        let mut made = self.made();
        if let Some(index) = made.by_place.get(&at) {
            let mut probe = made.probes[*index].clone();
            function.clone_into(&mut probe.name.function);
            return probe;
        }
        let index = made.probes.len();
        let func = self.kernel.run_time(module, symbol.address).unwrap_or(0);
        let bytes = Vec::new();
        let (place, name) = match edge {
            Some(EdgeTo { over, to, name }) => (Place::Edge { func, offset, over, to, bytes }, name),
            None => (Place::Insn { func, offset, bytes }, offset.to_string()),
        };
        let name = Fields::new("kinst", &self.kernel.modules()[module].name, function, &name);
        let probe = Probe { id: FIRST_KINST_ID + index as u32, name, place };
        made.probes.push(probe.clone());
        made.by_place.insert(at, index);
        probe
    }
}

//! sites/catalog/fbt.rs: the probes of fbt: entry and return of every function.

use kinst_base::image::ModuleId;
use std::sync::OnceLock;

use super::dtrace::DTRACE;
use super::reach::{Begun, Unreachable};
use super::store::{Catalog, Function};
use crate::image::naming::split_ordinal;
use crate::symtab::Symbol;
use kinst_base::glob::Pattern;
use kinst_base::probe::{Fields, Place, Probe};

/// A function for fbt: its index among all functions, and the name by which it was looked up.
struct FbtPlace<'a> {
    index: usize,
    module: ModuleId,
    symbol: &'a Symbol,
    function: &'a str,
}

/// Makes a place from a function's address.
type Side = fn(u64) -> Place;
const FBT: [(&str, Side); 2] =
    [("entry", |func| Place::FbtEntry { func }), ("return", |func| Place::FbtReturn { func })];
const FIRST_FBT_ID: u32 = DTRACE.len() as u32 + 1;

impl Catalog {
    pub(super) fn fbt(&self, fields: &Fields) -> Vec<Probe> {
        let name = Pattern::new(&fields.name);
        let sides: Vec<usize> = (0..FBT.len()).filter(|side| name.matches(FBT[*side].0)).collect();
        if sides.is_empty() {
            return Vec::new();
        }
        let modules = self.kernel.modules_matching(&fields.module);
        let function = Pattern::new(&fields.function);
        let mut probes = Vec::new();
        let mut add = |place: FbtPlace<'_>| {
            probes.extend(sides.iter().map(|side| self.fbt_probe(&place, *side)));
        };
        if function.exact().is_some() {
            for (module, symbol, function) in self.functions_called(&modules, &fields.function) {
                let (name, _) = split_ordinal(&function);
                if let Some(index) = self.function_index(module, &symbol, name) {
                    let index = self.base(module) + index;
                    add(FbtPlace { index, module, symbol: &symbol, function: &function });
                }
            }
            return probes;
        }
        for module in modules {
            let Some(symbols) = self.kernel.symbols(module) else { continue };
            let base = self.base(module);
            let places = (base..).zip(self.functions(module)).filter_map(|(index, start)| {
                let mut names = start.names().map(|at| symbols.at(at));
                let (function, symbol) = names.find(|(name, _)| function.matches(name))?;
                Some(FbtPlace { index, module, symbol, function })
            });
            self.within_reach(module, places.collect()).into_iter().for_each(&mut add);
        }
        probes
    }

    /// Drops the functions of a module that the back end cannot trace.
    fn within_reach<'p>(&self, module: ModuleId, places: Vec<FbtPlace<'p>>) -> Vec<FbtPlace<'p>> {
        let Some(reach) = &self.reach else { return places };
        let name = &self.kernel.modules()[module].name;
        let address = |place: &FbtPlace<'_>| self.kernel.run_time(module, place.symbol.address).unwrap_or(0);
        let begun: Vec<Begun<'_>> = places
            .iter()
            .map(|place| Begun { address: address(place), module: name, name: place.function })
            .collect();
        let refusals = reach.refusals(&begun);
        let mut made = self.made();
        let mut kept = Vec::new();
        for (place, refusal) in places.into_iter().zip(refusals) {
            match refusal {
                None => kept.push(place),
                Some(why) => {
                    let text = format!("fbt::{} cannot be traced: {why}", place.function);
                    made.left_out.insert((module, place.symbol.address, None), text);
                }
            }
        }
        kept
    }

    /// Returns why a function's probe cannot be traced, if the back end knows before arming it.
    pub fn refusal(&self, probe: &Probe) -> Option<Unreachable> {
        let (Place::FbtEntry { func } | Place::FbtReturn { func }) = probe.place else { return None };
        let begun = Begun { address: func, module: &probe.name.module, name: &probe.name.function };
        self.reach.as_ref()?.refusals(&[begun]).pop()?
    }

    /// Returns the functions with a name or, failing that, the compiler's clones of it (`f.isra.0`, `f.constprop.0`).
    fn functions_called(&self, modules: &[ModuleId], function: &str) -> Vec<(ModuleId, Symbol, String)> {
        // The kernel proper has 60,000 functions: a name is looked up in an index, not by a linear search.
        let named = self.kernel.functions_named(modules, function);
        if !named.is_empty() {
            return named.into_iter().map(|(module, symbol)| (module, symbol, function.to_owned())).collect();
        }
        let mut clones = Vec::new();
        let may_have = |module: &&ModuleId| {
            **module == ModuleId::PROPER || self.kernel.image(**module).may_mention(function)
        };
        for module in modules.iter().filter(may_have) {
            let names = self.kernel.symbols(*module).map(|symbols| symbols.instances(function));
            for name in names.unwrap_or_default() {
                let of_name = self.kernel.functions_named(&[*module], &name);
                clones.extend(of_name.into_iter().map(|(module, symbol)| (module, symbol, name.clone())));
            }
        }
        clones
    }

    /// Returns the functions of a module by address. Names at one address are one function.
    fn functions(&self, module: ModuleId) -> &[Function] {
        let modules = || self.kernel.modules().ids().map(|_| OnceLock::new()).collect();
        self.functions.get_or_init(modules)[module.index()].get_or_init(|| {
            let Some(symbols) = self.kernel.symbols(module) else { return Vec::new() };
            let mut functions: Vec<Function> = Vec::new();
            let mut last = None;
            for (index, symbol) in (0..).zip(symbols.records()).filter(|(_, symbol)| !symbol.gone()) {
                match functions.last_mut() {
                    Some(function) if last == Some(symbol.address) && symbol.address != 0 => {
                        function.names += 1
                    }
                    _ => functions.push(Function { first: index, names: 1 }),
                }
                last = Some(symbol.address);
            }
            functions
        })
    }

    /// Returns the number of functions in all modules before this one.
    fn base(&self, module: ModuleId) -> usize {
        let before: Vec<ModuleId> = self.kernel.modules().ids().take(module.index()).collect();
        self.kernel.load_symbols(&before);
        before.into_iter().map(|before| self.functions(before).len()).sum()
    }

    pub(super) fn functions_matching(
        &self,
        modules: &[ModuleId],
        field: &str,
    ) -> Vec<(ModuleId, Symbol, String)> {
        let pattern = Pattern::new(field);
        let mut named = Vec::new();
        for module in modules {
            let Some(symbols) = self.kernel.symbols(*module) else { continue };
            named.extend(self.functions(*module).iter().filter_map(|function| {
                let (name, symbol) =
                    function.names().map(|at| symbols.at(at)).find(|(name, _)| pattern.matches(name))?;
                Some((*module, *symbol, name.to_owned()))
            }));
        }
        named
    }

    /// Returns the index of a function in [`Catalog::functions`].
    fn function_index(&self, module: ModuleId, symbol: &Symbol, name: &str) -> Option<usize> {
        let functions = self.functions(module);
        let symbols = self.kernel.symbols(module)?;
        let address = |function: &Function| symbols.records()[function.first as usize].address;
        let at = functions.partition_point(|function| address(function) < symbol.address);
        // If addresses are hidden, all are equal and the name decides.
        let mut same = functions[at..].iter().take_while(|function| address(function) == symbol.address);
        Some(at + same.position(|function| function.names().any(|index| symbols.at(index).0 == name))?)
    }

    fn fbt_probe(&self, place: &FbtPlace<'_>, side: usize) -> Probe {
        let FbtPlace { index, module, symbol, function } = *place;
        let (name, of) = FBT[side];
        Probe {
            id: FIRST_FBT_ID + (FBT.len() * index + side) as u32,
            name: Fields::new("fbt", &self.kernel.modules()[module].name, function, name),
            place: of(self.kernel.run_time(module, symbol.address).unwrap_or(0)),
        }
    }

    /// Returns the probe with an id from [`FIRST_FBT_ID`] on.
    pub(super) fn fbt_by_id(&self, id: u32) -> Option<Probe> {
        let index = (id - FIRST_FBT_ID) as usize;
        let (mut place, side) = (index / FBT.len(), index % FBT.len());
        for module in self.kernel.modules().ids() {
            let functions = self.functions(module);
            if let Some(start) = functions.get(place) {
                let (function, symbol) = self.kernel.symbols(module)?.at(start.first as usize);
                let place = FbtPlace { index: index / FBT.len(), module, symbol, function };
                return Some(self.fbt_probe(&place, side));
            }
            place -= functions.len();
        }
        None
    }
}

impl Function {
    /// Indices into the module's symbols.
    fn names(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.names) as usize
    }
}

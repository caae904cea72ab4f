//! sites/catalog/programs.rs: the probes of programs: what `pid1234:a.out:f:entry` and `uprobe:/usr/bin/x:f:3f` name.

use super::program_function::{Function, Known};
use super::program_refusals as refusals;
use super::refusals::{no_such_name, too_many};
use super::store::Catalog;
use crate::programs::{self, Meant, ProgramFile, Programs};
use crate::symtab::Symbol;
use kinst_base::diag::Diagnostic;
use kinst_base::glob::{Pattern, is_glob};
use kinst_base::image::FileId;
use kinst_base::probe::{End, Fields, Probe, Site, Target};
use kinst_base::space::Space;
use kinst_dwarf::source_name;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of probes that one description may match.
const MAX_MATCHES: usize = 100_000;

/// The function field that means the whole file: the name is an address.
const WHOLE_FILE: &str = "-";

/// The probes of a function that a description selects.
pub(super) enum Wanted {
    End(End),
    Insn(u64),
    Edge {
        from: u64,
        to: Target,
    },
    /// All with matching names.
    Matching {
        pattern: Pattern,
        edges: bool,
    },
    /// A name that no probe can have.
    Nothing,
}

impl Wanted {
    fn of_site(site: &Site) -> Wanted {
        match &site.to {
            None => Wanted::Insn(site.offset),
            Some(to) => Wanted::Edge { from: site.offset, to: to.clone() },
        }
    }

    /// Parses a name: `entry`, `return`, `3f`, `3f-52`, `3f-f.cold+4`, `*`.
    fn of_name(name: &str) -> Wanted {
        let edges = super::edges::is_edge(name);
        match name {
            "entry" => return Wanted::End(End::Entry),
            "return" => return Wanted::End(End::Return),
            name if name.is_empty() || is_glob(name) => {
                return Wanted::Matching { pattern: Pattern::new(name), edges };
            }
            _ => {}
        }
        let found = match name.split_once('-') {
            None => hexadecimal(name).map(Wanted::Insn),
            Some((from, to)) => hexadecimal(from).zip(target(to)).map(|(from, to)| Wanted::Edge { from, to }),
        };
        found.unwrap_or(Wanted::Nothing)
    }
}

/// Parses an offset; `0x` may precede it.
pub(super) fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok())?
}

/// Parses the end of an edge: `52`, `f.cold+4`.
fn target(text: &str) -> Option<Target> {
    if let Some(offset) = hexadecimal(text) {
        return Some(Target { function: None, offset });
    }
    let (function, offset) = text.rsplit_once('+').unwrap_or((text, "0"));
    let offset = hexadecimal(offset).filter(|_| !function.is_empty())?;
    Some(Target { function: Some(function.to_owned()), offset })
}

/// A function of a file that a description means; the names are those of [`Function`].
struct Found {
    meant: usize,
    symbol: Symbol,
    name: String,
    own_name: String,
}

impl Catalog {
    /// Returns the probes that the fields of a description match.
    pub(super) fn in_programs(&self, space: Space, fields: &Fields) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let wanted = Wanted::of_name(&fields.name);
        if fields.function == WHOLE_FILE {
            return self.at_address(space, fields, &wanted);
        }
        let found = self.probes_in(space, (&fields.module, &fields.function), &wanted)?;
        Ok(found.into_iter().map(|(probe, _)| probe).collect())
    }

    /// Returns the entries or returns of functions that a description means, each by the symbol of its function, which
    /// means that function alone.
    pub(crate) fn ends_in_programs(&self, space: Space, fields: &Fields) -> Vec<Fields> {
        let wanted = Wanted::of_name(&fields.name);
        let of_function = |function: &Function<'_>| {
            let made = self.of_function(function, &wanted)?;
            let named =
                |(probe, _): (Probe, _)| Fields { function: function.own_name.to_owned(), ..probe.name };
            Ok(made.into_iter().map(named).collect())
        };
        self.each_function(space, (&fields.module, &fields.function), of_function).unwrap_or_default()
    }

    /// Returns the probe of a site.
    pub(super) fn at_program_site(&self, site: &Site) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let found = self.probes_in(site.space, (&site.module, &site.function), &Wanted::of_site(site))?;
        Ok(found.into_iter().map(|(probe, _)| probe).collect())
    }

    /// Returns the instructions and edges that a description names, each as a site.
    pub(crate) fn program_sites(&self, space: Space, fields: &Fields) -> Result<Vec<Site>, Box<Diagnostic>> {
        let wanted = Wanted::of_name(&fields.name);
        if fields.function == WHOLE_FILE {
            let meant = self.programs()?.meant(space, &fields.module)?;
            let site = |meant: &Meant| Some(self.function_at(space, meant, fields, &wanted).ok()?.1);
            return Ok(meant.iter().filter_map(site).collect());
        }
        let found = self.probes_in(space, (&fields.module, &fields.function), &wanted)?;
        Ok(found.into_iter().filter_map(|(_, site)| site).collect())
    }

    fn probes_in(
        &self,
        space: Space,
        named: (&str, &str),
        wanted: &Wanted,
    ) -> Result<Vec<(Probe, Option<Site>)>, Box<Diagnostic>> {
        self.each_function(space, named, |function| self.of_function(function, wanted))
    }

    /// Collects the results for all functions of these names. A function of a glob is left out if it has none.
    fn each_function<T>(
        &self,
        space: Space,
        (module, function): (&str, &str),
        make: impl Fn(&Function<'_>) -> Result<Vec<T>, Box<Diagnostic>>,
    ) -> Result<Vec<T>, Box<Diagnostic>> {
        let programs = self.programs()?;
        let meant = programs.meant(space, module)?;
        let one = !function.is_empty() && !is_glob(function);
        let found = functions(&meant, function, one);
        if found.is_empty() && one {
            let files: Vec<_> = meant.iter().map(|meant| &*meant.file).collect();
            let anonymous = programs.has_anonymous_code(space);
            let inlined = programs::only_inlined(&files, function);
            return Err(Box::new(
                inlined.unwrap_or_else(|| programs::no_function(&files, function, anonymous)),
            ));
        }
        let (mut probes, mut refusal) = (Vec::new(), None);
        for Found { meant: at, symbol, name, own_name } in &found {
            let in_file = Function { space, meant: &meant[*at], symbol: *symbol, name, own_name };
            match make(&in_file) {
                Ok(made) => probes.extend(made),
                Err(error) => {
                    if !one {
                        self.leave_out(&in_file, &error);
                    }
                    refusal = refusal.or(Some(error));
                }
            }
            if probes.len() > MAX_MATCHES {
                return Err(Box::new(too_many(function, MAX_MATCHES)));
            }
        }
        match refusal {
            // Among several functions with one name, only those with such an instruction count.
            Some(refusal) if probes.is_empty() => Err(refusal),
            _ => Ok(probes),
        }
    }

    fn of_function(
        &self,
        function: &Function<'_>,
        wanted: &Wanted,
    ) -> Result<Vec<(Probe, Option<Site>)>, Box<Diagnostic>> {
        match wanted {
            Wanted::Nothing => Err(Box::new(refusals::no_such_name(function.name, function.space))),
            Wanted::End(end) => {
                let spots = match end {
                    End::Entry => function.entry(),
                    End::Return => function.exits(),
                };
                let spots = spots.map_err(|why| Box::new(refusals::no_end(function, *end, &why)))?;
                Ok(vec![(self.make_in(function, Known::End(*end), spots), None)])
            }
            Wanted::Insn(offset) => {
                let spot = function.instruction(*offset)?;
                Ok(vec![self.make_insn(function, *offset, spot)])
            }
            Wanted::Edge { from, to } => {
                let (spot, to) = function.edge(*from, to)?;
                Ok(vec![self.make_edge_in(function, *from, to, spot)])
            }
            Wanted::Matching { pattern, edges: true } => {
                let edges = function.edges()?.into_iter();
                let matches = |(from, to, _): &(u64, Target, _)| {
                    pattern.matches(&function.site(*from, Some(to.clone())).name())
                };
                let made = |(from, to, spot)| self.make_edge_in(function, from, to, spot);
                Ok(edges.filter(matches).map(made).collect())
            }
            Wanted::Matching { pattern, .. } => self.matching_in(function, pattern),
        }
    }

    /// Returns the probes of a function whose names match: its entry, its return, and its instructions. Those that
    /// cannot be traced are left out.
    fn matching_in(
        &self,
        function: &Function<'_>,
        pattern: &Pattern,
    ) -> Result<Vec<(Probe, Option<Site>)>, Box<Diagnostic>> {
        let mut made = Vec::new();
        for (end, name) in [(End::Entry, "entry"), (End::Return, "return")] {
            if pattern.matches(name) {
                made.extend(self.of_function(function, &Wanted::End(end)).unwrap_or_default());
            }
        }
        for offset in function.offsets()? {
            if !pattern.matches(&function.space.number(offset)) {
                continue;
            }
            match function.instruction(offset) {
                Ok(spot) => made.push(self.make_insn(function, offset, spot)),
                Err(error) => self.leave_out(function, &error),
            }
        }
        Ok(made)
    }

    /// Returns the probe of `pid1234:a.out:-:401a3f`.
    fn at_address(
        &self,
        space: Space,
        fields: &Fields,
        wanted: &Wanted,
    ) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let (mut probes, mut refusal) = (Vec::new(), None);
        for meant in &self.programs()?.meant(space, &fields.module)? {
            match self.function_at(space, meant, fields, wanted) {
                Ok((probe, _)) => probes.push(probe),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        match refusal {
            Some(refusal) if probes.is_empty() => Err(refusal),
            _ => Ok(probes),
        }
    }

    fn function_at(
        &self,
        space: Space,
        meant: &Meant,
        fields: &Fields,
        wanted: &Wanted,
    ) -> Result<(Probe, Site), Box<Diagnostic>> {
        let Wanted::Insn(written) = wanted else {
            return Err(Box::new(no_such_name(WHOLE_FILE, &fields.name)));
        };
        let address = meant.linked(*written).unwrap_or(*written);
        let symbols = meant.file.functions();
        let symbol = symbols.containing(address);
        let anonymous = self.programs()?.has_anonymous_code(space);
        let unknown = || Box::new(refusals::no_function_at(meant, *written, anonymous));
        let symbol = symbol.ok_or_else(unknown)?;
        let name = symbols.name(symbol);
        let function = Function { space, meant, symbol: *symbol, name, own_name: name };
        let offset = address - symbol.address;
        let spot = function.instruction(offset)?;
        let (probe, site) = self.make_insn(&function, offset, spot);
        let site = site.unwrap_or_default();
        let name = Fields { function: WHOLE_FILE.to_owned(), name: format!("{written:x}"), ..probe.name };
        Ok((Probe { name, ..probe }, site))
    }

    /// Returns the function symbol of a site, and its file.
    pub(crate) fn place_in_program(&self, site: &Site) -> Option<(Arc<ProgramFile>, Symbol)> {
        let meant = self.programs().ok()?.meant(site.space, &site.module).ok()?;
        let found = functions(&meant, &site.function, true);
        let found = found.iter().find(|found| site.offset < found.symbol.size.max(1))?;
        Some((Arc::clone(&meant[found.meant].file), found.symbol))
    }

    /// Returns one of the files of the run.
    pub(crate) fn program_file(&self, file: FileId) -> Option<Arc<ProgramFile>> {
        self.programs().ok()?.file(file)
    }

    pub(crate) fn programs(&self) -> Result<&Programs, Box<Diagnostic>> {
        self.programs.as_deref().ok_or_else(|| Box::new(refusals::no_programs()))
    }
}

/// Returns the functions of these files that a field means, by file and address.
fn functions(meant: &[Meant], function: &str, one: bool) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, file) in meant.iter().enumerate() {
        let image = file.file.image();
        let symbols = file.file.functions();
        if one {
            let named = image.functions_named(function).into_iter().map(|symbol| {
                let name = source_name(function).unwrap_or_else(|| function.to_owned());
                Found { meant: at, symbol, name, own_name: function.to_owned() }
            });
            found.extend(named);
            let of_path = file.file.meant(function);
            let of_path = of_path.iter().map(|(symbol, name)| Found {
                meant: at,
                symbol: *symbol,
                name: name.clone(),
                own_name: image.own_name(symbol),
            });
            found.extend(of_path);
            continue;
        }
        let pattern = Pattern::new(function);
        let of_path = file.file.meant(function);
        let of_path: HashMap<u64, &String> =
            of_path.iter().map(|(symbol, name)| (symbol.address, name)).collect();
        let mut last = None;
        for (name, symbol) in symbols.iter() {
            // One of several names of a function is enough; a part of a function is not entered by calls.
            let is_meant = pattern.matches(name) || of_path.contains_key(&symbol.address);
            if is_meant && last != Some(symbol.address) && !name.contains(".cold") {
                last = Some(symbol.address);
                let own_name = image.own_name(symbol);
                let of_path =
                    of_path.get(&symbol.address).map(|name| (*name).clone()).or_else(|| source_name(name));
                let name = of_path.unwrap_or_else(|| own_name.clone());
                found.push(Found { meant: at, symbol: *symbol, name, own_name });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hexadecimal() {
        assert!(matches!(Wanted::of_name("3f"), Wanted::Insn(0x3f)));
        assert!(matches!(Wanted::of_name("0x10"), Wanted::Insn(0x10)));
        assert!(matches!(Wanted::of_name("entry"), Wanted::End(End::Entry)));
        assert!(matches!(Wanted::of_name(""), Wanted::Matching { edges: false, .. }));
        assert!(matches!(Wanted::of_name("*-*"), Wanted::Matching { edges: true, .. }));
        assert!(matches!(Wanted::of_name("3x"), Wanted::Nothing));
        let Wanted::Edge { from, to } = Wanted::of_name("3f-f.cold+a") else { panic!("an edge") };
        assert_eq!((from, to.function.as_deref(), to.offset), (0x3f, Some("f.cold"), 10));
        let Wanted::Edge { to, .. } = Wanted::of_name("3f-52") else { panic!("an edge") };
        assert_eq!((to.function, to.offset), (None, 0x52));
    }
}

//! dwarf/copies/code.rs: functions with code, by their names in the debug information.

use foldhash::HashMap;
use rayon::prelude::*;

use super::names::Names;
use super::scan::for_each_function;
use crate::golang::GoQuery;
use crate::query::Query;
use crate::sections::{Dwarf, Sections, headers};
use crate::unit::Unit;
use kinst_debuginfo::{ElfFile, Error};

/// Returns the addresses of the functions that a name means, with their paths. The debug information has the arguments
/// of generics and the names of closures, which the symbols of older Rust lack. Units in other files are left out.
pub fn code_meant(image: &ElfFile, name: &str) -> Result<Vec<(u64, String)>, Error> {
    let sections = Sections::load(image, &[])?;
    let dwarf = sections.dwarf();
    let names = Names::Meant(Query::new(name), GoQuery::new(name));
    let found = headers(image, &dwarf)?.into_par_iter().flat_map_iter(|header| {
        let unit = Unit::new(&dwarf, header).ok();
        // A unit that cannot be read has no functions.
        unit.and_then(|unit| in_unit(&dwarf, &unit, &names).ok()).unwrap_or_default()
    });
    let mut found: Vec<(u64, String)> = found.collect();
    found.sort_unstable();
    found.dedup_by_key(|(address, _)| *address);
    Ok(found)
}

fn in_unit<'a>(dwarf: &Dwarf<'a>, unit: &Unit<'a>, names: &Names<'_>) -> gimli::Result<Vec<(u64, String)>> {
    let mut meant: HashMap<u64, String> = HashMap::default();
    let mut bodies = Vec::new();
    for_each_function(dwarf, unit, |function| {
        if !function.declaration
            && let Some(path) = function.path(unit)
        {
            let parts: Vec<&str> = path.iter().map(|part| &**part).collect();
            if names.number_of(&parts, function.symbol().as_deref()).is_some() {
                meant.insert(function.offset, parts.join("::"));
            }
        }
        // The code of a function that is also inlined has its name in another entry.
        bodies.extend(function.start.map(|start| (function.origin.unwrap_or(function.offset), start)));
    })?;
    Ok(bodies.into_iter().filter_map(|(of, start)| Some((start, meant.get(&of)?.clone()))).collect())
}

//! dwarf/frames/functions.rs: the functions of a unit that have code.

use std::ops::Range;

use crate::copies::scan::for_each_function;
use crate::extent::{Extent, merge};
use crate::sections::Dwarf;
use crate::unit::Unit;

/// The code of a unit by function: a range, and the function's entry. Sorted.
pub(crate) type Functions = Vec<(Range<u64>, u64)>;

/// The functions of a unit that have code.
pub(crate) fn functions<'d>(dwarf: &Dwarf<'d>, unit: &Unit<'d>) -> gimli::Result<Functions> {
    let mut functions = Functions::new();
    let mut entries = Vec::new();
    for_each_function(dwarf, unit, |function| {
        if !function.declaration && !function.inline {
            entries.push(function.offset);
        }
    })?;
    for die in entries {
        let mut entry = unit.entries(unit.local(die))?;
        let Some(abbreviation) = entry.read_abbreviation()? else { continue };
        let mut extent = Extent::default();
        for spec in abbreviation.attributes() {
            extent.read(&entry.read_attribute(*spec)?);
        }
        let ranges = merge(extent.ranges(dwarf, unit)?);
        functions.extend(ranges.into_iter().map(|range| (range, die)));
    }
    functions.sort_by_key(|(range, die)| (range.start, *die));
    Ok(functions)
}

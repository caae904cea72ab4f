//! dwarf/copies/mention.rs: the units that may contain a name: those that refer to its string.

use gimli::{Section, UnitHeader};
use memchr::memmem;
use rayon::prelude::*;

use crate::sections::{Dwarf, Slice};

/// Shorter names are stored in .debug_info itself.
const IN_PLACE: usize = 4;

/// Below this size, a walk over all units is cheap enough.
const LARGE: usize = 16 << 20;

/// A skeleton unit is smaller: its contents are in another file.
const SKELETON: usize = 256;

/// A search for more strings than this takes longer than the walk that it saves, above all on slow machines.
const MOST_STRINGS: usize = 6;

/// Whether the file can contain any of the names.
pub(crate) fn in_file(strings: &[u8], wanted: &[String]) -> bool {
    wanted.iter().any(|name| name.len() < IN_PLACE || !occurrences(strings, name, 1).is_empty())
}

/// Drops the units without a reference to the string of a wanted name. In doubt it retains all units: the
/// results must not depend on this step.
pub(crate) fn retain<'a>(
    dwarf: &Dwarf<'a>,
    headers: Vec<UnitHeader<Slice<'a>>>,
    wanted: &[String],
) -> Vec<UnitHeader<Slice<'a>>> {
    let Some(references) = references(dwarf, wanted) else { return headers };
    let finders: Vec<memmem::Finder<'_>> = references.iter().map(memmem::Finder::new).collect();
    let info = dwarf.debug_info.reader().slice();
    let refers = |header: &UnitHeader<Slice<'a>>| {
        let start = header.offset().0;
        let length = header.length_including_self();
        let bytes = info.get(start..start.saturating_add(length));
        length <= SKELETON
            || bytes.is_none_or(|bytes| finders.iter().any(|finder| finder.find(bytes).is_some()))
    };
    headers.into_par_iter().filter(refers).collect()
}

/// The names' strings as DW_FORM_strp refers to them; `None` if units may have a name without such a
/// reference, or if a search is not worthwhile.
fn references(dwarf: &Dwarf<'_>, wanted: &[String]) -> Option<Vec<[u8; 4]>> {
    // DW_FORM_strx refers to a string through a table.
    let by_index = !dwarf.debug_str_offsets.reader().is_empty();
    // DW_AT_abstract_origin as DW_FORM_ref_addr: a unit may have copies of another unit's functions.
    let foreign = memmem::find(dwarf.debug_abbrev.reader().slice(), &[0x31, 0x10]).is_some();
    // DW_FORM_GNU_strp_alt: the name may be in another file.
    let foreign = foreign || dwarf.sup().is_some();
    let short = wanted.iter().any(|name| name.len() < IN_PLACE);
    if by_index || foreign || short || dwarf.debug_info.reader().len() < LARGE {
        return None;
    }
    let strings = dwarf.debug_str.reader().slice();
    let mut references = Vec::new();
    for name in wanted {
        // The linker may merge a string into the end of a longer one: any of the matches may be meant.
        let generic = format!("{name}<");
        let generics = memmem::find_iter(strings, generic.as_bytes()).take(MOST_STRINGS + 1);
        for offset in occurrences(strings, name, MOST_STRINGS + 1).into_iter().chain(generics) {
            references.push(u32::try_from(offset).ok()?.to_le_bytes());
        }
    }
    (references.len() <= MOST_STRINGS).then_some(references)
}

/// The offsets where the name ends a string.
fn occurrences(strings: &[u8], name: &str, most: usize) -> Vec<usize> {
    let mut terminated = name.as_bytes().to_vec();
    terminated.push(0);
    memmem::find_iter(strings, &terminated).take(most).collect()
}

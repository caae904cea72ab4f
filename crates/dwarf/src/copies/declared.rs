//! dwarf/copies/declared.rs: the places where functions are declared, by file index in a unit's line table.

use foldhash::HashMap;

use super::scan::{Definition, Definitions};
use crate::entries::{Place, Places};
use crate::sections::Dwarf;
use crate::unit::Unit;

/// The files of a unit's line table by absolute path, if definitions of other units are looked up in it.
pub(crate) struct Declared {
    files: HashMap<String, u64>,
}

/// Replaces a file without rows in the unit, which has lost all markers of the function.
const NO_FILE: u64 = u64::MAX;

impl Declared {
    pub(crate) fn of<'a>(dwarf: &Dwarf<'a>, unit: &Unit<'a>, definitions: &Definitions) -> Declared {
        let is_foreign = |definition: &Definition| !unit.has(definition.offset);
        if !unit.tells_entries || !definitions.values().any(is_foreign) {
            return Declared { files: HashMap::default() };
        }
        let paths = unit.file_paths(dwarf).into_iter().map(|path| unit.absolute(&path));
        Declared { files: paths.zip(0..).collect() }
    }

    /// The place where a function is declared, if nothing else of the function is there.
    pub(crate) fn place(&self, unit: &Unit<'_>, definition: &Definition) -> Option<Place> {
        if definition.by_macro || definition.decl_column == 0 {
            return None;
        }
        let file = match unit.has(definition.offset) {
            true => definition.decl_file,
            false => {
                let path = definition.path.as_deref().map(|path| unit.absolute(path));
                path.and_then(|path| self.files.get(&path)).copied().unwrap_or(NO_FILE)
            }
        };
        Some((file, definition.decl_line, definition.decl_column))
    }

    pub(crate) fn of_inline(&self, unit: &Unit<'_>, definitions: &Definitions) -> Places {
        let inline = definitions.values().filter(|definition| definition.inline);
        inline.filter_map(|definition| self.place(unit, definition)).collect()
    }
}

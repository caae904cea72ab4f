//! sites/target/drivers.rs: the static probes of loaded modules, from the notes that the kernel exports.

use kinst_base::image::ModuleId;
use std::path::Path;

use super::kernel::Kernel;
use crate::code::notes::{self, Note};
use kinst_base::machine::Machine;

/// The notes of one module.
pub(crate) struct Notes {
    pub module: ModuleId,
    pub notes: Vec<Note>,
    /// Whether its addresses are valid: the kernel shows the section's address only to root.
    pub placed: bool,
}

/// More than any driver has; anything beyond is not read.
const MOST_BYTES: u64 = 4 << 20;

impl Kernel {
    /// Returns the notes of all loaded modules that have any. For the others, this costs one failed file lookup.
    pub(crate) fn driver_notes(&self) -> Vec<Notes> {
        if !self.is_running() {
            return Vec::new();
        }
        let modules = self.modules().ids().skip(1);
        let read = |module: ModuleId| {
            let dir = Path::new("/sys/module").join(&self.modules()[module].name);
            let section = read_up_to(&dir.join("notes").join(notes::SECTION))?;
            let address = self.placement(module).get(notes::SECTION).copied();
            let notes = notes::parse(&section, address.unwrap_or(0), Machine::HERE);
            Some(Notes { module, notes, placed: address.is_some() })
        };
        modules.filter_map(read).collect()
    }

    /// Returns the function of a loaded module that contains a run-time address, and the function's start.
    /// `None` also for initialization code, which has been freed.
    pub(crate) fn function_at(&self, module: ModuleId, address: u64) -> Option<(&str, u64)> {
        let sections = self.placement(module).iter().filter(|(_, start)| **start <= address);
        let (section, _) = sections.max_by_key(|(_, start)| **start)?;
        if section.starts_with(".init") {
            return None;
        }
        let symbols = self.kallsyms().get(&self.modules()[module].name)?;
        let symbol = symbols.containing(address)?;
        Some((symbols.name(symbol), symbol.address))
    }
}

fn read_up_to(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

//! sites/target/drivers.rs: what loaded modules say of their own probes, in the notes that the kernel shows of them.

use kinst_base::image::ModuleId;
use std::path::Path;

use super::kernel::Kernel;
use crate::code::notes::{self, Note};
use kinst_base::machine::Machine;

/// The notes of one module.
pub(crate) struct Notes {
    pub module: ModuleId,
    pub notes: Vec<Note>,
    /// Whether the addresses in them mean anything: the kernel shows where the section is to root only.
    pub placed: bool,
}

/// More than a driver has of them; what is beyond it is not read.
const MOST_BYTES: u64 = 4 << 20;

impl Kernel {
    /// The notes of all loaded modules that have some. Of the others, one file is looked for that is not there.
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

    /// The function of a loaded module that an address of the running kernel is in, and where that begins. `None` also
    /// for code that is gone since the module was initialized.
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

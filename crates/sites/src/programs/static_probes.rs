//! sites/programs/static_probes.rs: the static probes of a program or library, from the notes in its file.

use std::borrow::Cow;

use super::file::ProgramFile;
use crate::code::stapsdt::{self, StaticProbe};
use crate::image::Images as _;

impl ProgramFile {
    /// Returns the static probes, in the order of their notes.
    pub(crate) fn static_probes(&self) -> &[StaticProbe] {
        self.static_probes.get_or_init(|| {
            let section = self.elf().debug_section(stapsdt::SECTION).unwrap_or_else(|error| {
                self.warn(error.warning());
                Cow::default()
            });
            // The file with the debug information is searched for only if it is needed.
            let symbol = |name: &str| {
                let found = self.elf().symbol(name).or_else(|| self.debug_file()?.symbol(name));
                Some(found?.address)
            };
            let base = self.elf().sections().iter().find(|section| section.name == stapsdt::BASE);
            let notes = stapsdt::Notes {
                section: &section,
                machine: self.elf().machine().unwrap_or_default(),
                base: base.map(|section| section.address),
                symbol: &symbol,
            };
            let mut probes = notes.probes();
            let is_code = |address| self.elf().section_at(address).is_some_and(|section| section.executable);
            probes.retain(|probe| is_code(probe.at));
            probes
        })
    }
}

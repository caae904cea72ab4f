//! sites/listing/opened.rs: debug information that stays open for the next query.

use crate::target::Kernel;
use crate::target::info::Info;
use kinst_base::image::ModuleId;

/// The debug information of the modules that have been queried.
pub(crate) struct Opened<'k> {
    kernel: &'k Kernel,
    /// `None` where nothing is known of the source.
    modules: Vec<(ModuleId, Option<Info<'k>>)>,
}

impl<'k> Opened<'k> {
    pub fn new(kernel: &'k Kernel) -> Opened<'k> {
        Opened { kernel, modules: Vec::new() }
    }

    pub fn info(&mut self, module: ModuleId) -> Option<&Info<'k>> {
        let at = match self.modules.iter().position(|(known, _)| *known == module) {
            Some(at) => at,
            None => {
                let opened = self.kernel.info(module);
                let info =
                    opened.and_then(|info| info.map_err(|error| self.kernel.warn(error.warning())).ok());
                self.modules.push((module, info));
                self.modules.len() - 1
            }
        };
        self.modules[at].1.as_ref()
    }
}

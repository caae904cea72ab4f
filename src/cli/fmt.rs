//! cli/fmt.rs: --fmt: scripts in their canonical layout.

use super::output::reason;
use super::run::{Failed, Run};
use crate::pipeline;
use crate::source::{FileId, Origin, Source};

impl Run {
    /// Rewrites each file whose layout differs; `-` is read from standard input and written to standard output.
    pub fn format(&mut self, paths: &[String]) -> Result<u8, Failed> {
        for path in paths {
            let text = self.read_file(path)?;
            let file = self.sources.add(Source { name: path.clone(), text, origin: Origin::Script });
            self.files = vec![file];
            self.libraries.clear();
            self.read_libraries()?;
            let formatted = self.formatted(file)?;
            if path == "-" {
                self.print(&formatted)?;
            } else if formatted != self.sources.get(file).text
                && let Err(error) = std::fs::write(path, formatted)
            {
                return self.fail(&format!("failed to write {path}: {}", reason(&error)), None);
            }
        }
        Ok(0)
    }

    fn formatted(&self, file: FileId) -> Result<String, Failed> {
        let source = self.sources.get(file);
        let result = self.with_given(0, |given| pipeline::format(source, given, &self.sources));
        result.map_err(|diagnostics| {
            diagnostics.iter().for_each(|d| self.report.diagnostic(&self.sources, d, Some(file)));
            Failed
        })
    }
}

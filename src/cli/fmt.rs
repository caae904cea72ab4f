//! cli/fmt.rs: --fmt: scripts in their canonical layout.

use super::compile::with_given;
use super::config::{Config, read_file};
use super::console::{Console, Failed};
use super::output::reason;
use super::subject::Subject;
use crate::pipeline;
use kinst_base::source::{FileId, Origin, Source};

/// Rewrites each file whose layout differs; `-` is read from standard input and written to standard output.
pub(super) fn format(config: &mut Config, subject: &Subject, console: &Console) -> Result<u8, Failed> {
    for path in config.invocation.formatted.clone() {
        let text = read_file(console, &path)?;
        let file = config.sources.add(Source { name: path.clone(), text, origin: Origin::Script });
        config.files = vec![file];
        config.libraries.clear();
        config.read_libraries(console)?;
        let formatted = formatted(config, subject, console, file)?;
        if path == "-" {
            console.print(&formatted)?;
        } else if formatted != config.sources.get(file).text
            && let Err(error) = std::fs::write(&path, formatted)
        {
            return console.fail(&format!("failed to write {path}: {}", reason(&error)), None);
        }
    }
    Ok(0)
}

fn formatted(config: &Config, subject: &Subject, console: &Console, file: FileId) -> Result<String, Failed> {
    let source = config.sources.get(file);
    let result = with_given(config, subject, 0, |given| pipeline::format(source, given, &config.sources));
    result.map_err(|diagnostics| {
        diagnostics.iter().for_each(|d| config.report(console, d));
        Failed
    })
}

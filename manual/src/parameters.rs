//! manual/src/parameters.rs: the table of the module's parameters, from its source.

use crate::tables::sentence;
use anyhow::{Context as _, Result, ensure};
use roff::{Roff, bold, roman};
use std::fs;
use std::path::Path;

/// Returns an entry for each `MODULE_PARM_DESC(name, "description")` of the module.
pub(crate) fn table() -> Result<String> {
    let mut found = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../kmod"), &mut found)?;
    ensure!(!found.is_empty(), "no parameter is described in kmod/");
    found.sort_unstable();
    let mut page = Roff::new();
    for (name, description) in found {
        page.control("TP", []);
        page.text([bold(name)]);
        page.text([roman(sentence(&description))]);
    }
    Ok(page.render())
}

/// Collects the descriptions in a directory, without those of the test modules.
fn read(folder: &Path, found: &mut Vec<(String, String)>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("tests") {
            read(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "c") {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            found.extend(text.lines().filter_map(described));
        }
    }
    Ok(())
}

fn described(line: &str) -> Option<(String, String)> {
    let (name, description) = line.strip_prefix("MODULE_PARM_DESC(")?.split_once(", \"")?;
    Some((name.to_owned(), description.strip_suffix("\");")?.to_owned()))
}

//! The shared libraries of arm64 programs, which this machine's loader cannot list.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader, ProgramHeader as _};
use object::{Endianness, StringTable};

use crate::setup::cross;

/// The loader, as programs name it, and the folder in which it looks for libraries.
const LOADER: &str = "ld-linux-aarch64.so.1";
const FOLDER: &str = "lib/aarch64-linux-gnu";

/// The libraries of a program, theirs, and the loader: the places in the guest, and the files. A static program or an
/// object file has none.
pub(super) fn of_arm64(program: &[u8]) -> Result<Vec<(String, PathBuf)>> {
    let mut found = BTreeMap::new();
    let mut wanted = needed(program)?;
    while let Some(name) = wanted.pop() {
        let place = if name == LOADER { format!("lib/{name}") } else { format!("{FOLDER}/{name}") };
        if found.contains_key(&place) {
            continue;
        }
        let file = cross::library(&name)?;
        let data = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        wanted.extend(needed(&data)?);
        found.insert(place, file);
    }
    if !found.is_empty() {
        found.insert(format!("lib/{LOADER}"), cross::library(LOADER)?);
    }
    Ok(found.into_iter().collect())
}

/// The names of the libraries that a file needs.
fn needed(data: &[u8]) -> Result<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    for segment in header.program_headers(endian, data)? {
        let Some(entries) = segment.dynamic(endian, data)? else { continue };
        let sections = header.sections(endian, data)?;
        let Some((_, strings)) = sections.dynamic(endian, data)? else { bail!("it has no dynamic section") };
        let strings: StringTable<'_, &[u8]> = sections.strings(endian, data, strings)?;
        let names = entries.iter().filter(|entry| entry.d_tag(endian) == DT_NEEDED);
        return names
            .map(|entry| Ok(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned()))
            .collect();
    }
    Ok(Vec::new())
}

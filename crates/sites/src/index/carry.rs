//! sites/index/carry.rs: export and import of a kernel's indices, in one file or in a folder.

use kinst_base::image::ModuleId;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::build::Built;
use rayon::prelude::*;

use crate::cache::file::{Cache, IMPORTED, Sealed};
use crate::cache::image::{self, ImageIndex};
use crate::cache::pack::{Packing, Unfit, Unpacking};
use crate::cache::source::{self, Source};
use crate::target::Kernel;
use kinst_debuginfo::BuildId;
use kinst_dwarf::{Body, DebugInfo, Lines};

/// The result of [`Kernel::import`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Release of the kernel for which it was exported.
    pub release: String,
    /// Number of files that have an index in it.
    pub files: usize,
    /// Number of those that are vmlinux or modules of this kernel; `None` if it does not show its build ids.
    pub ours: Option<usize>,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum NotImported {
    /// The file is damaged, of another format, or unreadable. Other files in its folder may be damaged too.
    #[error("{}: {cause}", path.display())]
    Unfit {
        /// The file or folder to be imported.
        path: PathBuf,
        /// Defect of the file, or error when reading it.
        cause: Unfit,
    },
    /// The user's index directory is not writable.
    #[error("the index cannot be cached in {}: {cause}", dir.display())]
    NotWritten {
        /// The directory: `~/.cache/kinst/index`.
        dir: PathBuf,
        /// Error when writing there.
        cause: io::Error,
    },
}

impl Kernel {
    /// Writes all existing indices to a file, or to an existing folder as a package would install them.
    pub fn export(&self, to: &Path) -> io::Result<Built> {
        // Reads the cache: an index built without the instructions is only for this run.
        let kept = |module| Some((self.index_id(module)?, self.open_index(module)?, module));
        let indices: Vec<(BuildId, ImageIndex, ModuleId)> = self.modules().ids().filter_map(kept).collect();
        let sources: Vec<Source> =
            indices.par_iter().filter_map(|(id, _, module)| self.source(*module, id)).collect();
        let files = indices.iter().map(|(_, index, _)| index.file());
        let files: Vec<&Sealed> = files.chain(sources.iter().map(Source::file)).collect();
        if to.is_dir() {
            for file in &files {
                fs::write(to.join(name_of(file).unwrap_or_default()), file.bytes())?;
            }
        } else {
            // A partial file would be useless.
            let beside = to.with_added_extension("part");
            let write = || {
                let mut packing = Packing::new(BufWriter::new(File::create(&beside)?), self.release())?;
                files.iter().try_for_each(|file| packing.add(file.bytes()))?;
                packing.finish()?.flush()?;
                fs::rename(&beside, to)
            };
            write().inspect_err(|_| {
                let _ = fs::remove_file(&beside);
            })?;
        }
        let functions = indices.iter().map(|(_, index, _)| index.names().count()).sum();
        Ok(Built { modules: indices.len(), kept: indices.len(), functions })
    }

    /// Returns the frames and lines of a module from the cache, or builds and caches them.
    fn source(&self, module: ModuleId, id: &BuildId) -> Option<Source> {
        if let Some(source) = self.caches.places().find_map(|place| place.source(id)) {
            return Some(source);
        }
        let info = DebugInfo::open(self.debug(module)?).ok()?;
        let (bodies, lines): (Vec<Vec<Body>>, Vec<Lines>) =
            info.all(|bodies, lines| (bodies, lines)).into_iter().unzip();
        let definition = |origin| info.definition(origin).unwrap_or_default();
        let bytes = Source::write(id, bodies.into_iter().flatten().collect(), lines, definition)?;
        info.image().give_back();
        if let Some(cache) = self.cache() {
            // If this fails, the next export builds it again.
            let _ = cache.write(&source::file_name(id), &bytes);
        }
        Sealed::any(bytes).map(Source::of)
    }

    /// Verifies everything in an exported file or in a folder of indices, then copies it to the user's
    /// directory. Nothing is imported from a file with any damage.
    pub fn import(&self, from: &Path, cache: &Cache) -> Result<Imported, NotImported> {
        let ids = self.modules().ids().filter_map(|module| self.file_id(module));
        let ours: HashSet<BuildId> = ids.collect();
        let mut imported = Imported { ours: (!ours.is_empty()).then_some(0), ..Imported::default() };
        each(from, |_, _| Ok(()))?;
        imported.release = each(from, |name, file| {
            let (id, is_index) = (BuildId::new(file.key()), file.kind() == image::KIND);
            imported.files += usize::from(is_index);
            if let Some(count) = &mut imported.ours {
                *count += usize::from(is_index && ours.contains(&id));
            }
            let kept = cache.write(name, file.bytes());
            kept.map_err(|cause| NotImported::NotWritten { dir: cache.dir().to_owned(), cause })
        })?;
        // Invalidates conclusions drawn without the indices.
        let kept = cache.write(IMPORTED, imported.files.to_string().as_bytes());
        kept.map_err(|cause| NotImported::NotWritten { dir: cache.dir().to_owned(), cause })?;
        Ok(imported)
    }
}

/// Visits each index of an exported file or of a folder; returns the release for which it was exported.
fn each(
    from: &Path,
    mut visit: impl FnMut(&str, &Sealed) -> Result<(), NotImported>,
) -> Result<String, NotImported> {
    let unfit = |path: &Path, cause| NotImported::Unfit { path: path.to_owned(), cause };
    let mut take = |path: &Path, file: Sealed| {
        let (file, name) =
            checked(file).ok_or_else(|| unfit(path, Unfit::Damaged("an index in it is inconsistent")))?;
        visit(&name, &file)
    };
    if from.is_dir() {
        for path in indices_in(from).map_err(|cause| unfit(from, Unfit::Io(cause)))? {
            let bytes = fs::read(&path).map_err(|cause| unfit(&path, Unfit::Io(cause)))?;
            let file = Sealed::any(bytes).ok_or_else(|| unfit(&path, Unfit::Foreign))?;
            take(&path, file)?;
        }
        return Ok(String::new());
    }
    let bytes = fs::read(from).map_err(|cause| unfit(from, Unfit::Io(cause)))?;
    let mut unpacking = Unpacking::new(&bytes).map_err(|cause| unfit(from, cause))?;
    while let Some(file) = unpacking.next().map_err(|cause| unfit(from, cause))? {
        take(from, file)?;
    }
    Ok(unpacking.release)
}

/// Returns the file and its name, if it is a cache file and all of its contents are consistent.
fn checked(file: Sealed) -> Option<(Sealed, String)> {
    let name = name_of(&file)?;
    let file = match file.kind() {
        image::KIND => ImageIndex::of(file).filter(ImageIndex::is_sound)?.into_file(),
        _ => Some(Source::of(file)).filter(Source::is_sound)?.into_file(),
    };
    Some((file, name))
}

fn name_of(file: &Sealed) -> Option<String> {
    let id = Some(BuildId::new(file.key())).filter(|id| id.path().is_some())?;
    match file.kind() {
        image::KIND => Some(image::file_name(&id)),
        source::KIND => Some(source::file_name(&id)),
        _ => None,
    }
}

/// Returns the files of a folder that are named like indices, by name.
fn indices_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(dir)?.flatten().map(|entry| entry.path());
    let is_kept = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "sites" || extension == "source")
    };
    let mut paths: Vec<PathBuf> = paths.filter(is_kept).collect();
    paths.sort();
    match paths.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::NotFound, "it contains no index")),
        false => Ok(paths),
    }
}

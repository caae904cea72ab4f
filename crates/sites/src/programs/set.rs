//! sites/programs/set.rs: the files that the descriptions of a run name: those of processes, and files named by path.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::file::ProgramFile;
use super::placing;
use super::process::{Mapped, Process, shown_name};
use super::refusals;
use super::servers::{Say, Servers};
use crate::cache::file::Cache;
use crate::image::Images as _;
use crate::model::{NotPlaced, ProgramFiles};
use crate::uprobe::{Freedom, Nop5};
use kinst_base::diag::Diagnostic;
use kinst_base::image::FileId;
use kinst_base::probe::{InProgram, Spot};
use kinst_base::space::Space;
use kinst_os::maps::Mapping;

/// The programs and libraries of a run. Nothing is read before a description names a process or a file.
#[derive(Default)]
pub struct Programs {
    servers: Option<Arc<Servers>>,
    /// Sites of functions on disk.
    cache: Option<Cache>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// By number.
    files: Vec<Arc<ProgramFile>>,
    /// Numbers of files by device and inode.
    by_inode: HashMap<(u64, u64), FileId>,
    processes: HashMap<u32, Arc<Process>>,
    /// Mappings of the code of a file in a process.
    code: HashMap<(u32, FileId), Arc<Vec<Mapping>>>,
}

/// A file that a description means, under the name that descriptions print.
#[derive(Clone)]
pub(crate) struct Meant {
    pub file: Arc<ProgramFile>,
    /// The second field of a description: `a.out`, `libc.so.6`, a path.
    pub module: String,
    /// Mappings of its code in the process.
    pub code: Arc<Vec<Mapping>>,
}

impl Meant {
    /// Converts an address in the process to one in the file's layout.
    pub(crate) fn linked(&self, address: u64) -> Option<u64> {
        let mapping = self.code.iter().find(|mapping| mapping.range.contains(&address))?;
        self.file.elf().address_of(mapping.offset + (address - mapping.range.start))
    }
}

impl Programs {
    /// Adds debug information from the user's debuginfod servers; `say` reports what the program is waiting for.
    pub fn with_debuginfod(self, say: Box<Say>) -> Programs {
        Programs { servers: Some(Arc::new(Servers::new(say))), ..self }
    }

    /// Enables the cache of functions' sites.
    pub fn with_cache(self, cache: Option<Cache>) -> Programs {
        Programs { cache, ..self }
    }

    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// Returns the file with this key; see [`ProgramFile::key`].
    pub fn file_of_key(&self, key: &str) -> Option<Arc<ProgramFile>> {
        let number = key.strip_prefix('/')?.parse().ok()?;
        self.file(FileId(number))
    }

    pub(crate) fn file(&self, id: FileId) -> Option<Arc<ProgramFile>> {
        self.known().files.get(id.0 as usize).cloned()
    }

    /// Takes the problems that do not stop a run, and the remarks for `-v`.
    pub fn take_reports(&self) -> (Vec<Diagnostic>, Vec<String>) {
        let files = self.known().files.clone();
        let warnings = files.iter().flat_map(|file| file.take_warnings()).collect();
        (warnings, files.iter().flat_map(|file| file.take_remarks()).collect())
    }

    /// Returns the files that the second field of a description means; never empty. Fails with the reason if there are
    /// none, or if one that is named cannot be traced.
    pub(crate) fn meant(&self, space: Space, module: &str) -> Result<Vec<Meant>, Box<Diagnostic>> {
        match space {
            Space::Kernel => Ok(Vec::new()),
            Space::File => self.at_path(module).map(|meant| vec![meant]),
            Space::Process(pid) => self.of_process(pid, module),
        }
    }

    /// Returns the file of `uprobe:/usr/bin/x`.
    fn at_path(&self, module: &str) -> Result<Meant, Box<Diagnostic>> {
        if !module.starts_with('/') || kinst_base::glob::is_glob(module) {
            return Err(Box::new(refusals::path_needed(module)));
        }
        let path = Path::new(module);
        let file = self.open((path, path), root_in(path))?;
        refusals::traceable(&file)?;
        for copied in file.first_copies() {
            file.warn(refusals::copied(path, &copied));
        }
        Ok(Meant { file, module: module.to_owned(), code: Arc::default() })
    }

    fn of_process(&self, pid: u32, module: &str) -> Result<Vec<Meant>, Box<Diagnostic>> {
        if kinst_os::pid_namespace().is_some() {
            return Err(Box::new(refusals::other_numbers()));
        }
        let process = self.process(pid)?;
        let mapped = process.matching(module);
        if mapped.is_empty() {
            // A library that the process will load can be named by its path.
            let path = Path::new(module);
            if module.starts_with('/') && path.exists() {
                let file = self.open((path, path), root_in(path))?;
                refusals::traceable(&file)?;
                return Ok(vec![Meant { file, module: module.to_owned(), code: Arc::default() }]);
            }
            return Err(Box::new(refusals::no_module(pid, module, &process)));
        }
        let mut meant = Vec::new();
        let only = mapped.len() == 1;
        for mapped in mapped {
            match self.open_mapped(pid, mapped, process.root.clone()) {
                Ok(found) => meant.push(found),
                // Among several files, those of other formats are left out.
                Err(error) if only => return Err(error),
                Err(_) => {}
            }
        }
        match meant.is_empty() {
            true => Err(Box::new(refusals::no_module(pid, module, &process))),
            false => Ok(meant),
        }
    }

    fn open_mapped(
        &self,
        pid: u32,
        mapped: &Mapped,
        root: Option<PathBuf>,
    ) -> Result<Meant, Box<Diagnostic>> {
        let file = self.open((&mapped.link, &mapped.path), root)?;
        refusals::traceable(&file)?;
        if let Some(shared) = mapped.code.iter().find(|mapping| mapping.shared) {
            return Err(Box::new(refusals::shared_mapping(&mapped.path, shared)));
        }
        let code = Arc::new(mapped.code.clone());
        self.known().code.insert((pid, file.id()), Arc::clone(&code));
        Ok(Meant { file, module: shown_name(mapped).to_owned(), code })
    }

    /// Converts an address in a file's layout to one in the process of a place.
    pub(crate) fn run_time(&self, place: &InProgram, address: u64) -> Option<u64> {
        placing::run_time(&*self.file(place.file)?, &self.code_of(place)?, address)
    }

    fn code_of(&self, place: &InProgram) -> Option<Arc<Vec<Mapping>>> {
        self.known().code.get(&(place.process?, place.file)).cloned()
    }

    /// Whether the process of a space has code in no file.
    pub(crate) fn has_anonymous_code(&self, space: Space) -> bool {
        let process = space.process().and_then(|pid| self.process(pid).ok());
        process.is_some_and(|process| process.anonymous)
    }

    /// Returns the mappings of a process, as of the first description that names it.
    pub(super) fn process(&self, pid: u32) -> Result<Arc<Process>, Box<Diagnostic>> {
        if let Some(known) = self.known().processes.get(&pid) {
            return Ok(Arc::clone(known));
        }
        let process = Process::read(pid).map_err(|cause| Box::new(refusals::no_process(pid, &cause)))?;
        if process.files.is_empty() {
            return Err(Box::new(refusals::no_program(pid, &process)));
        }
        Ok(Arc::clone(self.known().processes.entry(pid).or_insert(Arc::new(process))))
    }

    /// Opens a file, once for all of its names. `root` is the directory in which its path is meant.
    fn open(
        &self,
        (link, path): (&Path, &Path),
        root: Option<PathBuf>,
    ) -> Result<Arc<ProgramFile>, Box<Diagnostic>> {
        let data = link.metadata().map_err(|cause| Box::new(refusals::unreadable(path, &cause)))?;
        let inode = (data.dev(), data.ino());
        let mut known = self.known();
        if let Some(file) = known.by_inode.get(&inode).and_then(|id| known.files.get(id.0 as usize)) {
            return Ok(Arc::clone(file));
        }
        let id = FileId(u32::try_from(known.files.len()).unwrap_or(u32::MAX));
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let file = ProgramFile::open(id, name, (link, path), root, self.servers.clone());
        let file = Arc::new(file.map_err(|error| Box::new(error.diagnostic()))?);
        known.by_inode.insert(inode, id);
        known.files.push(Arc::clone(&file));
        Ok(file)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // The data under the lock is only ever added to.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the root of a process whose file is named by a path such as `/proc/1234/root/usr/bin/x`.
fn root_in(path: &Path) -> Option<PathBuf> {
    let mut parts = path.components();
    let root: PathBuf = parts.by_ref().take(4).collect();
    let number = root.to_str()?.strip_prefix("/proc/")?.strip_suffix("/root")?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then_some(root)
}

impl ProgramFiles for Programs {
    fn path(&self, file: FileId) -> Option<PathBuf> {
        self.file(file).map(|file| file.link())
    }

    fn offset(&self, file: FileId, address: u64) -> Option<u64> {
        self.file(file)?.elf().offset_of(address)
    }

    fn placed(
        &self,
        place: &InProgram,
        freedom: Freedom,
        nop5: &dyn Fn() -> Nop5,
    ) -> Result<Vec<Spot>, NotPlaced> {
        let file = self.file(place.file).ok_or(NotPlaced::NoFile)?;
        let placed = place.spots.iter().map(|spot| placing::placed(&file, spot, freedom, nop5));
        let spots: Vec<Spot> = placed.collect::<Result<_, _>>()?;
        if let Some(process) = place.process.and_then(|pid| self.process(pid).ok())
            && let (Some(code), Some(memory)) = (self.code_of(place), &process.memory)
        {
            // Code that is not mapped, or cannot be read, cannot be compared.
            let is_changed =
                |spot: &Spot| placing::is_unchanged(&file, memory, &code, spot.address) == Some(false);
            if spots.iter().any(is_changed) {
                return Err(NotPlaced::Changed);
            }
        }
        Ok(spots)
    }
}

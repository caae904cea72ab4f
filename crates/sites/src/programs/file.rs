//! sites/programs/file.rs: one program or library: its symbols, its debug information, and its instructions.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::golang::{self, GoProgram, StackCheck};
use super::servers::Servers;
use crate::cache::image::ImageIndex;
use crate::cache::source::Source;
use crate::code::pclntab::Unreadable;
use crate::code::stapsdt::StaticProbe;
use crate::code::tables::Tables;
use crate::flow::Flow;
use crate::flow::callers::Callers;
use crate::flow::marks::Linked;
use crate::image::{Image, Images};
use crate::symtab::{Role, Symbol, Symbols};
use kinst_base::diag::Diagnostic;
use kinst_base::image::{FileId, ImageId};
use kinst_base::probe::{Passing, is_mangled};
use kinst_debuginfo::{ElfFile, Error, Home, Reference, Searched, debug_file_of};
use kinst_dwarf::{Function, GoQuery, Handlers, Missing, SymbolSearch, method_of_value};
use kinst_host::distribution::Family;
use kinst_host::programs::DebugPackage;
use kinst_os::overlays::{self, Copied};
use rayon::prelude::*;

/// Functions of C++ and Rust by address, with their paths in the source.
type SourceNames = [(Symbol, String)];

/// The control flow of a function, and the beginnings of its instructions, each by the function's address.
#[derive(Default)]
struct Last {
    flow: Option<(u64, Option<Arc<Flow>>)>,
    offsets: Option<(u64, Option<Arc<[u32]>>)>,
}

/// A program or library, open for queries. It is a set of one image: a description in a program names the file of
/// each probe.
pub struct ProgramFile {
    id: FileId,
    /// Name in the second field of a description.
    name: String,
    /// Path as its process, or the user, names it.
    path: PathBuf,
    /// The file stays open: its name may be removed, or lead to another file.
    open: File,
    image: ElfFile,
    debug: OnceLock<Searched>,
    symbols: OnceLock<Symbols>,
    /// In a program of Go, the functions in assembly code whose calling convention is unknown, by address; or why its
    /// table of functions cannot be read.
    table: OnceLock<Result<Vec<u64>, Unreadable>>,
    pub(super) missing: OnceLock<BTreeMap<Missing, usize>>,
    /// The functions that names mean, see [`ProgramFile::meant`].
    meant: Mutex<HashMap<String, Arc<SourceNames>>>,
    pub(super) static_probes: OnceLock<Vec<StaticProbe>>,
    linked: OnceLock<Linked>,
    /// The names of imported functions, by the addresses of their stubs.
    stubs: OnceLock<HashMap<u64, String>>,
    /// Functions that catch exceptions.
    handlers: OnceLock<Handlers>,
    /// The last function that was read: probes of one function follow each other.
    last: Mutex<Last>,
    /// Whether copies of the file in containers were looked for.
    copies: OnceLock<()>,
    servers: Option<Arc<Servers>>,
    completed: OnceLock<()>,
    pub(super) warned: AtomicBool,
    warnings: Mutex<Vec<Diagnostic>>,
    remarks: Mutex<Vec<String>>,
}

impl ProgramFile {
    /// Opens the file that `link` leads to.
    pub(super) fn open(
        id: FileId,
        name: &str,
        (link, path): (&Path, &Path),
        root: Option<PathBuf>,
        servers: Option<Arc<Servers>>,
    ) -> Result<ProgramFile, Error> {
        let open = File::open(link).map_err(|cause| Error::io(path, cause))?;
        let inside = root.as_ref().map_or_else(|| path.to_owned(), |root| inside(root, path));
        let image =
            ElfFile::open_through(&of_descriptor(&open), &inside)?.at_home(Home { root, binary: None });
        Ok(ProgramFile {
            id,
            name: name.to_owned(),
            path: path.to_owned(),
            open,
            image,
            debug: OnceLock::new(),
            symbols: OnceLock::new(),
            table: OnceLock::new(),
            missing: OnceLock::new(),
            meant: Mutex::default(),
            static_probes: OnceLock::new(),
            linked: OnceLock::new(),
            stubs: OnceLock::new(),
            last: Mutex::default(),
            handlers: OnceLock::new(),
            copies: OnceLock::new(),
            servers,
            completed: OnceLock::new(),
            warned: AtomicBool::new(false),
            warnings: Mutex::default(),
            remarks: Mutex::default(),
        })
    }

    /// Returns the number of the file in this run.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Returns the file's name in the second field of a description.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path, as the process or the user names it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path that leads to this file as long as it is open here.
    pub fn link(&self) -> PathBuf {
        of_descriptor(&self.open)
    }

    /// Returns the key by which types of this file are looked up; no module of a kernel has such a name.
    pub fn key(&self) -> String {
        ProgramFile::key_of(self.id)
    }

    pub(crate) fn key_of(id: FileId) -> String {
        format!("/{}", id.0)
    }

    /// Returns the ELF file.
    pub fn elf(&self) -> &ElfFile {
        &self.image
    }

    /// Whether it is a program of Go.
    pub(crate) fn is_go(&self) -> bool {
        self.image.is_go()
    }

    /// Whether the table of a program of Go can be read; `None` for other programs.
    pub(crate) fn go_table(&self) -> Option<Result<(), Unreadable>> {
        self.functions();
        Some(self.table.get()?.as_ref().map(|_| ()).map_err(|why| *why))
    }

    /// Returns where a function has its arguments at its entry.
    pub(crate) fn passing(&self, symbol: &Symbol) -> Passing {
        let functions = self.functions();
        let assembly = self.table.get().and_then(|table| table.as_ref().ok());
        let is_named = |part: &str| functions.names_at(symbol.address).any(|name| name.contains(part));
        match () {
            // The functions of C in a program of Go have no packages.
            () if !self.is_go() || !is_named(".") => Passing::C,
            () if is_named(".abi0") => Passing::GoStack,
            () if assembly.is_some_and(|list| list.binary_search(&symbol.address).is_ok()) => {
                Passing::GoUnknown
            }
            () => Passing::Go,
        }
    }

    /// Returns the prologue of a function of Go.
    pub(crate) fn stack_check(&self, symbol: &Symbol) -> Option<StackCheck> {
        self.is_go().then(|| golang::stack_check(&self.image, self.functions(), symbol))?
    }

    /// Returns the file as an image.
    pub fn image(&self) -> Image<'_> {
        Image::new(self, ImageId::File(self.id))
    }

    /// Returns the functions; without a symbol table, those that the file exports.
    pub fn functions(&self) -> &Symbols {
        self.symbols.get_or_init(|| {
            let separate = self.debug_file().filter(|_| !self.image.has_dwarf());
            // A separate file has all symbols, the stripped one only those that it exports.
            let symbols = separate.map(|file| Symbols::of_image(file, Role::Program));
            let symbols = match symbols {
                Some(Ok(symbols)) if symbols.iter().next().is_some() => symbols,
                _ => {
                    if let Some(Err(error)) = self.image.mini() {
                        self.warn(error.warning());
                    }
                    Symbols::of_image(&self.image, Role::Program).unwrap_or_else(|error| {
                        self.warn(error.warning());
                        Symbols::default()
                    })
                }
            };
            if !self.is_go() {
                return symbols;
            }
            let (symbols, table) = golang::functions(&self.image, symbols);
            self.table.get_or_init(|| table);
            symbols
        })
    }

    /// Returns the functions of C++ and Rust that a name means, by address, with their paths in the source: all whose
    /// path ends with that of the name, in which the arguments of generics may be missing. The parts that a compiler has
    /// split off are left out.
    pub(crate) fn meant(&self, name: &str) -> Arc<SourceNames> {
        // A symbol means itself; each place is looked up by one.
        if name.is_empty() || is_mangled(name) {
            return Arc::default();
        }
        // A whole name of Go means itself, too.
        if self.is_go() && !self.functions().named(name).is_empty() {
            return Arc::default();
        }
        let meant = || self.meant.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = meant().get(name) {
            return Arc::clone(known);
        }
        // Not under the lock: other threads take part in the search.
        let found = self.search(name);
        meant().insert(name.to_owned(), Arc::clone(&found));
        found
    }

    fn search(&self, name: &str) -> Arc<SourceNames> {
        let search = SymbolSearch::new(name);
        let in_go = self.is_go().then(|| GoQuery::new(name));
        let symbols = self.functions();
        let found = symbols.records().par_iter().filter_map(|symbol| {
            let name = symbols.name(symbol);
            if in_go.as_ref().is_some_and(|query| query.matches(name)) {
                // The wrapper that calls a method through a pointer is not meant.
                let is_wrapper =
                    method_of_value(name).is_some_and(|method| !symbols.named(&method).is_empty());
                return (!is_wrapper).then(|| (*symbol, name.to_owned()));
            }
            let path = search.path(name).filter(|_| !symbol.gone() && !is_split_part(name))?;
            Some((*symbol, path.join("::")))
        });
        let mut found: Vec<(Symbol, String)> = found.collect();
        // A constructor has several symbols.
        found.dedup_by_key(|(symbol, _)| symbol.address);
        if found.is_empty() && name.contains(['<', '{']) {
            found = self.search_debug_information(name);
        }
        found.into()
    }

    /// Returns the functions whose names are in the debug information only: the symbols of older Rust lack the arguments
    /// of generics, and call closures and the bodies of async functions the same.
    fn search_debug_information(&self, name: &str) -> Vec<(Symbol, String)> {
        let Some(file) = self.debug_file() else { return Vec::new() };
        let symbols = self.functions();
        let found = kinst_dwarf::code_meant(file, name).unwrap_or_default().into_iter();
        let symbol = |address| symbols.containing(address).filter(|symbol| symbol.address == address);
        found.filter_map(|(address, path)| Some((*symbol(address)?, path))).collect()
    }

    /// Returns the file with the debug information: this one, or a separate one with its build id.
    pub fn debug_file(&self) -> Option<&ElfFile> {
        let found = match self.image.has_dwarf() {
            true => &self.image,
            false => self.searched().found.as_ref()?,
        };
        self.completed.get_or_init(|| self.complete(found));
        Some(found)
    }

    /// Queries the servers for the file that shares a part of the debug information, if that is missing.
    fn complete(&self, debug: &ElfFile) {
        debug.alternate_or(|id, missing| {
            let Some(servers) = &self.servers else { return Err(missing) };
            let mut searched = Searched { found: None, places: Vec::new(), refused: Vec::new() };
            servers.ask(&mut searched, Some(id), debug.path());
            searched.found.ok_or(missing)
        });
    }

    /// Returns the search for a separate file with the debug information.
    pub(super) fn searched(&self) -> &Searched {
        self.debug.get_or_init(|| {
            let mut searched = debug_file_of(&self.image);
            if let Some(servers) = &self.servers {
                servers.ask(&mut searched, self.image.build_id(), &self.path);
            }
            searched
        })
    }

    /// Whether the function at an address handles exceptions, or cleans up after one.
    pub(super) fn handles_exceptions(&self, address: u64) -> bool {
        self.handlers().has(address)
    }

    fn handlers(&self) -> &Handlers {
        self.handlers.get_or_init(|| Handlers::of_program(&self.image))
    }

    /// Returns the control flow of the function at an address.
    pub(super) fn flow_at(&self, address: u64) -> Option<Arc<Flow>> {
        let callers = self.image().callers()?;
        let caller = callers.caller(address)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &last.flow {
            Some((known, flow)) if *known == caller.address => flow.clone(),
            _ => {
                let flow = callers.flow(caller).ok().map(Arc::new);
                last.flow = Some((caller.address, flow.clone()));
                flow
            }
        }
    }

    /// Returns the offsets of a function's instructions, in order; `None` if they cannot be read.
    pub(crate) fn offsets(&self, function: &Symbol) -> Option<Arc<[u32]>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &last.offsets {
            Some((known, offsets)) if *known == function.address => offsets.clone(),
            _ => {
                let insns = self.image().instructions(function);
                let offsets = insns.map(|insns| insns.iter().map(|insn| insn.offset).collect::<Arc<[u32]>>());
                last.offsets = Some((function.address, offsets.clone()));
                offsets
            }
        }
    }

    fn linked(&self) -> &Linked {
        self.linked.get_or_init(|| match self.image.machine() {
            Some(_) => Linked::of_program(&self.image, self.debug_file().unwrap_or(&self.image)),
            None => Linked::default(),
        })
    }

    /// Returns the copies that containers have made of the file, which the kernel takes for other files; at the first
    /// call only.
    pub(super) fn first_copies(&self) -> Vec<Copied> {
        match self.copies.set(()) {
            Ok(()) => overlays::copies_of(&self.path),
            Err(()) => Vec::new(),
        }
    }

    /// Takes the problems that do not stop a run.
    pub(super) fn take_warnings(&self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the remarks for `-v`.
    pub(super) fn take_remarks(&self) -> Vec<String> {
        std::mem::take(&mut self.remarks.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether a symbol is a part of a function that is not entered by calls.
fn is_split_part(symbol: &str) -> bool {
    symbol.contains(".cold") || symbol.contains(".part.")
}

/// Returns a path as it is in a root directory. The kernel shows paths of a process in chroot() from the root of its mount
/// namespace.
fn inside(root: &Path, path: &Path) -> PathBuf {
    let target = std::fs::read_link(root).unwrap_or_default();
    let rest = path.strip_prefix(root).or_else(|_| path.strip_prefix(target));
    Path::new("/").join(rest.unwrap_or(path))
}

/// Returns the link of /proc to an open file.
fn of_descriptor(open: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()))
}

impl Images for ProgramFile {
    fn name(&self, _: ImageId) -> &str {
        &self.name
    }

    fn is_first(&self, _: ImageId) -> bool {
        true
    }

    fn is_shared(&self, function: &str) -> bool {
        self.functions().named(function).len() > 1
    }

    fn symbols(&self, _: ImageId) -> Option<&Symbols> {
        Some(self.functions())
    }

    fn debug(&self, _: ImageId) -> Option<&ElfFile> {
        self.debug_file()
    }

    fn layout(&self, _: ImageId) -> Option<&ElfFile> {
        Some(self.debug_file().unwrap_or(&self.image))
    }

    fn binary(&self, _: ImageId) -> Option<&ElfFile> {
        Some(&self.image)
    }

    fn index(&self, _: ImageId) -> Option<&Arc<ImageIndex>> {
        None
    }

    fn described(&self, _: ImageId, passes: &dyn Fn(&str) -> bool) -> Option<BTreeMap<String, Function>> {
        if !self.is_go() || self.debug_file().is_some() {
            return None;
        }
        let program = GoProgram::open(&self.image).ok()?;
        Some(program.inlined(golang::trees(&self.image)?, passes))
    }

    fn cached_source(&self, _: ImageId) -> Option<Source> {
        None
    }

    fn debug_package(&self) -> String {
        // The packages of a container are not those of this system.
        let here = self.image.home().root.is_none();
        let package = here.then(|| Family::running().debug_package(&self.path)).flatten();
        match package {
            Some(DebugPackage { command: Some(command), .. }) => {
                format!("install its debug information: {command}")
            }
            Some(DebugPackage { name, .. }) => {
                format!(
                    "install {name} from the distribution's archive of debug packages, which this system does not list"
                )
            }
            None => "compile it with -g, or install the package with its debug information".to_owned(),
        }
    }

    fn callers(&self, _: ImageId) -> Option<Callers<'_>> {
        self.image.machine()?;
        let linked = self.linked();
        Some(Callers::new(self.functions(), linked.code(&self.image), &linked.marks))
    }

    fn tables(&self, _: ImageId) -> Option<&Tables> {
        None
    }

    fn reference(&self, _: ImageId, _: Range<u64>) -> Option<&Reference> {
        None
    }

    fn import_at(&self, _: ImageId, address: u64) -> Option<String> {
        let name = |(address, name): (u64, Vec<u8>)| (address, String::from_utf8_lossy(&name).into_owned());
        let stubs = self.stubs.get_or_init(|| self.image.stubs().into_iter().map(name).collect());
        stubs.get(&address).map(|name| format!("{name}@plt"))
    }

    fn calls_may_end(&self) -> bool {
        true
    }

    fn landing_pads(&self, _: ImageId, address: u64) -> Option<Vec<u64>> {
        self.handlers().landing_pads(&self.image, address)
    }

    fn run_time(&self, _: ImageId, address: u64) -> Option<u64> {
        Some(address)
    }

    fn is_linked_in_memory(&self, _: ImageId) -> bool {
        false
    }

    fn name_at(&self, address: u64) -> Option<(String, u64)> {
        let symbols = self.functions();
        let symbol = symbols.containing(address)?;
        Some((symbols.name(symbol).to_owned(), address - symbol.address))
    }

    fn warn(&self, warning: Diagnostic) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
    }

    fn remark(&self, remark: String) {
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner).push(remark);
    }
}

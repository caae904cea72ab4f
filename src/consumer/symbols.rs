//! consumer/symbols.rs: symbol lookup, for stacks, %a and sym().

use super::recent::Recent;
use super::spaces::Spaces;
use kinst_base::image::KERNEL_PROPER;
use kinst_base::probe::Probe;
use kinst_dif::{ActionKind, Display, FormatPiece, StatementKind};
use kinst_sites::listing::about::Answers;
use kinst_sites::listing::frames::{Frames, SourceFrames};
use kinst_sites::user_stack::{self, Copied, Walk};
use kinst_sites::{InFunction, Kernel, Loaded};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// A kernel function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSymbol {
    /// The name of the module; `vmlinux` for the kernel proper.
    pub module: String,
    /// The name of the symbol: `vfs_read`.
    pub name: String,
    /// The first address.
    pub start: u64,
}

/// The place of an address in a user process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPlace {
    /// The last component of the file's path.
    pub object: String,
    /// The start of the mapping.
    pub base: u64,
    /// The function, if the file has a symbol for it.
    pub function: Option<InFunction>,
}

/// Looks up symbols, in the kernel and in processes.
pub trait Symbols {
    /// Returns the kernel function or variable that contains an address.
    fn kernel(&self, address: u64) -> Option<KernelSymbol>;
    /// Returns the place of an address in a process; `None` outside named mappings, or with the option noresolve.
    fn user(&self, pid: u64, address: u64) -> Option<UserPlace>;
    /// Returns the inlined functions around the copy of a probe, the innermost first, without the out-of-line function
    /// at the end. Empty if they are not known.
    fn around(&self, _probe: &Probe, _copy: &str) -> Vec<String> {
        Vec::new()
    }
    /// Returns the functions at an address according to debug information, the innermost first; the last one is
    /// out-of-line. Empty without debug information.
    fn frames(&self, _address: u64, _lines: bool) -> SourceFrames {
        Rc::default()
    }
    /// Like [`Symbols::frames`], for an address of a process.
    fn user_frames(&self, _pid: u64, _address: u64, _lines: bool) -> SourceFrames {
        Rc::default()
    }
    /// Sets the time, in nanoseconds, of the record whose addresses are looked up next; `None` for addresses outside
    /// records.
    fn at(&self, _time: Option<u64>) {}
    /// Updates the list of loaded modules.
    fn look_at_modules(&self) {}
    /// Reads the mappings of a process, as it may end before its addresses are looked up. Returns the number of files
    /// that it has mapped as code; 0 if its program is not yet, or no longer, in memory.
    fn look(&self, _pid: u64) -> usize {
        1
    }
    /// Unwinds a stack of a process, to at most `most` addresses.
    fn unwind(&self, _pid: u64, _copied: &Copied<'_>, _most: usize) -> Walk {
        Walk::default()
    }
}

/// The symbols of the running system. Nothing is read before the first lookup. The caches are bounded, as a trace may
/// last for days.
pub struct System<'k> {
    kernel: &'k Kernel,
    wanted: Wanted,
    answers: RefCell<Answers<'k>>,
    source: RefCell<Frames<'k>>,
    /// The number of lookups in the debug information. It is reopened regularly, as it never frees what it has read.
    asked: Cell<u32>,
    frames: RefCell<Recent<(u64, bool), SourceFrames>>,
    /// The inlined functions around copies, by probe id and the copy's function.
    around: RefCell<Recent<(u32, String), Vec<String>>>,
    /// Symbols of the kernel proper: a trace shows the same addresses again and again.
    known: RefCell<Recent<u64, Option<KernelSymbol>>>,
    loaded: Arc<Mutex<Loaded>>,
    /// The time of the current record.
    time: Cell<Option<u64>>,
    spaces: Spaces,
}

/// The symbols that a trace needs.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Whether it shows kernel functions, which requires watching modules.
    pub kernel: bool,
    /// Whether addresses of processes are named: false with the option noresolve.
    pub programs: bool,
    /// The number of processes whose mappings are cached: the option pgmax.
    pub processes: Option<usize>,
}

impl Wanted {
    /// Returns the needs of a D program, with the defaults of the options.
    pub fn of(program: &kinst_dif::Program) -> Wanted {
        let shown = |display: &Display| {
            matches!(display, Display::Stack | Display::Address { .. } | Display::Sym { .. } | Display::Mod)
        };
        let formatted = |pieces: &[FormatPiece]| {
            pieces
                .iter()
                .any(|piece| matches!(piece, FormatPiece::Conversion(one) if matches!(one.letter, 'a' | 'k')))
        };
        let in_keys = program.aggregations.iter().flat_map(|aggregation| &aggregation.keys).any(shown);
        let mut actions = program.clauses.iter().flat_map(|clause| &clause.actions);
        let mut statements = program.clauses.iter().flat_map(|clause| &clause.statements);
        let kernel = in_keys
            || actions.any(|one| matches!(one.kind, ActionKind::Stack | ActionKind::Sym | ActionKind::Mod))
            || statements.any(|statement| match &statement.kind {
                StatementKind::Trace(display) | StatementKind::Sym(display) => shown(display),
                StatementKind::Printf(format) | StatementKind::Printa { format: Some(format), .. } => {
                    formatted(&format.pieces)
                }
                _ => false,
            });
        Wanted { kernel, programs: true, processes: None }
    }
}

/// Starts a thread that polls the list of loaded modules, as the consumer may be busy while one comes and goes.
fn watch_modules(loaded: Weak<Mutex<Loaded>>) {
    let watch = move || {
        while let Some(loaded) = loaded.upgrade() {
            lock(&loaded).look(now, LOOK_AGAIN / 2);
            drop(loaded);
            std::thread::sleep(LOOK_AGAIN);
        }
    };
    // The thread keeps the name of the command, so that a predicate on execname excludes it. Without the thread, the
    // list is read before records are printed.
    drop(std::thread::Builder::new().spawn(watch));
}

/// The current time, by the records' clock.
fn now() -> u64 {
    kinst_os::monotonic().unsigned_abs()
}

fn lock(loaded: &Mutex<Loaded>) -> MutexGuard<'_, Loaded> {
    loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The interval at which the list of loaded modules is read.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The limits of the caches, each for one of two generations: 32 MB in total, with the mappings.
const ADDRESSES: usize = 1 << 15;
const FRAMES: usize = 1 << 13;
const COPIES: usize = 1 << 12;
/// The number of lookups after which the debug information is reopened.
const QUESTIONS: u32 = 1 << 12;

impl<'k> System<'k> {
    /// Opens the symbols of a kernel. If the trace needs kernel symbols and the kernel is running, a thread watches the
    /// loaded modules.
    pub fn new(kernel: &'k Kernel, wanted: Wanted) -> System<'k> {
        let mut loaded = Arc::default();
        if wanted.kernel && kernel.is_running() {
            kernel.warm_up();
            loaded = Arc::new(Mutex::new(kernel.loaded()));
            watch_modules(Arc::downgrade(&loaded));
        }
        System {
            kernel,
            wanted,
            answers: RefCell::new(Answers::new(kernel)),
            source: RefCell::new(Frames::new(kernel)),
            asked: Cell::new(0),
            frames: RefCell::new(Recent::new(FRAMES)),
            around: RefCell::new(Recent::new(COPIES)),
            known: RefCell::new(Recent::new(ADDRESSES)),
            loaded,
            time: Cell::new(None),
            spaces: Spaces::new(wanted.processes),
        }
    }
}

impl Symbols for System<'_> {
    fn kernel(&self, address: u64) -> Option<KernelSymbol> {
        let proper = || {
            // The lock is not held during the lookup: the first one takes long.
            let is_known = lock(&self.loaded).is_known();
            let found = match is_known {
                true => self.kernel.symbolize_proper(address),
                false => self.kernel.symbolize(address),
            };
            found.map(|found| symbol(found, address))
        };
        if let Some(found) = self.known.borrow_mut().get_or_make(address, proper) {
            return Some(found.clone());
        }
        let of_module = |loaded: &Loaded| loaded.symbolize(address, self.time.get());
        let mut loaded = lock(&self.loaded);
        let found = of_module(&loaded).or_else(|| {
            // A module may have been loaded since the last reading.
            if self.wanted.kernel && self.kernel.is_running() {
                match self.time.get() {
                    Some(time) => loaded.look_for(time, now),
                    None => loaded.look(now, LOOK_AGAIN / 10),
                }
            }
            of_module(&loaded)
        });
        found.map(|found| symbol(found, address))
    }

    fn user(&self, pid: u64, address: u64) -> Option<UserPlace> {
        if !self.wanted.programs {
            return None;
        }
        let found = self.spaces.at(pid, address).filter(|found| !found.path.is_empty())?;
        let function = found.file.and_then(|file| file.program.symbolize(found.offset));
        let object = found.path.rsplit('/').next().unwrap_or(&found.path).to_owned();
        Some(UserPlace { object, base: found.base, function })
    }

    fn user_frames(&self, pid: u64, address: u64, lines: bool) -> SourceFrames {
        let find = || {
            let found = self.spaces.at(pid, address)?;
            let file = found.file?;
            Some(file.frames(file.program.address_of(found.offset)?, lines))
        };
        Some(()).filter(|()| self.wanted.programs).and_then(|()| find()).unwrap_or_default()
    }

    fn around(&self, probe: &Probe, copy: &str) -> Vec<String> {
        let find = || self.answers.borrow_mut().around(probe, copy);
        self.around.borrow_mut().get_or_make((probe.id, copy.to_owned()), find).clone()
    }

    fn frames(&self, address: u64, lines: bool) -> SourceFrames {
        let Some(found) = self.kernel(address) else { return Rc::default() };
        // Debug information covers only the modules that were loaded at the start.
        if found.module != KERNEL_PROPER
            && self.kernel.symbolize(address).map(|first| symbol(first, address)) != Some(found)
        {
            return Rc::default();
        }
        let find = || {
            self.asked.set(self.asked.get() + 1);
            if self.asked.get().is_multiple_of(QUESTIONS) {
                *self.source.borrow_mut() = Frames::new(self.kernel);
            }
            self.source.borrow_mut().at(address, lines).into()
        };
        self.frames.borrow_mut().get_or_make((address, lines), find).clone()
    }

    fn at(&self, time: Option<u64>) {
        self.time.set(time);
    }

    fn look_at_modules(&self) {
        if self.wanted.kernel && self.kernel.is_running() {
            lock(&self.loaded).look(now, LOOK_AGAIN);
        }
    }

    fn look(&self, pid: u64) -> usize {
        self.spaces.look(pid)
    }

    fn unwind(&self, pid: u64, copied: &Copied<'_>, most: usize) -> Walk {
        user_stack::walk(copied, most, &|address| self.spaces.code_at(pid, address))
    }
}

fn symbol(found: kinst_sites::Symbolized, address: u64) -> KernelSymbol {
    let start = address.wrapping_sub(found.offset);
    KernelSymbol { module: found.module, name: found.function, start }
}

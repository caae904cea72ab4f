//! os/tracee/moment.rs: the moments before main(), and how a process gets there.

use super::loaded::{self, Loaded};
use super::ptrace::{Breakpoint, Stop, Tracee};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The moment at which a started program is stopped, before it is traced: the option evaltime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// After the exec: only the program and the dynamic linker are mapped, and neither has run.
    Exec,
    /// The linker has mapped all libraries that the program needs, and those of LD_PRELOAD, and has not called their
    /// initializers. IFUNC resolvers may have run. For a static program this is its entry point.
    Preinit,
    /// The entry point of the program itself. With glibc the initializers of all libraries have run, but not those of
    /// the program (constructors of its global variables): they run between here and main(). With musl no initializer
    /// has run, as its linker leaves all of them to the program's start. The same holds for a static program.
    #[default]
    Postinit,
    /// The first instruction of main(): all initializers have run.
    Main,
}

impl Moment {
    /// The moment with a name of the option evaltime.
    pub fn named(name: &str) -> Option<Moment> {
        match name {
            "exec" => Some(Moment::Exec),
            "preinit" => Some(Moment::Preinit),
            "postinit" => Some(Moment::Postinit),
            "main" => Some(Moment::Main),
            _ => None,
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Moment::Exec => "its exec",
            Moment::Preinit => "its initializers",
            Moment::Postinit => "its entry point",
            Moment::Main => "its main()",
        })
    }
}

/// A function that looks up a function in an ELF file: the address as in the file, `None` if the file does not have
/// it, or the reason why the file cannot be read. The path can be opened, but may be one of /proc. For the dynamic
/// linker, symbols that it only exports (.dynsym) count too.
pub type Lookup<'a> = &'a dyn Fn(&Path, &str) -> Result<Option<u64>, String>;

/// Why a process does not get to its moment.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// A request of ptrace(2) failed; ESRCH if the process has ended.
    #[error("ptrace: {}", crate::errno::errno_text(*.0))]
    Ptrace(#[from] Errno),
    /// A file of /proc could not be read.
    #[error("{}", crate::errno::io_text(.0))]
    Read(#[from] io::Error),
    /// The addresses of such a program are not read.
    #[error("{} is not a 64-bit program of this machine: its functions are unknown", .program.display())]
    Machine {
        /// Path of the program.
        program: PathBuf,
    },
    /// The program is stripped, or has no main().
    #[error("{} has no symbol main: use -x evaltime=postinit", .program.display())]
    NoMain {
        /// Path of the program.
        program: PathBuf,
    },
    /// The dynamic linker is unknown, or the program has no DT_DEBUG.
    #[error("{} does not report when its libraries are mapped: use -x evaltime=postinit", .program.display())]
    NoReport {
        /// Path of the program or of its linker.
        program: PathBuf,
    },
    /// A file with symbols cannot be read.
    #[error("{0}")]
    Lookup(String),
}

/// The end of a way to a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The process is stopped there.
    Stopped,
    /// The process has ended.
    Ended,
}

/// The next event on the way.
enum Event {
    Arrived,
    /// It executes another program, which has no breakpoint.
    Exec,
    Ended,
}

/// Lets a process that is stopped after its exec run to a moment.
pub(crate) fn run_to(tracee: &Tracee, to: Moment, lookup: Lookup<'_>) -> Result<Outcome, StopError> {
    if to == Moment::Exec {
        return Ok(Outcome::Stopped);
    }
    loop {
        let loaded = Loaded::of(tracee)?;
        let loaded = loaded.ok_or_else(|| StopError::Machine { program: loaded::name(tracee.pid()) })?;
        let event = match (to, linker_report(&loaded, to, lookup)?) {
            (_, Some(report)) => reach(tracee, report, &|| loaded.is_mapped())?,
            (Moment::Main, None) => reach(tracee, main(&loaded, lookup)?, &|| Ok(true))?,
            (_, None) => reach(tracee, loaded.entry, &|| Ok(true))?,
        };
        match event {
            Event::Arrived => return Ok(Outcome::Stopped),
            Event::Ended => return Ok(Outcome::Ended),
            Event::Exec => {}
        }
    }
}

/// The function that the dynamic linker calls before and after it maps libraries: `r_brk`. glibc and musl give it the
/// same name, which debuggers rely on. `None` if the moment does not need it.
fn linker_report(loaded: &Loaded, to: Moment, lookup: Lookup<'_>) -> Result<Option<u64>, StopError> {
    let (Moment::Preinit, Some(base)) = (to, loaded.linker) else { return Ok(None) };
    let linker = loaded.linker_file()?.ok_or_else(|| StopError::NoReport { program: loaded.name() })?;
    if !loaded.is_debuggable()? {
        return Err(StopError::NoReport { program: loaded.name() });
    }
    let address = lookup(&linker, "_dl_debug_state").map_err(StopError::Lookup)?;
    let address = address.ok_or(StopError::NoReport { program: linker })?;
    Ok(Some(base.wrapping_add(address)))
}

fn main(loaded: &Loaded, lookup: Lookup<'_>) -> Result<u64, StopError> {
    let address = lookup(&loaded.program(), "main").map_err(StopError::Lookup)?;
    let address = address.ok_or_else(|| StopError::NoMain { program: loaded.name() })?;
    Ok(loaded.bias.wrapping_add(address))
}

/// Resumes a process until it executes an address while a condition holds. It gets all signals that arrive.
fn reach(tracee: &Tracee, at: u64, is_due: &dyn Fn() -> io::Result<bool>) -> Result<Event, StopError> {
    let mut breakpoint = Breakpoint::set(tracee, at)?;
    let mut signal = 0;
    loop {
        tracee.resume(signal)?;
        let mut stop = tracee.wait()?;
        while stop == Stop::Job {
            tracee.listen()?;
            stop = tracee.wait()?;
        }
        signal = 0;
        match stop {
            Stop::Signal(libc::SIGTRAP) if breakpoint.is_hit(tracee)? => {
                breakpoint.remove(tracee)?;
                tracee.set_ip(at)?;
                if is_due()? {
                    return Ok(Event::Arrived);
                }
                if !tracee.step()? {
                    return Ok(Event::Ended);
                }
                breakpoint = Breakpoint::set(tracee, at)?;
            }
            Stop::Signal(other) => signal = other,
            Stop::Forked => tracee.let_go(|copy| breakpoint.remove(copy))?,
            Stop::Cloned => tracee.let_go(|_| Ok(()))?,
            Stop::Exec => return Ok(Event::Exec),
            Stop::Ended => return Ok(Event::Ended),
            Stop::Job | Stop::Other => {}
        }
    }
}

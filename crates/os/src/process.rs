//! os/process.rs: the processes of -c and -p: starting, watching and ending them.

use super::limits;
pub use super::tracee::{Lookup, Moment, StopError};
use super::tracee::{Outcome, Stop, Tracee, run_to};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, getppid, pidfd_open, pidfd_send_signal, set_parent_process_death_signal,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::thread::JoinHandle;
use std::time::Duration;

/// A process whose end ends the tracing.
#[derive(Debug)]
pub struct Process {
    /// Id in the PID namespace of this process.
    pub pid: u32,
    pidfd: OwnedFd,
    started: Option<Started>,
}

/// The child of -c, which waits before its exec until it is released.
#[derive(Debug)]
struct Started {
    command: String,
    gate: Option<OwnedFd>,
    /// spawn() returns only after the exec, so it runs in a separate thread.
    spawn: Option<JoinHandle<io::Result<Child>>>,
    child: Option<Child>,
    /// The child while it is stopped at a moment after its exec.
    tracee: Option<Tracee>,
}

/// How a command is started.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Variables to set in its environment.
    pub set: Vec<(String, String)>,
    /// Variables to remove from its environment.
    pub unset: Vec<String>,
}

/// Why a process of -c or -p is not available.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command could not be executed.
    #[error("failed to execute {command}: {}", super::errno::io_text(.source))]
    Start {
        /// Argument of -c.
        command: String,
        /// Error of the fork, the exec, or a pipe.
        source: io::Error,
    },
    /// No descriptor of the process could be opened.
    #[error("failed to grab pid {pid}: {}", super::errno::errno_text(*.errno))]
    Grab {
        /// Argument of -p.
        pid: u32,
        /// Error of pidfd_open; ESRCH if there is no such process.
        errno: Errno,
    },
    /// The command has no words.
    #[error("the command of -c is empty")]
    Empty,
    /// A quote in the command is not closed.
    #[error("the command of -c has an unclosed {quote}: {command}")]
    Quote {
        /// Argument of -c.
        command: String,
        /// `'` or `"`, or a `\` at the end.
        quote: char,
    },
    /// The command ended before the moment at which it was to stop.
    #[error("{command} {how} before {moment}")]
    Ended {
        /// Argument of -c.
        command: String,
        /// `exited with status 0`; `ended` if its status is unknown.
        how: String,
        /// The moment that it did not reach.
        moment: Moment,
    },
    /// The command could not be stopped at a moment.
    #[error("cannot stop {command} at {moment}: {source}")]
    Stop {
        /// Argument of -c.
        command: String,
        /// The moment that it did not reach.
        moment: Moment,
        /// The reason.
        source: StopError,
    },
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Id in the PID namespace of this process.
    pub pid: u32,
    /// The end of `pid 12 exited with status 1`; `None` if the process succeeded, or is not our child.
    pub how: Option<String>,
}

impl Process {
    /// Opens the existing process of -p.
    pub fn grab(pid: u32) -> Result<Process, Error> {
        let error = |errno| Error::Grab { pid, errno };
        let id = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(error(Errno::SRCH))?;
        let pidfd = pidfd_open(id, PidfdFlags::empty()).map_err(error)?;
        Ok(Process { pid, pidfd, started: None })
    }

    /// Starts the command of -c: forks now, and executes it when released. The command is split into words,
    /// without a shell.
    pub fn start(command: &str, start: &Start) -> Result<Process, Error> {
        let failed = |source: io::Error| Error::Start { command: command.to_owned(), source };
        let unended = |quote| Error::Quote { command: command.to_owned(), quote };
        let mut words = words(command).map_err(unended)?.into_iter();
        let mut process = Command::new(words.next().ok_or(Error::Empty)?);
        process.args(words);
        process.envs(start.set.iter().map(|(name, value)| (name, value)));
        for name in &start.unset {
            process.env_remove(name);
        }
        let (wait, gate) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?;
        let tracer = rustix::process::getpid();
        let (pid_read, pid_write) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?;
        limits::as_before(&mut process);
        // SAFETY: between fork and exec only system calls are made: of pids and signals, write, read. No
        // allocation, no lock. The descriptors are moved in, and close on exec.
        unsafe {
            process.pre_exec(move || hold(tracer, &pid_write, &wait));
        }
        let spawn = std::thread::spawn(move || process.spawn());
        let mut bytes = [0; 4];
        let read = rustix::io::retry_on_intr(|| rustix::io::read(&pid_read, &mut bytes));
        if read != Ok(bytes.len()) {
            // The fork itself failed; the thread returns the reason.
            let source = match spawn.join() {
                Ok(Err(source)) => source,
                _ => io::Error::other("the process did not start"),
            };
            return Err(failed(source));
        }
        let mut grabbed = Process::grab(u32::from_ne_bytes(bytes))?;
        let command = command.to_owned();
        grabbed.started =
            Some(Started { command, gate: Some(gate), spawn: Some(spawn), child: None, tracee: None });
        Ok(grabbed)
    }

    /// Lets the child of -c proceed through its exec to a moment, where it stays stopped until it is released: its
    /// files are mapped then. Without this call it waits before its exec. `lookup` reads the symbols of the program and
    /// of its linker. The thread that calls this must be the one that releases the process; if this thread or its
    /// process ends first, the child is killed. After an error it has been killed, too.
    ///
    /// A process of -p, and one that was released or stopped before, stays as it is.
    pub fn advance(&mut self, to: Moment, lookup: Lookup<'_>) -> Result<(), Error> {
        let Some(started) = self.started.as_mut().filter(|started| started.gate.is_some()) else {
            return Ok(());
        };
        let command = started.command.clone();
        let source = match started.advance(self.pid, to, lookup) {
            Ok(Outcome::Stopped) => return Ok(()),
            Ok(Outcome::Ended) => None,
            Err(Blocked::Start(source)) => return Err(Error::Start { command, source }),
            Err(Blocked::Stop(source)) => Some(source),
        };
        // Requests fail as soon as the process is killed, a moment before its end.
        let patience = match &source {
            Some(StopError::Ptrace(Errno::SRCH)) | None => Duration::from_secs(1),
            Some(_) => Duration::ZERO,
        };
        if super::poll::wait(&[self.pidfd.as_fd()], patience) != [true] {
            let source = source.unwrap_or(StopError::Ptrace(Errno::SRCH));
            started.kill(&self.pidfd);
            return Err(Error::Stop { command, moment: to, source });
        }
        started.tracee = None;
        started.join().map_err(|source| Error::Start { command: command.clone(), source })?;
        let how = match started.child.as_mut().map(Child::wait) {
            Some(Ok(status)) => how(status).unwrap_or_else(|| "exited with status 0".to_owned()),
            _ => "ended".to_owned(),
        };
        Err(Error::Ended { command, how, moment: to })
    }

    /// Lets the child of -c proceed: to its exec, or from the moment at which it is stopped.
    pub fn release(&mut self) -> Result<(), Error> {
        let Some(started) = self.started.as_mut() else { return Ok(()) };
        if let Some(tracee) = started.tracee.take() {
            // If the child was killed, ended() reports it.
            let _ = tracee.detach();
        }
        started.open();
        started.join().map_err(|source| Error::Start { command: started.command.clone(), source })
    }

    /// Returns how the process ended, if it has.
    pub fn ended(&mut self) -> Option<Ended> {
        if let Some(started) = self.started.as_mut()
            && let Some(child) = started.child.as_mut()
        {
            // To std a stop of a traced process is an end.
            if started.tracee.is_some() && !super::poll::is_readable(self.pidfd.as_fd()) {
                return None;
            }
            let status = child.try_wait().ok()??;
            return Some(Ended { pid: self.pid, how: how(status) });
        }
        super::poll::is_readable(self.pidfd.as_fd()).then_some(Ended { pid: self.pid, how: None })
    }
}

/// The reason why a child does not proceed.
enum Blocked {
    /// The exec failed.
    Start(io::Error),
    Stop(StopError),
}

impl From<StopError> for Blocked {
    fn from(error: StopError) -> Blocked {
        Blocked::Stop(error)
    }
}

impl From<Errno> for Blocked {
    fn from(errno: Errno) -> Blocked {
        Blocked::Stop(errno.into())
    }
}

impl Started {
    /// Lets the child proceed to its exec.
    fn open(&mut self) {
        if let Some(gate) = self.gate.take() {
            // If the child has exited, spawn() reports it.
            let _ = rustix::io::write(&gate, &[1]);
        }
    }

    /// Takes the child from the thread that started it, once it has executed its program or failed.
    fn join(&mut self) -> io::Result<()> {
        let Some(spawn) = self.spawn.take() else { return Ok(()) };
        self.child =
            Some(spawn.join().unwrap_or_else(|_| Err(io::Error::other("the process did not start")))?);
        Ok(())
    }

    /// Ends a child that waits before its exec, or is stopped after it.
    fn kill(&mut self, pidfd: &OwnedFd) {
        let _ = pidfd_send_signal(pidfd, Signal::KILL);
        // Until then std would take a stop for the end.
        while !super::poll::is_readable(pidfd.as_fd()) {
            super::poll::wait(&[pidfd.as_fd()], Duration::from_secs(1));
        }
        self.tracee = None;
        if self.join().is_ok()
            && let Some(child) = self.child.as_mut()
        {
            let _ = child.wait();
        }
    }

    fn advance(&mut self, pid: u32, to: Moment, lookup: Lookup<'_>) -> Result<Outcome, Blocked> {
        self.tracee = Some(Tracee::seize(pid)?);
        self.open();
        // spawn() consumes the end of a child that cannot be executed, and would consume a stop as well. So this does
        // not block until it has returned. Then an exec has begun, or will not come.
        let mut executed = None;
        while executed.is_none() && self.spawn.as_ref().is_some_and(|spawn| !spawn.is_finished()) {
            std::thread::sleep(INTERVAL);
            executed = self.tracee.as_ref().and_then(|tracee| is_executed(tracee, Tracee::poll).transpose());
        }
        self.join().map_err(Blocked::Start)?;
        let Some(tracee) = &self.tracee else { return Ok(Outcome::Ended) };
        loop {
            match executed.transpose()? {
                Some(true) => return Ok(run_to(tracee, to, lookup)?),
                Some(false) => return Ok(Outcome::Ended),
                None => executed = is_executed(tracee, |tracee| tracee.wait().map(Some)).transpose(),
            }
        }
    }
}

/// The interval of looks at a child that is to execute its program.
const INTERVAL: Duration = Duration::from_micros(200);

/// Whether a process is stopped after its exec, or has ended. Another stop is passed over.
fn is_executed(
    tracee: &Tracee,
    stop: impl Fn(&Tracee) -> Result<Option<Stop>, Errno>,
) -> Result<Option<bool>, Errno> {
    match stop(tracee) {
        Ok(Some(Stop::Exec)) => return Ok(Some(true)),
        Ok(Some(Stop::Ended)) => return Ok(Some(false)),
        Ok(Some(Stop::Signal(signal))) => tracee.resume(signal)?,
        Ok(Some(Stop::Job)) => tracee.listen()?,
        Ok(Some(_)) => tracee.resume(0)?,
        Ok(None) => {}
        Err(errno) => return Err(errno),
    }
    Ok(None)
}

/// Splits a command at blanks, as a shell does: text between quotes is one word, `\` quotes the next letter,
/// and between double quotes only `"` and `\`. Returns the quote that is not closed, or the `\` at the end.
fn words(command: &str) -> Result<Vec<String>, char> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            quote @ ('\'' | '"') => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next().ok_or(quote)? {
                        end if end == quote => break,
                        '\\' if quote == '"' && matches!(letters.peek(), Some('"' | '\\')) => {
                            word.extend(letters.next());
                        }
                        other => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next().ok_or('\\')?),
            blank if blank.is_ascii_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Terminates a command that is still running when tracing ends, as the reference implementation does; a
/// grabbed process continues.
impl Drop for Process {
    fn drop(&mut self) {
        let Some(started) = self.started.as_mut() else { return };
        if started.tracee.is_some() || started.spawn.is_some() {
            started.kill(&self.pidfd);
        } else if let Some(child) = started.child.as_mut()
            && matches!(child.try_wait(), Ok(None))
        {
            let _ = pidfd_send_signal(&self.pidfd, Signal::TERM);
        }
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// Terminates a command when the thread that starts it ends, or this process with all its threads.
pub fn ends_with_us(command: &mut Command) {
    // SAFETY: between fork and exec only one system call is made.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?));
    }
}

/// Runs in the child before its exec: sends its pid, and waits. Until then it ends with its tracer, whose end
/// it would not notice otherwise, since the child holds the other end of the gate, too.
fn hold(tracer: Pid, pid_write: &OwnedFd, wait: &OwnedFd) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(tracer) {
        return Err(Errno::CANCELED.into());
    }
    let pid = rustix::process::getpid().as_raw_nonzero().get() as u32;
    rustix::io::write(pid_write, &pid.to_ne_bytes())?;
    let mut byte = [0];
    let read = rustix::io::retry_on_intr(|| rustix::io::read(wait, &mut byte))?;
    set_parent_process_death_signal(None)?;
    match read {
        // The tracer closed the gate.
        0 => Err(Errno::CANCELED.into()),
        _ => Ok(()),
    }
}

fn how(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exited with status {code}")),
        (None, Some(signal)) => Some(format!("terminated by {}", signal_name(signal))),
        (None, None) => None,
    }
}

fn signal_name(number: i32) -> String {
    let name = signal_hook::low_level::signal_name(number);
    name.map_or_else(|| format!("signal {number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(process: &mut Process) -> Ended {
        loop {
            if let Some(ended) = process.ended() {
                return ended;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    #[test]
    fn a_command_waits_for_its_release() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made");
        let mut process = Process::start(&format!("touch {}", path.display()), &Start::default()).unwrap();
        assert_ne!(process.pid, 0);
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(!path.exists() && process.ended().is_none());
        process.release().unwrap();
        assert_eq!(wait(&mut process), Ended { pid: process.pid, how: None });
        assert!(path.exists());
    }

    #[test]
    fn ends_are_told_apart() {
        let mut process = Process::start("sh -c exit\t3", &Start::default()).unwrap();
        process.release().unwrap();
        assert_eq!(wait(&mut process).how, None, "words are split on blanks: sh gets only 'exit'");
        let mut process = Process::start("false", &Start::default()).unwrap();
        process.release().unwrap();
        assert_eq!(wait(&mut process).how.as_deref(), Some("exited with status 1"));
        assert_eq!(signal_name(11), "SIGSEGV");
    }

    #[test]
    fn words_of_a_command() {
        for (command, expected) in [
            ("sh -c \"ls; true\"", &["sh", "-c", "ls; true"][..]),
            (" a\tb  'c d'e \\  ", &["a", "b", "c de", " "]),
            (r#"x "" '' "a\"b\\c\d" '\"'"#, &["x", "", "", r#"a"b\c\d"#, r#"\""#]),
            ("awk '{ print $1 }'", &["awk", "{ print $1 }"]),
            (" ", &[]),
        ] {
            assert_eq!(words(command).unwrap(), expected, "{command}");
        }
        for (command, quote) in [("sh -c 'ls", '\''), ("a \"b'", '"'), ("a\\", '\\')] {
            assert_eq!(words(command), Err(quote));
        }
    }

    #[test]
    fn an_unknown_command_and_an_unknown_pid_are_errors() {
        let mut process = Process::start("/nowhere/at/all", &Start::default()).unwrap();
        assert!(matches!(process.release(), Err(Error::Start { .. })));
        assert!(matches!(Process::grab(0), Err(Error::Grab { .. })));
        assert!(matches!(Process::start(" ", &Start::default()), Err(Error::Empty)));
    }

    #[test]
    fn a_command_has_the_environment_that_it_is_given() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        std::fs::write(&script, "[ \"$KINST_A\" = 1 ] && [ -z \"$HOME\" ]").unwrap();
        let start = Start { set: vec![("KINST_A".into(), "1".into())], unset: vec!["HOME".into()] };
        for (start, how) in [(start, None), (Start::default(), Some("exited with status 1"))] {
            let mut process = Process::start(&format!("sh {}", script.display()), &start).unwrap();
            process.release().unwrap();
            assert_eq!(wait(&mut process).how.as_deref(), how);
        }
    }

    #[test]
    fn giving_up_ends_the_waiting_child() {
        let process = Process::start("sleep 1000", &Start::default()).unwrap();
        drop(process);
    }
}

//! os/uprobe/red_zone.rs: the test: a child process calls the leaf function while its nop has a probe.
//!
//! Linux 6.18 replaces a probed nop of five bytes by a call, which writes to the stack below `%rsp`. There, in
//! the red zone, functions that call none store values. The child is a process of the same executable file.

use super::leaf;
use crate::perf::Attribute;
use rustix::io::Errno;
use std::io::{self, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};

/// The kernel's behaviour at probed nops of five bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nop5 {
    /// The stack is as it was.
    Kept,
    /// A value in the red zone is lost.
    Overwritten,
    /// The test could not be made.
    Unknown(Untested),
}

/// Why the test could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untested {
    /// Another kind of machine.
    #[error("programs are traced on x86-64 only")]
    Machine,
    /// The kernel has no perf events for uprobes.
    #[error("the kernel has no uprobes (CONFIG_UPROBE_EVENTS)")]
    NoUprobes,
    /// The executable file is not in the list of mappings.
    #[error("the mapping of the test function was not found")]
    NoMapping,
    /// The kernel refuses the probe.
    #[error("the kernel refuses a probe in a child process: {}", crate::errno_text(*.0))]
    Refused(Errno),
    /// The child process could not be started, or did not begin.
    #[error("the test process could not be started: {}", crate::errno_text(*.0))]
    Start(Errno),
    /// The child process ended in another way than the test does.
    #[error("the test process ended early")]
    Ended,
    /// The probe was not in the child's code.
    #[error("the test process had no probe")]
    NoProbe,
}

/// Exit statuses of the child.
const KEPT: u8 = 40;
const OVERWRITTEN: u8 = 41;
const NO_PROBE: u8 = 42;

/// The kernel replaces the nop at the first hit.
const CALLS: u64 = 200;

/// Runs the test. `command` must start this executable file in a way that it returns [`be_tested`] as its exit
/// status. Removing the probe takes the kernel a tenth of a second, which a thread waits for.
pub fn nop5(command: Command) -> Nop5 {
    tested(command).unwrap_or_else(Nop5::Unknown)
}

/// The child's part: waits for the probe, calls the function, and returns the exit status.
pub fn be_tested() -> u8 {
    let mut byte = [0];
    if io::stdin().read_exact(&mut byte).is_err() {
        return 0;
    }
    let is_kept = (1..=CALLS).all(|value| leaf::call(value) == value);
    match is_kept {
        _ if leaf::first_byte() == leaf::NOP => NO_PROBE,
        true => KEPT,
        false => OVERWRITTEN,
    }
}

fn tested(mut command: Command) -> Result<Nop5, Untested> {
    let site = leaf::site().ok_or(Untested::Machine)?;
    let kind = kind().ok_or(Untested::NoUprobes)?;
    let offset = offset(site).ok_or(Untested::NoMapping)?;
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = |error: io::Error| Untested::Start(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    let mut child = command.spawn().map_err(start)?;
    let input = child.stdin.take();
    let attribute = Attribute::new(kind, 0, 1).with(c"/proc/self/exe".as_ptr() as u64, offset);
    let probe = match attribute.open_in(child.id()) {
        Ok(probe) => probe,
        Err(errno) => {
            drop(input);
            let _ = child.wait();
            return Err(Untested::Refused(errno));
        }
    };
    let result = watch(&mut child, input);
    // If no thread can be started, the probe is removed here.
    let _ = std::thread::Builder::new().spawn(move || drop(probe));
    result
}

/// Lets the child begin, and returns its result.
fn watch(child: &mut Child, input: Option<ChildStdin>) -> Result<Nop5, Untested> {
    // If the child has ended, its status says so.
    let _ = input.map(|mut input| input.write_all(&[1]));
    let status = child.wait().map_err(|_| Untested::Ended)?;
    match status.code().map(u8::try_from) {
        Some(Ok(KEPT)) => Ok(Nop5::Kept),
        Some(Ok(OVERWRITTEN)) => Ok(Nop5::Overwritten),
        Some(Ok(NO_PROBE)) => Err(Untested::NoProbe),
        _ => Err(Untested::Ended),
    }
}

fn kind() -> Option<u32> {
    let text = std::fs::read_to_string("/sys/bus/event_source/devices/uprobe/type").ok()?;
    text.trim().parse().ok()
}

/// Returns the offset of an address of this process in the executable file.
fn offset(address: usize) -> Option<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| offset_in(line, address as u64))
}

/// Returns the offset of an address in the file, if the line of /proc/PID/maps is its mapping.
fn offset_in(line: &str, address: u64) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let [start, end] = [start, end].map(|hex| u64::from_str_radix(hex, 16).ok());
    let offset = u64::from_str_radix(words.nth(1)?, 16).ok()?;
    let within = address.checked_sub(start?)?;
    (address < end?).then(|| offset.checked_add(within))?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set in the child process.
    const CHILD: &str = "KINST_TEST_OF_NOP5";
    const NAME: &str = "uprobe::red_zone::tests::the_kernel_answers";

    /// In the child, an overwritten value must go with a call in place of the nop: nothing else explains it.
    fn be_the_child() -> ! {
        let status = be_tested();
        let opcode = leaf::first_byte();
        const CALL: u8 = 0xe8;
        assert_eq!(status == OVERWRITTEN, opcode == CALL, "{opcode:x}");
        signal_hook::low_level::exit(status.into())
    }

    #[test]
    fn the_kernel_answers() {
        if std::env::var_os(CHILD).is_some() {
            be_the_child();
        }
        let mut command = Command::new("/proc/self/exe");
        command.args(["--exact", NAME]).env(CHILD, "1");
        let begun = std::time::Instant::now();
        let answer = nop5(command);
        eprintln!("{answer:?} after {:?}", begun.elapsed());
        let may = crate::identity().euid == 0 && leaf::site().is_some() && kind().is_some();
        match answer {
            Nop5::Unknown(why) => assert!(!may, "{why}"),
            Nop5::Kept | Nop5::Overwritten => {}
        }
    }

    #[test]
    fn a_child_that_ends_early_is_no_answer() {
        for program in ["false", "true"] {
            assert!(matches!(nop5(Command::new(program)), Nop5::Unknown(_)), "{program}");
        }
        assert!(matches!(nop5(Command::new("/nowhere/at/all")), Nop5::Unknown(_)));
    }

    #[test]
    fn offsets_of_mappings() {
        let line = "55d0c0a00000-55d0c0a10000 r-xp 0001c000 fe:00 1234   /usr/bin/x";
        assert_eq!(offset_in(line, 0x55d0_c0a0_0010), Some(0x1c010));
        assert_eq!(offset_in(line, 0x55d0_c0a1_0000), None);
        assert_eq!(offset_in(line, 0x55d0_c09f_ffff), None);
        assert_eq!(offset_in("", 0), None);
        assert_eq!(offset_in("x-y r-xp 0", 0), None);
    }
}

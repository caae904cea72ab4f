//! cli/moment.rs: the option evaltime: how far the command of -c runs before tracing begins.

use crate::options::{Options, key};
use kinst_debuginfo::ElfFile;
use kinst_os::process::{self, Moment, Process};
use std::path::Path;

/// Lets each command of -c run to its moment, where it stays stopped until it is released. `programs`: whether user
/// programs are traced, whose files must be mapped. The thread that calls this must also release the processes.
pub(super) fn advance(
    options: &Options,
    programs: bool,
    processes: &mut [Process],
) -> Result<(), process::Error> {
    let Some(moment) = moment(options, programs) else { return Ok(()) };
    processes.iter_mut().try_for_each(|process| process.advance(moment, &lookup))
}

/// The moment at which the commands are stopped; `None` if they wait before their exec, which kernel probes then see.
fn moment(options: &Options, programs: bool) -> Option<Moment> {
    match options.text(key::EVALTIME).and_then(Moment::named) {
        Some(Moment::Exec) if !programs => None,
        None => programs.then(Moment::default),
        given => given,
    }
}

/// The address of a function in an ELF file, or the reason why the file cannot be read.
fn lookup(file: &Path, name: &str) -> Result<Option<u64>, String> {
    let file = ElfFile::open(file).map_err(|error| error.to_string())?;
    let mut found = None;
    let visited = file.for_each_code_symbol(|symbol| {
        if symbol.name == name && (found.is_none() || symbol.global) {
            found = Some(symbol.address);
        }
    });
    visited.map_err(|error| error.to_string())?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::From;
    use crate::options::{Kind, TABLE};
    use kinst_os::process::Start;

    fn options(evaltime: &str) -> Options {
        let mut options = Options::default();
        options.set("evaltime", Some(evaltime), From::CommandLine).unwrap();
        options
    }

    #[test]
    fn each_value_of_the_option_is_a_moment() {
        let spec = TABLE.iter().find(|spec| spec.name == "evaltime").unwrap();
        let Kind::Choice(values) = spec.kind else { panic!("a choice") };
        let moments: Vec<_> = values.iter().map(|value| moment(&options(value), true)).collect();
        let all = [Moment::Exec, Moment::Preinit, Moment::Postinit, Moment::Main];
        assert_eq!(moments, all.map(Some));
        assert!(Options::default().set("evaltime", Some("never"), From::CommandLine).is_err());
    }

    #[test]
    fn kernel_probes_see_the_exec_unless_another_moment_is_named() {
        let moments = |programs| {
            [Options::default(), options("exec"), options("main")].map(|options| moment(&options, programs))
        };
        assert_eq!(moments(false), [None, None, Some(Moment::Main)]);
        assert_eq!(moments(true), [Some(Moment::Postinit), Some(Moment::Exec), Some(Moment::Main)]);
    }

    /// The program is this one, which is dynamic and has symbols.
    #[test]
    fn a_command_runs_to_each_moment_and_on() {
        let own = std::env::current_exe().unwrap();
        for evaltime in ["exec", "preinit", "postinit", "main"] {
            let started =
                Process::start(&format!("'{}' --exact none", own.display()), &Start::default()).unwrap();
            let mut processes = [started];
            advance(&options(evaltime), true, &mut processes).unwrap();
            let maps = std::fs::read_to_string(format!("/proc/{}/maps", processes[0].pid)).unwrap();
            assert_eq!(maps.contains("/libc.so"), evaltime != "exec", "{evaltime}: {maps}");
            assert!(processes[0].ended().is_none());
            processes[0].release().unwrap();
            let ended = loop {
                match processes[0].ended() {
                    Some(ended) => break ended,
                    None => std::thread::sleep(std::time::Duration::from_millis(2)),
                }
            };
            assert_eq!(ended.how, None, "{evaltime}");
        }
    }
}

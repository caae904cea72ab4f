//! cli/processes.rs: the processes of -c and -p, and how far a command proceeds before its probes are looked up.

use super::config::Config;
use super::console::{Console, Failed};
use super::moment;
use crate::options::{Options, key};
use kinst_os::process::{self, Process, Start};

/// Returns the processes of -c and -p; the first is $target. If the program names probes in it, a command proceeds until
/// its libraries are mapped, and stops there; otherwise it waits before its exec.
pub(super) fn start(config: &Config, console: &Console) -> Result<Vec<Process>, Failed> {
    start_for(config, console, config.names_target())
}

/// Like [`start`]; `programs`: whether probes are in the process of -c or -p.
pub(super) fn start_for(config: &Config, console: &Console, programs: bool) -> Result<Vec<Process>, Failed> {
    let mut processes = Vec::new();
    let mut add = |process: Result<Process, process::Error>| match process {
        Ok(process) => {
            processes.push(process);
            Ok(())
        }
        Err(error) => console.fail(&error.to_string(), None),
    };
    for command in &config.invocation.commands {
        add(Process::start(command, &environment(&config.options)))?;
    }
    for pid in &config.invocation.pids {
        match pid.parse() {
            Ok(pid) => add(Process::grab(pid))?,
            Err(_) => return console.fail(&format!("invalid pid: {pid}"), None),
        }
    }
    match moment::advance(&config.options, programs, &mut processes) {
        Ok(()) => Ok(processes),
        Err(error) => console.fail(&error.to_string(), None),
    }
}

/// Returns the id of the first process, $target; 0 without one.
pub(super) fn target(processes: &[Process]) -> u32 {
    processes.first().map_or(0, |process| process.pid)
}

/// The environment of the command of -c: the options setenv and unsetenv.
fn environment(options: &Options) -> Start {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (name.to_owned(), value.to_owned())
    };
    let set = options.list(key::SETENV).iter().map(pair).collect();
    Start { set, unset: options.list(key::UNSETENV).to_vec() }
}

//! sites/catalog/syscalls.rs: the probes of the provider syscall: the system calls of 64-bit programs, by name.

use super::{LiveText, elsewhere};
use crate::debuginfo::Machine;
use crate::diag::{Diagnostic, suggest, tags};
use crate::probe::{Fields, Place, Probe};
use crate::sites::target::{KERNEL_PROPER, Kernel, ModuleId};
use std::collections::HashMap;

/// Makes a place from a system call's number.
pub type Side = fn(u64) -> Place;
pub const SIDES: [(&str, Side); 2] = [
    ("entry", |number| Place::SyscallEntry { number }),
    ("return", |number| Place::SyscallReturn { number }),
];

/// The prefix of the kernel's functions for system calls.
pub fn prefix(machine: Machine) -> &'static str {
    match machine {
        Machine::X86_64 => "__x64_sys_",
        Machine::Aarch64 => "__arm64_sys_",
    }
}

/// Calls that have two names: that of the kernel's function, and that of the number (<asm/unistd_64.h>), which programs
/// use.
const RENAMED: [(&str, &str); 6] = [
    ("newstat", "stat"),
    ("newfstat", "fstat"),
    ("newlstat", "lstat"),
    ("newuname", "uname"),
    ("sendfile64", "sendfile"),
    ("umount", "umount2"),
];

/// One system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub number: u32,
    /// The name that programs use.
    pub name: String,
    /// The name of the kernel's function, without the prefix.
    pub own_name: String,
}

impl Call {
    pub fn probe(&self, id: u32, name: &str, side: Side) -> Probe {
        let name = Fields::new("syscall", KERNEL_PROPER, &self.name, name);
        Probe { id, name, place: side(self.number.into()) }
    }
}

/// The system calls by number. The running kernel's table determines which ones exist. Without it (another kernel, no
/// module), every function of the kernel with the prefix is taken for a call, including some that only 32-bit programs
/// can make; their numbers are then unknown, and made up.
pub fn table(kernel: &Kernel, live: Option<&dyn LiveText>) -> Vec<Call> {
    let symbols = kernel.symbols(ModuleId::PROPER).into_iter().flat_map(|symbols| symbols.iter());
    let prefix = prefix(kernel.machine());
    let mut functions: Vec<(&str, u64)> = symbols
        .filter(|(_, symbol)| !symbol.gone())
        .filter_map(|(name, symbol)| Some((name.strip_prefix(prefix)?, symbol.address)))
        .collect();
    functions.sort_unstable();
    let call = |number: u32, own_name: &str| Call {
        number,
        name: renamed(own_name).to_owned(),
        own_name: own_name.to_owned(),
    };
    let Some(live) = live else {
        let real = functions.iter().filter(|(name, _)| *name != "ni_syscall");
        return (0..).zip(real).map(|(number, (name, _))| call(number, name)).collect();
    };
    // Among names of one address, the first in alphabetical order.
    let mut by_address: HashMap<u64, &str> = HashMap::new();
    for (name, address) in functions {
        if let Some(address) = kernel.run_time(ModuleId::PROPER, address) {
            by_address.entry(address).or_insert(name);
        }
    }
    let entries = (0..).zip(live.syscalls());
    entries.filter_map(|(number, address)| Some(call(number, by_address.get(&address)?))).collect()
}

fn renamed(own_name: &str) -> &str {
    RENAMED.iter().find(|(own, _)| *own == own_name).map_or(own_name, |(_, name)| *name)
}

/// The refusal of a function or name without globs that nothing matches.
pub fn refusal(calls: &[Call], function: &str, name: &str) -> Diagnostic {
    let error = |title| Diagnostic::error(tags::PDESC_ZERO, title);
    if calls.is_empty() {
        return error("the kernel does not show its table of system calls".to_owned());
    }
    if function.is_empty() || calls.iter().any(|call| call.name == function || call.own_name == function) {
        let function = if function.is_empty() { "read" } else { function };
        return error(format!("syscall has no probe `{name}`"))
            .help(format!("it has syscall::{function}:entry and syscall::{function}:return"));
    }
    let error = error(format!("there is no system call `{function}`"));
    if let Some(here) = elsewhere::call(function) {
        return error.help(format!("on Linux it is {here}: syscall::{here}:{name}"));
    }
    let near = suggest::nearest_few(function, calls.iter().map(|call| call.name.as_str()), 3);
    match near.is_empty() {
        true => error.help("-l -P syscall lists them"),
        false => {
            let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
            error.help(format!("did you mean {}?", near.join(" or ")))
        }
    }
}

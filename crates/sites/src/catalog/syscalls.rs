//! sites/catalog/syscalls.rs: the probes of the provider syscall: the system calls of 64-bit programs, by name.

use super::elsewhere;
use crate::target::Kernel;
use kinst_base::diag::{Diagnostic, suggest, tags};
use kinst_base::image::{KERNEL_PROPER, ModuleId};
use kinst_base::machine::Machine;
use kinst_base::machine::syscalls;
use kinst_base::probe::{Fields, Place, Probe};
use std::collections::HashSet;

/// Makes a place from a system call's number.
pub(crate) type Side = fn(u64) -> Place;
pub(crate) const SIDES: [(&str, Side); 2] = [
    ("entry", |number| Place::SyscallEntry { number }),
    ("return", |number| Place::SyscallReturn { number }),
];

/// Functions whose name differs from that of their system call.
const RENAMED: [(&str, &str); 7] = [
    ("newstat", "stat"),
    ("newfstat", "fstat"),
    ("newlstat", "lstat"),
    ("newuname", "uname"),
    ("sendfile64", "sendfile"),
    ("sysctl", "_sysctl"),
    ("umount", "umount2"),
];

/// One system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub number: u32,
    /// Name in programs.
    pub name: String,
    /// Name of the kernel's function, without prefix.
    pub own_name: String,
}

impl Call {
    pub(crate) fn probe(&self, id: u32, name: &str, side: Side) -> Probe {
        let name = Fields::new("syscall", KERNEL_PROPER, &self.name, name);
        Probe { id, name, place: side(self.number.into()) }
    }
}

/// Returns the system calls by number: the machine's calls whose function the kernel has. If no function is
/// known, all calls count: one that the kernel lacks is never made, or visibly fails.
pub(crate) fn table(kernel: &Kernel) -> Vec<Call> {
    let prefix = kernel.machine().facts().call_prefix;
    let symbols = kernel.symbols(ModuleId::PROPER).into_iter().flat_map(|symbols| symbols.iter());
    let there = symbols.filter(|(_, symbol)| !symbol.gone());
    let functions = there.filter_map(|(name, _)| name.strip_prefix(prefix)).collect();
    calls(kernel.machine(), &functions)
}

/// Returns the calls of a machine that have one of the functions, given without prefix.
fn calls(machine: Machine, functions: &HashSet<&str>) -> Vec<Call> {
    let call = |(name, number): (&str, u32)| {
        let own_name = own_name(machine, name);
        let function = [own_name, name].into_iter().find(|name| functions.contains(name));
        let own_name = if functions.is_empty() { own_name } else { function? }.to_owned();
        Some(Call { number, name: name.to_owned(), own_name })
    };
    let mut calls: Vec<Call> = syscalls::of(machine.facts().generic_calls).filter_map(call).collect();
    calls.sort_unstable_by_key(|call| call.number);
    calls
}

/// Returns the name of a call's function.
fn own_name(machine: Machine, name: &str) -> &str {
    let mut renamed = RENAMED.iter().chain(machine.facts().calls_renamed);
    renamed.find(|(_, known)| *known == name).map_or(name, |(own, _)| *own)
}

/// Refuses a function or name without globs that nothing matches.
pub(crate) fn refusal(calls: &[Call], function: &str, name: &str) -> Diagnostic {
    let error = |title| Diagnostic::error(tags::PDESC_ZERO, title);
    if function.is_empty() || calls.iter().any(|call| call.name == function || call.own_name == function) {
        let function = if function.is_empty() { "read" } else { function };
        return error(format!("syscall has no probe `{name}`"))
            .help(format!("it has syscall::{function}:entry and syscall::{function}:return"));
    }
    let error = error(format!("no system call `{function}`"));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn named(machine: Machine, functions: &[&str]) -> Vec<(u32, String, String)> {
        let calls = calls(machine, &functions.iter().copied().collect());
        calls.into_iter().map(|call| (call.number, call.name, call.own_name)).collect()
    }

    #[test]
    fn a_call_is_there_if_its_function_is() {
        let functions =
            ["openat", "read", "newuname", "ni_syscall", "socketcall", "fadvise64", "fadvise64_64"];
        let call = |number, name: &str, own: &str| (number, name.to_owned(), own.to_owned());
        assert_eq!(
            named(Machine::X86_64, &functions),
            [
                call(0, "read", "read"),
                call(63, "uname", "newuname"),
                call(221, "fadvise64", "fadvise64"),
                call(257, "openat", "openat")
            ]
        );
        assert_eq!(
            named(Machine::Aarch64, &functions),
            [
                call(56, "openat", "openat"),
                call(63, "read", "read"),
                call(160, "uname", "newuname"),
                call(223, "fadvise64", "fadvise64_64")
            ]
        );
    }

    #[test]
    fn all_calls_are_there_if_no_function_is_known() {
        assert!(named(Machine::X86_64, &[]).contains(&(4, "stat".to_owned(), "newstat".to_owned())));
        assert!(!named(Machine::Aarch64, &[]).iter().any(|call| call.1 == "open"));
    }
}

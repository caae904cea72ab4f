//! tests/oracle/syscalls.rs: the numbers of system calls, compared with the C headers.

use std::collections::HashMap;
use std::sync::Arc;

use kinst::machine::syscalls;
use kinst::probe::{Description, Fields, Place};
use kinst::sites::{Catalog, Kernel, ProbeCatalog as _};

use crate::commands::run;
use crate::needs;

/// The calls that existed when the table was made; a header may have more.
const KNOWN: u32 = 473;
/// Numbers of x86-64 and arm64 that call nothing in a 64-bit program.
const WITHOUT: [&str; 15] = [
    "afs_syscall",
    "create_module",
    "epoll_ctl_old",
    "epoll_wait_old",
    "get_kernel_syms",
    "get_thread_area",
    "getpmsg",
    "nfsservctl",
    "putpmsg",
    "query_module",
    "security",
    "set_thread_area",
    "tuxcall",
    "uselib",
    "vserver",
];

/// The numbers of a header, after preprocessing.
fn header(text: &str) -> HashMap<String, u32> {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("numbers.c");
    std::fs::write(&file, text).expect("a file");
    let text = run("gcc", &["-E", "-dM", file.to_str().expect("text")]);
    let macros: HashMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define ")?.split_once(' '))
        .filter(|(name, _)| name.starts_with("__NR"))
        .collect();
    // Some are defined as aliases.
    let number = |value: &str| macros.get(value).copied().unwrap_or(value).parse().ok();
    let calls = macros.iter().filter_map(|(name, value)| Some((name.strip_prefix("__NR_")?, number(value)?)));
    calls.map(|(name, number)| (name.to_owned(), number)).collect()
}

fn compare(ours: impl Iterator<Item = (&'static str, u32)>, mut header: HashMap<String, u32>) {
    header.retain(|name, _| !["syscalls", "arch_specific_syscall"].contains(&name.as_str()));
    assert!(header.len() > 300, "{header:?}");
    for (name, number) in ours {
        if let Some(theirs) = header.remove(name) {
            assert_eq!(number, theirs, "{name}");
        }
    }
    header.retain(|name, number| *number < KNOWN && !WITHOUT.contains(&name.as_str()));
    assert!(header.is_empty(), "they are not in our table: {header:?}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn numbers_of_x86_64() {
    compare(syscalls::of(false), header("#include <asm/unistd_64.h>\n"));
}

#[test]
fn numbers_of_arm64() {
    let wanted = ["RENAMEAT", "NEW_STAT", "SET_GET_RLIMIT", "SYS_CLONE3", "MEMFD_SECRET"];
    let wanted: String = wanted.iter().map(|word| format!("#define __ARCH_WANT_{word}\n")).collect();
    compare(syscalls::of(true), header(&format!("{wanted}#include <asm-generic/unistd.h>\n")));
}

/// A kernel that is not running has the same numbers.
#[test]
fn calls_of_kernels_that_do_not_run() {
    for (name, root) in needs::kernels() {
        let catalog = Catalog::new(Arc::new(Kernel::sysroot(&root, None).expect("a kernel")), None);
        let find = |function: &str| {
            let fields = Fields::new("syscall", "", function, "entry");
            catalog.matches(&Description::Fields(Box::new(fields))).expect("probes")
        };
        for (function, number) in [("read", 0), ("openat", 257), ("newuname", 63), ("statx", 332)] {
            let [probe] = &find(function)[..] else { panic!("{name}: {function}") };
            assert_eq!(probe.place, Place::SyscallEntry { number }, "{name}: {function}");
            assert_eq!(probe.id, 450_000 + 2 * number as u32, "{name}: {function}");
        }
        assert!(find("").len() > 340, "{name}");
    }
}

//! tests/outside/annotate.rs: the D programs of --annotate for Debian's kernel. The counts
//! are tested in a guest (tests/vm/cases/annotate.case).

use crate::real::dtrace;

#[test]
fn the_program_of_a_function() {
    let dump = ["--annotate", "vfs_read", "--when", "/arg2 > 4096/", "--for", "2s", "-p", "1", "--dump"];
    let Some((good, program, said)) = dtrace(&dump) else { return };
    assert!(good && said.is_empty(), "{said}");
    let entry = "fbt:vmlinux:vfs_read:entry\n{\n\tself->calls0 = self->calls0 << 1 | (pid == $target && (arg2 > 4096) ? 1 : 0)";
    assert!(program.contains(entry), "{program}");
    assert!(program.contains("profile:::tick-2s\n{\n\texit(0);\n}\n"), "{program}");
    // A branch is counted in both directions at one place; a block in the middle of others is not counted.
    for (site, there) in [("171-173", true), ("171-241", false), ("114", false)] {
        assert_eq!(program.contains(&format!("kinst:vmlinux:vfs_read:{site}")), there, "{site} in {program}");
    }
}

#[test]
fn programs_of_copies_and_of_functions_that_cross_from_interrupts_compile() {
    for function in
        ["fsnotify_access", "handle_softirqs", "__irq_exit_rcu", "xfs:xfs_file_read_iter", "path_openat"]
    {
        let Some((good, _, said)) = dtrace(&["-e", "--annotate", function, "--exact"]) else { return };
        assert!(good, "{function}: {said}");
    }
}

#[test]
fn what_cannot_be_counted() {
    let cases = [
        ("nowhere", "no function `nowhere`"),
        ("nomodule:vfs_read", "nomodule"),
        ("do_syscall_64", "no instruction of do_syscall_64 can be counted"),
        ("vfs_*", "vfs_*"),
        ("", "function"),
    ];
    for (function, expected) in cases {
        let Some((good, program, said)) = dtrace(&["--annotate", function, "--dump"]) else { return };
        assert!(!good && program.is_empty() && said.contains(expected), "{function}: {said}");
    }
}

#[test]
fn programs_that_take_the_time() {
    let Some((good, program, said)) = dtrace(&["--annotate", "vfs_read", "--latency", "--dump"]) else {
        return;
    };
    assert!(good && said.is_empty(), "{said}");
    // Each block is a place, but edges are not.
    for (site, there) in [("kinst:vmlinux:vfs_read:119", true), ("kinst:vmlinux:vfs_read:171-", false)] {
        assert_eq!(program.contains(site), there, "{site} in {program}");
    }
    for function in ["vfs_read", "fsnotify_access", "xfs:xfs_file_read_iter", "path_openat"] {
        let Some((good, _, said)) = dtrace(&["-e", "--annotate", function, "--latency"]) else { return };
        assert!(good, "{function}: {said}");
    }
}

#[test]
fn whose_time_cannot_be_taken() {
    let cases: [(&[&str], &str); 3] = [
        (&["--annotate", "vfs_read", "--exact", "--latency"], "--exact and --latency exclude each other"),
        (&["--latency", "-n", "BEGIN"], "go with --annotate"),
        (&["--annotate", "__do_softirq", "--latency", "--dump"], "--latency: the entry and return of"),
    ];
    for (arguments, expected) in cases {
        let Some((good, program, said)) = dtrace(arguments) else { return };
        assert!(!good && program.is_empty() && said.contains(expected), "{arguments:?}: {said}");
    }
}

//! tests/outside/descriptions.rs: probe descriptions that match nothing: the messages, and which one comes first.

use crate::cli::{accepted, refused, sysroot};
use crate::needs;

/// -e looks up the probes of another kernel like -l.
#[test]
fn each_probe_of_a_sysroot_is_checked() {
    let dir = sysroot();
    let root = dir.path().to_str().expect("UTF-8");
    for (description, says) in [
        ("fbt::tow:entry", "did you mean `two`"),
        ("kinst::two:1", "offset 1 is inside an instruction of `two`"),
        ("fbt::two:enrty", "fbt has no probe `enrty`"),
        ("kprobe:two", "write it as fbt::two:entry"),
        ("prfile-97", "did you mean `profile-97`"),
        ("tikc-1s", "did you mean `tick-1s`"),
        ("fbt::two", "write `fbt::two:entry` or `fbt::two:return`"),
        ("fbt:two:entry", "write `fbt::two:entry`"),
        ("kinst::two", "write `kinst::two:entry` or"),
        ("io::start", "write `io:::start`"),
        ("sdt::sched_switch", "write `sdt:::sched_switch`"),
        ("sdt:sched_switch", "write `sdt:::sched_switch`"),
        ("sdt:::no_such_tracepoint", "sdt has no tracepoint `no_such_tracepoint`"),
    ] {
        refused(&["--sysroot", root, "-e", "-n", description], 1, &[says, "^^"]);
        accepted(&["--sysroot", root, "-Z", "-e", "-n", description]);
    }
    accepted(&["--sysroot", root, "-e", "-n", "fbt::two:entry, kinst::two:0, tick-1s"]);
}

/// If a probe does not exist, the message is about that, not about the types of its arguments.
#[test]
fn descriptions_come_before_what_clauses_say() {
    let dir = sysroot();
    let root = dir.path().to_str().expect("UTF-8");
    for (program, says) in [
        ("fbt::tow:entry { trace(args[0]); }", "did you mean `two`"),
        ("fbt::two:entry { } fbt::tow:entry { x = args[0]->nothing; }", "did you mean `two`"),
        ("BEGIN { trace(args[7]); } fbt::tow:entry { }", "the probe has no typed arguments"),
        ("fbt::tow:entry { } BEGIN { x = nothing; }", "did you mean `two`"),
        ("sdt:::no_such_tracepoint { trace(args[0]); }", "sdt has no tracepoint `no_such_tracepoint`"),
        ("fbt::two:entry { x = nothing; }", "`nothing` is not defined"),
    ] {
        refused(&["--sysroot", root, "-e", "-n", program], 1, &[says, "^"]);
    }
}

/// The compiler has specialised the function, and no symbol with its own name is left.
#[test]
fn a_function_that_has_a_clone_only() {
    let Some(root) = needs::linux_6_1() else { return };
    let root = root.to_str().expect("UTF-8");
    for provider in ["fbt", "kinst"] {
        let listed = accepted(&["--sysroot", root, "-l", "-n", &format!("{provider}::bitmap_string:entry")]);
        assert!(listed.contains("bitmap_string.constprop.0 entry"), "{listed}");
    }
}

/// The shape of scripts about disks, which read an array before they assign it.
#[test]
fn arrays_are_read_before_they_are_assigned() {
    let Some(root) = needs::linux_6_1() else { return };
    let program = "io:::start /! pending[args[1]->dev_statname]/ { self->first = 1; }
        io:::start { pending[args[1]->dev_statname]++; started[arg0] = timestamp; }
        io:::done /pending[args[1]->dev_statname] > 0/ { @[args[1]->dev_statname] = quantize(timestamp - started[arg0]); }";
    accepted(&["--sysroot", root.to_str().expect("UTF-8"), "-e", "-n", program]);
}

//! tests/oracle/driver.rs: the code that the macros of kinst/sdt.h add to a driver, according to objdump.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::needs;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Builds the module of a folder for 6.1, without warnings.
fn build(folder: &str, name: &str) -> Option<PathBuf> {
    let root = needs::linux_6_1()?;
    let sources = std::fs::read_dir(root.join("usr/src")).ok()?.flatten().map(|entry| entry.path());
    let Some(headers) = sources.into_iter().find(|path| path.join("Module.symvers").is_file()) else {
        needs::missing("headers of the kernel 6.1", "cargo xtask setup");
        return None;
    };
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).unwrap();
    for file in std::fs::read_dir(Path::new(ROOT).join(folder)).unwrap().flatten() {
        std::fs::copy(file.path(), work.join(file.file_name())).unwrap();
    }
    let mut make = Command::new("make");
    make.arg("-C").arg(headers).arg(format!("M={}", work.display())).arg("modules");
    make.args(["W=1", "KCFLAGS=-Werror", "CONFIG_DEBUG_INFO_BTF_MODULES="]);
    make.arg(format!("KINST_INCLUDE={ROOT}/include"));
    let out = make.env_remove("MAKEFLAGS").output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(work.join(name).with_extension("ko"))
}

/// The instructions of a function, without the padding after the last.
fn listing(module: &Path, function: &str) -> Vec<String> {
    let mut objdump = Command::new("objdump");
    objdump.args(["-d", "--no-show-raw-insn", &format!("--disassemble={function}")]).arg(module);
    let out = String::from_utf8(objdump.output().unwrap().stdout).unwrap();
    let lines = out.lines().filter_map(|line| line.trim().split_once(":\t"));
    // The targets of calls are in the relocations.
    let text = |insn: &str| -> String {
        insn.split_whitespace().take(if insn.starts_with("nop") { 2 } else { 1 }).collect()
    };
    let all: Vec<String> = lines.map(|(_, insn)| text(insn)).collect();
    let last = all.iter().position(|insn| insn == "jmp").map_or(all.len(), |jmp| jmp + 1);
    all[..last].to_vec()
}

#[test]
fn a_probe_that_is_off_is_one_nop_and_loads_nothing() {
    if !needs::program("objdump") || !needs::program("make") {
        return;
    }
    let Some(probed) = build("kmod/tests/vm/probed", "probed") else { return };
    let nop = "nopl0x0(%rax,%rax,1)";
    // Arguments in registers, in memory and constants alike. Each function begins with the call for ftrace, and ends with
    // the jump that is a return.
    assert_eq!(listing(&probed, "probed_off"), ["call", nop, "lea", "jmp"]);
    assert_eq!(listing(&probed, "probed_memory"), ["call", nop, "jmp"]);
    assert_eq!(listing(&probed, "constants"), ["call", nop, "jmp"]);
    // The test whether it is traced is a nop too.
    assert_eq!(listing(&probed, "gated"), ["call", "xchg", "jmp"]);
}

#[test]
fn the_example_is_short_and_builds_without_warnings() {
    let text = std::fs::read_to_string(Path::new(ROOT).join("examples/sdt-hello/hello.c")).unwrap();
    assert!(text.lines().count() <= 25);
    if needs::program("make")
        && needs::program("objdump")
        && let Some(hello) = build("examples/sdt-hello", "hello")
    {
        let nops = listing(&hello, "tick").iter().filter(|insn| insn.starts_with("nopl")).count();
        assert_eq!(nops, 1);
    }
}

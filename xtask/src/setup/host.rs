//! The Debian packages that have to be installed on this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::exec;
use crate::kernels::{Kernel, Name};
use crate::setup::own;

/// A program and the package that has it.
const PROGRAMS: [(&str, &str); 9] = [
    ("apt-get", "apt"),
    ("bc", "bc"),
    ("gcc", "gcc"),
    ("ldd", "libc-bin"),
    ("make", "make"),
    ("mkfs.ext4", "e2fsprogs"),
    ("modinfo", "kmod"),
    ("objdump", "binutils"),
    ("xz", "xz-utils"),
];

/// A file that shows whether a package without a program of its own is installed.
const FILES: [(&str, &str); 2] =
    [("/usr/include/stdio.h", "libc6-dev"), ("/usr/lib/x86_64-linux-gnu/libelf.so.1", "libelf1")];

/// The programs that building a kernel needs.
const BUILD_PROGRAMS: [(&str, &str); 4] =
    [("bison", "bison"), ("flex", "flex"), ("openssl", "openssl"), ("pahole", "dwarves")];
const BUILD_FILES: [(&str, &str); 2] =
    [("/usr/include/libelf.h", "libelf-dev"), ("/usr/include/openssl/bio.h", "libssl-dev")];

/// The programs that building our packages needs.
const PACKAGE_PROGRAMS: [(&str, &str); 6] = [
    ("dpkg-buildpackage", "dpkg-dev"),
    ("dh", "debhelper"),
    ("dh_dkms", "dh-dkms"),
    ("fakeroot", "fakeroot"),
    ("lintian", "lintian"),
    ("rpmbuild", "rpm"),
];

/// Installs what building our packages needs, and what their test does.
pub fn ensure_for_packages(test: bool) -> Result<()> {
    let mut programs = PACKAGE_PROGRAMS.to_vec();
    if test {
        programs.push(("mmdebstrap", "mmdebstrap"));
    }
    let missing = programs.into_iter().filter(|(program, _)| !exec::in_path(program));
    install(&missing.map(|(_, package)| package).collect::<Vec<_>>())
}

/// What reads, compiles and executes programs of arm64.
const ARM64_PROGRAMS: [(&str, &str); 5] = [
    ("aarch64-linux-gnu-objdump", "binutils-aarch64-linux-gnu"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("qemu-aarch64-static", "qemu-user-static"),
    ("perf", "linux-perf"),
    ("llvm-symbolizer", "llvm"),
];
const ARM64_FILES: [(&str, &str); 1] = [("/usr/aarch64-linux-gnu/lib/libc.a", "libc6-dev-arm64-cross")];

/// Installs what the tests on kernels and programs of arm64 need.
pub fn ensure_for_arm64() -> Result<()> {
    let programs = ARM64_PROGRAMS.into_iter().filter(|(program, _)| !exec::in_path(program));
    let files = ARM64_FILES.into_iter().filter(|(file, _)| !Path::new(file).exists());
    install(&programs.chain(files).map(|(_, package)| package).collect::<Vec<_>>())
}

/// The packages that are missing.
pub fn missing(kernels: &[Name]) -> Vec<&'static str> {
    let mut programs = PROGRAMS.to_vec();
    // perf lists the inlined copies that it finds: a second opinion for tests.
    programs.push(("perf", "linux-perf"));
    // gdb finds the callers of functions of programs.
    programs.push(("gdb", "gdb"));
    // clang describes copies in other ways than gcc, and dwz those of both.
    programs.extend([("clang", "clang"), ("dwz", "dwz")]);
    // The manual is rendered, and the shells' completions are read.
    programs.extend([("groff", "groff-base"), ("zsh", "zsh"), ("fish", "fish")]);
    // The client of servers of debug information.
    programs.push(("debuginfod-find", "debuginfod"));
    // It fetches the schema of OTLP, which tests decode with.
    programs.push(("pip3", "python3-pip"));
    // It reads the service of an example.
    programs.push(("systemd-analyze", "systemd"));
    if kernels.contains(&Name::Sid) {
        programs.push(("mmdebstrap", "mmdebstrap"));
    }
    let mut files = FILES.to_vec();
    if kernels.iter().any(|&name| own::is_own(name)) {
        programs.extend(BUILD_PROGRAMS);
        files.extend(BUILD_FILES);
    }
    let programs = programs.into_iter().filter(|(program, _)| !exec::in_path(program));
    let files = files.into_iter().filter(|(file, _)| !Path::new(file).exists());
    programs.chain(files).map(|(_, package)| package).collect()
}

/// Installs the missing packages, or prints how to.
pub fn ensure(kernels: &[Name]) -> Result<()> {
    install(&missing(kernels))
}

/// Installs the compiler that a kernel's headers name, if it is not there.
pub fn ensure_compiler(kernel: &Kernel) -> Result<()> {
    let (Some(headers), None) = (&kernel.headers, &kernel.build_root) else { return Ok(()) };
    let variables = fs::read_to_string(headers.join(".kernelvariables")).unwrap_or_default();
    // Debian writes `CC = … $(CROSS_COMPILE)gcc-12`.
    let compiler = variables.lines().find_map(|l| l.strip_prefix("CC ")?.rsplit(')').next());
    match compiler.map(str::trim) {
        Some(name) if name.starts_with("gcc-") && !exec::in_path(name) => install(&[name]),
        _ => Ok(()),
    }
}

fn install(packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    if !exec::in_path("apt-get") {
        bail!("these Debian packages, or what this distribution calls them, are missing: {list}");
    }
    if !rustix::process::geteuid().is_root() {
        bail!("packages are missing; as root, run\n  apt-get install --no-install-recommends {list}");
    }
    eprintln!("setup: installing {list}");
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(["-q", "-y"]);
        command
    };
    let attempt = || exec::run(apt().args(["install", "--no-install-recommends"]).args(packages));
    // The first attempt fails if the lists are missing or older than the archive.
    if attempt().is_err() {
        exec::run(apt().arg("update"))?;
        attempt()?;
    }
    Ok(())
}

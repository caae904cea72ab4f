//! The Debian packages that must be installed on this machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::kernels::{Arch, Kernel};
use crate::{cache, exec, steps};

/// A program or a file, and the package that contains it.
type Needs<'a> = &'a [(&'static str, &'static str)];

/// The programs that assemble a guest.
const GUESTS: Needs =
    &[("apt-get", "apt"), ("gcc", "gcc"), ("ldd", "libc-bin"), ("strip", "binutils"), ("xz", "xz-utils")];
const GUESTS_FILES: Needs = &[("/usr/include/stdio.h", "libc6-dev")];

/// The programs that make disks.
const DISKS: Needs = &[("mkfs.ext4", "e2fsprogs")];

/// The tools to build modules for Debian's kernels, in addition to the compiler that their headers name; objtool
/// needs libelf.
const MODULES: Needs = &[("gcc", "gcc"), ("make", "make")];
const MODULES_FILES: Needs =
    &[("/usr/include/stdio.h", "libc6-dev"), ("/usr/lib/x86_64-linux-gnu/libelf.so.1", "libelf1")];

/// The further tools to build a kernel.
const KERNELS: Needs = &[
    ("bc", "bc"),
    ("bison", "bison"),
    ("depmod", "kmod"),
    ("flex", "flex"),
    ("openssl", "openssl"),
    ("pahole", "dwarves"),
];
const KERNELS_FILES: Needs =
    &[("/usr/include/libelf.h", "libelf-dev"), ("/usr/include/openssl/bio.h", "libssl-dev")];

/// The tools that build kernels of arm64 on this machine.
const CROSS: Needs = &[
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("aarch64-linux-gnu-ld", "binutils-aarch64-linux-gnu"),
];

/// The programs that tests run or compare with.
const TESTS: Needs = &[
    ("objdump", "binutils"),
    // It lists the inlined copies that it finds: a second opinion.
    ("perf", "linux-perf"),
    // It finds the callers of functions of programs.
    ("gdb", "gdb"),
    // It describes copies differently from gcc; dwz rewrites the debug information of both.
    ("clang", "clang"),
    // It makes the programs that count their own calls.
    ("csmith", "csmith"),
    // Its functions have other names, arguments and stacks.
    ("go", "golang-go"),
    // It reads clang's own counters of executed lines.
    ("llvm-cov", "llvm"),
    ("dwz", "dwz"),
    // It packs files with split debug information.
    ("llvm-dwp", "llvm"),
    // It packs those of gcc in DWARF 5, where older ones fail.
    ("llvm-dwp-19", "llvm-19"),
    // It packs symbols into a section of a program.
    ("xz", "xz-utils"),
    // For rendering the manual, and for the shells' completions.
    ("groff", "groff-base"),
    ("zsh", "zsh"),
    ("fish", "fish"),
    // The client for debuginfod servers.
    ("debuginfod-find", "debuginfod"),
    // It fetches mdBook, and the schema with which tests decode OTLP.
    ("pip3", "python3-pip"),
    // It checks the service of an example.
    ("systemd-analyze", "systemd"),
];

const TESTS_FILES: Needs = &[
    ("/usr/include/csmith/csmith.h", "libcsmith-dev"),
    // The library of clang's own counters.
    ("/usr/share/doc/libclang-rt-dev", "libclang-rt-dev"),
];

pub(crate) fn missing_for_guests() -> Vec<&'static str> {
    missing(GUESTS, GUESTS_FILES)
}

pub(crate) fn missing_for_disks() -> Vec<&'static str> {
    missing(DISKS, &[])
}

/// The packages for building modules and, if it is built here, the kernel.
pub(crate) fn missing_for_modules(kernel: bool) -> Vec<&'static str> {
    if kernel { missing_for_kernels(Arch::Amd64) } else { missing(MODULES, MODULES_FILES) }
}

/// The packages for building kernels of an architecture, and modules for them.
pub(crate) fn missing_for_kernels(arch: Arch) -> Vec<&'static str> {
    let mut packages = [missing(MODULES, MODULES_FILES), missing(KERNELS, KERNELS_FILES)].concat();
    if arch == Arch::Arm64 {
        packages.extend(missing(CROSS, &[]));
    }
    packages
}

pub(crate) fn missing_for_tests() -> Vec<&'static str> {
    missing(TESTS, TESTS_FILES)
}

/// The packages of the missing programs and files.
fn missing(programs: Needs, files: Needs) -> Vec<&'static str> {
    let programs = programs.iter().filter(|(program, _)| !exec::in_path(program));
    let files = files.iter().filter(|(file, _)| !Path::new(file).exists());
    programs.chain(files).map(|(_, package)| *package).collect()
}

/// The tools that build our packages.
const PACKAGES: Needs = &[
    ("dpkg-buildpackage", "dpkg-dev"),
    ("dh", "debhelper"),
    ("dh_dkms", "dh-dkms"),
    ("fakeroot", "fakeroot"),
    ("lintian", "lintian"),
    ("rpmbuild", "rpm"),
];
/// dpkg-buildpackage requires the package itself, not only its contents.
const PACKAGES_FILES: Needs = &[("/usr/share/doc/build-essential", "build-essential")];
/// The tool that makes the system in which packages are tested.
const PACKAGES_TEST: Needs = &[("mmdebstrap", "mmdebstrap")];

/// The tool that strips programs of arm64.
const PACKAGES_ARM64: Needs = &[("aarch64-linux-gnu-strip", "binutils-aarch64-linux-gnu")];

/// Installs the tools to build our packages, and optionally to test them.
pub(crate) fn ensure_for_packages(arch: Arch, test: bool) -> Result<()> {
    let mut packages = missing(PACKAGES, PACKAGES_FILES);
    if arch == Arch::Arm64 {
        packages.extend(missing(PACKAGES_ARM64, &[]));
    }
    if test {
        packages.extend(missing(PACKAGES_TEST, &[]));
    }
    install(&packages)
}

/// The tools that read, compile and execute arm64 programs.
const ARM64: Needs = &[
    ("aarch64-linux-gnu-objdump", "binutils-aarch64-linux-gnu"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("qemu-aarch64-static", "qemu-user-static"),
    ("perf", "linux-perf"),
    ("llvm-symbolizer", "llvm"),
];
const ARM64_FILES: Needs = &[("/usr/aarch64-linux-gnu/lib/libc.a", "libc6-dev-arm64-cross")];

/// Installs the tools for the tests on kernels and programs of arm64.
pub(crate) fn ensure_for_arm64() -> Result<()> {
    install(&missing(ARM64, ARM64_FILES))
}

/// The tools that compile and execute libraries. QEMU's static program cannot load plugins.
const LIBRARIES: Needs =
    &[("gcc", "gcc"), ("clang", "clang"), ("llvm-cov", "llvm"), ("qemu-x86_64", "qemu-user")];
const LIBRARIES_FILES: Needs =
    &[("/usr/include/stdio.h", "libc6-dev"), ("/usr/share/doc/libclang-rt-dev", "libclang-rt-dev")];

/// Installs the tools for the tests on libraries.
pub(crate) fn ensure_for_libraries() -> Result<()> {
    install(&missing(LIBRARIES, LIBRARIES_FILES))
}

/// Installs the compiler that a kernel's headers name, if missing.
pub(crate) fn ensure_compiler(kernel: &Kernel) -> Result<()> {
    let (Some(headers), None) = (&kernel.headers, &kernel.build_root) else { return Ok(()) };
    let variables = fs::read_to_string(headers.join(".kernelvariables")).unwrap_or_default();
    // Debian writes `CC = … $(CROSS_COMPILE)gcc-12`.
    let compiler = variables.lines().find_map(|l| l.strip_prefix("CC ")?.rsplit(')').next());
    match compiler.map(str::trim) {
        Some(name) if name.starts_with("gcc-") && !exec::in_path(name) => install(&[name]),
        _ => Ok(()),
    }
}

/// Installs packages; without the rights for that, the error has the command.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    let packages = BTreeSet::from_iter(packages.iter().copied());
    if packages.is_empty() {
        return Ok(());
    }
    let list = Vec::from_iter(packages.iter().copied()).join(" ");
    if !exec::in_path("apt-get") {
        bail!("these Debian packages, or this distribution's equivalents, are missing: {list}");
    }
    if !rustix::process::geteuid().is_root() {
        bail!("packages are missing; as root, run\n  apt-get install --no-install-recommends {list}");
    }
    let log = cache::log()?;
    let run = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").args(["-q", "-y"]).args(arguments);
        exec::logged(&mut apt, &log, || ())
    };
    let attempt =
        || run(&[&["install", "--no-install-recommends"], &*Vec::from_iter(packages.clone())].concat());
    steps::step(format!("installing {list}"), |_| {
        // The first attempt fails if the lists are missing or older than the archive.
        if attempt().is_err() {
            run(&["update"])?;
            attempt()?;
        }
        Ok(())
    })
}

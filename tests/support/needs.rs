//! tests/support/needs.rs: the requirements of tests. A test that cannot run reports the missing requirement here, and
//! returns. With `KINST_REQUIRE=1` that is a failure; otherwise a line in the file named by `KINST_SKIPPED`, which
//! `cargo xtask test` counts.

#![allow(dead_code, reason = "each test needs some of it")]

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The command that installs programs and kernels.
const SETUP: &str = "cargo xtask setup";

/// The Debian kernels that guests run.
const KERNELS: [&str; 4] = ["6.1", "6.12", "7.2", "7.3"];

/// Reports that a test cannot run: `what` is missing, and `how` provides it. Tests are skipped only by this function.
#[track_caller]
pub(crate) fn missing(what: &str, how: &str) {
    let required = std::env::var("KINST_REQUIRE").is_ok_and(|value| !value.is_empty() && value != "0");
    assert!(!required, "{what} is missing, and KINST_REQUIRE is set: {how}");
    let test = format!("{}::{}", env!("CARGO_CRATE_NAME"), name_of_the_test());
    eprintln!("skipped: {test}: no {what} ({how})");
    if let Some(path) = std::env::var_os("KINST_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        // Each line is written at once, as tests run in parallel.
        let line = format!("{what}\t{how}\t{test}\n");
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the file that KINST_SKIPPED names");
    }
}

/// Returns the test's name: the name of its thread, or, if it is the only test of its process, the argument.
fn name_of_the_test() -> String {
    let thread = std::thread::current().name().filter(|name| *name != "main").map(str::to_owned);
    let argument = || std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    thread.or_else(argument).unwrap_or_default()
}

/// Whether a program can be run.
#[track_caller]
pub(crate) fn program(name: &str) -> bool {
    let there = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join(name).is_file());
    if !there {
        missing(name, SETUP);
    }
    there
}

/// Returns the kernel that all tests use.
#[track_caller]
pub(crate) fn linux_6_1() -> Option<PathBuf> {
    kernel("6.1")
}

/// Returns the sysroot of a kernel by its name in setup, with debug information.
#[track_caller]
pub(crate) fn kernel(name: &str) -> Option<PathBuf> {
    let root = installed(name);
    if root.is_none() {
        missing(&format!("kernel {name}"), &format!("{SETUP} --kernel {name}"));
    }
    root
}

/// Returns the kernels named by `KINST_KERNELS`; without it all installed ones, including 6.1, which is required.
#[track_caller]
pub(crate) fn kernels() -> Vec<(&'static str, PathBuf)> {
    let named = std::env::var("KINST_KERNELS").ok();
    let all = KERNELS.into_iter().filter_map(|name| {
        let root = match &named {
            Some(named) if named.split(',').any(|named| named == name) => kernel(name),
            Some(_) => None,
            None if name == "6.1" => kernel(name),
            None => installed(name),
        };
        Some((name, root?))
    });
    all.collect()
}

/// The files from which a kernel boots.
pub(crate) struct Bootable {
    pub vmlinuz: PathBuf,
    pub config: PathBuf,
}

/// Returns the images of all kernels that guests run.
#[track_caller]
pub(crate) fn images() -> Vec<(&'static str, Bootable)> {
    let mut images = Vec::new();
    for name in KERNELS {
        match cache().and_then(|cache| image(&cache.join("bootable").join(name))) {
            Some(image) => images.push((name, image)),
            None => missing(&format!("image of the kernel {name}"), SETUP),
        }
    }
    images
}

fn image(folder: &Path) -> Option<Bootable> {
    let (vmlinuz, config) = (folder.join("vmlinuz"), folder.join("config"));
    (vmlinuz.is_file() && config.is_file()).then_some(Bootable { vmlinuz, config })
}

/// Returns the instruction decoder from the kernel's sources.
#[track_caller]
pub(crate) fn decoder() -> Option<PathBuf> {
    let dir = cache().map(|cache| cache.join("decoder")).filter(|dir| dir.join(".complete").exists());
    if dir.is_none() {
        missing("decoder of the kernel's sources", SETUP);
    }
    dir
}

/// Returns the decoder of kprobes from the sources of a kernel of arm64.
#[track_caller]
pub(crate) fn arm64_decoder(kernel: &str) -> Option<PathBuf> {
    let folder = format!("decoder-{kernel}");
    let dir = cache().map(|cache| cache.join(folder)).filter(|dir| dir.join(".complete").exists());
    if dir.is_none() {
        missing("decoder of kprobes", "cargo xtask arm64 --fetch");
    }
    dir
}

/// Returns the folder with Prometheus, node_exporter and OTLP's schema: `usr/bin`, and `python`, a module path.
#[track_caller]
pub(crate) fn monitoring() -> Option<PathBuf> {
    let dir = cache().map(|cache| cache.join("monitoring")).filter(|dir| dir.join(".complete").exists());
    if dir.is_none() {
        missing("Prometheus", SETUP);
    }
    dir
}

/// Returns Go's pprof.
#[track_caller]
pub(crate) fn pprof() -> Option<PathBuf> {
    let dir = cache().map(|cache| cache.join("pprof")).filter(|dir| dir.join(".complete").exists());
    if dir.is_none() {
        missing("pprof", SETUP);
    }
    dir.map(|dir| dir.join("pprof"))
}

/// A toolchain of Go.
#[derive(Clone)]
pub(crate) struct Go {
    /// For messages.
    pub name: &'static str,
    /// The program `go`.
    pub program: PathBuf,
    /// The value of `GOROOT`, unless it is that of the program.
    pub root: Option<PathBuf>,
}

/// Returns the toolchain of this machine, and a newer one.
#[track_caller]
pub(crate) fn golang() -> Vec<Go> {
    let mut found = Vec::new();
    if program("go") {
        found.push(Go { name: "this machine's Go", program: "go".into(), root: None });
    }
    let newer = cache().map(|cache| cache.join("golang")).filter(|dir| dir.join(".complete").exists());
    match newer.map(|dir| dir.join("usr/lib/go-1.23")) {
        Some(root) => {
            found.push(Go { name: "Go 1.23", program: root.join("bin/go"), root: Some(root) });
        }
        None => missing("newer Go", SETUP),
    }
    found
}

/// Returns the folder with the sources of libraries.
#[track_caller]
pub(crate) fn libraries() -> Option<PathBuf> {
    let dir = cache().map(|cache| cache.join("libraries")).filter(|dir| dir.join(".complete").exists());
    if dir.is_none() {
        missing("source of libraries", "cargo xtask libraries");
    }
    dir
}

/// The command that builds real programs with debug information.
pub(crate) const PROGRAMS: &str = "sh tests/support/programs.sh ~/.cache/kinst/real";

/// Returns the folder with real programs, built with debug information.
#[track_caller]
pub(crate) fn programs() -> Option<PathBuf> {
    let dir = cache().map(|cache| cache.join("real")).filter(|dir| dir.join("bin").exists());
    if dir.is_none() {
        missing("programs with debug information", PROGRAMS);
    }
    dir
}

/// Returns the kernel with its debug information.
pub(crate) fn vmlinux(root: &Path) -> Option<PathBuf> {
    let boot = std::fs::read_dir(root.join("usr/lib/debug/boot")).ok()?;
    let mut files = boot.flatten().map(|entry| entry.path());
    files.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinux-")))
}

fn installed(name: &str) -> Option<PathBuf> {
    Some(cache()?.join("kernels").join(name)).filter(|root| vmlinux(root).is_some())
}

/// Returns the directory that `cargo xtask setup` fills.
fn cache() -> Option<PathBuf> {
    std::env::var_os("KINST_CACHE").map(PathBuf::from).or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME")?);
        let base = std::env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
        Some(base.join("kinst"))
    })
}

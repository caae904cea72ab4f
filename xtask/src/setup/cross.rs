//! A small system in a folder: Debian's rustc and a C compiler for arm64 programs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::release as system;
use crate::apt::{Archive, Debian, Purpose, Suite};
use crate::{cache, crates, exec};

/// The target's name for rustc.
const TARGET: &str = "aarch64-unknown-linux-gnu";
const PACKAGES: [&str; 9] = [
    "base-files",
    "cargo",
    "coreutils",
    "dash",
    "gcc-aarch64-linux-gnu",
    "grep",
    "libc6-dev-arm64-cross",
    "rustc",
    "sed",
];
/// The standard library for the target; none of its dependencies runs here.
const LIBRARY: &str = "libstd-rust-dev";

/// The folders inside the system: the checkout, the build output, and the crates.
const BUILD: &str = "build";
const MADE: &str = "target";
/// The libraries of the compiler's programs.
const LIBRARIES: &str = "usr/aarch64-linux-gnu/lib";
const CRATES: &str = "cargo/registry";

/// The system; made if missing.
fn ensure() -> Result<PathBuf> {
    let cache = cache::dir()?;
    let root = cache.join("roots/cross-arm64");
    if cache::is_complete(&root) {
        return Ok(root);
    }
    let _lock = cache::lock()?;
    if cache::is_complete(&root) {
        return Ok(root);
    }
    cache::need_space(4 << 30, "the system that builds programs of arm64")?;
    let purpose = Purpose { brings: "the compilers for arm64", instead: "leave arm64 out" };
    let suite = Suite::WithBackports(Debian::Trixie);
    let own = Archive::open(&cache, suite, purpose)?;
    let packages = own.whole_closure(&PACKAGES)?;
    let foreign = Archive::foreign(&cache, suite, "arm64", purpose)?;
    cache::fill(&root, |dir| {
        own.unpack("the system that builds programs of arm64", &packages, dir)?;
        foreign.unpack("the standard library of arm64", &[LIBRARY.into()], dir)?;
        system::finish(dir, &[BUILD, MADE, CRATES])?;
        let mut try_out = system::program(dir, &[], "cargo");
        exec::output(try_out.arg("--version")).context("the system does not start").map(drop)
    })?;
    Ok(root)
}

/// Builds our programs for arm64, statically linked and without debug information, with the crates that this
/// machine's cargo has fetched. Returns the programs' folder.
pub(crate) fn build(checkout: &Path, made: &Path, release: bool) -> Result<PathBuf> {
    let root = ensure()?;
    let fetch = ["fetch", "--quiet", "--locked", "--target", TARGET, "--target", "x86_64-unknown-linux-gnu"];
    exec::run(crates::cargo(checkout).args(fetch))?;
    fs::create_dir_all(made).with_context(|| format!("cannot make {}", made.display()))?;
    let registry = crates::registry()?;
    let bound = [(checkout, BUILD), (made, MADE), (&*registry, CRATES)];
    let mut cargo = system::program(&root, &bound, "cargo");
    // The system's cargo must not inherit the variables of the cargo that runs this program.
    cargo.env_clear();
    let linker = OsString::from("aarch64-linux-gnu-gcc");
    let variables: [(&str, OsString); 9] = [
        ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin".into()),
        ("LC_ALL", "C.UTF-8".into()),
        ("CARGO_HOME", "/cargo".into()),
        ("CARGO_TARGET_DIR", format!("/{MADE}").into()),
        ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", "gcc".into()),
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", linker),
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-C target-feature=+crt-static".into()),
        ("CARGO_PROFILE_DEV_STRIP", "debuginfo".into()),
        ("CARGO_PROFILE_RELEASE_STRIP", "debuginfo".into()),
    ];
    cargo.envs(variables);
    cargo.args(["build", "--quiet", "--offline", "--locked", "--package", "kinst", "--bins"]);
    cargo.args(["--target", TARGET, "--manifest-path", &format!("/{BUILD}/Cargo.toml")]);
    if release {
        cargo.arg("--release");
    }
    // The linker warns about libraries that std could load at run time.
    exec::output(&mut cargo)?;
    Ok(made.join(TARGET).join(if release { "release" } else { "debug" }))
}

/// Compiles a C source of the checkout to a program of arm64 with these flags.
pub(crate) fn compile(checkout: &Path, source: &Path, flags: &[&str], program: &Path) -> Result<()> {
    let root = ensure()?;
    let folder = program.parent().context("a program is in a folder")?;
    let name = program.file_name().context("a program has a name")?;
    let canonical = |path: &Path| fs::canonicalize(path).with_context(|| format!("no {}", path.display()));
    let source = canonical(source)?;
    let inside = source.strip_prefix(canonical(checkout)?).context("the source is not in the checkout")?;
    let bound = [(checkout, BUILD), (folder, MADE)];
    let mut gcc = system::program(&root, &bound, "aarch64-linux-gnu-gcc");
    gcc.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C.UTF-8").args(flags);
    exec::run(
        gcc.arg("-o").arg(Path::new("/").join(MADE).join(name)).arg(Path::new("/").join(BUILD).join(inside)),
    )
}

/// A shared library of the programs that [`compile`] makes.
pub(crate) fn library(name: &str) -> Result<PathBuf> {
    let file = ensure()?.join(LIBRARIES).join(name);
    if !file.is_file() {
        bail!("the compiler for arm64 has no {name}");
    }
    Ok(file)
}

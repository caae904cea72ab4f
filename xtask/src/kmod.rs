//! Building the kernel module, outside the checkout, once for each kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail};

use crate::kernels::{Kernel, Name};
use crate::setup::{self, Part, release as system};
use crate::{exec, steps, workspace};

/// The folder of the product's module.
const KINST: &str = "kmod";
/// The folder of other modules for guests, each in a folder of its name.
const BESIDE: &str = "kmod/tests/vm";
/// The example driver with static probes, its folder, and the header that declares them.
const HELLO: (&str, &str) = ("hello", "examples/sdt-hello");
const SDT: &str = "include/kinst/sdt.h";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The kernel to build for
    #[arg(long, default_value_t)]
    pub kernel: Name,
    /// Fail on any warning
    #[arg(long)]
    pub deny_warnings: bool,
}

/// The treatment of the compiler's warnings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Warnings {
    Shown,
    Denied,
}

pub(crate) fn main(options: &Options) -> Result<()> {
    setup::ensure(&[Part::Kernel(options.kernel)], false)?;
    let kernel = Kernel::need(options.kernel)?;
    let warnings = if options.deny_warnings { Warnings::Denied } else { Warnings::Shown };
    match build(&kernel, warnings)? {
        Some(module) => println!("{}", module.display()),
        None => bail!("{}", why_none(&kernel)),
    }
    Ok(())
}

/// The reason why this kernel has no module.
fn why_none(kernel: &Kernel) -> String {
    if kernel.name.has_kprobes() {
        return "this checkout has no kmod/Kbuild".to_owned();
    }
    format!("{} has no kprobes, which the module needs: trace with -x backend=bpf", kernel.release)
}

/// Builds the module for this kernel unless it is up to date; `None` if the checkout has no module, or the kernel no
/// kprobes.
pub(crate) fn build(kernel: &Kernel, warnings: Warnings) -> Result<Option<PathBuf>> {
    if !kernel.name.has_kprobes() || !workspace::root().join(KINST).join("Kbuild").is_file() {
        return Ok(None);
    }
    build_module(kernel, KINST, "kinst", warnings).map(Some)
}

/// Builds a module of `kmod/tests/vm`, or the example driver with static probes.
pub(crate) fn build_beside(kernel: &Kernel, name: &str) -> Result<PathBuf> {
    let beside = format!("{BESIDE}/{name}");
    let folder = if name == HELLO.0 { HELLO.1 } else { &beside };
    build_module(kernel, folder, name, Warnings::Shown)
}

fn build_module(kernel: &Kernel, folder: &str, name: &str, warnings: Warnings) -> Result<PathBuf> {
    let source = workspace::root().join(folder);
    let headers = kernel.headers.as_deref().with_context(|| {
        format!(
            "the headers of {} are missing: set KINST_HEADERS, or run `cargo xtask setup`",
            kernel.release
        )
    })?;
    let folder = workspace::target().join(folder).join(&kernel.release);
    fs::create_dir_all(&folder)?;
    let _lock = lock(&folder)?;
    let (work, stamp) = (folder.join("src"), folder.join("stamp"));
    let built = work.join(name).with_extension("ko");
    // A locally built kernel can be rebuilt with another configuration.
    let configured = fs::metadata(headers.join("include/config/auto.conf")).and_then(|m| m.modified()).ok();
    let key = format!("{}\n{configured:?}\n{}", headers.display(), fingerprint(&source)?);
    // `kinst/sdt.h` is not in the folder of the driver that includes it.
    let sdt = workspace::root().join(SDT);
    let key = format!("{key}{:?}\n", fs::metadata(&sdt)?.modified()?);
    let done = fs::read_to_string(&stamp).unwrap_or_default();
    // A module built without a warning satisfies both settings.
    let clean = done == format!("clean\n{key}");
    if built.is_file() && (clean || (warnings == Warnings::Shown && done == format!("\n{key}"))) {
        return Ok(built);
    }
    let _ = fs::remove_file(&stamp);
    mirror(&source, &work)?;
    fs::create_dir_all(work.join("kinst"))?;
    copy(&sdt, &work.join("kinst/sdt.h"))?;
    let made = steps::step(format!("building {name}.ko"), |_| make(kernel, headers, &work, warnings));
    let warned = made?;
    if warned && warnings == Warnings::Denied {
        bail!("building the module for {} warned", kernel.release);
    }
    fs::metadata(&built).with_context(|| format!("the build left no {name}.ko"))?;
    let grade = if warnings == Warnings::Denied { "clean" } else { "" };
    fs::write(&stamp, format!("{grade}\n{key}"))?;
    Ok(built)
}

fn lock(folder: &Path) -> Result<fs::File> {
    let file = fs::File::create(folder.join("lock"))?;
    file.lock()?;
    Ok(file)
}

/// Runs kbuild, shows its messages, and returns whether it warned.
fn make(kernel: &Kernel, headers: &Path, work: &Path, warnings: Warnings) -> Result<bool> {
    let (mut command, headers, work) = match &kernel.build_root {
        Some(root) => {
            (system::make(kernel.arch, root, work), system::inside(root, headers), system::inside(root, work))
        }
        None => {
            let mut command = Command::new("make");
            command.args(system::variables(kernel.arch));
            (command, headers.to_path_buf(), work.to_path_buf())
        }
    };
    command.arg("-C").arg(headers).arg(format!("M={}", work.display()));
    // kernel-doc, which W=1 calls, is Perl, which is not in every root; the module has no comments for it.
    command.args(["W=1", "cmd_checkdoc=true", &format!("-j{}", jobs())]);
    // A module's BTF needs pahole and the kernel's own BTF, and nothing here reads it.
    command.arg("CONFIG_DEBUG_INFO_BTF_MODULES=");
    command.arg(format!("KINST_INCLUDE={}", work.display()));
    if warnings == Warnings::Denied {
        command.arg("KCFLAGS=-Werror");
    }
    command.arg("modules").stdin(Stdio::null());
    let out = exec::captured(&mut command)?;
    let messages = [String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr)].concat();
    let interesting = |l: &&str| !l.starts_with("make[") && !l.starts_with("make:") && !l.starts_with("  ");
    let warned = messages.lines().any(|l| l.to_ascii_lowercase().contains("warning:"));
    if warned || !out.status.success() {
        // Paths of the copy mean nothing to an editor of the checkout.
        let shown: Vec<_> = messages.lines().filter(interesting).collect();
        let prefix = format!("{}/", work.display());
        eprintln!("{}", shown.join("\n").replace(&prefix, "kmod/"));
    }
    if !out.status.success() {
        bail!("the module does not build for {}", kernel.release);
    }
    Ok(warned)
}

fn jobs() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// The names, sizes and dates of all source files.
fn fingerprint(source: &Path) -> Result<String> {
    let mut text = String::new();
    for file in files(source)? {
        let metadata = fs::metadata(source.join(&file))?;
        let time = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        text += &format!("{} {} {time}\n", file.display(), metadata.len());
    }
    Ok(text)
}

/// The files below `source`, without the products of a manual build.
fn files(source: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let full = source.join(&folder);
        for entry in fs::read_dir(&full).with_context(|| format!("cannot read {}", full.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            if kind.is_dir() && name != "tests" && !name.starts_with('.') {
                folders.push(folder.join(&name));
            } else if kind.is_file() && is_source(&name) {
                found.push(folder.join(&name));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_source(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|e| e.to_str());
    matches!(name, "Kbuild" | "Makefile") || matches!(extension, Some("c" | "h" | "S" | "lds" | "mk" | "inc"))
}

/// Makes the sources in `to` equal to those in `from`, keeping build products and the dates that make uses.
fn mirror(from: &Path, to: &Path) -> Result<()> {
    let wanted = files(from)?;
    if to.is_dir() {
        for stale in
            files(to)?.iter().filter(|f| !wanted.contains(f) && !f.to_string_lossy().contains(".mod."))
        {
            fs::remove_file(to.join(stale))?;
        }
    }
    for file in wanted {
        let target = to.join(&file);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        copy(&from.join(&file), &target)?;
    }
    Ok(())
}

/// Copies a file with its date, unless the copy has that already.
fn copy(source: &Path, copy: &Path) -> Result<()> {
    let modified = fs::metadata(source)?.modified()?;
    if fs::metadata(copy).and_then(|m| m.modified()).is_ok_and(|time| time == modified) {
        return Ok(());
    }
    fs::copy(source, copy).with_context(|| format!("cannot copy {}", source.display()))?;
    Ok(fs::File::options().write(true).open(copy)?.set_modified(modified)?)
}

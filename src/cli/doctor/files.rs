//! cli/doctor/files.rs: debug information, BTF, and the cached index.

use super::finding::Finding;
use super::machine::Machine;
use kinst_debuginfo::{BuildId, Root};
use kinst_host::distribution::Part;
use kinst_sites::Cache;
use std::path::{Path, PathBuf};

/// The size of the index of a kernel with all its modules, with a margin.
const INDEX: u64 = 64 << 20;

/// Returns the places that cannot be traced because the kernel's debug information is missing; fewer with an index.
pub(super) fn undescribed() -> Option<&'static str> {
    let wanted = BuildId::of_running_kernel();
    if kinst_debuginfo::vmlinux_debug(&Root::running(), wanted.as_ref()).found.is_some() {
        return None;
    }
    Some(if wanted.is_some_and(|id| is_indexed(&id)) {
        "variables (locals)"
    } else {
        "inlined functions, lines and variables"
    })
}

/// Debug information of vmlinux. Without it, only entries and returns of out-of-line functions can be traced.
pub(super) fn vmlinux(machine: &Machine) -> Option<Finding> {
    let wanted = BuildId::of_running_kernel();
    let searched = kinst_debuginfo::vmlinux_debug(&Root::running(), wanted.as_ref());
    if let Some(image) = searched.found {
        let path = image.path().display();
        return Some(match wanted {
            Some(id) => Finding::good(format!("{path}, with the kernel's build id {id}")),
            None => Finding::warning(format!("{path}; the kernel shows no build id to compare")),
        });
    }
    if let Some(id) = wanted.filter(is_indexed) {
        let found = format!("none for vmlinux, but an index (build id {id}): no variables");
        return Some(Finding::good(found));
    }
    let without = "inlined functions, lines and variables cannot be traced";
    let found = match searched.refused.into_iter().next() {
        Some(kinst_debuginfo::Error::BuildId { path, file, wanted, .. }) => {
            let file = file.map_or_else(|| "none".to_owned(), |id| id.to_string());
            format!("{} has build id {file}, the kernel {wanted}: {without}", path.display())
        }
        Some(other) => format!("{other}: {without}"),
        None => format!("none for vmlinux: {without}"),
    };
    Some(Finding::warning(found).install(Part::DebugInformation, machine))
}

/// Whether the user's cache or a package has an index, which is enough for inlined functions.
fn is_indexed(id: &BuildId) -> bool {
    let mut places = Cache::of_user().into_iter().chain(Cache::of_packages(None));
    places.any(|place| place.has_index(id))
}

pub(super) fn modules(machine: &Machine) -> Option<Finding> {
    let modules = Root::running().loaded_modules();
    let by_id = |name: &str| {
        let path = BuildId::of_loaded_module(name).and_then(|id| id.path());
        path.is_some_and(|path| Path::new("/usr/lib/debug/.build-id").join(format!("{path}.debug")).exists())
    };
    let has = modules.iter().filter(|module| module.debug.is_some() || by_id(&module.name)).count();
    let indexed = |name: &str| BuildId::of_loaded_module(name).is_some_and(|id| is_indexed(&id));
    let indexed = modules.iter().filter(|module| indexed(&module.name)).count();
    let all = modules.len();
    let found = match has {
        0 if indexed > 0 => format!("none of {all} loaded modules has it, {indexed} have an index"),
        _ => format!("{has} of {all} loaded modules have it"),
    };
    if all == 0 || has > 0 || indexed > 0 {
        return Some(Finding::good(found));
    }
    Some(Finding::warning(found).install(Part::DebugInformation, machine))
}

pub(super) fn debuginfod(machine: &Machine) -> Option<Finding> {
    let Some(servers) = kinst_debuginfo::debuginfod::servers() else {
        return Some(Finding::good("not used: DEBUGINFOD_URLS is not set"));
    };
    let in_path = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
    };
    Some(match in_path("debuginfod-find") {
        true => Finding::good(format!("used for files that are not installed: {servers}")),
        false => Finding::warning("DEBUGINFOD_URLS is set, but debuginfod-find is not installed")
            .install(Part::Debuginfod, machine),
    })
}

/// The types of arguments. Debug information has them too, but takes longer to read.
pub(super) fn btf(_: &Machine) -> Option<Finding> {
    const BTF: &str = "/sys/kernel/btf/vmlinux";
    if let Ok(file) = std::fs::metadata(BTF) {
        return Some(Finding::good(format!("{BTF}, {} KiB", file.len() / 1024)));
    }
    let found = format!("no {BTF}: types come from debug information, if installed");
    let mounts = Machine::read("/proc/self/mounts").unwrap_or_default();
    let covered =
        mounts.lines().filter_map(|line| line.split(' ').nth(1)).any(|dir| dir == "/sys/kernel/btf");
    Some(match covered {
        true => {
            Finding::warning(format!("{found}; something is mounted over it")).mend("umount /sys/kernel/btf")
        }
        false => Finding::warning(found).then("boot a kernel with CONFIG_DEBUG_INFO_BTF"),
    })
}

/// The directory of the index, and whether it can be written.
pub(super) fn index(machine: &Machine) -> Option<Finding> {
    let Some(cache) = Cache::of_user() else {
        return Some(
            Finding::warning(
                "no cache directory, so every run makes it again: neither HOME nor XDG_CACHE_HOME is set",
            )
            .mend("export XDG_CACHE_HOME=/var/cache"),
        );
    };
    let dir = cache.dir();
    let shown = dir.display();
    if dir.exists() && !cache.is_ours() {
        let user = kinst_os::identity().euid;
        let found = format!("{shown} belongs to another user, or others may write to it: it is not used");
        return Some(
            Finding::warning(found).mend(format!("chown -R {user} {shown} && chmod -R go-w {shown}")),
        );
    }
    let files = std::fs::read_dir(dir).map_or(0, |entries| entries.flatten().count());
    if files > 0 {
        return Some(Finding::good(format!("{files} files in {shown}")));
    }
    let existing = nearest(dir);
    if !kinst_os::may_write(&existing) {
        let found = format!("{} cannot be written to: every run makes the index again", existing.display());
        let mend = if machine.root { "export XDG_CACHE_HOME=/var/tmp" } else { "export XDG_CACHE_HOME=/tmp" };
        return Some(Finding::warning(found).mend(mend));
    }
    Some(Finding::good(format!(
        "none yet in {shown}; the first run that needs it makes it, or dtrace --index"
    )))
}

pub(super) fn space(_: &Machine) -> Option<Finding> {
    let cache = Cache::of_user()?;
    let dir = nearest(cache.dir());
    let free = kinst_os::free_bytes(&dir)?;
    let found = format!("{} MiB free for the index in {}", free >> 20, dir.display());
    if free >= INDEX {
        return Some(Finding::good(found));
    }
    let found = format!("{found}; it may need {} MiB", INDEX >> 20);
    let elsewhere = ["/var/cache", "/var/tmp", "/tmp", "/dev/shm"].into_iter();
    let mut roomy = elsewhere.filter(|dir| {
        kinst_os::may_write(Path::new(dir))
            && kinst_os::free_bytes(Path::new(dir)).is_some_and(|free| free >= INDEX)
    });
    Some(match roomy.next() {
        Some(dir) => Finding::warning(found).mend(format!("export XDG_CACHE_HOME={dir}")),
        None => {
            Finding::warning(found).then("free space there, or set XDG_CACHE_HOME to a directory with enough")
        }
    })
}

/// Returns the directory, or its nearest existing ancestor.
fn nearest(dir: &Path) -> PathBuf {
    dir.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/")).to_owned()
}

//! fuzz/src/index.rs: indices on disk with valid checksums and invalid contents.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

use kinst::probe::{Description, Fields};
use kinst::sites::{Boundary, Cache, Catalog, DwarfIndex, Kernel, ProbeCatalog, SiteIndex};

const SOURCE: &str = "
extern void effect(int);
static inline __attribute__((always_inline)) int inner(int x) { if (x > 3) effect(x); return x * 7; }
static __attribute__((noinline)) int regular(int x) { return inner(x) + inner(x + 2); }
int _start(int x) { return regular(x) + inner(x + 1); }
void effect(int x) { __asm__ volatile (\"\" :: \"r\"(x)); }
";

/// A kernel that is a small program, and its indices with their names and bytes.
struct Made {
    dir: tempfile::TempDir,
    files: Vec<(PathBuf, Vec<u8>)>,
}

static MADE: LazyLock<Made> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let boot = dir.path().join("root/usr/lib/debug/boot");
    fs::create_dir_all(&boot).unwrap();
    let source = dir.path().join("small.c");
    fs::write(&source, SOURCE).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O2", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id", "-o"]);
    let output = gcc.arg(boot.join("vmlinux-6.6.6")).arg(&source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ask(dir.path(), "inner");
    let files = fs::read_dir(dir.path().join("cache")).unwrap().map(|file| file.unwrap().path());
    let files: Vec<(PathBuf, Vec<u8>)> = files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect();
    let kernel = opened(dir.path());
    kernel.index_all().unwrap();
    let folder = dir.path().join("exported");
    fs::create_dir_all(&folder).unwrap();
    kernel.export(&folder).unwrap();
    // Also the data that only an export makes.
    let source = |path: &PathBuf| path.extension() == Some("source".as_ref());
    let exported = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).filter(source);
    let files: Vec<_> =
        files.into_iter().chain(exported.map(|path| (path.clone(), fs::read(&path).unwrap()))).collect();
    assert_eq!(files.len(), 3);
    Made { dir, files }
});

/// Changes an index: the first byte chooses the file, followed by pairs of an offset and a value.
pub fn index(data: &[u8]) {
    let made = &*MADE;
    let Some((file, edits)) = data.split_first() else { return };
    let (path, whole) = &made.files[usize::from(*file) % made.files.len()];
    let mut bytes = whole.clone();
    for edit in edits.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % bytes.len();
        bytes[at] = edit[2];
    }
    // The offset of the checksum, and the start of the data that it covers: crates/sites/src/cache/file.rs.
    let checksum = crc32fast::hash(&bytes[20..]);
    bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
    // As in the product: a mapped file is never written to.
    let beside = made.dir.path().join("beside");
    fs::write(&beside, &bytes).unwrap();
    fs::rename(&beside, path).unwrap();
    for function in ["inner", "regular", "in*"] {
        ask(made.dir.path(), function);
    }
    import(made.dir.path(), &bytes);
}

fn opened(dir: &Path) -> Kernel {
    let kernel = Kernel::sysroot(&dir.join("root"), None).unwrap();
    kernel.with_cache(Some(Cache::at(&dir.join("cache"))), None)
}

/// Takes the file from a folder, if it is sound.
fn import(dir: &Path, bytes: &[u8]) {
    let folder = dir.join("folder");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("one.sites"), bytes).unwrap();
    let _ = opened(dir).import(&folder, &Cache::at(&dir.join("imported")));
}

fn ask(dir: &Path, function: &str) {
    let kernel = Arc::new(opened(dir));
    let index = DwarfIndex::new(kernel.clone(), []);
    for boundary in [Boundary::Entry, Boundary::Return] {
        let _ = index.inline_sites("", function, boundary);
    }
    let catalog = Catalog::new(kernel, None);
    let _ = catalog.matches(&described("fbt", "", function, ""));
    let _ = catalog.matches(&described("kinst", "", function, ""));
}

fn described(provider: &str, module: &str, function: &str, name: &str) -> Description {
    Description::Fields(Box::new(Fields::new(provider, module, function, name)))
}

//! tests/outside/index.rs: the indices on disk: they agree with the debug information, and damaged ones are never used.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kinst::sites::{Boundary, Cache, DwarfIndex, FunctionSites, InlineProbe, Kernel, SiteIndex};

use crate::commands::run;
use crate::sysroot::sysroot;

const FUNCTIONS: [&str; 5] = ["inl", "in_twice", "aliased", "in_module", "no_such_function"];

/// The answers for each function, with or without indices.
type Answers = BTreeMap<(&'static str, bool), Result<Vec<FunctionSites>, String>>;

fn answers(root: &Path, cache: Option<&Path>) -> Answers {
    let kernel = Kernel::sysroot(root, None).expect("a kernel").with_cache(cache.map(Cache::at), None);
    let probe = |function: &str| InlineProbe { module: String::new(), function: function.to_owned() };
    let index = DwarfIndex::new(Arc::new(kernel), FUNCTIONS.map(probe));
    let mut answers = Answers::new();
    for function in FUNCTIONS {
        for (boundary, is_return) in [(Boundary::Entry, false), (Boundary::Return, true)] {
            let sites = index.inline_sites("", function, boundary).map_err(|error| error.title);
            answers.insert((function, is_return), sites);
        }
    }
    answers
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn the_index_says_what_the_debug_information_says() {
    let (root, cache) = (sysroot(), tempfile::tempdir().expect("a directory"));
    let dir = cache.path().join("made/on/demand");
    let walked = answers(root.path(), None);
    assert!(walked.values().filter(|answer| answer.is_ok()).count() >= 8, "{walked:?}");
    assert_eq!(answers(root.path(), Some(&dir)), walked, "made");
    // vmlinux, the module, and the directory of both.
    let made = files(&dir);
    assert_eq!(made.len(), 3, "{made:?}");
    let before: Vec<_> =
        made.iter().map(|file| fs::metadata(file).expect("a file").modified().ok()).collect();
    assert_eq!(answers(root.path(), Some(&dir)), walked, "cached");
    let after: Vec<_> = made.iter().map(|file| fs::metadata(file).expect("a file").modified().ok()).collect();
    assert_eq!(before, after, "nothing is made twice");
}

#[test]
fn a_damaged_index_is_made_anew() {
    let (root, cache) = (sysroot(), tempfile::tempdir().expect("a directory"));
    let walked = answers(root.path(), Some(cache.path()));
    for file in files(cache.path()) {
        let whole = fs::read(&file).expect("a file");
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let mut damaged: Vec<(String, Vec<u8>)> = vec![
            ("empty".to_owned(), Vec::new()),
            ("text".to_owned(), b"not an index".to_vec()),
            ("with more".to_owned(), [&whole[..], b"more"].concat()),
        ];
        for len in (1..whole.len()).step_by(whole.len() / 12 + 1) {
            damaged.push((format!("cut to {len}"), whole[..len].to_vec()));
        }
        for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            damaged.push((format!("flipped at {at}"), flipped));
        }
        for (how, bytes) in damaged {
            fs::write(&file, bytes).expect("a file");
            assert_eq!(answers(root.path(), Some(cache.path())), walked, "{name} {how}");
            assert!(fs::read(&file).expect("a file") == whole, "{name} {how}: not made anew");
        }
    }
}

#[test]
fn an_index_of_another_file_is_not_taken() {
    let (root, cache) = (sysroot(), tempfile::tempdir().expect("a directory"));
    let walked = answers(root.path(), Some(cache.path()));
    let files = files(cache.path());
    let sites: Vec<&PathBuf> =
        files.iter().filter(|file| file.extension().is_some_and(|ext| ext == "sites")).collect();
    // Swap the files' contents.
    let (one, other) = (fs::read(sites[0]).expect("a file"), fs::read(sites[1]).expect("a file"));
    fs::write(sites[0], &other).expect("a file");
    fs::write(sites[1], &one).expect("a file");
    assert_eq!(answers(root.path(), Some(cache.path())), walked);
}

#[test]
fn a_changed_module_is_seen() {
    let (root, cache) = (sysroot(), tempfile::tempdir().expect("a directory"));
    let walked = answers(root.path(), Some(cache.path()));
    assert!(walked[&("in_module", false)].is_ok());
    fs::remove_file(root.path().join("lib/modules/6.6.6/kernel/extra-mod.ko")).expect("a file");
    let without = answers(root.path(), Some(cache.path()));
    assert!(without[&("in_module", false)].is_err());
    assert_eq!(without, answers(root.path(), None));
}

/// The list of a sysroot's modules is cached; it does not show a file that is rewritten in place.
#[test]
fn a_module_that_is_rewritten_in_its_place_is_seen() {
    let (root, cache) = (sysroot(), tempfile::tempdir().expect("a directory"));
    let module = root.path().join("lib/modules/6.6.6/kernel/extra-mod.ko");
    // A directory that was changed very recently is walked again.
    let settle = || {
        let root = root.path().to_str().expect("text");
        run("find", &[root, "-type", "d", "-exec", "touch", "-d", "2020-01-01", "{}", "+"]);
    };
    settle();
    let listed = || files(cache.path()).iter().any(|file| file.extension() == Some("tree".as_ref()));
    let walked = answers(root.path(), Some(cache.path()));
    assert!(walked[&("in_module", false)].is_ok() && listed());
    assert_eq!(answers(root.path(), Some(cache.path())), walked, "by the list");
    let whole = fs::read(&module).expect("a file");
    fs::write(&module, "not a module any more").expect("a file");
    settle();
    let without = answers(root.path(), Some(cache.path()));
    assert!(without[&("in_module", false)].is_err(), "{without:?}");
    assert!(!listed(), "not believed again");
    assert_eq!(answers(root.path(), Some(cache.path())), answers(root.path(), None));
    assert!(listed());
    fs::write(&module, whole).expect("a file");
    settle();
    assert_eq!(answers(root.path(), Some(cache.path())), walked);
}

/// The exits of copies come from the instructions: an answer without them is not cached.
#[test]
fn a_module_without_its_code_is_asked_again() {
    let (root, cache) = (sysroot(), tempfile::tempdir().expect("a directory"));
    let module = root.path().join("lib/modules/6.6.6/kernel/extra-mod.ko");
    let debug = root.path().join("usr/lib/debug/lib/modules/6.6.6/kernel/extra-mod.ko");
    fs::create_dir_all(debug.parent().expect("a parent")).expect("directories");
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    run("objcopy", &["--only-keep-debug", &text(&module), &text(&debug)]);
    run("strip", &["--strip-debug", &text(&module)]);
    let whole = fs::read(&module).expect("a file");
    fs::write(&module, "no module").expect("a file");
    let without = answers(root.path(), Some(cache.path()));
    assert!(without[&("in_module", false)].is_ok(), "{without:?}");
    let kept = || files(cache.path()).into_iter().filter(|file| file.extension() == Some("sites".as_ref()));
    assert_eq!(kept().count(), 1, "vmlinux");
    fs::write(&module, whole).expect("a file");
    let walked = answers(root.path(), None);
    assert_ne!(walked[&("in_module", true)], without[&("in_module", true)]);
    assert_eq!(answers(root.path(), Some(cache.path())), walked);
    assert_eq!(kept().count(), 2);
}

/// Files that others can write are neither read nor written to.
#[test]
fn what_others_can_write_is_not_believed() {
    let (root, cache) = (sysroot(), tempfile::tempdir().expect("a directory"));
    let walked = answers(root.path(), Some(cache.path()));
    for file in files(cache.path()) {
        let whole = fs::read(&file).expect("a file");
        fs::set_permissions(&file, Permissions::from_mode(0o666)).expect("our file");
        assert_eq!(answers(root.path(), Some(cache.path())), walked);
        let mode = fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}: made anew", file.display());
        assert!(fs::read(&file).expect("a file") == whole);
    }
    let open = tempfile::tempdir().expect("a directory");
    fs::set_permissions(open.path(), Permissions::from_mode(0o777)).expect("our directory");
    assert_eq!(answers(root.path(), Some(open.path())), walked);
    assert_eq!(files(open.path()), Vec::<PathBuf>::new(), "nothing is cached in a world-writable directory");
}

#[test]
fn a_place_that_is_no_directory_is_done_without() {
    let (root, cache) = (sysroot(), tempfile::tempdir().expect("a directory"));
    let file = cache.path().join("file");
    fs::write(&file, "").expect("a file");
    assert_eq!(answers(root.path(), Some(&file.join("below"))), answers(root.path(), None));
}

#[test]
fn several_at_once_make_one_index() {
    let (root, cache) = (sysroot(), tempfile::tempdir().expect("a directory"));
    let walked = answers(root.path(), None);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| answers(root.path(), Some(cache.path())))).collect();
        for one in all {
            assert_eq!(one.join().expect("an answer"), walked);
        }
    });
    assert_eq!(files(cache.path()).len(), 3, "no other file is left");
}

/// A Rust name, `eq<[u8]>`, has characters with a meaning in globs.
#[test]
fn a_name_may_look_like_a_glob() {
    let root = sysroot();
    let vmlinux = root.path().join("usr/lib/debug/boot/vmlinux-6.6.6");
    let mut bytes = fs::read(&vmlinux).expect("a file");
    let (old, new) = (b"in_twice\0", b"in<[u8]>\0");
    let places: Vec<usize> =
        (0..bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[*at..*at + new.len()].copy_from_slice(new));
    fs::write(&vmlinux, bytes).expect("a file");
    let kernel = Arc::new(Kernel::sysroot(root.path(), None).expect("a kernel"));
    for name in ["in<[u8]>", "in<*"] {
        let index = DwarfIndex::new(kernel.clone(), []);
        let found = index.inline_sites("", name, Boundary::Entry).expect("sites");
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert_eq!(found[0].sites.len(), 1, "{name}: {found:?}");
    }
}

#[test]
fn globs_over_functions_have_a_limit() {
    let (root, cache) = (sysroot(), tempfile::tempdir().expect("a directory"));
    for cache in [None, Some(Cache::at(cache.path()))] {
        let kernel = Kernel::sysroot(root.path(), None).expect("a kernel").with_cache(cache, None);
        let kernel = Arc::new(kernel);
        let glob = |most: usize, pattern: &str| {
            let index = DwarfIndex::new(kernel.clone(), []).with_max_probes(most, usize::MAX);
            index.inline_sites("", pattern, Boundary::Entry)
        };
        let all = glob(1000, "in_*").expect("sites");
        let one_by_one: Vec<FunctionSites> =
            ["in_module", "in_twice"].iter().flat_map(|name| glob(1000, name).expect("sites")).collect();
        assert_eq!(all, one_by_one);
        let count: usize = all.iter().map(|function| function.sites.len() + function.out_of_line.len()).sum();
        let title = glob(count - 1, "in_*").expect_err("too many").title;
        // With an index, the count is known before the functions are.
        let rest = title.strip_prefix(&format!("`in_*` would become {count} probes")).expect("that many");
        assert!([" in 2 functions", " or more"].contains(&rest), "{title}");
        assert_eq!(
            glob(1000, "no_such_*").expect_err("none").title,
            "no function in the kernel 6.6.6 or its modules matches `no_such_*`"
        );
    }
}

//! tests/outside/carried.rs: exported and imported indices: they give the same answers without debug files, and
//! damaged ones are refused.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kinst::dwarf::Frame;
use kinst::probe::{Description, Fields};
use kinst::sites::listing::Searched;
use kinst::sites::listing::disas::{Disassembler, Disassembly};
use kinst::sites::{
    Boundary, Cache, Catalog, DwarfIndex, FunctionSites, InlineProbe, Kernel, ProbeCatalog, SiteIndex,
    SourceLine,
};

use crate::commands::run;
use crate::needs;
use crate::sysroot::sysroot;

const FUNCTIONS: [&str; 6] = ["inl", "in_twice", "aliased", "in_module", "hoisted", "no_such_function"];

type Answers = BTreeMap<(String, bool), Result<Vec<FunctionSites>, String>>;

fn answers(kernel: Kernel, functions: &[&str]) -> Answers {
    let probe = |function: &&str| InlineProbe { module: String::new(), function: (*function).to_owned() };
    let index = DwarfIndex::new(Arc::new(kernel), functions.iter().map(probe));
    let mut answers = Answers::new();
    for function in functions {
        for (boundary, is_return) in [(Boundary::Entry, false), (Boundary::Return, true)] {
            let sites = index.inline_sites("", function, boundary).map_err(|error| error.title);
            answers.insert(((*function).to_owned(), is_return), sites);
        }
    }
    answers
}

fn kernel(root: &Path, cache: &Path) -> Kernel {
    Kernel::sysroot(root, None).expect("a kernel").with_cache(Some(Cache::at(cache)), None)
}

/// A sysroot with a bootable kernel, its answers, and its exported index.
struct Exported {
    root: tempfile::TempDir,
    work: tempfile::TempDir,
    answers: Answers,
    descriptions: Vec<Result<String, String>>,
    file: PathBuf,
}

/// Lines, instructions, frames and copies, as text.
fn descriptions(kernel: Kernel) -> Vec<Result<String, String>> {
    let kernel = Arc::new(kernel);
    let index = DwarfIndex::new(kernel.clone(), []);
    let lines = [("twice", 13), ("in_module", 7), ("in_module", 99), ("inl", 1), ("repeated", 20)];
    let line = |(function, line): (&str, u64)| {
        let found = index.line_sites("", function, &SourceLine { file: None, line });
        found.map(|sites| format!("{sites:?}")).map_err(|error| error.title)
    };
    let mut answers: Vec<_> = lines.into_iter().map(line).collect();
    for function in ["repeated", "in_module", "inl", "caller", "extra_mod`twice"] {
        let found = Disassembler::new(Searched::Kernel { kernel: &kernel, live: None }).disassemble(function);
        let listed = |found: Disassembly| {
            // The ids of entries come from the debug information; the ids of origins do not.
            let frames = |frames: &[Frame]| -> Vec<String> {
                let shown = |frame: &Frame| format!("{} {:?} {:?}", frame.name, frame.call, frame.ranges);
                frames.iter().map(shown).collect()
            };
            let listings = found.listings.iter().map(|listing| {
                let lines = listing.instructions.iter().map(|insn| {
                    let (text, refused) = (&insn.text, &insn.refused);
                    format!("{} {text} {:?} {:?} {refused:?}", insn.address, insn.place, frames(&insn.frames))
                });
                let lines: Vec<String> = lines.collect();
                let copy = listing.copy.as_ref().map(|copy| (&copy.function, &copy.caller, &copy.entries));
                format!("{} {copy:?} {:?}\n{}", listing.function, listing.source, lines.join("\n"))
            });
            listings.collect::<Vec<String>>().join("\n")
        };
        answers.push(found.map(listed).map_err(|error| error.title));
    }
    answers
}

impl Exported {
    fn new() -> Exported {
        let (root, work) = (sysroot(), tempfile::tempdir().expect("a directory"));
        let boot = root.path().join("boot");
        fs::create_dir_all(&boot).expect("a directory");
        let stripped = work.path().join("stripped");
        let vmlinux = root.path().join("usr/lib/debug/boot/vmlinux-6.6.6");
        let text = |path: &Path| path.to_str().expect("text").to_owned();
        run("objcopy", &["-S", &text(&vmlinux), &text(&stripped)]);
        let stripped = fs::read(stripped).expect("a file");
        fs::write(boot.join("vmlinuz-6.6.6"), bootable(&stripped)).expect("a file");
        let cache = work.path().join("first");
        let answers = answers(kernel(root.path(), &cache), &FUNCTIONS);
        let descriptions = descriptions(kernel(root.path(), &cache));
        let file = work.path().join("exported");
        let made = kernel(root.path(), &cache);
        made.index_all().expect("indices");
        assert_eq!(made.export(&file).expect("a file").modules, 2);
        Exported { root, work, answers, descriptions, file }
    }

    fn hide_debug_files(&self) {
        let root = self.root.path();
        fs::remove_dir_all(root.join("usr/lib/debug")).expect("a directory");
        let module = root.join("lib/modules/6.6.6/kernel/extra-mod.ko");
        run("strip", &["--strip-debug", module.to_str().expect("text")]);
    }
}

/// A bzImage around a kernel, by the kernel's boot protocol.
fn bootable(kernel: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(kernel).expect("gzip");
    let payload = gzip.finish().expect("gzip");
    let mut file = vec![0; 2 * 512];
    file[0x1f1] = 1;
    file[0x202..0x208].copy_from_slice(b"HdrS\x08\x02");
    file[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    [file, payload].concat()
}

#[test]
fn without_debug_files_it_answers_as_with_them() {
    let exported = Exported::new();
    let (root, work) = (exported.root.path(), exported.work.path());
    assert!(
        exported.answers.values().filter(|answer| answer.is_ok()).count() >= 10,
        "{:?}",
        exported.answers
    );
    exported.hide_debug_files();
    let cache = work.join("second");
    // Conclusions from before the import are discarded.
    let without = answers(kernel(root, &cache), &FUNCTIONS);
    assert!(without[&("inl".to_owned(), false)].is_err());

    let imported = kernel(root, &cache).import(&exported.file, &Cache::at(&cache)).expect("an import");
    assert_eq!((imported.release.as_str(), imported.files, imported.ours), ("6.6.6", 2, Some(2)));
    for _ in 0..2 {
        assert_eq!(answers(kernel(root, &cache), &FUNCTIONS), exported.answers);
    }
    let without = descriptions(kernel(root, &cache));
    assert!(without.iter().filter(|answer| answer.is_ok()).count() >= 3, "{without:?}");
    assert_eq!(without, exported.descriptions);
    // The module's addresses come from a file with a different section layout.
    let catalog = Catalog::new(Arc::new(kernel(root, &cache)), None);
    let fields = Fields::new("kinst", "extra_mod", "twice", "0");
    let found = catalog.matches(&Description::Fields(Box::new(fields)));
    assert_eq!(found.map(|found| found.len()).unwrap_or(0), 1);
}

#[test]
fn a_package_may_bring_them() {
    let exported = Exported::new();
    let (root, work) = (exported.root.path(), exported.work.path());
    let folder = root.join("usr/share/kinst/index");
    fs::create_dir_all(&folder).expect("a directory");
    kernel(root, &work.join("first")).export(&folder).expect("files");
    exported.hide_debug_files();
    let brought = || {
        let kernel = Kernel::sysroot(root, None).expect("a kernel");
        kernel.with_brought(Cache::of_packages(Some(root)))
    };
    assert_eq!(answers(brought(), &FUNCTIONS), exported.answers);
    let cached = || brought().with_cache(Some(Cache::at(&work.join("third"))), None);
    assert!(answers(kernel(root, &work.join("fourth")), &FUNCTIONS) != exported.answers);
    let files = fs::read_dir(&folder).expect("a directory").map(|file| file.expect("a file").path());
    for file in files {
        fs::set_permissions(file, Permissions::from_mode(0o666)).expect("our file");
    }
    assert_ne!(answers(brought(), &FUNCTIONS), exported.answers, "others could have written them");
    assert_ne!(answers(cached(), &FUNCTIONS), exported.answers);
    // A folder can also be imported.
    let cache = Cache::at(&work.join("fifth"));
    let imported = kernel(root, &work.join("fifth")).import(&folder, &cache).expect("an import");
    assert_eq!((imported.files, imported.ours), (2, Some(2)));
    assert_eq!(answers(kernel(root, &work.join("fifth")), &FUNCTIONS), exported.answers);
}

#[test]
fn damage_is_refused_and_nothing_comes_in() {
    let exported = Exported::new();
    let (root, work) = (exported.root.path(), exported.work.path());
    let whole = fs::read(&exported.file).expect("a file");
    let (damaged, dir) = (work.join("damaged"), work.join("fresh"));
    let import = |bytes: &[u8]| {
        fs::write(&damaged, bytes).expect("a file");
        kernel(root, &dir).import(&damaged, &Cache::at(&dir)).map_err(|error| error.to_string())
    };
    let places = || (0..whole.len()).step_by(1 + whole.len() / 150);
    for at in places() {
        let cut = import(&whole[..at]).expect_err("it is cut");
        assert!(cut.contains("it is"), "{cut}");
    }
    assert!(!dir.exists(), "nothing was imported");
    let mut refused = 0;
    for at in places() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        // The release is text for humans, and zstd has bits without a meaning.
        match import(&flipped) {
            Ok(found) => assert_eq!(found.files, 2, "flipped at {at}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 100, "{refused}");
    let mut other = whole.clone();
    other[8] = 77;
    assert!(import(&other).expect_err("another version").contains("has version 77 of the index"));
    assert!(import(b"\x7fELF").expect_err("foreign").contains("not an exported index"));
    assert!(import(&whole).is_ok());
    let missing = kernel(root, &dir).import(&work.join("none"), &Cache::at(&dir)).expect_err("missing");
    assert!(missing.to_string().contains("cannot be read"), "{missing}");
}

/// Entries and returns of a real kernel and its modules, with and without the debug files.
#[test]
fn a_real_kernel_answers_as_with_its_debug_files() {
    const NAMES: [&str; 28] = [
        "get_page",
        "vfs_read",
        "list_add",
        "kfree",
        "skb_put",
        "put_page",
        "copy_from_user",
        "kmalloc",
        "atomic_inc",
        "ext4_inode_table",
        "blk_mq_rq_from_pdu",
        "dev_kfree_skb",
        "kvm_get_vcpu",
        "nf_ct_get",
        "fget_light",
        "fdget",
        "napi_schedule",
        "btrfs_leaf_key",
        "fuse_iget",
        "hlist_add_head",
        "tcp_sk",
        "more_used_split",
        "loop_iov_iter_bvec",
        "xfs_trans_ail_delete",
        "file_start_write",
        "no_such_name",
        "vring_interrupt",
        "e1000_rx_checksum",
    ];
    let Some(root) = needs::linux_6_1() else { return };
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("carried");
    let (cache, hidden, second) = (work.join("index"), work.join("hidden"), work.join("second"));
    let _ = (fs::remove_dir_all(&hidden), fs::remove_dir_all(&second));
    fs::create_dir_all(&hidden).expect("a directory");
    for tree in ["boot", "lib"] {
        std::os::unix::fs::symlink(root.join(tree), hidden.join(tree)).expect("a link");
    }
    kernel(&root, &cache).index_all().expect("indices");
    let file = work.join("exported");
    let made = kernel(&root, &cache).export(&file).expect("a file");
    println!("{} indices in {} bytes", made.modules, fs::metadata(&file).expect("a file").len());
    let imported = kernel(&hidden, &second).import(&file, &Cache::at(&second)).expect("an import");
    assert_eq!(imported.ours, Some(imported.files));
    let (with, without) = (answers(kernel(&root, &cache), &NAMES), answers(kernel(&hidden, &second), &NAMES));
    let sites = |answers: &Answers| -> usize {
        answers.values().flatten().flatten().map(|function| function.sites.len()).sum()
    };
    println!("{} sites of {} functions", sites(&with), NAMES.len());
    assert!(sites(&with) > 2000);
    assert_eq!(with, without);
}

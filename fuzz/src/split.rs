//! fuzz/src/split.rs: split debug information, packages, shared files and packed symbols, truncated and changed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use kinst::debuginfo::{Bytes, ElfFile};
use kinst::dwarf::types::Sections;
use kinst::dwarf::{self, DebugInfo, Instruction, Variables};
use kinst::types::{Type, TypeOrigin};

use super::debug::{edited, text};

/// Functions with arguments of types that have separate units, and inlined copies.
const SOURCE: &str = "
struct node { int key; struct node *next; enum colour { RED, GREEN = 7 } colour; };
struct box { struct node node; union either { int i; float f; } either; short numbers[4]; int low : 3, high : 9; };
int calls;
static inline __attribute__((always_inline)) int inner(struct node *node, int by) { calls++; return node->key + by; }
__attribute__((noinline)) int helper(struct box *box, int number) {
    int sum = inner(&box->node, number);
    if (number & 1) { int more = inner(box->node.next, sum); sum += more; }
    return sum;
}
int _start(struct box *box) { int sum = 0; for (int i = 0; i < 3; i++) sum += helper(box, i); return sum; }
";

/// A program, and a file that completes it.
struct Set {
    program: Vec<u8>,
    companion: Vec<u8>,
    /// Path by which the program names it.
    path: PathBuf,
}

const SECTIONS: [&str; 16] = [
    ".debug_info.dwo",
    ".debug_abbrev.dwo",
    ".debug_str_offsets.dwo",
    ".debug_str.dwo",
    ".debug_loc.dwo",
    ".debug_loclists.dwo",
    ".debug_rnglists.dwo",
    ".debug_types.dwo",
    ".debug_cu_index",
    ".debug_tu_index",
    ".debug_info",
    ".debug_abbrev",
    ".debug_addr",
    ".debug_rnglists",
    ".debug_line",
    ".gnu_debugdata",
];

/// Each format of gcc and of clang, as single files and in packages where a packer of this system can make one.
static SETS: LazyLock<Vec<Set>> = LazyLock::new(|| {
    let mut sets = Vec::new();
    for (compiler, format, packer) in [
        ("gcc", "-gdwarf-4", Some("dwp")),
        ("gcc", "-gdwarf-5", None),
        ("clang", "-gdwarf-4", Some("llvm-dwp")),
        ("clang", "-gdwarf-5", Some("llvm-dwp")),
    ] {
        for types in ["-fno-debug-types-section", "-fdebug-types-section"] {
            sets.extend(split(compiler, &[format, types], packer).unwrap_or_default());
        }
    }
    sets.extend(packed());
    sets
});

fn run(folder: &Path, command: &str, arguments: &[&str]) -> Option<()> {
    let output = Command::new(command).args(arguments).current_dir(folder).output().ok()?;
    output.status.success().then_some(())
}

/// `None` if the compiler is not installed.
fn split(compiler: &str, options: &[&str], packer: Option<&str>) -> Option<Vec<Set>> {
    let dir = tempfile::tempdir().ok()?;
    let folder = dir.path();
    // clang has units of types in C++ only.
    std::fs::write(folder.join("small.cc"), SOURCE.replace("int _start", "extern \"C\" int _start")).ok()?;
    let compile = ["-x", "c++", "-w", "-O2", "-gsplit-dwarf", "-fno-pie", "-c", "small.cc", "-o", "small.o"];
    run(folder, compiler, &[&compile[..], options].concat())?;
    run(folder, compiler, &["-nostdlib", "-static", "-no-pie", "small.o", "-o", "small"])?;
    let read = |name: &str| std::fs::read(folder.join(name)).ok();
    let program = read("small")?;
    let mut sets =
        vec![Set { program: program.clone(), companion: read("small.dwo")?, path: folder.join("small.dwo") }];
    if let Some(packer) = packer
        && run(folder, packer, &["-e", "small", "-o", "small.dwp"]).is_some()
    {
        sets.push(Set { program, companion: read("small.dwp")?, path: PathBuf::from("small.dwp") });
    }
    Some(sets)
}

/// A program with packed symbols, which completes itself.
fn packed() -> Option<Set> {
    let dir = tempfile::tempdir().ok()?;
    let folder = dir.path();
    std::fs::write(folder.join("small.c"), SOURCE).ok()?;
    run(folder, "gcc", &["-w", "-O2", "-g", "-nostdlib", "-static", "-no-pie", "small.c", "-o", "small"])?;
    run(folder, "objcopy", &["-S", "--keep-symbol=helper", "small", "mini"])?;
    run(folder, "xz", &["mini"])?;
    run(folder, "strip", &["small"])?;
    run(folder, "objcopy", &["--add-section=.gnu_debugdata=mini.xz", "small"])?;
    let program = std::fs::read(folder.join("small")).ok()?;
    Some(Set { companion: program.clone(), program, path: PathBuf::from("small.dwp") })
}

/// The number of sets of files, each of which was checked to have variables and types.
pub fn files() -> usize {
    for set in SETS.iter().filter(|set| set.program != set.companion) {
        let image = ElfFile::parse(Path::new("small"), Bytes::Owned(set.program.clone())).expect("a program");
        let companion = Bytes::Owned(set.companion.clone());
        image.companion(&set.path, || ElfFile::parse(&set.path, companion));
        let found = dwarf::find(&image, &["inner".to_owned()], false).expect("copies");
        assert!(
            found.functions[0].copies.len() > 1 && found.damaged.is_empty(),
            "{}: {found:?}",
            set.path.display()
        );
        assert!(variables(&image) > 10, "{}", set.path.display());
    }
    SETS.len()
}

/// Changes the program or the file that completes it: the first byte chooses which of all files, the second one the
/// section; then as in [`edited`].
pub fn split_files(data: &[u8]) {
    let [choice, part, edits @ ..] = data else { return };
    let choice = usize::from(*choice);
    let set = &SETS[choice / 2 % SETS.len()];
    let (mut program, mut companion) = (set.program.clone(), set.companion.clone());
    let changed = if choice % 2 == 0 { &mut companion } else { &mut program };
    if edited(changed, &SECTIONS, *part, edits).is_none() {
        return;
    }
    let Ok(image) = ElfFile::parse(Path::new("small"), Bytes::Owned(program)) else { return };
    // Opened in advance, so that nothing is read from the disk.
    image.companion(&set.path, || ElfFile::parse(&set.path, Bytes::Owned(companion)));
    let _ = image.for_each_code_symbol(|symbol| assert!(!symbol.name.is_empty()));
    let wanted = ["inner", "helper", "x"].map(str::to_owned);
    let _ = (dwarf::find(&image, &wanted, true), dwarf::inline_names(&image), dwarf::missing(&image));
    frames(&image);
    let _ = variables(&image);
}

fn frames(image: &ElfFile) {
    let Ok(info) = DebugInfo::open(image) else { return };
    for address in text(image) {
        let Ok(Some(body)) = info.body_at(address) else { continue };
        for frame in body.at(address) {
            let _ = info.definition(frame.origin);
        }
        let _ = info.lines_at(address);
    }
}

/// Looks up the variables at each address, their types, and the members of those; returns the number of members.
fn variables(image: &ElfFile) -> usize {
    const MOST_TYPES: usize = 200;
    let (Ok(variables), Some(sections)) = (Variables::open(image), Sections::load(image)) else {
        return 0;
    };
    let types = sections.types(TypeOrigin::File(0), &|_, _| None);
    let _ = (types.named("int"), types.tagged(kinst::types::TagKind::Struct, "node"));
    let (mut asked, mut found) = (0, 0);
    for address in text(image) {
        let instruction = Instruction { address, symbol: address..address.saturating_add(64), copy: None };
        let Ok(frames) = variables.at(&instruction, &|linked| Some(linked)) else { continue };
        for variable in frames.iter().flat_map(|frame| frame.variables()) {
            let Some(place) = variable.ty.filter(|_| asked < MOST_TYPES) else { continue };
            asked += 1;
            let mut ty = types.at(place);
            while let Type::Pointer { to, .. } = ty.resolved() {
                ty = (**to).clone();
            }
            if let Type::Record(tagged) | Type::Enum(tagged) = ty.resolved() {
                found += types.members(tagged).len();
                let _ = types.enumerators(tagged);
            }
        }
    }
    found
}

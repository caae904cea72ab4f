//! fuzz/src/debug.rs: gcc's debug information of a small program, truncated and changed.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use kinst::debuginfo::{Bytes, ElfFile};
use kinst::dwarf::{self, Caller, Callers, DebugInfo, Handlers, Registers};
use kinst::machine::Machine;

/// Functions inlined in functions, a loop, a cold part, and one function twice in another.
const SOURCE: &str = "
extern void effect(int);
static inline __attribute__((always_inline)) int inner(int x) { if (x > 3) effect(x); return x * 7; }
static inline __attribute__((always_inline)) int outer(int x) {
    int sum = 0;
    for (int i = 0; i < x; i++) { sum += inner(i); if (__builtin_expect(sum > 99, 0)) effect(sum); }
    return sum;
}
int twice(int x) { return outer(x) + inner(x + 1); }
int _start(int x) { int y = outer(x); { int z = inner(y); effect(z); } return twice(y); }
void effect(int x) { __asm__ volatile (\"\" :: \"r\"(x)); }
";

/// A program for each DWARF version, and an object file with unrelocated sections.
static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let linked = ["-nostdlib", "-static", "-no-pie"];
    let of = |format: &str, more: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        let (source, path) = (dir.path().join("small.c"), dir.path().join("small"));
        std::fs::write(&source, SOURCE).unwrap();
        let mut gcc = Command::new("gcc");
        let output = gcc.args([format, "-O2"]).args(more).arg("-o").args([&path, &source]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(&path).unwrap()
    };
    vec![of("-gdwarf-5", &linked), of("-gdwarf-4", &linked), of("-gdwarf-5", &["-c"])]
});

const SECTIONS: [&str; 7] = [
    ".debug_info",
    ".debug_abbrev",
    ".debug_line",
    ".debug_rnglists",
    ".debug_ranges",
    ".debug_aranges",
    ".debug_str",
];

/// Changes a file: the first byte chooses the file and the second the part to change, followed by pairs of an offset
/// and a value. Two more bytes at the end may truncate the file.
fn changed(data: &[u8]) -> Option<ElfFile> {
    changed_of(&FILES, &SECTIONS, data)
}

/// Does the same with other files and sections.
pub(super) fn changed_of(files: &[Vec<u8>], sections: &[&str], data: &[u8]) -> Option<ElfFile> {
    let [file, part, edits @ ..] = data else { return None };
    let mut bytes = files[usize::from(*file) % files.len()].clone();
    edited(&mut bytes, sections, *part, edits)?;
    ElfFile::parse(Path::new("small"), Bytes::Owned(bytes)).ok()
}

/// Changes a part of a file by pairs of an offset and a value; two more bytes may truncate it. `None` if it lacks the
/// section.
pub(super) fn edited(bytes: &mut Vec<u8>, sections: &[&str], part: u8, edits: &[u8]) -> Option<()> {
    let (start, len) = part_of(bytes, sections, part)?;
    let mut edits = edits.chunks_exact(3);
    for edit in &mut edits {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % len;
        bytes[start + at] = edit[2];
    }
    if let [low, high] = edits.remainder() {
        let len = usize::from(u16::from_le_bytes([*low, *high])) % bytes.len();
        bytes.truncate(len);
    }
    Some(())
}

/// Returns the range of a section in the file, or, with the same probability, the whole file.
fn part_of(bytes: &[u8], sections: &[&str], part: u8) -> Option<(usize, usize)> {
    let Some(name) = sections.get(usize::from(part) % (sections.len() + 1)) else {
        return Some((0, bytes.len()));
    };
    // The section headers of a file that was just made have 64 bytes each; the index of the name section is
    // one of the last fields of the file's header.
    let word = |at: usize, len: usize| -> usize {
        bytes[at..at + len].iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
    };
    let (headers, count, names) = (word(40, 8), word(60, 2), word(62, 2));
    let header = |index: usize| headers + index * 64;
    let names = word(header(names) + 24, 8);
    let section = (0..count).map(header).find(|at| {
        let name_at = names + word(*at, 4);
        bytes[name_at..].starts_with(name.as_bytes()) && bytes[name_at + name.len()] == 0
    })?;
    Some((word(section + 24, 8), word(section + 32, 8))).filter(|(_, len)| *len > 0)
}

/// Finds the copies of some functions, and the names of all functions.
pub fn walk(data: &[u8]) {
    let Some(image) = changed(data) else { return };
    let wanted = ["inner", "outer", "effect", "x"].map(str::to_owned);
    if let Ok(findings) = dwarf::find(&image, &wanted, true) {
        assert_eq!(findings.functions.len(), wanted.len());
        for copy in findings.functions.iter().flat_map(|function| &function.copies) {
            assert!(copy.ranges.is_sorted_by(|a, b| a.end < b.start), "{copy:?}");
        }
    }
    let _ = (dwarf::inline_names(&image), dwarf::may_know(&image, &wanted));
    for name in ["inner", "*", "<* as *>::*", "a<*>::{closure#0}"] {
        let _ = dwarf::code_meant(&image, name);
    }
}

/// The limit on errors in one input.
const ENOUGH: usize = 20;

/// Finds the functions at each address of the text.
pub fn frames(data: &[u8]) {
    let Some(image) = changed(data) else { return };
    let Ok(info) = DebugInfo::open(&image) else { return };
    let mut damaged = 0;
    for address in text(&image) {
        let found = info.body_at(address);
        damaged += usize::from(found.is_err());
        if damaged > ENOUGH {
            break;
        }
        let Ok(Some(body)) = found else { continue };
        let frames = body.at(address);
        assert!(frames.last().is_some_and(|last| last.call.is_none()));
        for frame in frames {
            assert_eq!(body.around(frame.die).first().map(|first| first.die), Some(frame.die));
            let _ = info.definition(frame.origin);
        }
    }
}

/// Finds the line of each address of the text, and the beginnings of statements.
pub fn lines(data: &[u8]) {
    let Some(image) = changed(data) else { return };
    let Ok(info) = DebugInfo::open(&image) else { return };
    let mut damaged = 0;
    for address in text(&image) {
        let found = info.lines_at(address);
        damaged += usize::from(found.is_err());
        // An unreadable unit is tried again at each address.
        if damaged > ENOUGH {
            break;
        }
        let Ok(Some(lines)) = found else { continue };
        let _ = lines.at(address);
        for statement in lines.statements(address..address.saturating_add(16)) {
            assert!((address..address.saturating_add(16)).contains(&statement.address));
        }
    }
}

/// Finds the caller at each address of the text, in a stack of words that are addresses in the stack; and the places
/// where exceptions are caught.
pub fn callers(data: &[u8]) {
    let Some(image) = changed_of(&FILES, &[".eh_frame", ".gcc_except_table"], data) else { return };
    let handlers = Handlers::of_program(&image);
    for address in text(&image) {
        assert!(handlers.has(address) || handlers.landing_pads(&image, address) == Some(Vec::new()));
    }
    let Ok(callers) = Callers::read(&image) else { return };
    let stack = |address: u64| (0x1000..0x3000).contains(&address).then_some(address ^ 0x10);
    for address in text(&image) {
        let mut registers = Registers::all(&[0x2000; 17]).expect("of x86-64");
        for _ in 0..ENOUGH {
            match callers.at(address, &registers, &stack) {
                Some(Caller::Found { registers: caller, .. }) => registers = caller,
                Some(Caller::Outermost) | None => break,
            }
        }
        let _ = callers.at(address, &Registers::none(Machine::X86_64), &|_| None);
    }
}

/// Returns the addresses of the text, limited in case the section sizes are damaged.
pub(super) fn text(image: &ElfFile) -> Vec<u64> {
    let sections = image.sections().iter().filter(|section| section.executable).take(4);
    sections.flat_map(|section| section.range().take(512)).collect()
}

//! tests/oracle/arm64.rs: arm64 kernels, instruction by instruction, compared with objdump. `cargo xtask arm64` fetches
//! them and runs this.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kinst::image::ModuleId;
use kinst::sites::{Kernel, insn_text};

use crate::binutils;
use crate::needs;

/// An instruction in objdump's notation: mnemonic and operands.
type Insn = (String, String);

/// The kernel's name in setup.
pub(crate) fn name() -> String {
    std::env::var("KINST_ARM64_KERNEL").unwrap_or_else(|_| "arm64-6.1".to_owned())
}

fn root() -> Option<PathBuf> {
    needs::kernel(&name())
}

/// The kernel with its debug information.
pub(crate) fn vmlinux() -> Option<PathBuf> {
    needs::vmlinux(&root()?)
}

fn kernel() -> Option<(Kernel, PathBuf)> {
    Some((Kernel::sysroot(&root()?, None).expect("a kernel"), vmlinux()?))
}

/// The instructions of all executable sections, by address, without bytes that objdump takes for data.
fn objdump(file: &Path) -> HashMap<u64, Insn> {
    let mut objdump = Command::new(binutils::tool("objdump", file))
        .args(["-dzw", "--no-show-raw-insn"])
        .arg(file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("objdump");
    let mut found = HashMap::new();
    let reader = BufReader::with_capacity(1 << 20, objdump.stdout.take().expect("a pipe"));
    for line in reader.lines().map(|line| line.expect("text")) {
        let Some((address, insn)) = line.split_once(":\t") else { continue };
        let Ok(address) = u64::from_str_radix(address.trim_start(), 16) else { continue };
        let (mnemonic, operands) = insn.split_once('\t').unwrap_or((insn, ""));
        let operands = operands.split("//").next().unwrap_or_default();
        let operands = operands.split(" <").next().unwrap_or_default().trim();
        found.insert(address, (mnemonic.trim().to_owned(), operands.to_owned()));
    }
    assert!(objdump.wait().expect("objdump").success());
    found
}

/// One tool prints decimal and the other hexadecimal numbers; all become decimal.
fn plain(operands: &str) -> String {
    let mut text = String::new();
    for word in operands.split_inclusive([' ', ',', '[', ']', '#', '!', '{', '}']) {
        let (word, separator) = match word.char_indices().last() {
            Some((at, last)) if " ,[]#!{}".contains(last) => word.split_at(at),
            _ => (word, ""),
        };
        let (sign, digits) = word.strip_prefix('-').map_or(("", word), |digits| ("-", digits));
        match digits.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
            Some(Ok(number)) => text += &format!("{sign}{number}"),
            _ => text += word,
        }
        text += separator;
    }
    text
}

/// Instructions whose operands have different names: system registers, and operations on caches.
fn is_of_system(mnemonic: &str) -> bool {
    ["mrs", "msr", "sys", "sysl", "dc", "ic", "at", "tlbi", "prfm", "prfum", "hint"].contains(&mnemonic)
}

/// Pairs of names of one operation: the second one is the name of its encoding.
fn is_same_mnemonic(theirs: &str, ours: &str) -> bool {
    theirs == ours
        || ours == "sys" && ["dc", "ic", "at", "tlbi"].contains(&theirs)
        || ours == "msr" && ["smstart", "smstop"].contains(&theirs)
        || ours == ".inst"
}

#[derive(Debug, Default)]
struct Counts {
    functions: usize,
    instructions: usize,
    /// With equal operands, too.
    equal: usize,
    of_system: usize,
    /// Decoded only by objdump.
    unknown: usize,
    /// Taken for data by objdump, because of the assembler's marks.
    data: usize,
    /// Outside any function, by mnemonic.
    outside: BTreeMap<String, usize>,
}

#[test]
#[ignore = "needs a kernel of arm64: cargo xtask arm64"]
fn the_whole_text_is_as_objdump_has_it() {
    let Some((kernel, vmlinux)) = kernel() else { return };
    let mut theirs = objdump(&vmlinux);
    let symbols = kernel.symbols(ModuleId::PROPER).expect("symbols");
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    let mut end = 0;
    for (name, symbol) in symbols.iter() {
        let insns = kernel.image(ModuleId::PROPER).instructions(symbol).expect("instructions");
        assert_eq!(insns.len() as u64, symbol.size / 4, "{name}");
        counts.functions += 1;
        // Aliases, and functions inside functions, were already compared.
        for insn in insns.iter().filter(|insn| symbol.address + u64::from(insn.offset) >= end) {
            let address = symbol.address + u64::from(insn.offset);
            counts.instructions += 1;
            let Some((mnemonic, operands)) = theirs.remove(&address) else {
                wrong.push(format!("{address:#x}: objdump has no instruction"));
                continue;
            };
            if mnemonic.starts_with('.') {
                counts.data += 1;
                continue;
            }
            let ours = insn_text(insn.machine, &insn.bytes, address);
            let (our_mnemonic, our_operands) = ours.split_once(' ').unwrap_or((&ours, ""));
            if !is_same_mnemonic(&mnemonic, our_mnemonic) {
                wrong.push(format!("{address:#x}: {mnemonic} {operands}: {ours}"));
            } else if our_mnemonic == ".inst" {
                counts.unknown += 1;
            } else if is_of_system(&mnemonic) || is_of_system(our_mnemonic) {
                counts.of_system += 1;
            } else if same_operands(&operands, our_operands) {
                counts.equal += 1;
            } else {
                wrong.push(format!("{address:#x}: {mnemonic} {operands}: {ours}"));
            }
        }
        end = end.max(symbol.address + symbol.size);
    }
    for (mnemonic, _) in theirs.into_values() {
        *counts.outside.entry(mnemonic).or_default() += 1;
    }
    println!("{counts:#?}");
    assert!(wrong.is_empty(), "{} differ, among them {:#?}", wrong.len(), &wrong[..wrong.len().min(40)]);
    assert!(counts.instructions > 1_000_000);
}

fn same_operands(theirs: &str, ours: &str) -> bool {
    // A branch target has no number sign.
    let ours = plain(ours);
    let theirs = plain(theirs);
    let address = |text: &str, radix| {
        let last = text.rsplit(' ').next().unwrap_or_default();
        let before = text.len() - last.len();
        u64::from_str_radix(last, radix).map(|to| (text[..before].to_owned(), to))
    };
    ours == theirs || matches!((address(&theirs, 16), address(&ours, 10)), (Ok(a), Ok(b)) if a == b)
}

/// BPF's interpreter has all its computed jumps in one function; most of the others can be read.
#[test]
#[ignore = "needs a kernel of arm64: cargo xtask arm64"]
fn jumps_through_tables_are_read() {
    let Some((kernel, _)) = kernel() else { return };
    let symbols = kernel.symbols(ModuleId::PROPER).expect("symbols");
    let callers = kernel.callers(ModuleId::PROPER).expect("code");
    let mut unread: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut read, mut targets) = (0, 0);
    for jump in &callers.marks().indirect {
        // The part that starts the kernel from UEFI contains no kernel functions.
        let Some(symbol) = symbols.containing(jump.at) else { continue };
        let own = symbol.address..symbol.address + symbol.size;
        if jump.targets.is_empty() {
            *unread.entry(symbols.name(symbol)).or_default() += 1;
        } else {
            read += 1;
            targets += jump.targets.len();
        }
        let outside = jump.targets.iter().find(|to| !own.contains(to));
        assert_eq!(outside, None, "{:#x} in {}", jump.at, symbols.name(symbol));
    }
    println!("{read} jumps with {targets} targets are read; not: {unread:#?}");
    assert!(read > 100 && unread.len() < 20);
}

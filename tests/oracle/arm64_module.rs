//! tests/oracle/arm64_module.rs: the module's code for arm64: its analysis of instructions, compared with objdump, and
//! its slots, executed by QEMU. `cargo xtask arm64` fetches the kernels and runs this.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use gimli::UnwindSection as _;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};

use crate::arch::{BRANCH, CALL, CALL_INDIRECT, JUMP, JUMP_INDIRECT, NEXT, RET, STOP};
use crate::arm64::{name, vmlinux};
use crate::{binutils, needs};

// enum kinst_arm64_kind
const ADR: u8 = 2;
const LOADS: std::ops::RangeInclusive<u8> = 3..=5;

/// The module's analysis of an instruction: struct said in kmod/tests/decode.c.
struct Said {
    target: u64,
    reason: u16,
    cond: u16,
    flow: u8,
    kind: u8,
    exclusive: u8,
}

/// Builds a program of kmod/tests.
fn program(target: &str, variables: &[String]) -> PathBuf {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one = BUILDING.lock();
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("arm64-module");
    let mut make = Command::new("make");
    make.args(["-s", "-C", concat!(env!("CARGO_MANIFEST_DIR"), "/kmod/tests"), target]).args(variables);
    assert!(make.arg(format!("OUT={}", out.display())).status().expect("make").success());
    out.join(format!("kinst_{target}"))
}

/// The output of a program for this input.
fn answer(mut program: Command, input: &[u8]) -> Vec<u8> {
    let mut child =
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program of kmod/tests");
    let (mut stdin, mut answer) = (child.stdin.take().expect("stdin"), Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).expect("a reader"));
        child.stdout.take().expect("stdout").read_to_end(&mut answer).expect("an answer");
    });
    assert!(child.wait().expect("the program").success());
    answer
}

fn said(program: &Path, address: u64, code: &[u8]) -> Vec<Said> {
    let mut decode = Command::new(program);
    decode.arg(format!("{address:x}"));
    let answer = answer(decode, code);
    let short = |record: &[u8], at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
    let each = answer.chunks_exact(16).map(|record| Said {
        target: u64::from_le_bytes(record[..8].try_into().expect("eight bytes")),
        reason: short(record, 8),
        cond: short(record, 10),
        flow: record[12],
        kind: record[13],
        exclusive: record[14],
    });
    each.collect()
}

/// The control flow of an instruction of objdump's.
fn flow(mnemonic: &str) -> u8 {
    match mnemonic {
        "b" => JUMP,
        "bl" => CALL,
        "cbz" | "cbnz" | "tbz" | "tbnz" => BRANCH,
        _ if mnemonic.starts_with("b.") || mnemonic.starts_with("bc.") => BRANCH,
        "blr" | "blraa" | "blrab" | "blraaz" | "blrabz" => CALL_INDIRECT,
        "br" | "braa" | "brab" | "braaz" | "brabz" => JUMP_INDIRECT,
        "ret" | "retaa" | "retab" => RET,
        "eret" | "eretaa" | "eretab" | "drps" | "brk" | "hlt" | "svc" | "udf" => STOP,
        _ => NEXT,
    }
}

/// The conditions of `b.cond` in the order of their numbers, and other names for some of them.
const CONDITIONS: [&[&str]; 16] = [
    &["eq", "none"],
    &["ne", "any"],
    &["cs", "hs", "nlast"],
    &["cc", "lo", "last"],
    &["mi", "first"],
    &["pl", "nfrst"],
    &["vs"],
    &["vc"],
    &["hi", "pmore"],
    &["ls", "plast"],
    &["ge", "tcont"],
    &["lt", "tstop"],
    &["gt"],
    &["le"],
    &["al"],
    &["nv"],
];

/// The number of a branch's condition: KINST_COND_* in kmod/arch/arm64/machine/text.h.
fn condition(mnemonic: &str, operands: &str) -> Option<u16> {
    let mut operands = operands.split(", ");
    let register = |name: &str| match name.get(1..)? {
        "zr" => Some(31),
        number => number.parse::<u16>().ok(),
    };
    let not = if mnemonic.ends_with("nz") { 0x2000 } else { 0 };
    match mnemonic {
        "cbz" | "cbnz" => {
            let name = operands.next()?;
            let wide = if name.starts_with('x') { 0x1000 } else { 0 };
            Some(0x8000 | not | wide | register(name)?)
        }
        "tbz" | "tbnz" => {
            let (name, bit) = (operands.next()?, operands.next()?.strip_prefix('#')?);
            Some(0xc000 | not | bit.parse::<u16>().ok()? << 5 | register(name)?)
        }
        _ => {
            let name = mnemonic.split_once('.')?.1;
            Some(0x4000 | CONDITIONS.iter().position(|names| names.contains(&name))? as u16)
        }
    }
}

/// 1 for an instruction that begins an exclusive sequence, 2 for one that ends it.
fn exclusive(mnemonic: &str) -> u8 {
    let is = |names: [&str; 2]| {
        names.iter().any(|name| {
            let size = mnemonic.strip_prefix(name).and_then(|rest| rest.strip_prefix(['r', 'p']));
            size.is_some_and(|size| ["", "b", "h"].contains(&size))
        })
    };
    match mnemonic {
        "clrex" => 2,
        _ if is(["ldx", "ldax"]) => 1,
        _ if is(["stx", "stlx"]) => 2,
        _ => 0,
    }
}

/// The address that an instruction names.
fn address(operands: &str) -> u64 {
    let names = operands.split(", ").find_map(|operand| operand.split_once(" <"));
    names.and_then(|(number, _)| u64::from_str_radix(number.trim(), 16).ok()).unwrap_or_default()
}

/// The first difference of the module's answer for an instruction of objdump's.
fn difference(mnemonic: &str, operands: &str, said: &Said) -> Option<&'static str> {
    let flows = flow(mnemonic);
    let is_literal = ["ldr", "ldrsw", "prfm"].contains(&mnemonic) && !operands.contains('[');
    let target =
        if flows != NEXT || is_literal || mnemonic.starts_with("adr") { address(operands) } else { 0 };
    let is_vector = is_literal && operands.starts_with(['s', 'd', 'q']);
    if said.flow != flows {
        return Some("flow");
    }
    if said.target != target {
        return Some("target");
    }
    if flows == BRANCH && condition(mnemonic, operands) != Some(said.cond) {
        return Some("condition");
    }
    if mnemonic.starts_with("adr") != (said.kind == ADR) {
        return Some("address");
    }
    if is_literal != (LOADS.contains(&said.kind) || is_vector && said.reason != 0) {
        return Some("literal");
    }
    if exclusive(mnemonic) != said.exclusive {
        return Some("exclusive");
    }
    (flows == STOP && said.reason == 0).then_some("no reason")
}

/// Calls a function with each instruction of the kernel: its address, mnemonic and operands by objdump, and the line.
fn disassemble(vmlinux: &Path, mut each: impl FnMut(u64, &str, &str, &str)) {
    let mut objdump = Command::new(binutils::tool("objdump", vmlinux))
        .args(["-dw", "--no-show-raw-insn"])
        .arg(vmlinux)
        .stdout(Stdio::piped())
        .spawn()
        .expect("objdump");
    let lines = BufReader::with_capacity(1 << 20, objdump.stdout.take().expect("a pipe")).lines();
    for line in lines.map(|line| line.expect("text")) {
        let Some((at, insn)) = line.split_once(":\t") else { continue };
        let Ok(at) = u64::from_str_radix(at.trim_start(), 16) else { continue };
        let (mnemonic, operands) = insn.split_once('\t').unwrap_or((insn, ""));
        // Data among the code, by the assembler's marks.
        if !mnemonic.starts_with('.') {
            each(at, mnemonic.trim(), operands.split("\t//").next().unwrap_or_default(), &line);
        }
    }
    assert!(objdump.wait().expect("objdump").success());
}

/// The answers for the instruction at an address, of those for each section by its address.
fn at<T>(sections: &BTreeMap<u64, Vec<T>>, address: u64) -> Option<&T> {
    let (start, all) = sections.range(..=address).next_back()?;
    all.get(((address - start) / 4) as usize)
}

/// Calls a function with each section of code: its address and its contents.
fn sections<T>(
    vmlinux: &Path,
    mut each: impl FnMut(&object::File, u64, &[u8]) -> Vec<T>,
) -> BTreeMap<u64, Vec<T>> {
    let data = std::fs::read(vmlinux).expect("the kernel");
    let file = object::File::parse(&*data).expect("an ELF file");
    let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
    let answers = text.map(|section| {
        let code = section.data().expect("its contents");
        (section.address(), each(&file, section.address(), &code[..code.len() / 4 * 4]))
    });
    answers.collect()
}

#[test]
#[ignore = "needs a kernel of arm64: cargo xtask arm64"]
fn the_analysis_of_all_instructions_is_that_of_objdump() {
    let Some(vmlinux) = vmlinux() else { return };
    let decode = program("decode", &[]);
    let sections = sections(&vmlinux, |_, address, code| said(&decode, address, code));
    let (mut compared, mut wrong) = (0_usize, Vec::new());
    disassemble(&vmlinux, |address, mnemonic, operands, line| {
        let Some(said) = at(&sections, address) else { return };
        compared += 1;
        if let Some(what) = difference(mnemonic, operands, said) {
            wrong.push(format!("{what}: {line}"));
        }
    });
    println!("{compared} instructions, {} differ", wrong.len());
    assert!(wrong.is_empty(), "{:#?}", &wrong[..wrong.len().min(40)]);
    assert!(compared > 1_000_000);
}

/// The answer of kprobes for an instruction: kmod/tests/kprobes.c.
const KIND: u8 = 1;
const PLACE: u8 = 2;

fn kprobes(program: &Path, file: &object::File, address: u64, code: &[u8]) -> Vec<u8> {
    let symbols = file.symbols().filter(|symbol| symbol.name().is_ok_and(|name| !name.starts_with('$')));
    let offsets = symbols.filter_map(|symbol| symbol.address().checked_sub(address));
    let starts: BTreeSet<u32> =
        offsets.filter(|offset| *offset < code.len() as u64).map(|offset| (offset / 4) as u32).collect();
    let mut input = Vec::from((code.len() as u32 / 4).to_le_bytes());
    input.extend(code);
    input.extend((starts.len() as u32).to_le_bytes());
    input.extend(starts.iter().flat_map(|start| start.to_le_bytes()));
    answer(Command::new(program), &input)
}

/// The kinds that kprobes refuses, and the module does not. A slot does not step over its instruction, so that system
/// registers, hints and calls of hypervisors keep their meaning. `casp` is not an exclusive load, although kprobes takes it
/// for one.
const MORE: [&str; 19] = [
    "autiasp", "casp", "caspal", "clearbhb", "csdb", "esb", "hint", "hvc", "mrs", "msr", "psb", "sev",
    "sevl", "smc", "smstop", "tsb", "wfe", "wfi", "yield",
];
/// The kinds that the module refuses, and kprobes does not: a trap, and a call through the register that it sets.
const LESS: [&str; 2] = ["blr", "udf"];

#[test]
#[ignore = "needs a kernel of arm64 and the source of its kprobes: cargo xtask arm64"]
fn what_kprobes_refuses() {
    let (Some(vmlinux), Some(decoder)) = (vmlinux(), needs::arm64_decoder(&name())) else { return };
    let kprobes_program = program("kprobes", &[format!("DECODER={}", decoder.display())]);
    let decode = program("decode", &[]);
    let ours = sections(&vmlinux, |_, address, code| said(&decode, address, code));
    let theirs = sections(&vmlinux, |file, address, code| kprobes(&kprobes_program, file, address, code));
    let (mut more, mut less) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    let (mut both, mut places, mut all) = (0, 0, 0);
    disassemble(&vmlinux, |address, mnemonic, _, _| {
        let (Some(ours), Some(theirs)) = (at(&ours, address), at(&theirs, address)) else { return };
        all += 1;
        places += usize::from(theirs & PLACE != 0);
        match (ours.reason != 0, theirs & KIND != 0) {
            (true, true) => both += 1,
            (false, true) => *more.entry(mnemonic.to_owned()).or_default() += 1,
            (true, false) => *less.entry(mnemonic.to_owned()).or_default() += 1,
            (false, false) => {}
        }
    });
    println!(
        "{all} instructions, {both} refused by both; kprobes takes {places} for parts of exclusive sequences"
    );
    let mut unlisted = Vec::new();
    for (who, kinds, listed) in [("kprobes", more, &MORE[..]), ("the module", less, &LESS[..])] {
        println!("refused by {who} alone: {}", kinds.values().sum::<usize>());
        for (kind, count) in kinds {
            println!("{count:10} {kind}");
            if !listed.contains(&kind.as_str()) {
                unlisted.push(kind);
            }
        }
    }
    assert!(unlisted.is_empty(), "{unlisted:?}");
}

/// Whether the caller is in the link register, by call frame information: the rows of each function's table, each with
/// its first address. The return address is column 30.
fn unsaved(file: &object::File) -> BTreeMap<u64, (u64, Vec<(u64, bool)>)> {
    let data = file.section_by_name(".debug_frame").expect("call frame information");
    let data = data.uncompressed_data().expect("its contents");
    let mut frames = gimli::DebugFrame::new(&data, gimli::LittleEndian);
    frames.set_vendor(gimli::Vendor::AArch64);
    let (bases, mut context) = (gimli::BaseAddresses::default(), gimli::UnwindContext::new());
    let (mut entries, mut functions) = (frames.entries(&bases), BTreeMap::new());
    while let Some(entry) = entries.next().expect("an entry") {
        let gimli::CieOrFde::Fde(partial) = entry else { continue };
        let function = partial.parse(gimli::DebugFrame::cie_from_offset).expect("a function");
        let mut table = function.rows(&frames, &bases, &mut context).expect("its table");
        let mut rows = Vec::new();
        while let Some(row) = table.next_row().expect("a row") {
            let is_saved = matches!(row.register(gimli::AArch64::X30), Some(gimli::RegisterRule::Offset(_)));
            rows.push((row.start_address(), !is_saved));
        }
        functions.insert(function.initial_address(), (function.len(), rows));
    }
    functions
}

/// Whether x29 is still the caller's, or again, although the pair x29 and x30 is on the stack: from its store to the
/// instruction that sets x29, and from its load on.
fn between(code: &[u32], at: usize) -> bool {
    let saves = |word: u32| word & 0xfe00_7fff == 0xa800_7bfd;
    let sets = |word: u32| word & 0xffc0_03ff == 0x9100_03fd;
    code[..at].iter().rev().take(40).take_while(|word| !sets(**word)).any(|word| saves(*word))
}

/// Code that only an alternative leads to is taken for code with a frame: in a stack, its caller is missing. The other
/// way, a stack would have a caller that is none.
#[test]
#[ignore = "needs a kernel of arm64: cargo xtask arm64"]
fn the_caller_is_in_the_link_register() {
    let Some(vmlinux) = vmlinux() else { return };
    let data = std::fs::read(&vmlinux).expect("the kernel");
    let file = object::File::parse(&*data).expect("an ELF file");
    let mut functions = unsaved(&file);
    // Rust's tables say nothing about the end of a frame.
    for symbol in file.symbols().filter(|symbol| symbol.name().is_ok_and(|name| name.starts_with("_R"))) {
        functions.remove(&symbol.address());
    }
    let text = file.section_by_name(".text").expect("the text");
    let (start, text) = (text.address(), text.data().expect("its contents"));
    let (mut input, mut known) = (Vec::new(), Vec::new());
    for (address, (size, rows)) in &functions {
        let Some(from) = address.checked_sub(start).map(|from| from as usize) else { continue };
        let Some(code) = text.get(from..from + *size as usize).filter(|code| !code.is_empty()) else {
            continue;
        };
        input.extend(address.to_le_bytes());
        input.extend(size.to_le_bytes());
        input.extend(code);
        let words = code.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
        known.push((*address, words.collect::<Vec<_>>(), rows));
    }
    let answers = answer(Command::new(program("linked", &[])), &input);
    let mut answers = answers.iter().map(|answer| *answer == 1);
    let (mut compared, mut missing, mut wrong) = (0_usize, 0, Vec::new());
    for (function, code, rows) in known {
        for at in 0..code.len() {
            let address = function + 4 * at as u64;
            let linked = answers.next().expect("an answer for each instruction");
            let unsaved = rows.iter().take_while(|row| row.0 <= address).last().is_some_and(|row| row.1);
            compared += 1;
            missing += usize::from(!linked && unsaved);
            if linked && !unsaved && !between(&code, at) {
                wrong.push(format!("{address:x}"));
            }
        }
    }
    println!("{compared} instructions, {missing} of unknown frames, {} differ", wrong.len());
    assert!(wrong.is_empty(), "{:?}", &wrong[..wrong.len().min(40)]);
    assert!(compared > 1_000_000 && missing < compared / 10_000, "{missing} of {compared}");
}

/// Instructions that depend on their address, and others, with random registers.
#[test]
#[ignore = "needs a compiler for arm64 and QEMU: cargo xtask arm64"]
fn a_slot_does_what_its_instruction_does() {
    let relocate = program("relocate", &[]);
    let times = std::env::var("KINST_RELOCATIONS").unwrap_or_else(|_| "200000".to_owned());
    let out = Command::new("qemu-aarch64-static").arg(relocate).arg(times).output().expect("QEMU");
    let said = String::from_utf8_lossy(&out.stdout);
    println!("{said}");
    assert!(out.status.success() && said.contains(" 0 differ"), "{said}");
}

//! tests/oracle/arch.rs: the kernel module's analysis of each instruction of whole kernels, compared with another decoder.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Formatter, GasFormatter, Instruction, Mnemonic, OpKind,
    Register,
};
use kinst::uapi::Reason;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use crate::needs;
use crate::numbers::Random;

/// The code of a function.
struct Run {
    address: u64,
    bytes: Vec<u8>,
}

/// The distance of slots from the code, roughly that in a kernel.
const AWAY: u64 = 0x1800_0000;
const SLOT: usize = 32;
const DETOUR: usize = 64;

/// One record of kmod/tests/arch.c.
struct Said {
    address: u64,
    target: u64,
    disp: u64,
    len: u8,
    flow: u8,
    nop: bool,
    reason: u16,
    relocated: u16,
    disp_at: u8,
    /// Whether it is memory; base, index and shift.
    operand: Option<(bool, u8, u8, u8)>,
    modrm_at: u8,
    /// The number of instructions in the detour.
    covered: u8,
    slot: [u8; SLOT],
    detour: [u8; DETOUR],
}

const RECORD: usize = 40 + SLOT + DETOUR;

impl Said {
    fn read(bytes: &[u8; RECORD]) -> Said {
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Said {
            address: long(0),
            target: long(8),
            disp: long(16),
            len: bytes[24],
            flow: bytes[25],
            nop: bytes[27] != 0,
            reason: short(28),
            relocated: short(30),
            disp_at: bytes[32],
            operand: (bytes[33] != 0).then(|| (bytes[34] != 0, bytes[35], bytes[36], bytes[37])),
            modrm_at: bytes[38],
            covered: bytes[39],
            slot: bytes[40..40 + SLOT].try_into().unwrap(),
            detour: bytes[40 + SLOT..].try_into().unwrap(),
        }
    }
}

// enum kinst_flow
pub(crate) const NEXT: u8 = 0;
pub(crate) const JUMP: u8 = 1;
pub(crate) const BRANCH: u8 = 2;
pub(crate) const CALL: u8 = 3;
pub(crate) const CALL_INDIRECT: u8 = 4;
pub(crate) const JUMP_INDIRECT: u8 = 5;
pub(crate) const RET: u8 = 6;
pub(crate) const STOP: u8 = 7;

/// Returns the program of kmod/tests/arch.c, if the decoder that it needs is set up.
fn program() -> Option<PathBuf> {
    let decoder = needs::decoder()?;
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("arch");
    // Each test is a separate process, and the first one builds it.
    let lock = std::fs::File::create(out.with_extension("lock")).expect("a file");
    lock.lock().expect("a lock");
    let mut make = Command::new("make");
    make.args(["-s", "-C", concat!(env!("CARGO_MANIFEST_DIR"), "/kmod/tests"), "arch"]);
    make.arg(format!("DECODER={}", decoder.display())).arg(format!("OUT={}", out.display()));
    assert!(make.status().expect("make").success());
    Some(out.join("kinst_arch"))
}

/// Executes detours with the module's entry code, returning through a thunk that destroys the flags.
#[test]
fn a_detour_keeps_the_flags_whatever_a_return_does_to_them() {
    let Some(decoder) = needs::decoder() else { return };
    let mut make = Command::new("make");
    make.args(["-s", "-C", concat!(env!("CARGO_MANIFEST_DIR"), "/kmod/tests"), "detour"]);
    make.arg(format!("DECODER={}", decoder.display()));
    make.arg(format!("OUT={}", PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("detour").display()));
    let out = make.output().expect("make");
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.contains("bad 0"), "{said}");
}

/// Runs the module's code on sequences of instructions. `each` gets a sequence and the results for its instructions.
fn ask(program: &Path, runs: &[Run], mut each: impl FnMut(&Run, &mut [Said])) {
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program");
    let mut input = BufWriter::with_capacity(1 << 20, child.stdin.take().expect("stdin"));
    let mut output = BufReader::with_capacity(1 << 20, child.stdout.take().expect("stdout"));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for run in runs {
                let mut head = [0; 24];
                head[..8].copy_from_slice(&run.address.to_le_bytes());
                head[8..16].copy_from_slice(&run.address.wrapping_add(AWAY).to_le_bytes());
                head[16..20].copy_from_slice(&(run.bytes.len() as u32).to_le_bytes());
                input.write_all(&head).and_then(|()| input.write_all(&run.bytes)).expect("a reader");
            }
        });
        for run in runs {
            let mut said = Vec::new();
            loop {
                let mut record = [0; RECORD];
                output.read_exact(&mut record).expect("an answer");
                said.push(Said::read(&record));
                if said.last().is_some_and(|said| said.len == 0) {
                    break;
                }
            }
            each(run, &mut said);
        }
    });
    assert!(child.wait().expect("the program").success());
}

/// Returns all functions of a kernel.
fn functions(vmlinux: &Path) -> Vec<Run> {
    let data = std::fs::read(vmlinux).expect("vmlinux");
    let file = object::File::parse(&*data).expect("ELF");
    let mut ranges = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        let size: &mut u64 = ranges.entry(symbol.address()).or_default();
        *size = (*size).max(symbol.size());
    }
    let sections: Vec<_> = file
        .sections()
        .filter(|section| section.kind() == SectionKind::Text && section.address() != 0)
        .collect();
    let code = |(address, size): (u64, u64)| {
        let section = sections.iter().find(|s| (s.address()..s.address() + s.size()).contains(&address))?;
        Some(Run { address, bytes: section.data_range(address, size).ok()??.to_vec() })
    };
    ranges.into_iter().filter_map(code).collect()
}

/// The differences by kind, with some examples of each.
#[derive(Default)]
struct Differences(BTreeMap<&'static str, (usize, Vec<String>)>);

impl Differences {
    fn add(&mut self, what: &'static str, insn: &Instruction, bytes: &[u8]) {
        let (count, examples) = self.0.entry(what).or_default();
        *count += 1;
        if examples.len() < 5 {
            let mut text = String::new();
            GasFormatter::new().format(insn, &mut text);
            examples.push(format!("{:#x}: {bytes:02x?} {text}", insn.ip()));
        }
    }
}

fn decode(bytes: &[u8], address: u64) -> Instruction {
    Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode()
}

/// Returns the flow according to iced.
fn flow(insn: &Instruction) -> u8 {
    let near = insn.op0_kind() == OpKind::NearBranch64;
    match insn.flow_control() {
        FlowControl::UnconditionalBranch if near => JUMP,
        FlowControl::ConditionalBranch => BRANCH,
        FlowControl::Call if near => CALL,
        FlowControl::IndirectCall if !is_far(insn) => CALL_INDIRECT,
        FlowControl::IndirectBranch if !is_far(insn) => JUMP_INDIRECT,
        FlowControl::Return if matches!(insn.mnemonic(), Mnemonic::Ret) => RET,
        FlowControl::Next => NEXT,
        _ => STOP,
    }
}

fn is_far(insn: &Instruction) -> bool {
    use Code::{Call_m1616, Call_m1632, Call_m1664, Jmp_m1616, Jmp_m1632, Jmp_m1664};
    matches!(insn.code(), Call_m1616 | Call_m1632 | Call_m1664 | Jmp_m1616 | Jmp_m1632 | Jmp_m1664)
}

/// Whether both instructions have the same effect, independently of their addresses.
fn is_same(one: &Instruction, other: &Instruction) -> bool {
    let operand = |at: u32| {
        one.op_kind(at) == other.op_kind(at)
            && match one.op_kind(at) {
                OpKind::Register => one.op_register(at) == other.op_register(at),
                OpKind::Memory => {
                    one.memory_base() == other.memory_base()
                        && one.memory_index() == other.memory_index()
                        && one.memory_index_scale() == other.memory_index_scale()
                        // The address of an operand that is relative to the instruction pointer.
                        && one.memory_displacement64() == other.memory_displacement64()
                        && one.memory_segment() == other.memory_segment()
                }
                kind if is_immediate(kind) => one.immediate(at) == other.immediate(at),
                _ => true,
            }
    };
    one.code() == other.code()
        && one.op_count() == other.op_count()
        && (one.has_lock_prefix(), one.has_rep_prefix(), one.has_repne_prefix())
            == (other.has_lock_prefix(), other.has_rep_prefix(), other.has_repne_prefix())
        && (0..one.op_count()).all(operand)
}

fn is_immediate(kind: OpKind) -> bool {
    use OpKind::{
        Immediate8, Immediate8to16, Immediate8to32, Immediate8to64, Immediate16, Immediate32,
        Immediate32to64, Immediate64,
    };
    [
        Immediate8,
        Immediate8to16,
        Immediate8to32,
        Immediate8to64,
        Immediate16,
        Immediate32,
        Immediate32to64,
        Immediate64,
    ]
    .contains(&kind)
}

/// A copy of code at another address.
struct Elsewhere<'a> {
    bytes: &'a [u8],
    start: u64,
    at: usize,
}

impl Elsewhere<'_> {
    fn step(&mut self) -> Instruction {
        let insn = decode(&self.bytes[self.at..], self.start + self.at as u64);
        self.at += insn.len();
        insn
    }

    fn goes_on(&self) -> bool {
        self.bytes[self.at..].iter().any(|byte| *byte != 0xcc)
    }
}

/// Returns what is wrong with a slot, if anything.
fn slot_fault(insn: &Instruction, said: &Said) -> Option<&'static str> {
    let mut slot = Elsewhere { bytes: &said.slot, start: said.address.wrapping_add(AWAY), at: 0 };
    if !runs_in(insn, said.flow, &mut slot, true) {
        return Some("the slot's instruction differs");
    }
    slot.goes_on().then_some("the slot continues past its end")
}

/// Returns what is wrong with a detour, if anything; `bytes` begin with the instructions that it covers.
fn detour_fault(first: u64, said: &Said, bytes: &[u8]) -> Option<&'static str> {
    if said.covered == 0 {
        return None;
    }
    let mut detour = Elsewhere { bytes: &said.detour, start: said.address.wrapping_add(AWAY), at: 0 };
    let around = [detour.step(), detour.step(), detour.step()];
    if around.map(|insn| insn.code()) != [Code::Pushfq, Code::Call_rel32_64, Code::Popfq] {
        return Some("the detour does not call with the flags saved");
    }
    if around[1].near_branch_target() != first.wrapping_add(AWAY) {
        return Some("the detour calls something else");
    }
    let mut from = 0;
    for number in 1..=said.covered {
        let insn = decode(&bytes[from..], said.address + from as u64);
        from += insn.len();
        // Only one of the two decodes this instruction, which is counted where the instruction itself is compared.
        if insn.is_invalid() {
            return None;
        }
        if !runs_in(&insn, flow(&insn), &mut detour, number == said.covered) {
            return Some("the detour's instruction differs");
        }
    }
    if from < 5 && from < bytes.len() {
        return Some("the jump covers more than the detour");
    }
    detour.goes_on().then_some("the detour continues past its end")
}

/// Whether the code there has the instruction's effect, and continues where it would. If the instruction is not
/// the `last`, the next one must follow it there too.
fn runs_in(insn: &Instruction, flow: u8, there: &mut Elsewhere<'_>, last: bool) -> bool {
    let mut step = || there.step();
    let next = insn.next_ip();
    let jumps_to = |insn: &Instruction, to: u64| {
        insn.mnemonic() == Mnemonic::Jmp
            && insn.op0_kind() == OpKind::NearBranch64
            && insn.near_branch_target() == to
    };
    let pushes = |insn: &Instruction| insn.code() == Code::Pushq_imm32 && insn.immediate(0) == next;
    match flow {
        NEXT => is_same(insn, &step()) && (!last || jumps_to(&step(), next)),
        BRANCH if insn.is_jcc_short_or_near() => {
            let branch = step();
            branch.condition_code() == insn.condition_code()
                && branch.near_branch_target() == insn.near_branch_target()
                && (!last || jumps_to(&step(), next))
        }
        _ if !last => false,
        JUMP => jumps_to(&step(), insn.near_branch_target()),
        BRANCH => {
            let branch = step();
            let (over, away) = (step(), step());
            branch.code() == insn.code()
                && branch.near_branch_target() == away.ip()
                && jumps_to(&over, next)
                && jumps_to(&away, insn.near_branch_target())
        }
        CALL => pushes(&step()) && jumps_to(&step(), insn.near_branch_target()),
        CALL_INDIRECT => {
            let (push, jump) = (step(), step());
            let same_operand = jump.op0_kind() == insn.op0_kind()
                && match insn.op0_kind() {
                    OpKind::Register => jump.op0_register() == insn.op0_register(),
                    _ => {
                        jump.memory_base() == insn.memory_base()
                            && jump.memory_index() == insn.memory_index()
                            && jump.memory_index_scale() == insn.memory_index_scale()
                            && jump.memory_displacement64() == insn.memory_displacement64()
                            && jump.memory_segment() == insn.memory_segment()
                            // The push has moved the stack.
                            && ![insn.memory_base(), insn.memory_index()].contains(&Register::RSP)
                    }
                };
            pushes(&push) && jump.flow_control() == FlowControl::IndirectBranch && same_operand
        }
        JUMP_INDIRECT | RET => is_same(insn, &step()),
        _ => false,
    }
}

/// Whether the operand of an indirect jump differs.
fn operand_differs(insn: &Instruction, said: &Said) -> bool {
    let Some((memory, base, index, shift)) = said.operand else {
        // Operands with segments and short addresses are not reported.
        let short = [insn.memory_base(), insn.memory_index()].iter().any(|register| register.size() == 4);
        let segment = matches!(insn.segment_prefix(), Register::FS | Register::GS);
        return insn.op0_kind() == OpKind::Register || !short && !segment;
    };
    let number = |register: Register| match register {
        Register::None | Register::RIP => 0xff,
        register => register.number() as u8,
    };
    if !memory {
        return insn.op0_kind() != OpKind::Register || base != number(insn.op0_register());
    }
    insn.op0_kind() != OpKind::Memory
        || base != number(insn.memory_base())
        || index != number(insn.memory_index())
        || index != 0xff && 1 << shift != insn.memory_index_scale()
        || said.disp != insn.memory_displacement64()
}

/// Compares all results of one run.
fn compare(run: &Run, said: &[Said], count: &mut Count) {
    for said in said {
        let from = (said.address - run.address) as usize;
        let rest = &run.bytes[from..];
        if said.len == 0 {
            count.cut += usize::from(!rest.is_empty());
            break;
        }
        let insn = decode(rest, said.address);
        count.insns += 1;
        let bytes = &rest[..usize::from(said.len)];
        if insn.is_invalid() && said.reason == 0 {
            // The kernel's decoder determines lengths, not validity. Compilers do not generate these.
            count.invalid += 1;
            continue;
        }
        if insn.len() != usize::from(said.len) {
            if said.reason == 0 {
                count.differences.add("length", &insn, bytes);
            }
            continue;
        }
        if said.reason != 0 {
            *count.refused.entry(said.reason).or_default() += 1;
            count.mnemonics.entry(said.reason).or_default().insert(format!("{:?}", insn.mnemonic()));
            continue;
        }
        if said.flow != flow(&insn) {
            count.differences.add("flow", &insn, bytes);
        }
        let has_target = matches!(said.flow, JUMP | BRANCH | CALL);
        if has_target && said.target != insn.near_branch_target() {
            count.differences.add("target", &insn, bytes);
        }
        if (said.disp_at != 0) != insn.is_ip_rel_memory_operand() {
            count.differences.add("relative operand", &insn, bytes);
        }
        if said.nop && !matches!(insn.mnemonic(), Mnemonic::Nop | Mnemonic::Reservednop) {
            count.differences.add("nop", &insn, bytes);
        }
        if said.flow == JUMP_INDIRECT && operand_differs(&insn, said) {
            count.differences.add("operand", &insn, bytes);
        }
        if said.relocated != 0 {
            *count.refused.entry(said.relocated).or_default() += 1;
        } else if let Some(fault) = slot_fault(&insn, said) {
            count.differences.add(fault, &insn, bytes);
        }
        count.detours += usize::from(said.covered > 0);
        if let Some(fault) = detour_fault(run.address, said, rest) {
            count.differences.add(fault, &insn, &rest[..rest.len().min(20)]);
        }
    }
}

#[derive(Default)]
struct Count {
    insns: usize,
    /// Instructions that a jump could replace, judging by the bytes.
    detours: usize,
    /// Sequences that end before the end of their bytes.
    cut: usize,
    /// Traceable instructions that only one of the two decodes.
    invalid: usize,
    refused: BTreeMap<u16, usize>,
    /// By reason.
    mnemonics: BTreeMap<u16, BTreeSet<String>>,
    differences: Differences,
}

#[test]
fn all_instructions_of_the_kernels() {
    let Some(program) = program() else { return };
    for (name, root) in needs::kernels() {
        let runs = functions(&needs::vmlinux(&root).expect("it is there"));
        let mut count = Count::default();
        ask(&program, &runs, |run, said| compare(run, said, &mut count));
        println!(
            "{name}: {} functions, {} instructions, {} detours, {} end before their bytes",
            runs.len(),
            count.insns,
            count.detours,
            count.cut
        );
        for (reason, refused) in &count.refused {
            let mnemonics = count.mnemonics.get(reason);
            println!("  {refused:>8} {} {mnemonics:?}", Reason((*reason).into()).name().unwrap_or("?"));
        }
        for (what, (number, examples)) in &count.differences.0 {
            println!("  {number:>8} differ: {what}\n    {}", examples.join("\n    "));
        }
        assert!(count.differences.0.is_empty());
        assert_eq!(count.invalid, 0);
        assert!(count.insns > 1_000_000);
    }
}

/// Compares indirect jumps and calls with every kind of operand: kernels have few, and most use thunks.
#[test]
fn all_operands_of_indirect_jumps() {
    let Some(program) = program() else { return };
    let mut runs = Vec::new();
    for operation in [0x10, 0x20] {
        for (rex, modrm, sib) in operands() {
            let mut bytes: Vec<u8> = rex.into_iter().collect();
            bytes.extend([0xff, modrm | operation]);
            bytes.extend(sib);
            bytes.extend([0x78, 0x56, 0x34, 0xf2]);
            let len = decode(&bytes, 0).len();
            bytes.truncate(len);
            let address = 0xffff_ffff_8100_0000 + 0x100 * runs.len() as u64;
            runs.push(Run { address, bytes });
        }
    }
    let mut count = Count::default();
    ask(&program, &runs, |run, said| compare(run, said, &mut count));
    for (what, (number, examples)) in &count.differences.0 {
        println!("{number} differ: {what}\n    {}", examples.join("\n    "));
    }
    assert!(count.differences.0.is_empty());
    assert_eq!(count.insns, runs.len());
    // Calls through %rsp are refused; all others are supported.
    let rsp = Reason::INSN_RSP.0 as u16;
    assert_eq!(count.refused.keys().copied().collect::<Vec<u16>>(), [rsp], "{:?}", count.refused);
}

/// Returns a prefix, ModRM without the operation, and the SIB byte if any.
fn operands() -> Vec<(Option<u8>, u8, Option<u8>)> {
    let mut all = Vec::new();
    for rex in std::iter::once(None).chain((0x40..0x48).map(Some)) {
        for modrm in (0..=255u8).filter(|modrm| modrm & 0x38 == 0) {
            if modrm >> 6 != 3 && modrm & 7 == 4 {
                all.extend((0..=255).map(|sib| (rex, modrm, Some(sib))));
            } else {
                all.push((rex, modrm, None));
            }
        }
    }
    all
}

/// Compares the kernel's instructions with other operands: pseudorandom registers, addresses and numbers.
#[test]
fn random_operands() {
    let Some(program) = program() else { return };
    let Some(root) = needs::linux_6_1() else { return };
    let vmlinux = needs::vmlinux(&root).expect("it is there");
    let mut generator = Random(1);
    let mut random = || generator.next();
    let mut functions = functions(&vmlinux);
    functions.retain(|_| random() % 8 == 0);
    let mut runs: Vec<Run> = Vec::new();
    ask(&program, &functions, |run, said| {
        for said in said.iter().filter(|said| said.modrm_at > 0) {
            let from = (said.address - run.address) as usize;
            let mut bytes = run.bytes[from..from + usize::from(said.modrm_at)].to_vec();
            bytes.extend(random().to_le_bytes());
            bytes.extend(random().to_le_bytes());
            bytes.truncate(15);
            runs.push(Run { address: 0xffff_ffff_8100_0000 + 0x10 * runs.len() as u64, bytes });
        }
    });
    let mut count = Count::default();
    ask(&program, &runs, |run, said| {
        // The following bytes are not a compiler's instruction.
        if said[0].covered > 1 {
            said[0].covered = 0;
        }
        compare(run, &said[..1], &mut count);
    });
    for (what, (number, examples)) in &count.differences.0 {
        println!("{number} differ: {what}\n    {}", examples.join("\n    "));
    }
    println!(
        "{} instructions, {} decoded by only one, refused {:?}",
        count.insns, count.invalid, count.refused
    );
    assert!(count.differences.0.is_empty());
    assert!(count.insns > 100_000 && count.invalid * 10 < count.insns);
}

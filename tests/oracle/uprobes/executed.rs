//! tests/oracle/uprobes/executed.rs: instructions with a probe, executed: the result must be the same as without, and
//! the probe must be hit once.

use super::events::{Events, can_probe};
use crate::needs;
use kinst::machine::Machine;
use kinst::sites::uprobe::{Nop5, judge};
use std::path::Path;
use std::process::{Command, Output};

/// Addresses in run.c.
const CODE: u64 = 0x1000_0000;
const STATE: u64 = 0x2000_0000;
const PAGE: usize = 4096;
/// Offset of data in the page with the code.
const DATA: u64 = 0x200;

/// Loads the registers: %rbx has the address of the state.
const BEFORE: [&[u8]; 13] = [
    &[0x53, 0x55],                         // push %rbx; push %rbp
    &[0xbb, 0x00, 0x00, 0x00, 0x20],       // mov $STATE, %ebx
    &[0xc5, 0xfc, 0x10, 0x43, 0x40],       // vmovups 0x40(%rbx), %ymm0
    &[0xc5, 0xfc, 0x10, 0x4b, 0x60],       // vmovups 0x60(%rbx), %ymm1
    &[0x4c, 0x8b, 0x43, 0x28],             // mov 0x28(%rbx), %r8
    &[0x48, 0x8b, 0x03],                   // mov (%rbx), %rax
    &[0x48, 0x8b, 0x4b, 0x08],             // mov 8(%rbx), %rcx
    &[0x48, 0x8b, 0x53, 0x10],             // mov 0x10(%rbx), %rdx
    &[0x48, 0x8d, 0xb3, 0xc0, 0, 0, 0],    // lea 0xc0(%rbx), %rsi
    &[0x48, 0x8d, 0xbb, 0x00, 0x01, 0, 0], // lea 0x100(%rbx), %rdi
    &[0x48, 0x89, 0xdd],                   // mov %rbx, %rbp
    &[0x39, 0xc0],                         // cmp %eax, %eax
    &[0xfc],                               // cld
];

/// Stores them.
const AFTER: [&[u8]; 11] = [
    &[0x48, 0x89, 0x03],             // mov %rax, (%rbx)
    &[0x48, 0x89, 0x4b, 0x08],       // mov %rcx, 8(%rbx)
    &[0x48, 0x89, 0x53, 0x10],       // mov %rdx, 0x10(%rbx)
    &[0x48, 0x89, 0x73, 0x18],       // mov %rsi, 0x18(%rbx)
    &[0x48, 0x89, 0x7b, 0x20],       // mov %rdi, 0x20(%rbx)
    &[0x4c, 0x89, 0x43, 0x28],       // mov %r8, 0x28(%rbx)
    &[0x9c, 0x8f, 0x43, 0x30],       // pushf; pop 0x30(%rbx)
    &[0x48, 0x89, 0x6b, 0x38],       // mov %rbp, 0x38(%rbx)
    &[0xc5, 0xfc, 0x11, 0x43, 0x40], // vmovups %ymm0, 0x40(%rbx)
    &[0xc5, 0xf8, 0x77],             // vzeroupper
    &[0x5d, 0x5b, 0xc3],             // pop %rbp; pop %rbx; ret
];

/// Instructions with a probe at one of them.
struct Case {
    code: Vec<u8>,
    /// Offset of the probe in the code.
    at: usize,
}

fn case(at: usize, code: &[u8]) -> Case {
    Case { code: code.to_vec(), at }
}

/// An instruction with an operand relative to its address; `after` is its immediate operand.
fn relative(before: &[u8], after: &[u8], to: u64) -> Case {
    let end = CODE as usize + BEFORE.concat().len() + before.len() + 4 + after.len();
    let distance = (to as i64 - end as i64) as i32;
    Case { code: [before, &distance.to_le_bytes(), after].concat(), at: 0 }
}

/// Instructions that have one result on all processors with AVX2.
fn cases() -> Vec<Case> {
    let data = CODE + DATA;
    let mut cases: Vec<Case> = PLAIN.iter().map(|code| case(0, code)).collect();
    cases.extend(WITHIN.iter().map(|(at, code)| case(*at, code)));
    cases.extend([
        relative(&[0x48, 0x8b, 0x05], &[], data), // mov data(%rip), %rax
        relative(&[0x4c, 0x8b, 0x05], &[], data), // mov data(%rip), %r8
        relative(&[0x48, 0x8b, 0x35], &[], data), // mov data(%rip), %rsi
        relative(&[0x48, 0x8b, 0x3d], &[], data), // mov data(%rip), %rdi
        relative(&[0x41, 0x8b, 0x05], &[], data), // rex.B mov data(%rip), %eax
        relative(&[0x67, 0x8b, 0x05], &[], data), // mov data(%eip), %eax
        relative(&[0x48, 0x8d, 0x35], &[], data), // lea data(%rip), %rsi
        relative(&[0x48, 0x89, 0x05], &[], STATE + 0x80), // mov %rax, state(%rip)
        relative(&[0xc7, 0x05], &[1, 2, 3, 4], STATE + 0x80), // movl $…, state(%rip)
        relative(&[0xf7, 0x25], &[], data),       // mull data(%rip)
        relative(&[0x0f, 0xb1, 0x0d], &[], STATE + 0x80), // cmpxchg %ecx, state(%rip)
        relative(&[0x66, 0x0f, 0x38, 0x00, 0x05], &[], data), // pshufb data(%rip), %xmm0
        relative(&[0x66, 0x0f, 0x3a, 0x0f, 0x05], &[3], data), // palignr $3, data(%rip), %xmm0
        relative(&[0xc5, 0xf4, 0x58, 0x05], &[], data), // vaddps data(%rip), %ymm1, %ymm0
        relative(&[0xc4, 0xc1, 0x74, 0x58, 0x05], &[], data), // the same, with a bit that has no effect
        relative(&[0xc4, 0xe2, 0x7b, 0xf6, 0x35], &[], data), // mulx data(%rip), %eax, %esi
        relative(&[0xc4, 0xe2, 0x4b, 0xf6, 0x3d], &[], data), // mulx data(%rip), %esi, %edi
    ]);
    let mut push = relative(&[0xff, 0x35], &[], data); // push data(%rip); pop %rax
    push.code.push(0x58);
    cases.push(push);
    cases
}

/// Instructions with a probe at the first; those after it restore the stack.
const PLAIN: [&[u8]; 42] = [
    &[0x90],
    &[0xf3, 0x90],
    &[0x66, 0x90],
    &[0x0f, 0x1f, 0x40, 0x00],
    &[0xf3, 0x0f, 0x1e, 0xfa],
    &[0x55, 0x58],             // push %rbp; pop %rax
    &[0x41, 0x50, 0x58],       // push %r8; pop %rax
    &[0x66, 0x50, 0x66, 0x59], // push %ax; pop %cx
    &[0x40, 0x51, 0x58],       // rex push %rcx; pop %rax
    &[0x6a, 0x85, 0x58],       // push $-123; pop %rax
    &[0xeb, 0x02, 0xff, 0xc0], // jmp over inc %eax
    &[0xe9, 0x02, 0, 0, 0, 0xff, 0xc0],
    &[0x74, 0x02, 0xff, 0xc0], // je, taken
    &[0x75, 0x02, 0xff, 0xc0], // jne, not taken
    &[0x0f, 0x84, 0x02, 0, 0, 0, 0xff, 0xc0],
    &[0x0f, 0x8f, 0x02, 0, 0, 0, 0xff, 0xc0],
    &[0xe2, 0x02, 0xff, 0xc0],          // loop, taken
    &[0xe0, 0x02, 0xff, 0xc0],          // loopne
    &[0xe3, 0x02, 0xff, 0xc0],          // jrcxz
    &[0x67, 0xe3, 0x02, 0xff, 0xc0],    // jecxz
    &[0x48, 0x01, 0xc8],                // add %rcx, %rax
    &[0x48, 0x0f, 0xaf, 0xc1],          // imul %rcx, %rax
    &[0x48, 0xf7, 0xf1],                // div %rcx
    &[0x49, 0x91],                      // xchg %r9, %rcx
    &[0x87, 0x07],                      // xchg %eax, (%rdi)
    &[0xaa],                            // stosb
    &[0xa4],                            // movsb
    &[0xac],                            // lodsb
    &[0x9f],                            // lahf
    &[0x9e],                            // sahf
    &[0x51, 0x9d],                      // push %rcx; popf, with the probe at the push
    &[0xc8, 0x10, 0x00, 0x00, 0xc9],    // enter $16, $0; leave
    &[0x0f, 0xc8],                      // bswap %eax
    &[0x66, 0x0f, 0xef, 0xc1],          // pxor %xmm1, %xmm0
    &[0xf3, 0x0f, 0x7f, 0x07],          // movdqu %xmm0, (%rdi)
    &[0xc5, 0xfc, 0x11, 0x07],          // vmovups %ymm0, (%rdi)
    &[0xc5, 0xfc, 0x28, 0xc1],          // vmovaps %ymm1, %ymm0
    &[0xc5, 0xfd, 0xfe, 0xc1],          // vpaddd %ymm1, %ymm0, %ymm0
    &[0xc4, 0xe3, 0x75, 0x0f, 0xc0, 4], // vpalignr $4, %ymm0, %ymm1, %ymm0
    &[0xc5, 0xf8, 0x57, 0xc1],          // vxorps %xmm1, %xmm0, %xmm0
    &[0xc4, 0xe2, 0x7d, 0x18, 0x07],    // vbroadcastss (%rdi), %ymm0
    &[0xd9, 0xe8, 0xdd, 0x1f],          // fld1; fstpl (%rdi)
];

/// Instructions with a probe at an offset.
const WITHIN: [(usize, &[u8]); 9] = [
    (0, &[0xe8, 0x02, 0, 0, 0, 0xeb, 0x01, 0xc3]), // call a ret
    (7, &[0xe8, 0x02, 0, 0, 0, 0xeb, 0x01, 0xc3]), // the ret
    (0, &[0xe8, 0x00, 0, 0, 0, 0x58]),             // call; pop %rax: the return address
    (7, &[0x48, 0x8d, 0x05, 4, 0, 0, 0, 0xff, 0xd0, 0xeb, 0x01, 0xc3]), // call *%rax
    (7, &[0x48, 0x8d, 0x05, 2, 0, 0, 0, 0xff, 0xe0]), // jmp *%rax
    (8, &[0x48, 0x8d, 0x05, 7, 0, 0, 0, 0x50, 0xff, 0x14, 0x24, 0x58, 0xeb, 0x01, 0xc3]), // call *(%rsp)
    (1, &[0x51, 0x9d]),                            // popf
    (0, &[0x54, 0x58, 0x48, 0x29, 0xe0]),          // push %rsp; pop %rax; sub %rsp, %rax
    (1, &[0x54, 0x5c]),                            // pop %rsp
];

/// Instructions that are refused, for a look at what the kernel makes of them.
const REFUSED: [&[u8]; 14] = [
    &[0x9c, 0x58],                   // pushf; pop %rax
    &[0xf3, 0xaa],                   // rep stosb
    &[0xf3, 0xa4],                   // rep movsb
    &[0x0f, 0x05],                   // syscall
    &[0x49, 0x90],                   // xchg %r8, %rax
    &[0xc5, 0xfd, 0xeb, 0xc1],       // vpor %ymm1, %ymm0, %ymm0
    &[0xc5, 0xfe, 0x7f, 0x07],       // vmovdqu %ymm0, (%rdi)
    &[0xc5, 0xfd, 0x70, 0xc1, 0x1b], // vpshufd $0x1b, %ymm1, %ymm0
    &[0xc5, 0xf8, 0x77],             // vzeroupper
    &[0xc5, 0xf0, 0xc2, 0xc0, 0],    // vcmpeqps %xmm0, %xmm1, %xmm0
    &[0xc5, 0xf9, 0xe8, 0xc1],       // vpsubsb %xmm1, %xmm0, %xmm0
    &[0xc5, 0xf9, 0xe9, 0xc1],       // vpsubsw %xmm1, %xmm0, %xmm0
    &[0xc4, 0xe2, 0x71, 0x9d, 0xc0], // vfnmadd132ss %xmm0, %xmm1, %xmm0
    &[0xf3, 0x0f, 0x01, 0xe8],       // setssbsy
];

fn page(case: &Case) -> Vec<u8> {
    let mut page = [&BEFORE.concat(), &case.code[..], &AFTER.concat()].concat();
    page.resize(DATA as usize, 0xcc);
    page.extend((DATA as usize..PAGE).map(|at| (at * 5 + 3) as u8));
    page
}

fn run(program: &Path, code: &Path, page: usize) -> Output {
    Command::new(program).arg(code).arg(page.to_string()).output().expect("the program")
}

#[test]
fn what_is_accepted_is_executed_as_without_a_probe() {
    if !can_probe() || !needs::program("gcc") {
        return;
    }
    if !std::arch::is_x86_feature_detected!("avx2") || !std::arch::is_x86_feature_detected!("bmi2") {
        return needs::missing("AVX2", "run on a processor with AVX2 and BMI2");
    }
    let folder = tempfile::tempdir().expect("a directory");
    let (program, code) = (folder.path().join("run"), folder.path().join("code"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/uprobes/run.c");
    let status = Command::new("gcc").args(["-O1", "-w", "-o"]).arg(&program).arg(source).status();
    assert!(status.expect("gcc").success());
    let accepted = cases();
    let count = accepted.len();
    let all: Vec<Case> = accepted.into_iter().chain(REFUSED.iter().map(|code| case(0, code))).collect();
    std::fs::write(&code, all.iter().flat_map(page).collect::<Vec<u8>>()).expect("the file");
    let before: Vec<Output> = (0..all.len()).map(|number| run(&program, &code, number)).collect();
    let start = BEFORE.concat().len();
    let offsets: Vec<usize> =
        all.iter().enumerate().map(|(number, case)| number * PAGE + start + case.at).collect();
    let events = Events::new("executed", &code, &offsets, 1);
    let after: Vec<Output> = (0..all.len()).map(|number| run(&program, &code, number)).collect();
    let hits = events.hits();
    drop(events);
    for (number, case) in all.iter().enumerate() {
        let decision = judge(Machine::X86_64, &case.code[case.at..], Nop5::Overwritten);
        let (same, hits) = (before[number] == after[number], hits[number]);
        if number < count {
            assert!(before[number].status.success(), "{:02x?} cannot be executed", case.code);
            assert!(decision.is_ok(), "{:02x?}: {decision:?}", case.code);
            assert!(same && hits == 1, "{:02x?}: {hits} hits, {:?}", case.code, after[number].status);
        } else {
            println!("{:02x?}: same: {same}, {hits} hits, {}: {decision:?}", case.code, after[number].status);
            assert!(decision.is_err(), "{:02x?}", case.code);
        }
    }
}

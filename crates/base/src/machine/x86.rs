//! base/machine/x86.rs: x86-64.

use super::facts::{Facts, Frames, Narrow, Privilege, PtRegs, Thunks};

/// The facts of x86-64.
pub static FACTS: Facts = Facts {
    name: "x86_64",
    registers: &NAMES,
    register_sign: "%",
    base: |register, distance| match distance {
        0 => format!("({register})"),
        distance => format!("{distance}({register})"),
    },
    pt_regs: PT_REGS,
    call_prefix: "__x64_sys_",
    calls_renamed: &[],
    generic_calls: false,
    // TS_COMPAT
    compat: ("thread_info.status", 2),
    stores_in_order: true,
    has_module: true,
    has_ftrace_hits: true,
    has_known_trampolines: true,
    // endbr64
    mark: &[0xf3, 0x0f, 0x1e, 0xfa],
    // The mark, and a call.
    ftrace_end: 4 + 5,
    room: None,
    driver_nop: &[0x0f, 0x1f, 0x44, 0x00, 0x00],
    has_kprobe_jumps: true,
    has_jump_tables: false,
    thunks: Thunks {
        beginnings: &["__x86_indirect_thunk_", "__x86_indirect_jump_thunk_", "__x86_indirect_its_thunk_"],
        registers: &[
            "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
            "r14", "r15",
        ],
    },
    has_empty_alternatives: false,
    is_relocated_at_start: false,
    relocates_instructions: false,
    // The preserved registers: System V ABI for x86-64, figure 3.4.
    frames: Frames {
        stack_pointer: 7,
        frame_pointer: 6,
        return_address: 16,
        preserved: &[3, 6, 12, 13, 14, 15],
        above_record: Some(16),
        signals: None,
    },
    signs_addresses: false,
};

/// The order of the System V ABI for x86-64, figure 3.36.
const NAMES: [&str; 17] = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "rip",
];

/// Offset of rcx in `struct pt_regs`, in bytes.
pub const CX: i16 = 11 * 8;
const IP: i16 = 16 * 8;
const CS: i16 = 17 * 8;
/// Offset of rflags in `struct pt_regs`, in bytes.
pub const FLAGS: i16 = 18 * 8;
const SP: i16 = 19 * 8;

const PT_REGS: PtRegs = PtRegs {
    arguments: &[14 * 8, 13 * 8, 12 * 8, CX, 9 * 8, 8 * 8],
    // rax, rbx, rcx, rdi, rsi, r8 to r11
    go_arguments: &[10 * 8, 5 * 8, CX, 14 * 8, 13 * 8, 9 * 8, 8 * 8, 7 * 8, 6 * 8],
    // After the return address.
    on_stack: 8,
    returned: 10 * 8,
    stack_pointer: SP,
    link: None,
    instruction: IP,
    // The breakpoint has been executed.
    after_hit: 1,
    call: 15 * 8,
    call_size: 8,
    call_arguments: [14 * 8, 13 * 8, 12 * 8, 7 * 8, 9 * 8, 8 * 8],
    privilege: Privilege { register: CS, bits: 3, zero_is_user: false },
    elements: &ELEMENTS,
    dwarf: &[80, 96, 88, 40, 104, 112, 32, SP, 72, 64, 56, 48, 24, 16, 8, 0],
    dwarf_words: 21,
    // __USER32_CS
    narrow: Narrow { register: CS, bits: 0xffff, value: 0x23 },
    numbered: &[80, 88, 96, 40, SP, 32, 104, 112, 72, 64, 56, 48, 24, 16, 8, 0],
};

/// In the order of the constants R_R15, R_R14, …
#[rustfmt::skip]
const ELEMENTS: [Option<i16>; 22] = [
    Some(0), Some(8), Some(16), Some(24), Some(48), Some(56), Some(64), Some(72), Some(112), Some(104),
    Some(32), Some(40), Some(96), Some(88), Some(80),
    None,
    Some(120), Some(IP), Some(CS), Some(FLAGS), Some(SP), Some(160),
];

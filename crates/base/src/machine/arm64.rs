//! base/machine/arm64.rs: the 64-bit state of Arm.

use super::facts::{Facts, Frames, Narrow, Privilege, PtRegs, Room, Signals, Thunks};

/// The facts of 64-bit Arm.
pub static FACTS: Facts = Facts {
    name: "aarch64",
    registers: &NAMES,
    register_sign: "",
    base: |register, distance| match distance {
        0 => format!("[{register}]"),
        distance => format!("[{register}, #{distance}]"),
    },
    pt_regs: PT_REGS,
    call_prefix: "__arm64_sys_",
    calls_renamed: &[("arm64_personality", "personality"), ("fadvise64_64", "fadvise64")],
    generic_calls: true,
    // _TIF_32BIT
    compat: ("thread_info.flags", 1 << 22),
    stores_in_order: false,
    has_module: true,
    has_ftrace_hits: false,
    has_known_trampolines: false,
    mark: &[],
    // A landing pad, an instruction that saves the link register, and a call.
    ftrace_end: 4 + 4 + 4,
    // -fpatchable-function-entry=2, and a landing pad (bti c).
    room: Some(Room { nop: NOP, landing_pad: [0x5f, 0x24, 0x03, 0xd5], most: 3 }),
    driver_nop: &NOP,
    has_kprobe_jumps: false,
    has_jump_tables: true,
    thunks: Thunks { beginnings: &[], registers: &[] },
    has_empty_alternatives: true,
    is_relocated_at_start: true,
    relocates_instructions: true,
    // The preserved registers: "Procedure Call Standard for the Arm 64-bit Architecture", section 6.1.1.
    frames: Frames {
        stack_pointer: 31,
        frame_pointer: 29,
        return_address: 30,
        preserved: &[19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
        above_record: None,
        // mov x8, #__NR_rt_sigreturn; svc #0. siginfo_t, and uc_mcontext.regs in struct ucontext
        // (arch/arm64/include/uapi/asm/ucontext.h, sigcontext.h).
        signals: Some(Signals {
            code: &[0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4],
            registers: 128 + 176 + 8,
        }),
    },
    signs_addresses: true,
};

const NOP: [u8; 4] = [0x1f, 0x20, 0x03, 0xd5];

/// The order of "DWARF for the Arm 64-bit Architecture", section 4.1.
const NAMES: [&str; 33] = [
    "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
    "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30",
    "sp", "pc",
];

const fn x(number: i16) -> i16 {
    8 * number
}
const SP: i16 = x(31);
const PC: i16 = x(32);
/// Offset of `pstate` in `struct pt_regs`, in bytes.
pub const PSTATE: i16 = x(33);
/// The system call's number, after its first argument, which that register preserves.
const CALL: i16 = x(35);

const PT_REGS: PtRegs = PtRegs {
    arguments: &[x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7)],
    go_arguments: &[x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7), x(8), x(9)],
    on_stack: 0,
    returned: x(0),
    stack_pointer: SP,
    link: Some(x(30)),
    instruction: PC,
    // A breakpoint traps before it is executed.
    after_hit: 0,
    call: CALL,
    call_size: 4,
    call_arguments: [x(0), x(1), x(2), x(3), x(4), x(5)],
    // The exception level and its stack pointer.
    privilege: Privilege { register: PSTATE, bits: 0xf, zero_is_user: true },
    elements: &ELEMENTS,
    dwarf: &NUMBERED_BY_DWARF,
    dwarf_words: 34,
    // PSR_MODE32_BIT
    narrow: Narrow { register: PSTATE, bits: 0x10, value: 0x10 },
    numbered: &NUMBERED,
};

/// x0 to x30, sp, pc, pstate; of a system call, the first argument and the number.
const ELEMENTS: [Option<i16>; 36] = {
    let (mut elements, offsets) = ([None; 36], offsets::<36>());
    let mut number = 0;
    while number < elements.len() {
        elements[number] = Some(offsets[number]);
        number += 1;
    }
    elements
};

/// x0 to x30. The next number is the zero register.
const NUMBERED: [i16; 31] = offsets();

/// x0 to x30, sp.
const NUMBERED_BY_DWARF: [i16; 32] = offsets();

/// The first words of the structure.
const fn offsets<const N: usize>() -> [i16; N] {
    let mut offsets = [0; N];
    let mut number = 0;
    while number < N {
        offsets[number] = x(number as i16);
        number += 1;
    }
    offsets
}

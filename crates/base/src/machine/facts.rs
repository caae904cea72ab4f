//! base/machine/facts.rs: the data about each kind of machine.

/// The facts about a kind of machine: every difference between machines that is not code.
#[derive(Debug)]
pub struct Facts {
    /// As `uname -m` prints it.
    pub name: &'static str,
    /// General registers, indexed by DWARF register number.
    pub registers: &'static [&'static str],
    /// The sign before a register's name in assembly: `%`, or nothing.
    pub register_sign: &'static str,
    /// Renders an address operand in assembly, from the register and a distance.
    pub base: fn(register: &str, distance: i64) -> String,
    /// The layout of `struct pt_regs`.
    pub pt_regs: PtRegs,
    /// The prefix of the kernel's system call functions: `__x64_sys_`.
    pub call_prefix: &'static str,
    /// Functions whose names, after the prefix, differ from their calls' names, each with the name of its
    /// call; in addition to the functions renamed on all machines.
    pub calls_renamed: &'static [(&'static str, &'static str)],
    /// Whether system calls are numbered as in <asm-generic/unistd.h>.
    pub generic_calls: bool,
    /// The member of `struct task_struct` that marks a 32-bit program, and the bits to test.
    pub compat: (&'static str, i32),
    /// Whether other CPUs see stores in program order.
    pub stores_in_order: bool,
    /// Whether the kernel module supports it.
    pub has_module: bool,
    /// Whether the module has ftrace report the hits at functions' entries.
    pub has_ftrace_hits: bool,
    /// Whether the frames of BPF trampolines and kprobe.multi can be recognized on a stack.
    pub has_known_trampolines: bool,
    /// The instruction that may begin a function; a kprobe event at it is moved to the next instruction.
    pub mark: &'static [u8],
    /// The largest offset in a function, in bytes, to which its call of ftrace returns.
    pub ftrace_end: u64,
    /// The space for ftrace before a function's first instruction.
    pub room: Option<Room>,
    /// The nop of a static probe in a driver.
    pub driver_nop: &'static [u8],
    /// Whether a kprobe may have replaced its instruction with a jump.
    pub has_kprobe_jumps: bool,
    /// Whether the kernel's `switch` statements may be compiled to jump tables.
    pub has_jump_tables: bool,
    /// The functions that compilers may use for indirect jumps.
    pub thunks: Thunks,
    /// Whether an alternative without code replaces a jump with a nop.
    pub has_empty_alternatives: bool,
    /// Whether the linked kernel relocates its own tables at boot.
    pub is_relocated_at_start: bool,
    /// Whether the relocation types for instruction fields differ from those for data.
    pub relocates_instructions: bool,
    /// The frames of programs.
    pub frames: Frames,
    /// Whether return addresses may be signed, which vendor-specific call frame instructions indicate.
    pub signs_addresses: bool,
}

/// Functions that jump to the address in a register. A name is one of these prefixes plus the name of one of
/// these registers, which are ordered by their numbers in instructions.
#[derive(Debug)]
pub struct Thunks {
    pub beginnings: &'static [&'static str],
    pub registers: &'static [&'static str],
}

impl Thunks {
    /// The number of the register whose thunk has this name.
    pub fn register(&self, name: &str) -> Option<u8> {
        let register = self.beginnings.iter().find_map(|beginning| name.strip_prefix(beginning))?;
        self.registers.iter().position(|known| *known == register).map(|number| number as u8)
    }

    /// The name of a thunk that exists if any does; `None` where compilers make none.
    pub fn first(&self) -> Option<String> {
        Some(format!("{}{}", self.beginnings.first()?, self.registers.first()?))
    }
}

/// Nops before a function's first instruction; they begin with a landing pad if their number is the maximum.
#[derive(Debug)]
pub struct Room {
    /// Bytes of one nop.
    pub nop: [u8; 4],
    /// Bytes of a landing pad (bti c), as long as a nop.
    pub landing_pad: [u8; 4],
    /// The maximum number of instructions, including the landing pad.
    pub most: u64,
}

/// The offsets in `struct pt_regs`, in bytes.
#[derive(Debug)]
pub struct PtRegs {
    /// The arguments of a call that are in registers, in order.
    pub arguments: &'static [i16],
    /// The same for functions of Go.
    pub go_arguments: &'static [i16],
    /// Distance from the stack pointer to the first of the other arguments, at a function's entry.
    pub on_stack: i32,
    /// The return value.
    pub returned: i16,
    /// The stack pointer: rsp, sp.
    pub stack_pointer: i16,
    /// The register that holds the return address while the function has no frame.
    pub link: Option<i16>,
    /// The address of the instruction: rip, pc.
    pub instruction: i16,
    /// The distance from the probed instruction to that address when its breakpoint hits.
    pub after_hit: i32,
    /// The number of a system call.
    pub call: i16,
    /// The size of that number.
    pub call_size: i32,
    /// The arguments of a system call, in order.
    pub call_arguments: [i16; 6],
    /// The bits that distinguish user mode from kernel mode.
    pub privilege: Privilege,
    /// The elements of regs[].
    pub elements: &'static [Option<i16>],
    /// Indexed by DWARF number, without the instruction pointer.
    pub dwarf: &'static [i16],
    /// The number of words from the start of the structure that have these registers and the next one.
    pub dwarf_words: i32,
    /// The mark of a 32-bit program, whose registers have other numbers.
    pub narrow: Narrow,
    /// Indexed by the register numbers of instructions. A number beyond the end reads as 0.
    pub numbered: &'static [i16],
}

/// The bits of a register that are set, or clear, if the interrupted code is a program and not the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Privilege {
    /// The register, as an offset in `struct pt_regs`.
    pub register: i16,
    /// A mask of the bits.
    pub bits: i32,
    /// Whether they are 0 in user mode.
    pub zero_is_user: bool,
}

/// A register, as an offset in `struct pt_regs`, and the value of some of its bits in 32-bit programs.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    /// The register.
    pub register: i16,
    /// A mask of the bits.
    pub bits: i32,
    /// Their value in a 32-bit program.
    pub value: i32,
}

/// The way from a function to its caller in a program's stack. Registers are DWARF numbers.
#[derive(Debug)]
pub struct Frames {
    /// The stack pointer.
    pub stack_pointer: usize,
    /// The frame pointer.
    pub frame_pointer: usize,
    /// The return address in call frame information: the link register, or the instruction pointer.
    pub return_address: usize,
    /// The registers that a function preserves.
    pub preserved: &'static [usize],
    /// Distance of the caller's stack pointer from the memory at the frame pointer; `None` if a function's variables
    /// may be between them.
    pub above_record: Option<u64>,
    /// The code that ends the handler of a signal, where nothing describes it.
    pub signals: Option<Signals>,
}

/// The code that returns from the handler of a signal, and the memory from which the kernel restores the registers.
#[derive(Debug)]
pub struct Signals {
    /// Its instructions.
    pub code: &'static [u8],
    /// Distance from the stack pointer to the registers, which are in the order of their DWARF numbers.
    pub registers: u64,
}

impl PtRegs {
    /// The first of the words that hold a system call's arguments.
    pub fn calls_from(&self) -> i16 {
        self.call_arguments.into_iter().min().unwrap_or_default()
    }
}

//! base/machine/facts.rs: the data that is known of each kind of machine.

/// The facts of a kind of machine: what differs between machines and is no code.
#[derive(Debug)]
pub struct Facts {
    /// As `uname -m` prints it.
    pub name: &'static str,
    /// The general registers by their numbers in DWARF.
    pub registers: &'static [&'static str],
    /// The sign before a register's name in assembly: `%`, or nothing.
    pub register_sign: &'static str,
    /// The operand of an address in assembly, from the register and a distance.
    pub base: fn(register: &str, distance: i64) -> String,
    /// Whether D has constants for the elements of regs[]; elsewhere an element's index is the register's number in DWARF.
    pub has_register_constants: bool,
    /// The layout of `struct pt_regs`.
    pub pt_regs: PtRegs,
    /// The prefix of the kernel's functions for system calls: `__x64_sys_`.
    pub call_prefix: &'static str,
    /// Functions whose names, after the prefix, are not those of their calls, each with the name of its call; besides
    /// those of all machines.
    pub calls_renamed: &'static [(&'static str, &'static str)],
    /// Whether the numbers of system calls are those of <asm-generic/unistd.h>.
    pub generic_calls: bool,
    /// The member of `struct task_struct` that says whether a program is one of 32 bits, and the bits.
    pub compat: (&'static str, i32),
    /// Whether other CPUs see stores in the order in which they were made.
    pub stores_in_order: bool,
    /// Whether the kernel module is there for it. Elsewhere probes are kprobes.
    pub has_module: bool,
    /// Whether it is known how BPF's trampolines and kprobe.multi are found on a stack.
    pub has_known_trampolines: bool,
    /// The instruction that a function may begin with, which kprobe events take for the one after it.
    pub mark: &'static [u8],
    /// The most bytes of a function's beginning after which its call of ftrace returns.
    pub ftrace_end: u64,
    /// The room for ftrace before a function's first instruction.
    pub room: Option<Room>,
    /// The instruction of a driver's static probe.
    pub driver_nop: &'static [u8],
    /// Whether a kprobe may have put a jump where its instruction was.
    pub has_kprobe_jumps: bool,
    /// Whether the kernel's switches may be compiled to tables of jumps.
    pub has_jump_tables: bool,
    /// The functions through which a compiler may make indirect jumps.
    pub thunks: Thunks,
    /// Whether an alternative without code replaces a jump by a nop.
    pub has_empty_alternatives: bool,
    /// Whether the linked kernel relocates its own tables as it starts.
    pub is_relocated_at_start: bool,
    /// Whether relocations have other kinds for the fields of instructions than for data.
    pub relocates_instructions: bool,
    /// Whether return addresses may be signed, which the vendor's instructions of call frames say.
    pub signs_addresses: bool,
}

/// Functions that jump to the address in a register: the beginnings of their names, each before the name of any of these
/// registers, which are in the order of the numbers that instructions have for them.
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

    /// The name of one that is there if any is; `None` where compilers make none.
    pub fn first(&self) -> Option<String> {
        Some(format!("{}{}", self.beginnings.first()?, self.registers.first()?))
    }
}

/// Nops in front of a function's first instruction, which begin with a landing pad if there are as many as can be.
#[derive(Debug)]
pub struct Room {
    /// The bytes of one nop.
    pub nop: [u8; 4],
    /// The bytes of a landing pad (bti c), which is as long as a nop.
    pub landing_pad: [u8; 4],
    /// The most instructions, the landing pad included.
    pub most: u64,
}

/// The offsets in `struct pt_regs`, in bytes.
#[derive(Debug)]
pub struct PtRegs {
    /// The arguments of a call that registers hold, in their order.
    pub arguments: &'static [i16],
    /// The distance from the stack pointer to the first of the other arguments, at a function's entry.
    pub on_stack: i32,
    /// The value that a function returns.
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
    /// The arguments of a system call, in their order.
    pub call_arguments: [i16; 6],
    /// The bits that show whether a program was interrupted.
    pub privilege: Privilege,
    /// The elements of regs[].
    pub elements: &'static [Option<i16>],
    /// By the numbers of DWARF, the address of the instruction last; none where no stack of a program is copied.
    pub dwarf: &'static [i16],
    /// By the number that instructions have for a register. One that is not here is 0.
    pub numbered: &'static [i16],
}

/// The bits of a register that say whether a program was interrupted, and not the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Privilege {
    /// The register, as an offset in `struct pt_regs`.
    pub register: i16,
    /// A mask of the bits.
    pub bits: i32,
    /// Whether they are 0 for a program.
    pub zero_is_user: bool,
}

impl PtRegs {
    /// The first of the words that hold a system call's arguments.
    pub fn calls_from(&self) -> i16 {
        self.call_arguments.into_iter().min().unwrap_or_default()
    }
}

//! bpf/library/function.rs: the table of library functions, and how one is generated.

use crate::asm::{Assembler, FunctionKind, Label};
use crate::insn::Reg::{self, Frame, R0, R1, R2, R3, R4, R5, R7, R8};
use crate::insn::{Alu, Cond, Helper, Operand, Width};
use crate::memory::{Map, Memory, cpu};
use kinst_base::uapi::Flt;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Rows: the function, its number of arguments, its name in the kernel, and its generator. A function calls
/// only functions of later rows.
macro_rules! library {
    ($($(#[$doc:meta])* $name:ident $arity:literal $text:literal $write:ident($($argument:expr),*);)*) => {
        /// A library function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Function { $($(#[$doc])* $name),* }

        impl Function {
            /// Returns the number of arguments, which are in R1 and up.
            pub fn arity(self) -> u8 {
                match self { $(Function::$name => $arity),* }
            }

            /// Returns the name in the program's BTF.
            pub fn name(self) -> &'static str {
                match self { $(Function::$name => $text),* }
            }

            fn write(self, lib: &mut Lib) {
                match self { $(Function::$name => lib.$write($($argument),*)),* }
            }
        }
    };
}

library! {
    /// Allocates scratch memory filled with zeros: (bytes). Returns its address.
    Allocate 1 "allocate" allocate();
    /// Copies to scratch memory or a variable: (to, from, bytes).
    Copy 3 "copy" copy(Helper::ProbeReadKernel);
    /// Copies from the process's memory: (to, from, bytes).
    CopyUser 3 "copy_user" copy(Helper::ProbeReadUser);
    /// Stores one byte to scratch memory or a variable: (address, value).
    StoreByte 2 "store_byte" store(Width::Byte);
    /// Stores 2 bytes: (address, value).
    StoreHalf 2 "store_half" store(Width::Half);
    /// Stores 4 bytes: (address, value).
    StoreWord 2 "store_word" store(Width::Word);
    /// Stores 8 bytes: (address, value).
    StoreDouble 2 "store_double" store(Width::Double);
    /// copyin(): (address in the process's memory, bytes).
    Copyin 2 "copyin" copyin();
    /// copyinstr(): (address in the process's memory, limit).
    Copyinstr 2 "copyinstr" copyinstr();
    /// memref(): (address, length).
    Memref 2 "memref" memref();
    /// memstr(): (address, replacement for each NUL, length).
    Memstr 3 "memstr" memstr();
    /// Compares two strings: −1, 0 or 1.
    Compare 2 "compare" compare();
    /// strjoin(): (first string, second string).
    Strjoin 2 "strjoin" strjoin();
    /// toupper(): (string).
    Toupper 1 "toupper" change_case(b'a', b'A');
    /// tolower(): (string).
    Tolower 1 "tolower" change_case(b'A', b'a');
    /// strchr(): (string, character).
    Strchr 2 "strchr" find_byte(false);
    /// strrchr(): (string, character).
    Strrchr 2 "strrchr" find_byte(true);
    /// Finds a string in another from a position on. Returns the position, or −1.
    Index 3 "index" find(false);
    /// Finds a string in another backwards from a position on.
    Rindex 3 "rindex" find(true);
    /// substr(): (string, start, length).
    Substr 3 "substr" substr();
    /// strtok(): (string, or 0 to continue; separators).
    Strtok 2 "strtok" strtok();
    /// basename(): (path).
    Basename 1 "basename" split_path(false);
    /// dirname(): (path).
    Dirname 1 "dirname" split_path(true);
    /// cleanpath(): (path).
    Cleanpath 1 "cleanpath" cleanpath();
    /// lltostr(): (number, base).
    Lltostr 2 "lltostr" lltostr();
    /// strtoll(): (string, base).
    Strtoll 2 "strtoll" strtoll();
    /// Whether a character is white space according to isspace().
    IsBlank 1 "is_blank" is_blank();
    /// The value of a character as a digit: (character, base); −1 if it is not one.
    Digit 2 "digit" digit();
    /// inet_ntoa(): (address of 4 bytes).
    InetNtoa 1 "inet_ntoa" inet_ntoa();
    /// inet_ntoa6(): (address of 16 bytes).
    InetNtoa6 1 "inet_ntoa6" inet_ntoa6();
    /// link_ntop(): (ARPHRD_ETHER or ARPHRD_INFINIBAND, address).
    LinkNtop 2 "link_ntop" link_ntop();
    /// speculation(): the id of a free one, from 1, or 0.
    Speculation 0 "speculation" speculation();
    /// Retries sending a record while the ring has space: (whether it is for a speculation, bytes). Returns
    /// whether it was sent.
    Insist 2 "insist" insist();
    /// The inner loops of `Insist`. Each is a function, because the kernel verifies functions one by one,
    /// which is fast.
    Persist 2 "persist" persist(Function::Repeat);
    /// See `Persist`.
    Repeat 2 "repeat" persist(Function::Resend);
    /// Sends the record; retries a few times, with the same arguments and result.
    Resend 2 "resend" resend();
    /// The variable `ppid`: 0 without a parent.
    Ppid 0 "ppid" ppid();
    /// progenyof(): (process id).
    Progenyof 1 "progenyof" progenyof();
    /// The variable `execargs`.
    Execargs 0 "execargs" execargs();
    /// Number of addresses at the top of a stack that belong to the code that runs the program.
    OwnFrames 0 "own_frames" own_frames();
    /// The variable `vtimestamp`, in nanoseconds.
    Vtimestamp 0 "vtimestamp" vtimestamp();
    /// A register of the process, by its offset in `struct pt_regs`.
    UserRegister 1 "user_register" user_register();
    /// Writes to the process's memory: (from, to, bytes).
    Copyout 3 "copyout" copyout();
    /// Writes a string to the process's memory: (from, to, limit).
    Copyoutstr 3 "copyoutstr" copyoutstr();
    /// mutex_owned(): (address of the mutex).
    MutexOwned 1 "mutex_owned" mutex_owned();
    /// mutex_owner(): (address of the mutex).
    MutexOwner 1 "mutex_owner" mutex_owner();
    /// rw_read_held(): (address of the semaphore).
    RwReadHeld 1 "rw_read_held" rw_read_held();
    /// rw_write_held(): (address of the semaphore).
    RwWriteHeld 1 "rw_write_held" rw_write_held();
    /// rw_iswriter(): (address of the semaphore).
    RwIswriter 1 "rw_iswriter" rw_iswriter();
    /// d_path(): (address of a struct path).
    DPath 1 "d_path" d_path();
    /// json(): (string, path).
    Json 2 "json" json();
    /// Position of the next value in the same array or object, or −1: (position of a value).
    NextValue 1 "next_value" next_value();
    /// Position after the value at a position, or −1.
    SkipValue 1 "skip_value" skip_value();
    /// Position after the string whose opening quote is at a position, or −1.
    SkipString 1 "skip_string" skip_string();
    /// Position of the next byte of JSON that is not blank, or −1.
    SkipBlanks 1 "skip_blanks" skip_blanks();
    /// End of a step of a path: (start).
    StepEnd 1 "step_end" step_end();
    /// The index that a step of the path denotes, or −1: (start, end).
    StepIndex 2 "step_index" step_index();
    /// Whether the key at a position equals the step of the path: (position, step, length).
    IsKey 3 "is_key" is_key();
    /// Position of the last slash before a position in the second buffer, or 0.
    LastSlash 1 "last_slash" last_slash();
    /// Whether the second buffer's string occurs in the first at a position: (position, length).
    Match 2 "match" matches();
    /// Makes a string in scratch memory: (address, length). Returns its address.
    NewString 2 "new_string" new_string();
    /// Copies a string of at most `limit` bytes to the first buffer: (address, limit). Returns the length.
    First 2 "first_text" text(0);
    /// The same for the second buffer.
    Second 2 "second_text" text(1);
}

/// The functions called so far, each with its label.
#[derive(Debug, Default)]
pub struct Functions {
    labels: RefCell<BTreeMap<Function, Label>>,
}

impl Functions {
    /// Returns the label of a function, and marks it to be written.
    fn label(&self, asm: &mut Assembler, function: Function) -> Label {
        *self.labels.borrow_mut().entry(function).or_insert_with(|| asm.label())
    }

    /// Calls a function with its arguments from R1 on; R7 points at the memory in which it works.
    pub fn call(&self, asm: &mut Assembler, function: Function) {
        let label = self.label(asm, function);
        asm.load(Width::Double, ARGUMENTS[usize::from(function.arity())], R7, cpu::NUMBER);
        asm.call_local(label);
    }

    /// Whether code written so far calls the function.
    pub fn has(&self, function: Function) -> bool {
        self.labels.borrow().contains_key(&function)
    }

    /// Writes all functions that are called, directly or by one another.
    pub fn write(&self, asm: &mut Assembler, memory: &Memory) {
        let mut written = Vec::new();
        loop {
            let next = self.labels.borrow().iter().find_map(|(function, label)| {
                let fresh = !written.contains(function);
                fresh.then_some((*function, *label))
            });
            let Some((function, label)) = next else { return };
            written.push(function);
            Lib::write(asm, memory, self, function, label);
        }
    }
}

/// The registers of arguments.
const ARGUMENTS: [Reg; 5] = [R1, R2, R3, R4, R5];

/// Frame slots of a function: its arguments, and the source of a copy.
pub(super) const fn argument(number: u8) -> i16 {
    -8 * (number as i16 + 1)
}

pub(super) const KEY: i16 = -48;

pub(super) const COPY: i16 = -56;

/// The writer of one function. R7 points at the CPU's memory.
pub(super) struct Lib<'a> {
    pub(super) asm: &'a mut Assembler,
    pub(super) memory: &'a Memory,
    functions: &'a Functions,
    faults: Vec<(Label, Flt)>,
    /// Exit without a value.
    pub(super) none: Label,
}

impl Lib<'_> {
    fn write(asm: &mut Assembler, memory: &Memory, functions: &Functions, function: Function, label: Label) {
        let arity = function.arity();
        asm.function(label, FunctionKind::Global { name: function.name(), arity: arity + 1 });
        let none = asm.label();
        let mut lib = Lib { asm, memory, functions, faults: Vec::new(), none };
        for (number, reg) in (0..arity).zip(ARGUMENTS) {
            lib.asm.store(Width::Double, Frame, argument(number), reg);
        }
        // The last argument is the number of the caller's memory.
        lib.asm.store(Width::Word, Frame, KEY, ARGUMENTS[usize::from(arity)]);
        lib.asm.lookup(Map::Cpus as u32, KEY);
        lib.asm.branch(Cond::Eq, R0, 0, none);
        lib.asm.mov(R7, R0);
        function.write(&mut lib);
        for (label, code) in std::mem::take(&mut lib.faults) {
            lib.asm.bind(label);
            lib.asm.store(Width::Word, R7, cpu::FAULT, code.0 as i32);
            lib.asm.store(Width::Double, R7, cpu::FAULT_VALUE, R1);
            lib.asm.jump(none);
        }
        asm.bind(none);
        asm.mov(R0, 0);
        asm.exit();
    }

    /// Returns a label, to be reached with the fault's value in R1, where the function ends with that fault.
    pub(super) fn fault(&mut self, code: Flt) -> Label {
        let at = self.asm.label();
        self.faults.push((at, code));
        at
    }

    pub(super) fn argument(&mut self, into: Reg, number: u8) {
        self.asm.load(Width::Double, into, Frame, argument(number));
    }

    /// Loads a word of the CPU's memory that is valid until the function ends.
    pub(super) fn word(&mut self, into: Reg, word: i16) {
        self.asm.load(Width::Double, into, R7, cpu::WORDS + 8 * word);
    }

    pub(super) fn set_word(&mut self, word: i16, from: impl Into<Operand>) {
        self.asm.store(Width::Double, R7, cpu::WORDS + 8 * word, from);
    }

    /// Adds to a word; clobbers R1.
    pub(super) fn add_word(&mut self, word: i16, number: impl Into<Operand>) {
        self.word(R1, word);
        self.asm.add(R1, number);
        self.set_word(word, R1);
    }

    /// Calls a function with arguments in R1 to R5; returns from this one if it faults.
    pub(super) fn call(&mut self, function: Function) {
        self.call_unchecked(function);
        self.asm.if_faulted(self.none);
    }

    /// Calls a function that never faults.
    pub(super) fn call_unchecked(&mut self, function: Function) {
        self.functions.call(self.asm, function);
    }

    /// Copies an argument's string to a buffer; its length is in R0.
    pub(super) fn fetch(&mut self, buffer: usize, number: u8) {
        self.argument(R1, number);
        self.asm.mov(R2, self.memory.strsize as i32 - 1);
        self.call(if buffer == 0 { Function::First } else { Function::Second });
    }

    /// Points `into` at the byte of a buffer with the position in `index`, which has to be another register.
    pub(super) fn point(&mut self, into: Reg, buffer: usize, index: Reg) {
        self.asm.mov(into, index);
        self.asm.alu(Alu::And, into, self.memory.text_mask());
        self.asm.add(into, R7);
        self.asm.add(into, self.memory.texts[buffer] as i32);
    }

    /// Loads the byte of a buffer at the position in `index`.
    pub(super) fn byte(&mut self, into: Reg, buffer: usize, index: Reg) {
        self.point(into, buffer, index);
        self.asm.load(Width::Byte, into, into, 0);
    }

    /// Loads the address of a buffer.
    pub(super) fn buffer(&mut self, into: Reg, buffer: usize) {
        self.asm.load(Width::Double, into, R7, cpu::SELF);
        self.asm.add(into, self.memory.texts[buffer] as i32);
    }

    /// Repeats the body with R8 = 0, 1, … below a limit. The body gets two labels: the next round, and the end.
    pub(super) fn repeat(&mut self, limit: u32, body: impl FnOnce(&mut Self, Label, Label)) {
        let (next, end) = (self.asm.label(), self.asm.label());
        self.asm.mov(R8, 0);
        let again = self.asm.here();
        self.asm.branch(Cond::Ge, R8, limit as i32, end);
        body(self, next, end);
        self.asm.bind(next);
        self.asm.add(R8, 1);
        self.asm.jump(again);
        self.asm.bind(end);
    }

    pub(super) fn branch(&mut self, cond: Cond, dst: Reg, src: impl Into<Operand>, to: Label) {
        self.asm.branch(cond, dst, src, to);
    }

    /// Returns the value in a register.
    pub(super) fn give(&mut self, value: Reg) {
        self.asm.mov(R0, value);
        self.asm.exit();
    }

    /// Returns a new string: R1 is its offset in a buffer, R2 its length.
    pub(super) fn give_text(&mut self, buffer: usize) {
        self.buffer(R3, buffer);
        self.asm.add(R1, R3);
        self.call_unchecked(Function::NewString);
        self.asm.exit();
    }

    /// Returns a new string of one character.
    pub(super) fn give_character(&mut self, character: u8) {
        self.asm.point(R1, self.memory.texts[1]);
        self.asm.store(Width::Byte, R1, 0, i32::from(character));
        self.asm.mov(R1, 0);
        self.asm.mov(R2, 1);
        self.give_text(1);
    }
}

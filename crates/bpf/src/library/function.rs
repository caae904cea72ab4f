//! bpf/library/function.rs: the functions of the library, and how one is written.

use crate::asm::{Assembler, FunctionKind, Label};
use crate::insn::Reg::{self, Frame, R0, R1, R2, R3, R4, R5, R7, R8};
use crate::insn::{Alu, Cond, Helper, Operand, Width};
use crate::memory::{Map, Memory, cpu};
use kinst_base::uapi::Flt;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Rows: the function, how many numbers it takes, the name that the kernel shows, and what writes it. A function calls only
/// those of later rows.
macro_rules! library {
    ($($(#[$doc:meta])* $name:ident $arity:literal $text:literal $write:ident($($argument:expr),*);)*) => {
        /// A function of the library.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Function { $($(#[$doc])* $name),* }

        impl Function {
            /// The number of its arguments, which are in R1 and on.
            pub fn arity(self) -> u8 {
                match self { $(Function::$name => $arity),* }
            }

            /// The name in the program's BTF.
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
    /// Takes scratch memory, filled with zeros: (bytes) gives its address.
    Allocate 1 "allocate" allocate();
    /// Copies to scratch memory or a variable: (to, from, bytes)
    Copy 3 "copy" copy(Helper::ProbeReadKernel);
    /// Copies from the program's memory: (to, from, bytes)
    CopyUser 3 "copy_user" copy(Helper::ProbeReadUser);
    /// Stores to scratch memory or a variable: (address, value)
    StoreByte 2 "store_byte" store(Width::Byte);
    /// Stores 2 bytes: (address, value)
    StoreHalf 2 "store_half" store(Width::Half);
    /// Stores 4 bytes: (address, value)
    StoreWord 2 "store_word" store(Width::Word);
    /// Stores 8 bytes: (address, value)
    StoreDouble 2 "store_double" store(Width::Double);
    /// copyin(): (address in the program's memory, bytes)
    Copyin 2 "copyin" copyin();
    /// copyinstr(): (address in the program's memory, limit)
    Copyinstr 2 "copyinstr" copyinstr();
    /// memref(): (address, length)
    Memref 2 "memref" memref();
    /// memstr(): (address, byte in the place of each NUL, length)
    Memstr 3 "memstr" memstr();
    /// Compares two strings: −1, 0 or 1.
    Compare 2 "compare" compare();
    /// strjoin(): (text, text after it)
    Strjoin 2 "strjoin" strjoin();
    /// toupper(): (text)
    Toupper 1 "toupper" change_case(b'a', b'A');
    /// tolower(): (text)
    Tolower 1 "tolower" change_case(b'A', b'a');
    /// strchr(): (text, character)
    Strchr 2 "strchr" find_byte(false);
    /// strrchr(): (text, character)
    Strrchr 2 "strrchr" find_byte(true);
    /// Finds a string in another, from a position on: the position, or −1.
    Index 3 "index" find(false);
    /// Finds it backwards from a position on.
    Rindex 3 "rindex" find(true);
    /// (text, start, length)
    Substr 3 "substr" substr();
    /// strtok(): (text, or 0 to go on; separators)
    Strtok 2 "strtok" strtok();
    /// basename(): (path)
    Basename 1 "basename" split_path(false);
    /// dirname(): (path)
    Dirname 1 "dirname" split_path(true);
    /// cleanpath(): (path)
    Cleanpath 1 "cleanpath" cleanpath();
    /// lltostr(): (number, base)
    Lltostr 2 "lltostr" lltostr();
    /// strtoll(): (text, base)
    Strtoll 2 "strtoll" strtoll();
    /// Whether a character is a blank, as isspace() has it.
    IsBlank 1 "is_blank" is_blank();
    /// The number that a character is as a digit: (character, base); −1 if it is none.
    Digit 2 "digit" digit();
    /// inet_ntoa(): (address of 4 bytes)
    InetNtoa 1 "inet_ntoa" inet_ntoa();
    /// inet_ntoa6(): (address of 16 bytes)
    InetNtoa6 1 "inet_ntoa6" inet_ntoa6();
    /// link_ntop(): (ARPHRD_ETHER or ARPHRD_INFINIBAND, address)
    LinkNtop 2 "link_ntop" link_ntop();
    /// speculation(): the id of a free one, from 1, or 0.
    Speculation 0 "speculation" speculation();
    /// Tries again and again to send what did not go, while there is room for it: (whether it is for a speculation, bytes)
    /// gives whether it went.
    Insist 2 "insist" insist();
    /// The loops in its loop, each a function of its own: the kernel's verifier looks at each alone, which is quick.
    Persist 2 "persist" persist(Function::Repeat);
    /// See `Persist`.
    Repeat 2 "repeat" persist(Function::Resend);
    /// Sends the record, some times over until it goes, with the same arguments and value.
    Resend 2 "resend" resend();
    /// The variable `ppid`: 0 if there is no parent.
    Ppid 0 "ppid" ppid();
    /// progenyof(): (process id)
    Progenyof 1 "progenyof" progenyof();
    /// The variable `execargs`.
    Execargs 0 "execargs" execargs();
    /// How many of the first addresses of a stack are of what has run the program.
    OwnFrames 0 "own_frames" own_frames();
    /// The variable `vtimestamp`, in nanoseconds.
    Vtimestamp 0 "vtimestamp" vtimestamp();
    /// A register of the program, by its offset in `struct pt_regs`.
    UserRegister 1 "user_register" user_register();
    /// Writes to the program's memory: (from, to, bytes)
    Copyout 3 "copyout" copyout();
    /// Writes a string to the program's memory: (from, to, limit)
    Copyoutstr 3 "copyoutstr" copyoutstr();
    /// mutex_owned(): (address of the mutex)
    MutexOwned 1 "mutex_owned" mutex_owned();
    /// mutex_owner(): (address of the mutex)
    MutexOwner 1 "mutex_owner" mutex_owner();
    /// rw_read_held(): (address of the semaphore)
    RwReadHeld 1 "rw_read_held" rw_read_held();
    /// rw_write_held(): (address of the semaphore)
    RwWriteHeld 1 "rw_write_held" rw_write_held();
    /// rw_iswriter(): (address of the semaphore)
    RwIswriter 1 "rw_iswriter" rw_iswriter();
    /// d_path(): (address of a struct path)
    DPath 1 "d_path" d_path();
    /// json(): (text, path)
    Json 2 "json" json();
    /// The position of the value after the one at a position, in the same array or object; or −1.
    NextValue 1 "next_value" next_value();
    /// The position after the value at a position, or −1.
    SkipValue 1 "skip_value" skip_value();
    /// The position after the string whose quote is at a position, or −1.
    SkipString 1 "skip_string" skip_string();
    /// Positions in a text of JSON, or −1.
    SkipBlanks 1 "skip_blanks" skip_blanks();
    /// The end of a step of a path, and the number that its digits are: (start, end)
    StepEnd 1 "step_end" step_end();
    /// The index that is a step of the path, or −1: (start, end)
    StepIndex 2 "step_index" step_index();
    /// Whether the key at a position is the step of the path: (position, step, length)
    IsKey 3 "is_key" is_key();
    /// The position of the last slash before one in the second buffer, or 0.
    LastSlash 1 "last_slash" last_slash();
    /// Whether the second buffer's string is in the first at a position: (position, length)
    Match 2 "match" matches();
    /// Makes a string in scratch memory: (address, length) gives its address.
    NewString 2 "new_string" new_string();
    /// Copies at most so many bytes of a string to a buffer: (address, limit) gives the length.
    First 2 "first_text" text(0);
    /// The same with the second buffer.
    Second 2 "second_text" text(1);
}

/// The functions that code calls, each with its label.
#[derive(Debug, Default)]
pub struct Functions {
    labels: RefCell<BTreeMap<Function, Label>>,
}

impl Functions {
    /// Returns the label of a function, which will be written.
    pub fn label(&self, asm: &mut Assembler, function: Function) -> Label {
        *self.labels.borrow_mut().entry(function).or_insert_with(|| asm.label())
    }

    /// Whether a function is called so far.
    pub fn has(&self, function: Function) -> bool {
        self.labels.borrow().contains_key(&function)
    }

    /// Writes all functions that are called, and those that they call.
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

/// The slots of a function's frame: its arguments, and what a copy is loaded from.
pub(super) const fn argument(number: u8) -> i16 {
    -8 * (number as i16 + 1)
}

pub(super) const KEY: i16 = -48;

pub(super) const COPY: i16 = -56;

/// Writes one function. R7 is the CPU's memory.
pub(super) struct Lib<'a> {
    pub(super) asm: &'a mut Assembler,
    pub(super) memory: &'a Memory,
    functions: &'a Functions,
    faults: Vec<(Label, Flt)>,
    /// The end of a function that has no value.
    pub(super) none: Label,
}

impl Lib<'_> {
    fn write(asm: &mut Assembler, memory: &Memory, functions: &Functions, function: Function, label: Label) {
        asm.function(label, FunctionKind::Global { name: function.name(), arity: function.arity() });
        let none = asm.label();
        let mut lib = Lib { asm, memory, functions, faults: Vec::new(), none };
        for (number, reg) in (0..function.arity()).zip([R1, R2, R3, R4, R5]) {
            lib.asm.store(Width::Double, Frame, argument(number), reg);
        }
        lib.asm.call(Helper::GetSmpProcessorId);
        lib.asm.store(Width::Word, Frame, KEY, R0);
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

    /// Makes a place to jump to with a value in R1, where the function ends with a fault.
    pub(super) fn fault(&mut self, code: Flt) -> Label {
        let at = self.asm.label();
        self.faults.push((at, code));
        at
    }

    pub(super) fn argument(&mut self, into: Reg, number: u8) {
        self.asm.load(Width::Double, into, Frame, argument(number));
    }

    /// Loads a word of the CPU's memory that lasts until the function ends.
    pub(super) fn word(&mut self, into: Reg, word: i16) {
        self.asm.load(Width::Double, into, R7, cpu::WORDS + 8 * word);
    }

    pub(super) fn set_word(&mut self, word: i16, from: impl Into<Operand>) {
        self.asm.store(Width::Double, R7, cpu::WORDS + 8 * word, from);
    }

    /// Adds to a word, by way of R1.
    pub(super) fn add_word(&mut self, word: i16, number: impl Into<Operand>) {
        self.word(R1, word);
        self.asm.add(R1, number);
        self.set_word(word, R1);
    }

    /// Calls a function whose arguments are in R1 to R5; ends this one if it faults.
    pub(super) fn call(&mut self, function: Function) {
        self.call_unchecked(function);
        self.asm.if_faulted(self.none);
    }

    /// Calls a function that never faults.
    pub(super) fn call_unchecked(&mut self, function: Function) {
        let label = self.functions.label(self.asm, function);
        self.asm.call_local(label);
    }

    /// Copies the string of an argument to a buffer; its length is in R0.
    pub(super) fn fetch(&mut self, buffer: usize, number: u8) {
        self.argument(R1, number);
        self.asm.mov(R2, self.memory.strsize as i32 - 1);
        self.call(if buffer == 0 { Function::First } else { Function::Second });
    }

    /// Makes `into` point at the byte of a buffer that the number in `index` says; it has to be another register.
    pub(super) fn point(&mut self, into: Reg, buffer: usize, index: Reg) {
        self.asm.mov(into, index);
        self.asm.alu(Alu::And, into, self.memory.text_mask());
        self.asm.add(into, R7);
        self.asm.add(into, self.memory.texts[buffer] as i32);
    }

    /// Loads the byte of a buffer that the number in `index` says.
    pub(super) fn byte(&mut self, into: Reg, buffer: usize, index: Reg) {
        self.point(into, buffer, index);
        self.asm.load(Width::Byte, into, into, 0);
    }

    /// Loads the address of a buffer.
    pub(super) fn buffer(&mut self, into: Reg, buffer: usize) {
        self.asm.load(Width::Double, into, R7, cpu::SELF);
        self.asm.add(into, self.memory.texts[buffer] as i32);
    }

    /// Repeats the body with R8 = 0, 1, … below a limit. The body gets the labels of the next round and of the end.
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

    /// Ends the function with the value in a register.
    pub(super) fn give(&mut self, value: Reg) {
        self.asm.mov(R0, value);
        self.asm.exit();
    }

    /// Ends the function with a new string: R1 is the place in a buffer, R2 the length.
    pub(super) fn give_text(&mut self, buffer: usize) {
        self.buffer(R3, buffer);
        self.asm.add(R1, R3);
        self.call_unchecked(Function::NewString);
        self.asm.exit();
    }

    /// Ends the function with a new string of one character.
    pub(super) fn give_character(&mut self, character: u8) {
        self.asm.point(R1, self.memory.texts[1]);
        self.asm.store(Width::Byte, R1, 0, i32::from(character));
        self.asm.mov(R1, 0);
        self.asm.mov(R2, 1);
        self.give_text(1);
    }
}

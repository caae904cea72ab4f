//! sites/memory/text.rs: the functions of the text in memory, and their instructions.

use super::error::SpotError;
use super::live::{LiveError, LiveText};
use crate::code::decode::{self, Control, InstructionSet};
use crate::model::LiveInsn;
use crate::target::Kernel;
use kinst_base::image::ModuleId;
use kinst_base::machine::Machine;
use kinst_base::probe::{Place, Spot};
use kinst_base::reason::{Reason, Untraceable};
use std::sync::{Arc, OnceLock};

/// A reader of the kernel's memory.
pub trait Memory: Send + Sync {
    /// Returns the bytes at an address; `None` if they are not mapped or cannot be read.
    fn read(&self, address: u64, len: usize) -> Option<Vec<u8>>;
}

/// Resolves places to the instructions where probes fire.
pub trait Spots: Symbols {
    /// Returns the instructions of a place in the text.
    fn spots(&self, place: &Place) -> Result<Vec<Spot>, SpotError>;

    /// Returns the machine of the kernel.
    fn machine(&self) -> Machine {
        Machine::HERE
    }
}

/// Queries on the running kernel's symbols.
pub trait Symbols {
    /// Returns the address of a function or variable.
    fn symbol(&self, name: &str) -> Option<u64>;

    /// Returns the number of bytes from an address to the next symbol.
    fn room(&self, address: u64) -> u64;

    /// Reads kernel memory.
    fn bytes(&self, address: u64, len: usize) -> Option<Vec<u8>>;

    /// Returns ftrace's use of each function's beginning.
    fn ftraced(&self, functions: &[u64]) -> Vec<Option<Ftraced>>;

    /// Returns the name of the function that begins at an address.
    fn function_at(&self, address: u64) -> Option<String>;

    /// Whether the kernel finds this function of a module, and no other one, by its name.
    fn is_sole(&self, module: &str, name: &str) -> bool;
}

/// How ftrace uses a function's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ftraced {
    /// Not traced now.
    Idle,
    /// Calls or jumps to ftrace, or to a trampoline made by ftrace.
    Used,
}

/// The text of the running kernel.
pub struct Text {
    pub(super) kernel: Arc<Kernel>,
    pub(super) memory: Box<dyn Memory>,
    /// Target of returns, if they go through a thunk.
    return_thunk: OnceLock<Option<u64>>,
}

/// A function in memory.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) start: u64,
    code: Vec<u8>,
    pub(super) set: &'static dyn InstructionSet,
}

/// A larger symbol is not a function.
const MOST: u64 = 1 << 20;

/// On x86-64, a breakpoint, and the length of a jump that may replace it and the code after it.
const BREAK: u8 = 0xcc;

const JUMP_LEN: usize = 5;

impl Function {
    pub(super) fn end(&self) -> u64 {
        self.start + self.code.len() as u64
    }

    pub(super) fn code(&self) -> &[u8] {
        &self.code
    }

    pub(super) fn has(&self, address: u64) -> bool {
        (self.start..self.end()).contains(&address)
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = decode::Step> + '_ {
        self.set.steps(&self.code, self.start)
    }

    fn step(&self, at: usize) -> Option<decode::Step> {
        self.set.steps(self.code.get(at..)?, self.start + at as u64).next()
    }

    pub(super) fn bytes(&self, step: &decode::Step) -> &[u8] {
        let at = (step.address - self.start) as usize;
        self.code.get(at..at + usize::from(step.len)).unwrap_or_default()
    }
}

impl Text {
    /// Makes a reader of a kernel's text through `memory`. Nothing is read yet.
    pub fn new(kernel: Arc<Kernel>, memory: Box<dyn Memory>) -> Text {
        Text { kernel, memory, return_thunk: OnceLock::new() }
    }

    /// Returns the function that begins at the address, with the patches of other tracers undone, and without
    /// trailing padding.
    pub(super) fn function(&self, start: u64) -> Result<Function, SpotError> {
        let found =
            self.kernel.function_around(start).filter(|(_, begin, size)| *begin == start && *size <= MOST);
        let (name, _, size) = found.ok_or(SpotError::NoFunction)?;
        let code = self.memory.read(start, size as usize).ok_or(SpotError::Unreadable)?;
        let machine = self.kernel.machine();
        let mut function = Function { name, start, code, set: decode::of(machine) };
        self.see_through(&mut function)?;
        let whole = decode::instructions(machine, &function.code, start);
        let mut end = 0;
        for insn in &whole {
            if !function.set.fills(&insn.bytes) || end == 0 {
                end = insn.offset as usize + usize::from(insn.len);
            }
        }
        let decoded = whole.last().map_or(0, |last| last.offset as usize + usize::from(last.len));
        if decoded < function.code.len() && function.code[decoded..].iter().any(|byte| *byte != 0) {
            return Err(SpotError::Undecodable);
        }
        function.code.truncate(end);
        Ok(function)
    }

    /// Restores the instructions that breakpoints and jumps of kprobes cover, from the kernel's file.
    fn see_through(&self, function: &mut Function) -> Result<(), SpotError> {
        let (mut at, mut dead) = (0, false);
        while let Some(step) = function.step(at) {
            let broken = function.set.breakpoint(&function.code[at..]);
            let detour = matches!(step.control, Control::Jump(to) if self.is_detour(to));
            if broken.is_some() || detour {
                let put_back = self.put_back(function, at, broken.unwrap_or(JUMP_LEN), broken.unwrap_or(1));
                // Padding consists of breakpoints, too.
                if put_back.is_some() || broken.is_some() && dead {
                    at += usize::from(put_back.is_none());
                    continue;
                }
                return Err(SpotError::Covered { function: function.name.clone(), offset: at });
            }
            if step.control == Control::Return
                && self.has_kprobe_jumps()
                && self.end_return(function, at).is_some()
            {
                at += JUMP_LEN;
                dead = true;
                continue;
            }
            dead = self.has_kprobe_jumps()
                && matches!(
                    step.control,
                    Control::Jump(_)
                        | Control::JumpThrough
                        | Control::JumpIndirect
                        | Control::Return
                        | Control::Trap
                );
            at += usize::from(step.len);
        }
        Ok(())
    }

    /// Overwrites the remainder of a jump to the return thunk whose place a shorter return has taken, if any.
    /// The kernel fills it with breakpoints, which do not belong to a kprobe.
    fn end_return(&self, function: &mut Function, at: usize) -> Option<()> {
        let next = function.start.wrapping_add((at + JUMP_LEN) as u64);
        let rest = function.code.get_mut(at + 1..at + JUMP_LEN)?;
        let distance = i32::from_le_bytes((&*rest).try_into().ok()?);
        let thunk = || *self.return_thunk.get_or_init(|| self.kernel.address_of("__x86_return_thunk"));
        let to_thunk = || thunk() == Some(next.wrapping_add_signed(distance.into()));
        (*rest == [BREAK; JUMP_LEN - 1] || to_thunk()).then(|| rest.fill(BREAK))
    }

    fn has_kprobe_jumps(&self) -> bool {
        self.kernel.machine().facts().has_kprobe_jumps
    }

    /// Whether a jump leads to code outside all functions and thunks: a kprobe's detour, which exists on x86-64.
    fn is_detour(&self, to: u64) -> bool {
        let in_none = || {
            let function = self.kernel.function_around(to);
            function.is_none_or(|(name, ..)| name.starts_with("kprobe_"))
        };
        self.has_kprobe_jumps() && in_none() && self.thunk(to).is_none()
    }

    /// Restores the instructions in this many bytes, if the first bytes show that the file has others there.
    fn put_back(&self, function: &mut Function, at: usize, covered: usize, shown: usize) -> Option<()> {
        let address = (function.start + at as u64).wrapping_sub(self.kernel.slide_of_symbols()?);
        let rest = (function.code.len() - at) as u64;
        let file = self.kernel.image(ModuleId::PROPER).code(address, rest)?;
        let steps =
            function.set.steps(file, address).take_while(|step| step.address - address < covered as u64);
        let end = steps.last().map(|step| step.address + u64::from(step.len))?;
        let known = file.get(..(end - address) as usize)?;
        if known.get(..shown)? == function.code.get(at..at + shown)? {
            return None;
        }
        function.code.get_mut(at..at + known.len())?.copy_from_slice(known);
        Some(())
    }

    fn is_blacklisted(&self, function: &Function) -> bool {
        let tables = self.kernel.tables(ModuleId::PROPER);
        let slide = self.kernel.slide_of_symbols();
        let last = function.end().saturating_sub(1).max(function.start);
        let listed = |address: u64, slide| tables.is_blacklisted(address.wrapping_sub(slide));
        slide.is_some_and(|slide| listed(function.start, slide) || listed(last, slide))
    }

    /// Returns why kprobes refuse an instruction, if the text and the kernel's tables show it.
    fn refused(&self, function: &Function, insn: &decode::Insn) -> Option<Untraceable> {
        if function.set.breakpoint(&insn.bytes).is_some() {
            return Some(Untraceable::Padding);
        }
        if function.set.is_trap(&insn.bytes) {
            return Some(Untraceable::Undefined);
        }
        let at = (function.start + u64::from(insn.offset)).wrapping_sub(self.kernel.slide_of_symbols()?);
        let covered = at..at.saturating_add(insn.len.into());
        self.kernel.tables(ModuleId::PROPER).refusal(&covered).map(Untraceable::from)
    }

    /// Returns the name of the function that begins at an address.
    pub(super) fn name_at(&self, address: u64) -> Option<String> {
        self.kernel.function_around(address).filter(|(_, start, _)| *start == address).map(|(name, ..)| name)
    }
}

impl Symbols for Text {
    fn symbol(&self, name: &str) -> Option<u64> {
        self.kernel.address_of(name)
    }

    fn room(&self, address: u64) -> u64 {
        self.kernel.room_of(address)
    }

    fn bytes(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        self.memory.read(address, len)
    }

    fn ftraced(&self, functions: &[u64]) -> Vec<Option<Ftraced>> {
        self.all_ftraced(functions)
    }

    fn function_at(&self, address: u64) -> Option<String> {
        self.name_at(address)
    }

    fn is_sole(&self, module: &str, name: &str) -> bool {
        self.is_found_by_name(module, name)
    }
}

impl LiveText for Text {
    fn instructions(&self, function: u64) -> Result<Vec<LiveInsn>, LiveError> {
        let function = self.function(function)?;
        if self.is_blacklisted(&function) {
            return Err(Untraceable::Reason(Reason::BLACKLIST).into());
        }
        let insns = decode::instructions(self.kernel.machine(), &function.code, function.start);
        let insn = |insn: decode::Insn| {
            let refused = self.refused(&function, &insn);
            LiveInsn { offset: insn.offset, bytes: insn.bytes, machine: insn.machine, refused }
        };
        Ok(insns.into_iter().map(insn).collect())
    }
}

//! sites/memory/functions.rs: the ftrace state of functions, and whether the kernel can look them up by name.

use super::text::{Ftraced, Text};
use crate::code::decode::{self, FtraceEntry};
use kinst_base::image::{KERNEL_PROPER, ModuleId};

/// Number of bytes at a function's beginning that contain ftrace's call.
const BEGINNING: usize = 16;
/// Number of bytes of text that are read at once.
const CHUNK: usize = 4096;

/// Functions that ftrace's call sites call. Trampolines made at run time have no names, or begin with these.
const CALLED: [&str; 3] = ["ftrace_caller", "ftrace_regs_caller", "__fentry__"];
const MADE: [&str; 2] = ["ftrace_trampoline", "bpf_trampoline_"];

impl Text {
    /// Returns ftrace's use of each function's beginning. Text is read in chunks, because functions are adjacent.
    pub(super) fn all_ftraced(&self, functions: &[u64]) -> Vec<Option<Ftraced>> {
        let mut order: Vec<usize> = (0..functions.len()).collect();
        order.sort_unstable_by_key(|at| functions[*at]);
        let mut all = vec![None; functions.len()];
        let mut chunk = (0, Vec::new());
        for at in order {
            let function = functions[at];
            let code = self.beginning(function, &mut chunk);
            all[at] = code.and_then(|code| self.ftraced_by(&code, function));
        }
        all
    }

    /// Returns the first bytes of a function, from the last chunk of text if it has them.
    fn beginning(&self, function: u64, chunk: &mut (u64, Vec<u8>)) -> Option<[u8; BEGINNING]> {
        let within = |(start, code): &(u64, Vec<u8>)| {
            let at = usize::try_from(function.checked_sub(*start)?).ok()?;
            code.get(at..at.checked_add(BEGINNING)?)?.try_into().ok()
        };
        if let Some(code) = within(chunk) {
            return Some(code);
        }
        // The text after a module's last function may not be mapped.
        let read = self.memory.read(function, CHUNK).or_else(|| self.memory.read(function, BEGINNING));
        *chunk = (function, read?);
        within(chunk)
    }

    fn ftraced_by(&self, code: &[u8], function: u64) -> Option<Ftraced> {
        match decode::of(self.kernel.machine()).ftrace_entry(code, function)? {
            FtraceEntry::Nop => Some(Ftraced::Idle),
            FtraceEntry::Goes(to) => {
                let known = self.kernel.function_around(to);
                let own = known.is_none_or(|(name, ..)| {
                    CALLED.contains(&&*name) || MADE.iter().any(|made| name.starts_with(made))
                });
                own.then_some(Ftraced::Used)
            }
        }
    }

    /// Whether the kernel finds this function of a module, and no other one, by its name. For a function of a
    /// module, kernels before 6.3 search all loaded modules and the kernel proper.
    pub(super) fn is_found_by_name(&self, module: &str, name: &str) -> bool {
        let modules = match module {
            KERNEL_PROPER => vec![ModuleId::PROPER],
            _ => self.kernel.modules().ids().collect(),
        };
        // A number after the name selects one of several namesakes.
        !name.contains('#') && self.kernel.functions_named(&modules, name).len() == 1
    }
}

//! consumer/output/stack.rs: addresses and stacks.

use super::Text;
use crate::consumer::symbols::Symbols;

/// Prints a line break, then one frame per line; the first zero ends the stack.
pub fn kernel(out: &mut Text, record: &[u8], indent: usize, symbols: &dyn Symbols) {
    out.str("\n");
    for pc in words(record).take_while(|pc| *pc != 0) {
        out.pad(indent);
        out.str(&address(pc, symbols));
        out.str("\n");
    }
}

/// Prints a user stack, whose record begins with the pid.
pub fn user(out: &mut Text, record: &[u8], indent: usize, symbols: &dyn Symbols) {
    out.str("\n");
    let mut words = words(record);
    let pid = words.next().unwrap_or(0);
    for pc in words.take_while(|pc| *pc != 0) {
        out.pad(indent);
        out.str(&user_address(pid, pc, symbols));
        out.str("\n");
    }
}

/// `` module`symbol+0xoff ``
pub fn address(pc: u64, symbols: &dyn Symbols) -> String {
    match symbols.kernel(pc) {
        Some(found) if pc > found.start => {
            format!("{}`{}+{:#x}", found.module, found.name, pc - found.start)
        }
        Some(found) => format!("{}`{}", found.module, found.name),
        None => format!("{pc:#x}"),
    }
}

/// `` module`symbol ``
pub fn function(pc: u64, symbols: &dyn Symbols) -> String {
    match symbols.kernel(pc) {
        Some(found) => format!("{}`{}", found.module, found.name),
        None => format!("{pc:#x}"),
    }
}

pub fn module(pc: u64, symbols: &dyn Symbols) -> String {
    symbols.kernel(pc).map_or_else(|| format!("{pc:#x}"), |found| found.module)
}

/// `` object`symbol+0xoff ``, or `` object`0xaddress `` if the file has no symbol for the function there.
pub fn user_address(pid: u64, pc: u64, symbols: &dyn Symbols) -> String {
    let Some(found) = symbols.user(pid, pc) else { return format!("{pc:#x}") };
    match found.function {
        Some(function) if function.offset > 0 => {
            format!("{}`{}+{:#x}", found.object, function.name, function.offset)
        }
        Some(function) => format!("{}`{}", found.object, function.name),
        None => format!("{}`{pc:#x}", found.object),
    }
}

/// `` object`symbol ``
pub fn user_function(pid: u64, pc: u64, symbols: &dyn Symbols) -> String {
    let Some(found) = symbols.user(pid, pc) else { return format!("{pc:#x}") };
    match found.function {
        Some(function) => format!("{}`{}", found.object, function.name),
        None => format!("{}`{pc:#x}", found.object),
    }
}

pub fn user_module(pid: u64, pc: u64, symbols: &dyn Symbols) -> String {
    symbols.user(pid, pc).map_or_else(|| format!("{pc:#x}"), |found| found.object)
}

/// Returns the pid and address of a usym-like record.
pub fn user_pair(record: &[u8]) -> (u64, u64) {
    let mut words = words(record);
    (words.next().unwrap_or(0), words.next().unwrap_or(0))
}

pub fn words(record: &[u8]) -> impl Iterator<Item = u64> {
    record.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
}

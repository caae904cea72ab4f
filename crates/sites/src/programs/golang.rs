//! sites/programs/golang.rs: the functions of a Go program, from the table that its runtime needs.

use super::file::ProgramFile;
use crate::code::decode::{self, Control};
use crate::code::pclntab::{self, GoFunction, GoTable, Unreadable};
use crate::symtab::{Symbol, Symbols};
use kinst_debuginfo::ElfFile;
use kinst_dwarf::without_instance;

/// A Go program's table, and its functions by address.
pub(crate) struct GoProgram<'a> {
    table: GoTable<'a>,
    functions: Vec<GoFunction<'a>>,
}

impl<'a> GoProgram<'a> {
    /// Reads the table of a file.
    pub(crate) fn read(image: &'a ElfFile) -> Result<GoProgram<'a>, Unreadable> {
        let section = pclntab::SECTIONS.iter().find_map(|name| image.section(name));
        let section = section.ok_or(Unreadable::Damaged)?;
        let bytes = image.code_at(section.address).ok_or(Unreadable::Damaged)?;
        let place = section.address + pclntab::TEXT_START;
        let relocated = image.relative_addresses(place..place + 1);
        let table = GoTable::parse(bytes, relocated.first().map(|(_, text)| *text))?;
        let code = |address| {
            let section = image.section_at(address).filter(|section| section.executable);
            section.map_or(0, |section| section.range().end - address)
        };
        let functions = table.functions(code);
        Ok(GoProgram { table, functions })
    }
}

/// Adds the functions of the table to the symbols of a file, which may be stripped. Returns the symbols, and which of the
/// added functions are in assembly code; or the symbols, and why there are no further ones.
pub(super) fn functions(
    image: &ElfFile,
    symbols: Symbols,
) -> Result<(Symbols, Vec<u64>), (Symbols, Unreadable)> {
    let program = match GoProgram::read(image) {
        Ok(program) => program,
        Err(why) => return Err((symbols.with(&[], without_instance), why)),
    };
    let is_new = |function: &&GoFunction<'_>| symbols.names_at(function.address).next().is_none();
    let new: Vec<&GoFunction<'_>> = program.functions.iter().filter(is_new).collect();
    let assembly = new.iter().filter(|function| function.is_assembly).map(|function| function.address);
    let assembly = assembly.collect();
    let new: Vec<(&str, u64, u64)> =
        new.iter().map(|function| (function.name, function.address, function.size)).collect();
    Ok((symbols.with(&new, without_instance), assembly))
}

/// The check of a function of Go for room on its stack. If there is none, the function calls the runtime, which moves the
/// stack or lets another goroutine run, and begins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackCheck {
    /// The first instruction after the check, which a call reaches once.
    pub body: u64,
    /// The jump back to the function's first instruction.
    pub restart: u64,
}

/// The most instructions of a check, and of the code that calls the runtime: it saves the argument registers.
const CHECK: usize = 12;
const CALL: usize = 80;

/// The beginning of the names of the functions of the runtime that it calls.
const MORE_STACK: &str = "runtime.morestack";

/// Returns the check at the beginning of a function.
pub(super) fn stack_check(file: &ProgramFile, symbol: &Symbol) -> Option<StackCheck> {
    let end = symbol.address.checked_add(symbol.size)?;
    let machine = file.elf().machine()?;
    let steps = |from: u64| {
        let code = (from < end).then(|| file.elf().code_at(from)).flatten().unwrap_or_default();
        let code = &code[..code.len().min(usize::try_from(end.saturating_sub(from)).unwrap_or(0))];
        decode::of(machine).steps(code, from)
    };
    let is_more_stack = |to: u64| file.functions().names_at(to).any(|name| name.starts_with(MORE_STACK));
    let restart = |from: u64| {
        let mut steps = steps(from).take(CALL);
        steps
            .find(|step| !matches!(step.control, Control::Next))
            .filter(|step| matches!(step.control, Control::Call(to) if is_more_stack(to)))?;
        let last = steps.find(|step| !matches!(step.control, Control::Next))?;
        (last.control == Control::Jump(symbol.address)).then_some(last.address)
    };
    let mut found = None;
    for step in steps(symbol.address).take(CHECK) {
        match step.control {
            Control::Next => {}
            // A large frame needs several comparisons.
            Control::Branch(to) => match restart(to) {
                Some(restart) => found = Some(StackCheck { body: step.next(), restart }),
                None => break,
            },
            _ => break,
        }
    }
    found
}

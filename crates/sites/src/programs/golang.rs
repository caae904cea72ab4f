//! sites/programs/golang.rs: the functions of a Go program, from the table that its runtime needs.

use crate::code::decode::{self, Control};
use crate::code::pclntab::{self, GoFunction, GoTable, Unreadable};
use crate::symtab::{Symbol, Symbols};
use kinst_debuginfo::{ElfFile, Section};
use kinst_dwarf::{Caller, Evidence, Function, InlineCopy, Memory, Recurring, Registers, without_instance};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A Go program and its table.
pub(crate) struct GoProgram<'a> {
    image: &'a ElfFile,
    table: GoTable<'a>,
}

impl<'a> GoProgram<'a> {
    /// Reads the header of a file's table.
    pub(crate) fn open(image: &'a ElfFile) -> Result<GoProgram<'a>, Unreadable> {
        let section = section(image).ok_or(Unreadable::Damaged)?;
        let bytes = image.code_at(section.address).ok_or(Unreadable::Damaged)?;
        let place = section.address.wrapping_add(pclntab::TEXT_START);
        let relocated = image.relative_addresses(place..place.saturating_add(1));
        let table = GoTable::parse(bytes, relocated.first().map(|(_, text)| *text))?;
        Ok(GoProgram { image, table })
    }

    fn functions(&self) -> Vec<GoFunction<'a>> {
        self.table.functions(&|address| code_from(self.image, address))
    }

    /// Returns the caller of the function at an address; `None` if that is not a function of Go, or its frame is unknown.
    pub(crate) fn caller(&self, address: u64, registers: &Registers, memory: &Memory<'_>) -> Option<Caller> {
        let function = self.table.containing(address, &|address| code_from(self.image, address))?;
        if function.is_outermost {
            return Some(Caller::Outermost);
        }
        let frame = self.table.frame(&function, address).filter(|_| !function.switches)?;
        let registers = registers.by_frame_size(frame, memory)?;
        Some(Caller::Found { registers, interrupted: false })
    }

    /// Returns the functions that are inlined, with their copies, by name. A name may be left out.
    pub(crate) fn inlined(&self, trees: &[u8], passes: &dyn Fn(&str) -> bool) -> BTreeMap<String, Function> {
        let mut found: BTreeMap<String, Function> = BTreeMap::new();
        let mut number = 0;
        for function in self.functions() {
            for call in self.table.inlined(&function, trees) {
                number += 1;
                let name = without_instance(call.name).into_owned();
                let Some(first) = call.ranges.first().map(|range| range.start).filter(|_| passes(&name))
                else {
                    continue;
                };
                let copies = &mut found.entry(name.clone()).or_default().copies;
                let origin = copies.first().map_or(number, |copy| copy.origin);
                copies.push(InlineCopy {
                    die: number,
                    origin,
                    function: Some(name.into()),
                    entry_pc: first,
                    entries: vec![first],
                    evidence: Evidence::Lowest,
                    rows: Arc::default(),
                    recurring: Recurring::default(),
                    ranges: call.ranges,
                    call: None,
                });
            }
        }
        found.values_mut().for_each(|function| (function.defined, function.inline) = (true, true));
        found
    }
}

/// Returns the bytes to which the offsets of functions' data refer: from an address that the runtime's description of the
/// program has.
pub(super) fn trees(image: &ElfFile) -> Option<&[u8]> {
    if let Some(symbol) = ["go:func.*", "go.func.*"].iter().find_map(|name| image.symbol(name)) {
        return image.code_at(symbol.address);
    }
    let table = section(image)?;
    let is_later = image.code_at(table.address)?.first() == Some(&0xf1);
    // The words of runtime.moduledata from the address of the table to that of the data; since 1.20 two more.
    let place = 8 * if is_later { GOFUNC + 2 } else { GOFUNC };
    let first = GoProgram::open(image).ok()?.functions().first()?.address;
    let sections = image.sections().iter().filter(|section| !section.executable);
    for section in sections {
        let relocated = image.relative_addresses(section.range());
        let word = |at: u64| {
            let known = relocated.binary_search_by_key(&at, |(place, _)| *place);
            known
                .ok()
                .map(|known| relocated[known].1)
                .or_else(|| Some(u64::from_le_bytes(image.code_at(at)?.get(..8)?.try_into().ok()?)))
        };
        let mut at = section.address.next_multiple_of(8);
        while at < section.range().end {
            // The table, and the lowest address of a function.
            if word(at) == Some(table.address) && word(at + 8 * MIN_PC) == Some(first) {
                return image.code_at(word(at + place)?);
            }
            at += 8;
        }
    }
    None
}

/// Words before `minpc` and `gofunc` in runtime.moduledata: the table's header, six slices, and findfunctab; then the
/// ends of sections.
const MIN_PC: u64 = 20;
const GOFUNC: u64 = 38;

fn section(image: &ElfFile) -> Option<&Section> {
    pclntab::SECTIONS.iter().find_map(|name| image.section(name))
}

/// Returns the number of bytes of code from an address on.
fn code_from(image: &ElfFile, address: u64) -> u64 {
    let section = image.section_at(address).filter(|section| section.executable);
    section.map_or(0, |section| section.range().end - address)
}

/// Adds the functions of the table to the symbols of a file, which may be stripped. Returns the symbols, and which of the
/// added functions are in assembly code, or why there are no further ones.
pub(crate) fn functions(image: &ElfFile, symbols: Symbols) -> (Symbols, Result<Vec<u64>, Unreadable>) {
    let program = match GoProgram::open(image) {
        Ok(program) => program,
        Err(why) => return (symbols.with(&[], without_instance), Err(why)),
    };
    let functions = program.functions();
    let is_new = |function: &&GoFunction<'_>| symbols.names_at(function.address).next().is_none();
    let new: Vec<&GoFunction<'_>> = functions.iter().filter(is_new).collect();
    let assembly = new.iter().filter(|function| function.is_assembly).map(|function| function.address);
    let assembly = assembly.collect();
    let new: Vec<(&str, u64, u64)> =
        new.iter().map(|function| (function.name, function.address, function.size)).collect();
    (symbols.with(&new, without_instance), Ok(assembly))
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
pub(super) fn stack_check(image: &ElfFile, functions: &Symbols, symbol: &Symbol) -> Option<StackCheck> {
    let end = symbol.address.checked_add(symbol.size)?;
    let machine = image.machine()?;
    let steps = |from: u64| {
        let code = (from < end).then(|| image.code_at(from)).flatten().unwrap_or_default();
        let code = &code[..code.len().min(usize::try_from(end.saturating_sub(from)).unwrap_or(0))];
        decode::of(machine).steps(code, from)
    };
    let is_more_stack = |to: u64| functions.names_at(to).any(|name| name.starts_with(MORE_STACK));
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

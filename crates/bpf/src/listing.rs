//! bpf/listing.rs: a readable listing of a program's objects as BPF.

use super::asm::{Assembler, FunctionKind};
use super::library::Functions;
use super::machine::Machine;
use super::memory::{Memory, Sizes};
use super::object::{Object, ProbeKind, Shared};
use kinst_dif::{Options, Program};
use std::fmt::Write as _;

/// Lists all objects as for a probe at a function's entry, and the functions that they share. An object that
/// needs the module is replaced by the reason.
pub fn program(program: &Program, options: &Options, machine: &'static dyn Machine) -> String {
    let mut memory = match Memory::new(program, options, Sizes::default()) {
        Ok(memory) => memory,
        Err(missing) => return format!("\nBPF: {missing}\n"),
    };
    memory.machine = machine;
    let mut asm = Assembler::default();
    let functions = Functions::default();
    let shared =
        Shared { memory: &memory, probe: ProbeKind::Entry, context: ProbeKind::Entry, functions: &functions };
    let (mut text, mut names) = (String::new(), Vec::new());
    for (index, difo) in program.difos.iter().enumerate() {
        // A refused object would leave half of its code: each is tried separately first.
        let (mut trial, start) = (Assembler::default(), asm.label());
        let trial_start = trial.label();
        let shared_trial = Shared { functions: &Functions::default(), ..shared };
        if let Err(missing) = Object::write(&mut trial, &shared_trial, trial_start, index, difo) {
            let _ = writeln!(text, "\nBPF of DIFO {index:#x}: {missing}");
            continue;
        }
        names.push(format!("BPF of DIFO {index:#x}, {} instructions of DIF", difo.insns.len()));
        let _ = Object::write(&mut asm, &shared, start, index, difo);
    }
    functions.write(&mut asm, &memory);
    let code = match asm.finish() {
        Ok(code) => code,
        Err(error) => return format!("{text}\nBPF: {error}\n"),
    };
    // The first function is the program itself, which is omitted.
    let mut names = names.into_iter();
    let mut starts = code.functions.iter().skip(1).peekable();
    let mut at = 0;
    for insn in &code.insns {
        if let Some((_, kind)) = starts.next_if(|(start, _)| *start == at) {
            let heading = match kind {
                FunctionKind::Static => names.next().unwrap_or_default(),
                FunctionKind::Global { name, arity } => format!("BPF of {name}(), {arity} arguments"),
            };
            let _ = writeln!(text, "\n{heading}");
        }
        let _ = writeln!(text, "{at:>5}: {insn}");
        at += insn.units();
    }
    text
}

//! sites/listing/variables.rs: the variables in scope at instructions of a kernel, given by probe descriptions.

use crate::catalog::Catalog;
use crate::code::decode;
use crate::image::Image;
use crate::programs::ProgramFile;
use crate::symtab::Symbol;
use crate::target::Kernel;
use kinst_base::diag::Diagnostic;
use kinst_base::image::{FileId, ImageId, ModuleId};
use kinst_base::machine::Machine;
use kinst_base::probe::{Fields, Site};
use kinst_base::space::Space;
use kinst_dwarf::Variables;
use kinst_dwarf::variables::scope::{Missing, NoScope, Scope};
use kinst_dwarf::variables::term::{Binary, Register, Term};
use std::sync::Arc;

/// An instruction located in an image.
struct Found<'q> {
    /// Index in the list of queried sites.
    index: usize,
    asked: &'q Site,
    image: Image<'q>,
    symbol: Symbol,
}

impl Kernel {
    /// Returns the variables in scope at each instruction of the kernel, in order.
    pub fn scopes(&self, asked: &[Site]) -> Vec<Result<Scope, NoScope>> {
        scopes(asked, |_, asked| {
            let (module, symbol) = self.place_of(asked)?;
            Some((self.image(module), symbol))
        })
    }

    fn place_of(&self, asked: &Site) -> Option<(ModuleId, Symbol)> {
        let modules = self.modules_matching(&asked.module);
        let named = self.functions_named(&modules, &asked.function);
        named.into_iter().find(|(_, symbol)| asked.offset < symbol.size || symbol.size == 0)
    }
}

/// Looks up the variables at each instruction. The debug information of each image is opened once.
fn scopes<'q>(
    asked: &'q [Site],
    place: impl Fn(usize, &'q Site) -> Option<(Image<'q>, Symbol)>,
) -> Vec<Result<Scope, NoScope>> {
    let mut answers: Vec<Result<Scope, NoScope>> = Vec::with_capacity(asked.len());
    let mut found: Vec<Found<'q>> = Vec::new();
    for (index, asked) in asked.iter().enumerate() {
        answers.push(Err(NoScope::Function(asked.function.clone())));
        if let Some((image, symbol)) = place(index, asked) {
            found.push(Found { index, asked, image, symbol });
        }
    }
    found.sort_by_key(|found| found.image.id());
    for group in found.chunk_by(|a, b| a.image.id() == b.image.id()) {
        let Some(first) = group.first() else { continue };
        let opened = open(first.image);
        for found in group {
            answers[found.index] = match &opened {
                Ok(variables) => scope(variables, found),
                Err(why) => Err(why.clone()),
            };
        }
    }
    answers
}

fn open(image: Image<'_>) -> Result<Variables<'_>, NoScope> {
    let file = image.debug().ok_or_else(|| {
        let name = image.name();
        let found = match image.layout() {
            Some(_) => format!("the index of {name} has no variables: they need its debug information"),
            None => format!("no debug information of {name}"),
        };
        NoScope::DebugInformation(format!("{found}; {}", image.all().debug_package()))
    })?;
    let opened = Variables::open(file).map(|variables| variables.with_binary(image.binary()));
    opened.map_err(|cause| NoScope::Damaged(cause.to_string()))
}

fn scope(variables: &Variables<'_>, found: &Found<'_>) -> Result<Scope, NoScope> {
    let Found { asked, image, symbol, .. } = found;
    let within = symbol.address..symbol.address.saturating_add(symbol.size);
    let at = |address| {
        let (symbol, copy) = (within.clone(), asked.copy.as_deref());
        let instruction = kinst_dwarf::Instruction { address, symbol, copy };
        variables.at(&instruction, &|linked| image.run_time(linked))
    };
    let address = symbol.address.wrapping_add(asked.offset);
    let mut frames = at(address);
    if matches!(frames, Err(NoScope::Copy { .. })) {
        // The probe may substitute for the entry of a copy.
        let others = same_state(*image, symbol, asked);
        frames = others.into_iter().map(at).find(Result::is_ok).unwrap_or(frames);
    }
    let frames = frames.map_err(|why| match why {
        NoScope::Function(_) => NoScope::Function(asked.function.clone()),
        why => why,
    })?;
    let module = image.name().to_owned();
    let function = asked.function.clone();
    let mut scope = Scope { module, function, offset: asked.offset, user: false, frames };
    without_guard(&mut scope, *image, symbol);
    if let ImageId::File(file) = image.id() {
        in_process(&mut scope, file, (symbol, address));
        if asked.offset == 0
            && let Some(own) = scope.frames.last_mut()
        {
            own.received = image.received(symbol);
        }
    }
    Ok(scope)
}

/// Takes away the locations in registers that the stack protector uses at the instruction.
fn without_guard(scope: &mut Scope, image: Image<'_>, symbol: &Symbol) {
    let file = image.binary().or_else(|| image.debug());
    let code = file.and_then(|file| Some((file.machine()?, file.code_at(symbol.address)?)));
    let Some((machine, code)) = code else { return };
    let guarded = decode::of(machine).guarded(code, scope.offset as usize);
    if guarded.is_empty() {
        return;
    }
    let is_guarded = |term: &Term| match term {
        Term::Register(register) => guarded.contains(&register.number()),
        _ => false,
    };
    for frame in &mut scope.frames {
        for variable in frame.variables_mut() {
            let Ok(location) = &mut variable.location else { continue };
            if location.terms_mut().any(|term| term.any(&is_guarded)) {
                variable.location = Err(Missing::Guarded);
            }
        }
    }
}

/// Converts the locations of variables to those in a process, which may map the file anywhere.
fn in_process(scope: &mut Scope, file: FileId, (symbol, address): (&Symbol, u64)) {
    scope.user = true;
    scope.module = ProgramFile::key_of(file);
    let instruction_pointer = Register::new(Machine::X86_64, INSTRUCTION_POINTER);
    let is_first = address == symbol.address;
    let own = scope.frames.len().saturating_sub(1);
    for (depth, frame) in scope.frames.iter_mut().enumerate() {
        for variable in frame.variables_mut() {
            let Ok(location) = &mut variable.location else { continue };
            // Before a function has made its frame, its variables there have no values.
            if is_first && depth == own && location.terms_mut().any(|term| is_below_frame(term)) {
                variable.location = Err(Missing::NotCovered);
                continue;
            }
            match instruction_pointer {
                Some(register) => {
                    location.terms_mut().for_each(|term| relocate(term, register, address));
                }
                None => variable.location = Err(Missing::Address),
            }
        }
    }
}

/// The instruction pointer's number in debug information for x86-64.
const INSTRUCTION_POINTER: u16 = 16;
/// The stack pointer's number there.
const STACK_POINTER: u8 = 7;

/// Whether an address at the first instruction of a function is below the return address, or is read there.
fn is_below_frame(term: &Term) -> bool {
    term.any(&|term| match term {
        Term::Binary(Binary::Add, base, by) => match (&**base, &**by) {
            (Term::Register(register), Term::Constant(by)) => {
                register.number() == STACK_POINTER && by.cast_signed() < 0
            }
            _ => false,
        },
        _ => false,
    })
}

/// Replaces addresses of the file by distances from the instruction at which the program is.
fn relocate(term: &mut Term, instruction_pointer: Register, instruction: u64) {
    match term {
        Term::Address(address) => {
            let distance = Term::Constant(address.wrapping_sub(instruction));
            *term = Term::binary(Binary::Add, Term::Register(instruction_pointer), distance);
        }
        Term::Load { address: operand, .. } | Term::Unary(_, operand) => {
            relocate(operand, instruction_pointer, instruction);
        }
        Term::Binary(_, left, right) => {
            relocate(left, instruction_pointer, instruction);
            relocate(right, instruction_pointer, instruction);
        }
        Term::Register(_) | Term::Constant(_) | Term::PerCpu(_) => {}
    }
}

/// Returns sites at which all registers have the same values as at `asked`: the end of an edge from a branch,
/// and the static keys that lead to the site.
fn same_state(image: Image<'_>, symbol: &Symbol, asked: &Site) -> Vec<u64> {
    const FAR: usize = 4;
    let address = |offset: &u64| symbol.address.wrapping_add(*offset);
    let Some(callers) = image.callers() else { return Vec::new() };
    let path = asked.path();
    if !path.is_empty() {
        let branches = callers.is_branch(address(&asked.offset));
        return if branches { path.iter().map(address).collect() } else { Vec::new() };
    }
    let mut found = vec![address(&asked.offset)];
    let mut next = 0;
    while let Some(to) = found.get(next).copied().filter(|_| found.len() <= FAR) {
        next += 1;
        found.extend(callers.keys_to(to));
    }
    found.split_off(1)
}

impl Catalog {
    /// Returns the variables in scope at each instruction, in order, in the kernel and in programs.
    pub fn scopes(&self, asked: &[Site]) -> Vec<Result<Scope, NoScope>> {
        let (of_kernel, of_programs): (Vec<_>, Vec<_>) =
            (0..asked.len()).partition(|index| asked[*index].space == Space::Kernel);
        let sites =
            |indices: &[usize]| indices.iter().map(|index| asked[*index].clone()).collect::<Vec<Site>>();
        let mut answers: Vec<(usize, Result<Scope, NoScope>)> = Vec::with_capacity(asked.len());
        answers.extend(of_kernel.iter().copied().zip(self.kernel().scopes(&sites(&of_kernel))));
        let files: Vec<_> = of_programs.iter().map(|index| self.place_in_program(&asked[*index])).collect();
        let in_programs = sites(&of_programs);
        let place = |index: usize, _: &Site| {
            let (file, symbol) = files.get(index)?.as_ref()?;
            Some((file.image(), *symbol))
        };
        answers.extend(of_programs.iter().copied().zip(scopes(&in_programs, place)));
        answers.sort_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Returns the entries or returns of functions in programs that a description means, each by the symbol of its
    /// function; `None` for other descriptions.
    pub fn ends_of_functions(&self, fields: &Fields) -> Option<Vec<Fields>> {
        let space = Space::of_program(&fields.provider)?;
        matches!(fields.name.as_str(), "entry" | "return").then(|| self.ends_in_programs(space, fields))
    }

    /// Returns the file with this key; see [`ProgramFile::key`].
    pub fn program(&self, key: &str) -> Option<Arc<ProgramFile>> {
        self.programs().ok()?.file_of_key(key)
    }

    /// Returns the instructions that match a kinst description, each as an unambiguous site. Fails if the
    /// description is impossible.
    pub fn instructions_named(&self, fields: &Fields) -> Result<Vec<Site>, Box<Diagnostic>> {
        if let Some(space) = Space::of_program(&fields.provider) {
            return self.program_sites(space, fields);
        }
        let mut named = Vec::new();
        for (of, symbol, probe) in self.kinst_probes(fields)? {
            let Some(site) = probe.site() else { continue };
            let (function, needed) = match self.kernel().image(of).function_ref(&symbol) {
                Some(reference) => (reference.function, reference.module_needed),
                None => (probe.name.function, true),
            };
            let module =
                if needed { self.kernel().modules()[of].name.clone() } else { fields.module.clone() };
            named.push(Site { module, function, ..site });
        }
        Ok(named)
    }
}

//! sites/listing/disas.rs: the annotated instructions of a function and of its inlined copies.

use kinst_base::image::ModuleId;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::opened::Opened;
use super::place::Place;
use super::verdict::Verdict;
use crate::catalog::refusals;
use crate::code::decode::Insn;
use crate::code::tables::Rewriting;
use crate::image::Image;
use crate::memory::LiveText;
use crate::model::LiveInsn;
use crate::symtab::Symbol;
use crate::target::Kernel;
use crate::target::refusals::no_module;
use kinst_base::diag::Diagnostic;
use kinst_base::machine::Machine;
use kinst_base::reason::Untraceable;
use kinst_dwarf::{Body, Frame, InlineCopy};

/// One function, or one inlined copy of it.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Module of the function; `vmlinux` for the kernel proper.
    pub module: String,
    /// The containing function, by its name in probe descriptions.
    pub function: String,
    /// Start of the function in the running kernel, or in the file of a kernel that is not running.
    pub address: u64,
    /// Size of the function's symbol in bytes.
    pub size: u64,
    /// Set for a copy, or for the part of it that is in this function.
    pub copy: Option<Copy>,
    /// Source line of the definition.
    pub source: Option<Place>,
    /// Whether the instructions are from memory instead of from the file.
    pub live: bool,
    /// Instructions of the function, or only of the copy, by address.
    pub instructions: Vec<Listed>,
}

/// The inlined function of a copy, and its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The inlined function, by its name in the description.
    pub function: String,
    /// The containing function, not the one with its unlikely parts.
    pub caller: String,
    /// Offsets of the instructions where control enters it, in bytes from the start of the caller.
    pub entries: Vec<u64>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Offset in bytes from the start of the function: the name of its kinst probe.
    pub offset: u32,
    /// Its address, counted as in [`Listing::address`].
    pub address: u64,
    /// Its bytes in memory or in the file.
    pub bytes: Vec<u8>,
    /// Machine of the code.
    pub machine: Machine,
    /// Disassembled instruction, with symbols in place of addresses.
    pub text: String,
    /// Its source line; `None` if the debug information has none.
    pub place: Option<Place>,
    /// Whether a statement of its line begins here.
    pub begins: bool,
    /// Frames, the innermost first; the last one is the function. Empty if the debug information has none.
    pub frames: Arc<Vec<Frame>>,
    /// Why it cannot be traced; `None` if it can.
    pub refused: Option<Untraceable>,
    /// How the kernel rewrites it at boot. Set only if the file is the only source.
    pub rewritten: Option<Rewriting>,
    /// Whether it is ftrace's call or precedes it. Set only if the file is the only source.
    pub fentry: bool,
}

/// The result of a disassembly.
#[derive(Clone, Debug, Default)]
pub struct Disassembly {
    /// One for each function, or for each part of each copy.
    pub listings: Vec<Listing>,
    /// Reasons why parts could not be listed.
    pub remarks: Vec<String>,
}

/// Disassembles many functions; the debug information of a module is opened once.
pub struct Disassembler<'k> {
    kernel: &'k Kernel,
    pub(super) lister: Lister<'k>,
}

impl<'k> Disassembler<'k> {
    /// Makes a disassembler for a kernel. `live` reads the text in memory; with `None`, only files are used.
    pub fn new(kernel: &'k Kernel, live: Option<&'k dyn LiveText>) -> Disassembler<'k> {
        Disassembler {
            kernel,
            lister: Lister { kernel, live, opened: Opened::default(), remarks: Vec::new() },
        }
    }

    /// Disassembles `[[provider:]module:]function` or `` module`function ``; `function` may be `name#2`.
    pub fn disassemble(&mut self, description: &str) -> Result<Disassembly, Box<Diagnostic>> {
        let (modules, meant) = self.meant(description)?;
        let listings = match meant {
            Meant::Copies { function, copies } => self.lister.copies(&function, &copies, &modules)?,
            Meant::Functions(functions) => {
                let own = functions
                    .iter()
                    .map(|(module, symbol)| self.lister.function(self.kernel.image(*module), symbol));
                own.collect::<Result<_, _>>()?
            }
        };
        Ok(Disassembly { listings, remarks: self.take_remarks() })
    }

    /// Returns the functions that match a description, or the copies if no function has the name; and the
    /// matching modules.
    pub(super) fn meant(&self, description: &str) -> Result<(Vec<ModuleId>, Meant), Box<Diagnostic>> {
        let kernel = self.kernel;
        let (module, function) = split(description);
        if kinst_base::glob::is_glob(function) || function.is_empty() {
            return Err(Box::new(refusals::one_function(function)));
        }
        let modules = kernel.modules_matching(module);
        if modules.is_empty() {
            return Err(Box::new(no_module(kernel, module)));
        }
        let functions = kernel.functions_named(&modules, function);
        let meant = if functions.is_empty() {
            let copies = copies(kernel, &modules, function)?;
            Meant::Copies { function: function.to_owned(), copies }
        } else {
            Meant::Functions(functions)
        };
        Ok((modules, meant))
    }

    /// Takes the reasons why parts could not be listed.
    pub fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lister.remarks)
    }
}

/// The meaning of a description.
pub(super) enum Meant {
    Functions(Vec<(ModuleId, Symbol)>),
    Copies { function: String, copies: Vec<(ModuleId, InlineCopy)> },
}

/// Returns the number of copies of the function, whether or not it also has out-of-line code.
pub fn times_inlined(kernel: &Kernel, description: &str) -> u32 {
    let (module, function) = split(description);
    kernel.copies(&kernel.modules_matching(module), function)
}

fn copies(
    kernel: &Kernel,
    modules: &[ModuleId],
    function: &str,
) -> Result<Vec<(ModuleId, InlineCopy)>, Box<Diagnostic>> {
    let mut copies = Vec::new();
    for module in modules.iter().filter(|module| kernel.image(**module).may_mention(function)) {
        let Some(info) = kernel.image(*module).info() else { continue };
        let found = info.and_then(|info| info.copies(function));
        let found = found.map_err(|error| Box::new(error.diagnostic()))?;
        copies.extend(found.into_iter().map(|copy| (*module, copy)));
    }
    Ok(copies)
}

pub(super) fn split(description: &str) -> (&str, &str) {
    if let Some((module, function)) = description.split_once('`') {
        return (module, function);
    }
    let mut fields = description.rsplit(':');
    let function = fields.next().unwrap_or_default();
    (fields.next().unwrap_or_default(), function)
}

pub(super) struct Lister<'k> {
    pub kernel: &'k Kernel,
    live: Option<&'k dyn LiveText>,
    pub(super) opened: Opened<'k>,
    pub remarks: Vec<String>,
}

/// The instructions of a function, from memory or from the file.
pub(super) struct Code {
    pub insns: Vec<LiveInsn>,
    verdicts: Option<Vec<Verdict>>,
}

impl<'k> Lister<'k> {
    pub(super) fn function(&mut self, image: Image<'k>, symbol: &Symbol) -> Result<Listing, Box<Diagnostic>> {
        let code = self.code(image, symbol)?;
        let body = self.body(image, symbol.address);
        let source = body.as_ref().and_then(|body| self.source(image, body.function()));
        let end = code.insns.last().map_or(0, |last| u64::from(last.offset) + last.bytes.len() as u64);
        Ok(self.listing(image, symbol, &code, body.as_deref(), source, 0..end.max(1)))
    }

    fn copies(
        &mut self,
        function: &str,
        copies: &[(ModuleId, InlineCopy)],
        modules: &[ModuleId],
    ) -> Result<Vec<Listing>, Box<Diagnostic>> {
        let mut listings = Vec::new();
        let mut left_out = 0;
        for (module, copy) in copies {
            let parts = self.copy(self.kernel.image(*module), function, copy)?;
            left_out += usize::from(parts.is_empty());
            listings.extend(parts);
        }
        if listings.is_empty() {
            return Err(Box::new(refusals::no_function(self.kernel, modules, function, "")));
        }
        if left_out > 0 {
            self.remarks.push(format!(
                "{left_out} of {} copies of {function} are in code that is freed after boot or was not linked in",
                copies.len()
            ));
        }
        Ok(listings)
    }

    /// Lists the part of a copy in the function that is entered, then the parts in other functions. Empty if
    /// its code has been freed.
    pub(super) fn copy(
        &mut self,
        image: Image<'k>,
        function: &str,
        copy: &InlineCopy,
    ) -> Result<Vec<Listing>, Box<Diagnostic>> {
        let Some(symbols) = image.symbols() else { return Ok(Vec::new()) };
        let symbol = |address: u64| symbols.containing(address).filter(|symbol| !symbol.gone()).copied();
        let Some(caller) = symbol(copy.entry()) else { return Ok(Vec::new()) };
        let mut parts = vec![(caller, Vec::new())];
        for range in copy.ranges.iter().filter(|range| !range.is_empty()) {
            let Some(symbol) = symbol(range.start) else { continue };
            match parts.iter_mut().find(|(part, _)| part.address == symbol.address) {
                Some((_, ranges)) => ranges.push(range.clone()),
                None => parts.push((symbol, vec![range.clone()])),
            }
        }
        // A copy without instructions is entered at an instruction of the surrounding code.
        if parts[0].1.is_empty() {
            parts[0].1.extend(copy.entries.iter().map(|entry| *entry..entry + 1));
        }
        let body = self.body(image, copy.entry());
        let source = body.as_ref().and_then(|body| {
            let frame = body.frames().find(|frame| frame.die == copy.die)?;
            self.source(image, frame)
        });
        let copy = Copy {
            function: function.to_owned(),
            caller: image.function_ref(&caller).map(|name| name.function).unwrap_or_default(),
            entries: copy.entries.iter().map(|entry| entry.wrapping_sub(caller.address)).collect(),
        };
        let mut listings = Vec::new();
        for (symbol, mut ranges) in parts {
            ranges.sort_unstable_by_key(|range| range.start);
            let code = self.code(image, &symbol)?;
            let mut part: Option<Listing> = None;
            for range in ranges {
                let offsets = range.start - symbol.address..range.end - symbol.address;
                let more = self.listing(image, &symbol, &code, body.as_deref(), source.clone(), offsets);
                match &mut part {
                    Some(part) => part.instructions.extend(more.instructions),
                    None => part = Some(Listing { copy: Some(copy.clone()), ..more }),
                }
            }
            listings.extend(part);
        }
        Ok(listings)
    }

    /// Lists the instructions of the function in a range of offsets.
    fn listing(
        &mut self,
        image: Image<'k>,
        symbol: &Symbol,
        code: &Code,
        body: Option<&Body>,
        source: Option<Place>,
        range: Range<u64>,
    ) -> Listing {
        let address = image.run_time(symbol.address).unwrap_or(symbol.address);
        let name = image.function_ref(symbol).map(|name| name.function).unwrap_or_default();
        let whole = symbol.address..symbol.address.saturating_add(symbol.size);
        let lines = self.opened.info(image).and_then(|info| info.lines_in(&whole).ok().flatten());
        let statements = lines.iter().flat_map(|lines| lines.statements(whole.clone()));
        let statements: HashSet<(u64, u32)> =
            statements.map(|statement| (statement.address, statement.place.line)).collect();
        let inside = |insn: &&LiveInsn| range.contains(&insn.offset.into());
        let mut frames: Arc<Vec<Frame>> = Arc::default();
        let mut instructions = Vec::new();
        for insn in code.insns.iter().filter(inside) {
            let at = symbol.address + u64::from(insn.offset);
            let now = body.map(|body| body.at(at)).unwrap_or_default();
            if !now.iter().copied().eq(frames.iter()) {
                frames = Arc::new(now.into_iter().cloned().collect());
            }
            let place = lines.as_ref().and_then(|lines| lines.at(at)).filter(|line| line.line != 0);
            let verdict = code.verdict(insn);
            instructions.push(Listed {
                offset: insn.offset,
                address: address + u64::from(insn.offset),
                bytes: insn.bytes.clone(),
                machine: insn.machine,
                text: image.insn_text(symbol, insn, code.verdicts.is_none()),
                begins: place.as_ref().is_some_and(|line| statements.contains(&(at, line.line))),
                place: place.map(|line| Place { file: line.file.to_owned(), line: line.line.into() }),
                frames: frames.clone(),
                refused: insn.refused.or(verdict.refused.map(Untraceable::from)),
                rewritten: verdict.rewritten,
                fentry: verdict.fentry,
            });
        }
        let module = image.name().to_owned();
        let live = code.verdicts.is_none();
        Listing { module, function: name, address, size: symbol.size, copy: None, source, live, instructions }
    }

    /// Returns the instructions of a function from memory, or from the file without a running kernel.
    pub(super) fn code(&mut self, image: Image<'k>, symbol: &Symbol) -> Result<Code, Box<Diagnostic>> {
        let name = || image.symbols().map(|all| all.name(symbol)).unwrap_or_default();
        if let (Some(live), Some(address)) = (self.live, image.run_time(symbol.address)) {
            match live.instructions(address) {
                Ok(insns) => return Ok(Code { insns, verdicts: None }),
                // If nothing can be traced, the file still has the instructions.
                Err(reason) => {
                    self.remarks.push(format!("{}: nothing of it can be traced: {reason}", name()))
                }
            }
        }
        let insns = image
            .instructions(symbol)
            .ok_or_else(|| Box::new(refusals::no_text(self.kernel, name(), None)))?;
        let verdicts = image.verdicts(symbol, &insns);
        let insn =
            |Insn { offset, bytes, machine, .. }: Insn| LiveInsn { offset, bytes, refused: None, machine };
        Ok(Code { insns: insns.into_iter().map(insn).collect(), verdicts: Some(verdicts) })
    }

    pub(super) fn body(&mut self, image: Image<'k>, address: u64) -> Option<Arc<Body>> {
        self.opened.info(image)?.body_at(address).ok()?
    }

    pub(super) fn source(&mut self, image: Image<'k>, frame: &Frame) -> Option<Place> {
        let definition = self.opened.info(image)?.definition(frame.origin).ok()?;
        (definition.line != 0).then(|| Place { file: definition.file.clone(), line: definition.line })
    }
}

impl Code {
    pub(super) fn verdict(&self, insn: &LiveInsn) -> Verdict {
        let Some(verdicts) = &self.verdicts else { return Verdict::default() };
        let at = self.insns.binary_search_by_key(&insn.offset, |insn| insn.offset);
        at.ok().and_then(|at| verdicts.get(at)).copied().unwrap_or_default()
    }
}

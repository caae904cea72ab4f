//! sites/listing/disas.rs: the annotated instructions of a function and of its inlined copies.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::opened::Opened;
use super::place::Place;
use super::searched::{Named, Searched};
use super::unprobed::Unprobed;
use super::verdict::Verdict;
use crate::code::decode::Insn;
use crate::code::tables::Rewriting;
use crate::image::Image;
use crate::model::LiveInsn;
use crate::symtab::Symbol;
use crate::uprobe::{self, Nop5, Refused, Way};
use kinst_base::diag::Diagnostic;
use kinst_base::machine::Machine;
use kinst_base::reason::Untraceable;
use kinst_base::space::Space;
use kinst_dwarf::{Body, Frame, InlineCopy, source_name};

/// One function, or one inlined copy of it.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The kernel, a process, or a file in all processes.
    pub space: Space,
    /// Module of the function: `vmlinux` for the kernel proper, `a.out` for the program of a process.
    pub module: String,
    /// The key by which the types of its image are looked up.
    pub types: String,
    /// The containing function, by its name in probe descriptions.
    pub function: String,
    /// Start of the function in the running kernel, or in the file of a program or of a kernel that is not running.
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
    /// Its entry in the debug information, by which its frames are recognized.
    pub die: u64,
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
    pub refused: Option<Unprobed>,
    /// In a program, how the kernel executes it if it has a probe.
    pub way: Option<Way>,
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

/// Returns the name of a function in its source: of C++ and Rust, the path of a symbol.
pub fn in_source(function: &str) -> String {
    source_name(function).unwrap_or_else(|| function.to_owned())
}

impl Listing {
    /// Returns the name of the containing function in its source.
    pub fn in_source(&self) -> String {
        in_source(&self.function)
    }

    /// Returns an offset as probe descriptions write it.
    pub fn number(&self, offset: u64) -> String {
        self.space.number(offset)
    }
}

/// Disassembles many functions; the debug information of a module is opened once.
pub struct Disassembler<'k> {
    pub(super) lister: Lister<'k>,
}

impl<'k> Disassembler<'k> {
    /// Makes a disassembler for the functions of a kernel or of programs.
    pub fn new(searched: Searched<'k>) -> Disassembler<'k> {
        let (opened, remarks) = (Opened::default(), Vec::new());
        Disassembler { lister: Lister { searched, opened, remarks, cuts_calls: false } }
    }

    /// Lets a block end after each call that may not return, as every call of a program: counts are then exact where one
    /// ends the program, or throws an exception.
    pub fn cutting_calls(mut self) -> Disassembler<'k> {
        self.lister.cuts_calls = true;
        self
    }

    /// Disassembles `[[provider:]module:]function` or `` module`function ``; `function` may be `name#2`.
    pub fn disassemble(&mut self, description: &str) -> Result<Disassembly, Box<Diagnostic>> {
        let (images, meant) = self.meant(description)?;
        let listings = match meant {
            Meant::Copies { function, copies } => self.lister.copies(&function, &copies, &images)?,
            Meant::Functions(functions) => {
                let own = functions.iter().map(|(named, symbol)| self.lister.function(*named, symbol));
                own.collect::<Result<_, _>>()?
            }
        };
        Ok(Disassembly { listings, remarks: self.take_remarks() })
    }

    /// Returns the functions that match a description, or the copies if no function has the name; and the
    /// matching images.
    pub(super) fn meant(&self, description: &str) -> Result<(Vec<Named<'k>>, Meant<'k>), Box<Diagnostic>> {
        let searched = self.lister.searched;
        let (images, function) = searched.meant(description)?;
        searched.one_function(&function)?;
        let functions = searched.functions_named(&images, &function);
        let meant = match functions.is_empty() {
            true => Meant::Copies { copies: copies(&images, &function)?, function },
            false => Meant::Functions(functions),
        };
        Ok((images, meant))
    }

    /// Whether a description means functions with separate code, and not only inlined copies.
    pub fn has_own_code(&self, description: &str) -> bool {
        matches!(self.meant(description), Ok((_, Meant::Functions(_))))
    }

    /// Returns the number of copies of the function, whether or not it also has out-of-line code; and its name.
    pub fn times_inlined(&self, description: &str) -> (u32, String) {
        let searched = self.lister.searched;
        searched.meant(description).map_or((0, String::new()), |(images, function)| {
            (searched.times_inlined(&images, &function), function)
        })
    }

    /// Takes the reasons why parts could not be listed.
    pub fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lister.remarks)
    }
}

/// The meaning of a description.
pub(super) enum Meant<'k> {
    Functions(Vec<(Named<'k>, Symbol)>),
    Copies { function: String, copies: Vec<(Named<'k>, InlineCopy)> },
}

fn copies<'k>(images: &[Named<'k>], function: &str) -> Result<Vec<(Named<'k>, InlineCopy)>, Box<Diagnostic>> {
    let mut copies = Vec::new();
    for named in images.iter().filter(|named| named.image.may_mention(function)) {
        let Some(info) = named.image.info() else { continue };
        let found = info.and_then(|info| info.copies(function));
        let found = found.map_err(|error| Box::new(error.diagnostic()))?;
        copies.extend(found.into_iter().map(|copy| (*named, copy)));
    }
    Ok(copies)
}

pub(super) struct Lister<'k> {
    pub searched: Searched<'k>,
    pub(super) opened: Opened<'k>,
    pub remarks: Vec<String>,
    /// Whether blocks end after calls that may not return.
    pub cuts_calls: bool,
}

/// The instructions of a function, from memory or from the file.
pub(super) struct Code {
    pub insns: Vec<LiveInsn>,
    verdicts: Option<Vec<Verdict>>,
    /// In a program, the ways of the instructions.
    ways: Vec<Result<Way, Refused>>,
}

impl<'k> Lister<'k> {
    pub(super) fn function(&mut self, named: Named<'k>, symbol: &Symbol) -> Result<Listing, Box<Diagnostic>> {
        let image = named.image;
        let code = self.code(image, symbol)?;
        let body = self.body(image, symbol.address);
        let source = body.as_ref().and_then(|body| self.source(image, body.function()));
        let end = code.insns.last().map_or(0, |last| u64::from(last.offset) + last.bytes.len() as u64);
        Ok(self.listing(named, symbol, &code, body.as_deref(), source, 0..end.max(1)))
    }

    fn copies(
        &mut self,
        function: &str,
        copies: &[(Named<'k>, InlineCopy)],
        images: &[Named<'k>],
    ) -> Result<Vec<Listing>, Box<Diagnostic>> {
        let mut listings = Vec::new();
        let mut left_out = 0;
        for (named, copy) in copies {
            let parts = self.copy(*named, function, copy)?;
            left_out += usize::from(parts.is_empty());
            listings.extend(parts);
        }
        if listings.is_empty() {
            return Err(Box::new(self.searched.no_function(images, function)));
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
        named: Named<'k>,
        function: &str,
        copy: &InlineCopy,
    ) -> Result<Vec<Listing>, Box<Diagnostic>> {
        let image = named.image;
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
            die: copy.die,
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
                let more = self.listing(named, &symbol, &code, body.as_deref(), source.clone(), offsets);
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
        named: Named<'k>,
        symbol: &Symbol,
        code: &Code,
        body: Option<&Body>,
        source: Option<Place>,
        range: Range<u64>,
    ) -> Listing {
        let image = named.image;
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
                refused: code.refused(insn),
                way: code.way(insn).and_then(Result::ok),
                rewritten: verdict.rewritten,
                fentry: verdict.fentry,
            });
        }
        let (space, module, types) = (named.space, named.module.to_owned(), named.types());
        let (size, live) = (symbol.size, code.verdicts.is_none());
        Listing {
            space,
            module,
            types,
            function: name,
            address,
            size,
            copy: None,
            source,
            live,
            instructions,
        }
    }

    /// Returns the instructions of a function from memory, or from the file without a running kernel.
    pub(super) fn code(&mut self, image: Image<'k>, symbol: &Symbol) -> Result<Code, Box<Diagnostic>> {
        let name = || image.symbols().map(|all| all.name(symbol)).unwrap_or_default();
        if let (Searched::Kernel { live: Some(live), .. }, Some(address)) =
            (self.searched, image.run_time(symbol.address))
        {
            match live.instructions(address) {
                Ok(insns) => return Ok(Code { insns, verdicts: None, ways: Vec::new() }),
                // If nothing can be traced, the file still has the instructions.
                Err(reason) => {
                    self.remarks.push(format!("{}: nothing of it can be traced: {reason}", name()))
                }
            }
        }
        let insns = image.instructions(symbol).ok_or_else(|| Box::new(self.searched.no_text(name())))?;
        let (verdicts, ways) = match self.searched {
            Searched::Kernel { .. } => (image.verdicts(symbol, &insns), Vec::new()),
            Searched::Programs(code) => {
                (Vec::new(), insns.iter().map(|insn| judged(insn, &|| code.nop5())).collect())
            }
        };
        let insn =
            |Insn { offset, bytes, machine, .. }: Insn| LiveInsn { offset, bytes, refused: None, machine };
        Ok(Code { insns: insns.into_iter().map(insn).collect(), verdicts: Some(verdicts), ways })
    }

    pub(super) fn body(&mut self, image: Image<'k>, address: u64) -> Option<Arc<Body>> {
        self.opened.info(image)?.body_at(address).ok()?
    }

    pub(super) fn source(&mut self, image: Image<'k>, frame: &Frame) -> Option<Place> {
        let definition = self.opened.info(image)?.definition(frame.origin).ok()?;
        (definition.line != 0).then(|| Place { file: definition.file.clone(), line: definition.line })
    }
}

/// Decides whether an instruction of a program can have a probe. The kernel is tested only if it matters.
fn judged(insn: &Insn, nop5: &dyn Fn() -> Nop5) -> Result<Way, Refused> {
    match uprobe::judge(insn.machine, &insn.bytes, Nop5::Overwritten) {
        Err(Refused::RedZone) => uprobe::judge(insn.machine, &insn.bytes, nop5()),
        way => way,
    }
}

impl Code {
    fn at<'c, T>(&'c self, all: &'c [T], insn: &LiveInsn) -> Option<&'c T> {
        let at = self.insns.binary_search_by_key(&insn.offset, |insn| insn.offset);
        all.get(at.ok()?)
    }

    fn verdict(&self, insn: &LiveInsn) -> Verdict {
        let verdicts = self.verdicts.as_deref().unwrap_or_default();
        self.at(verdicts, insn).copied().unwrap_or_default()
    }

    /// Returns how the kernel executes an instruction of a program, or why it cannot have a probe.
    pub(super) fn way(&self, insn: &LiveInsn) -> Option<Result<Way, Refused>> {
        self.at(&self.ways, insn).copied()
    }

    /// Returns why an instruction cannot have a probe.
    pub(super) fn refused(&self, insn: &LiveInsn) -> Option<Unprobed> {
        let by_kernel = insn.refused.or(self.verdict(insn).refused.map(Untraceable::from));
        let in_program = || self.way(insn)?.err().map(Unprobed::Program);
        by_kernel.map(Unprobed::Kernel).or_else(in_program)
    }
}

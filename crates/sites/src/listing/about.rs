//! sites/listing/about.rs: what is known of the instruction of a kinst probe.

use super::Place;
use super::opened::Opened;
use crate::code::decode;
use crate::memory::LiveInsn;
use crate::symtab::Symbol;
use crate::target::Kernel;
use kinst_base::image::ModuleId;
use kinst_base::probe::Probe;
use kinst_debuginfo::Reference;
use kinst_dwarf::Frame;

/// The instruction of a probe, for a listing.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The address in the running kernel, or in the file of a kernel that does not run; `None` if the kernel hides it.
    pub address: Option<u64>,
    /// The instruction; `None` if there is no file with it.
    pub text: Option<String>,
    pub place: Option<Place>,
    /// The innermost first; the last one is the function. Empty if the debug information has none.
    pub frames: Vec<Frame>,
    /// The copies that are entered there, including those that have no instructions, and those that begin at a static
    /// key, for which this probe stands in.
    pub entered: Vec<Frame>,
}

/// Answers about many probes; the debug information of a module is opened once.
pub struct Answers<'k> {
    kernel: &'k Kernel,
    opened: Opened<'k>,
}

impl<'k> Answers<'k> {
    pub fn new(kernel: &'k Kernel) -> Answers<'k> {
        Answers { kernel, opened: Opened::new(kernel) }
    }

    /// Describes the instruction of a probe; `None` if its function does not exist.
    pub fn about(&mut self, probe: &Probe) -> Option<About> {
        let (module, symbol) = self.place(probe)?;
        let offset = probe.place.offset()?;
        let linked = symbol.address.saturating_add(offset.into());
        let mut about = About {
            address: self.kernel.run_time(module, linked).filter(|address| *address != 0),
            text: self.text(module, &symbol, offset),
            ..About::default()
        };
        let Some(info) = self.opened.info(module) else { return Some(about) };
        if let Ok(Some(lines)) = info.lines_in(&(linked..linked.saturating_add(1))) {
            let line = lines.at(linked).filter(|line| line.line != 0);
            about.place = line.map(|line| Place { file: line.file.to_owned(), line: line.line.into() });
        }
        if let Ok(Some(body)) = info.body_at(linked) {
            about.frames = body.at(linked).into_iter().cloned().collect();
            let copies = body.frames().skip(1);
            let mut entries = vec![linked];
            entries.extend(probe.place.path().iter().map(|offset| symbol.address.saturating_add(*offset)));
            if let Some(callers) = self.kernel.callers(module).filter(|_| entries.len() == 1) {
                entries.extend(callers.keys_to(linked));
            }
            let is_entered = |frame: &&Frame| frame.entries.iter().any(|entry| entries.contains(entry));
            about.entered = copies.filter(is_entered).cloned().collect();
        }
        Some(about)
    }

    /// The inlined functions around the copy of a function that a probe is at, the innermost first, without the function
    /// that has the code. Where several copies of it begin there, those that are around all of them.
    pub fn around(&mut self, probe: &Probe, copy: &str) -> Vec<String> {
        let Some((module, symbol)) = self.place(probe) else { return Vec::new() };
        let linked = symbol.address.saturating_add(probe.place.offset().unwrap_or(0).into());
        let mut addresses = vec![linked];
        addresses.extend(probe.place.path().iter().map(|offset| symbol.address.saturating_add(*offset)));
        if let Some(callers) = self.kernel.callers(module) {
            addresses.extend(callers.keys_to(linked));
        }
        let Some(Ok(Some(body))) = self.opened.info(module).map(|info| info.body_at(linked)) else {
            return Vec::new();
        };
        let mut chains = addresses.into_iter().map(|address| body.copies_at(address, copy));
        let chains = chains.find(|chains| !chains.is_empty()).unwrap_or_default();
        let common = chains.into_iter().reduce(|a, b| {
            let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a.die == b.die).count();
            a[a.len() - same..].to_vec()
        });
        let around = common.unwrap_or_default();
        let inlined = around.iter().filter(|frame| frame.call.is_some() && !frame.name.is_empty());
        inlined.map(|frame| frame.name.clone()).collect()
    }

    fn place(&self, probe: &Probe) -> Option<(ModuleId, Symbol)> {
        let modules = self.kernel.modules_matching(&probe.name.module);
        let named = self.kernel.functions_named(&modules, &probe.name.function);
        // Among namesakes, the probe's address determines which one it is.
        let here = |(module, symbol): &(ModuleId, Symbol)| {
            self.kernel.run_time(*module, symbol.address).unwrap_or(0) == probe.place.func().unwrap_or(0)
        };
        named.iter().find(|place| here(place)).or(named.first()).copied()
    }

    fn text(&self, module: ModuleId, symbol: &Symbol, offset: u32) -> Option<String> {
        let insns = self.kernel.instructions(module, symbol)?;
        let insn = insns.into_iter().find(|insn| insn.offset == offset)?;
        let insn = LiveInsn { offset, bytes: insn.bytes, refused: None, machine: insn.machine };
        Some(self.kernel.insn_text(module, symbol, &insn, false))
    }
}

impl Kernel {
    /// An instruction of a function as text; `live`: as it is in memory, where a module has been linked.
    pub(crate) fn insn_text(&self, module: ModuleId, symbol: &Symbol, insn: &LiveInsn, live: bool) -> String {
        let offset = u64::from(insn.offset);
        let at = symbol.address.saturating_add(offset);
        if live && module != ModuleId::PROPER {
            let run = self.run_time(module, at).unwrap_or(at);
            let name = |target: u64| {
                let inside = target.wrapping_sub(run.wrapping_sub(offset));
                if inside < symbol.size {
                    return self.target_name(module, symbol, symbol.address.wrapping_add(inside));
                }
                let found = self.symbolize(target)?;
                Some(if found.offset == 0 {
                    found.function
                } else {
                    format!("{}+{}", found.function, found.offset)
                })
            };
            return decode::of(insn.machine).text_with(&insn.bytes, run, &name);
        }
        let in_file = self.in_code(module, at).map(|(_, at)| at);
        let bytes = |at: u64| at..at.saturating_add(insn.bytes.len() as u64);
        let reference = in_file.and_then(|at| self.reference(module, bytes(at)));
        let name = |target| match reference {
            Some(Reference::Import(name)) => Some(name.clone()),
            Some(Reference::Address(to)) => self.target_name(module, symbol, self.out_of_code(module, *to)),
            None => self.target_name(module, symbol, target),
        };
        decode::of(insn.machine).text_with(&insn.bytes, at, &name)
    }

    /// The target of a jump or call: inside the function with its offset, which is how probes count, otherwise a name.
    fn target_name(&self, module: ModuleId, from: &Symbol, target: u64) -> Option<String> {
        let symbols = self.symbols(module)?;
        let inside = target.wrapping_sub(from.address) < from.size;
        let to = if inside { from } else { symbols.containing(target)? };
        let offset = target - to.address;
        let name = symbols.name(to);
        Some(if offset == 0 && !inside { name.to_owned() } else { format!("{name}+{offset}") })
    }
}

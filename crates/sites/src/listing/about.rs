//! sites/listing/about.rs: facts about the instruction of a kinst probe.

use super::opened::Opened;
use super::place::Place;
use crate::catalog::Catalog;
use crate::image::Image;
use crate::image::info::Info;
use crate::model::LiveInsn;
use crate::symtab::Symbol;
use crate::target::Kernel;
use crate::uprobe::{self, Nop5, Refused, Way};
use kinst_base::image::ModuleId;
use kinst_base::probe::Probe;
use kinst_dwarf::Frame;

/// The instruction of a probe, for a listing.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Address in the running kernel, or in the file of a kernel that is not running; `None` if the kernel hides it.
    pub address: Option<u64>,
    /// Disassembled instruction; `None` without a file that has it.
    pub text: Option<String>,
    /// Source line of the instruction; `None` if the debug information has none.
    pub place: Option<Place>,
    /// Frames, the innermost first; the last one is the function. Empty if the debug information has none.
    pub frames: Vec<Frame>,
    /// Copies that are entered here, including those without instructions, and those that begin at a static
    /// key for which this probe substitutes.
    pub entered: Vec<Frame>,
    /// In a program, how the kernel executes the instruction that a probe displaces, or why it can have none.
    pub way: Option<Result<Way, Refused>>,
}

impl About {
    /// Adds the facts of the source. `entries` are the places at which a copy that the probe enters may begin.
    fn read(&mut self, info: &Info<'_>, linked: u64, entries: &[u64]) {
        if let Ok(Some(lines)) = info.lines_in(&(linked..linked.saturating_add(1))) {
            let line = lines.at(linked).filter(|line| line.line != 0);
            self.place = line.map(|line| Place { file: line.file.to_owned(), line: line.line.into() });
        }
        if let Ok(Some(body)) = info.body_at(linked) {
            self.frames = body.at(linked).into_iter().cloned().collect();
            let copies = body.frames().skip(1);
            let is_entered = |frame: &&Frame| frame.entries.iter().any(|entry| entries.contains(entry));
            self.entered = copies.filter(is_entered).cloned().collect();
        }
    }
}

impl Catalog {
    /// Describes the first instruction of a probe in a program; `None` for other probes.
    pub fn about_in_program(&self, probe: &Probe, nop5: &dyn Fn() -> Nop5) -> Option<About> {
        let kinst_base::probe::Place::Program(place) = &probe.place else { return None };
        let linked = place.spots.first()?.address;
        let file = self.program_file(place.file)?;
        let image = file.image();
        let symbol = file.functions().containing(linked)?;
        let code = file.elf().code_at(linked)?;
        let machine = file.elf().machine().unwrap_or_default();
        let judge = |nop5: Nop5| uprobe::judge(machine, code, nop5);
        let way = match judge(Nop5::Overwritten) {
            Err(Refused::RedZone) => judge(nop5()),
            way => way,
        };
        let offset = u32::try_from(linked - symbol.address).ok()?;
        let address = self.programs().ok()?.run_time(place, linked).or(Some(linked));
        let text = text(image, symbol, offset);
        let mut about = About { address, text, way: Some(way), ..About::default() };
        if let Some(Ok(info)) = image.info() {
            about.read(&info, linked, &[linked]);
        }
        Some(about)
    }
}

/// Answers queries about many probes; the debug information of a module is opened once.
pub struct Answers<'k> {
    kernel: &'k Kernel,
    opened: Opened<'k>,
}

impl<'k> Answers<'k> {
    /// Makes the answers for a kernel; nothing is read yet.
    pub fn new(kernel: &'k Kernel) -> Answers<'k> {
        Answers { kernel, opened: Opened::default() }
    }

    /// Describes the instruction of a probe; `None` if its function does not exist.
    pub fn about(&mut self, probe: &Probe) -> Option<About> {
        let (image, symbol) = self.place(probe)?;
        let offset = probe.place.offset()?;
        let linked = symbol.address.saturating_add(offset.into());
        let mut about = About {
            address: image.run_time(linked).filter(|address| *address != 0),
            text: text(image, &symbol, offset),
            ..About::default()
        };
        let mut entries = vec![linked];
        entries.extend(probe.place.path().iter().map(|offset| symbol.address.saturating_add(*offset)));
        if let Some(callers) = image.callers().filter(|_| entries.len() == 1) {
            entries.extend(callers.keys_to(linked));
        }
        if let Some(info) = self.opened.info(image) {
            about.read(info, linked, &entries);
        }
        Some(about)
    }

    /// Returns the inlined functions around the copy at a probe, the innermost first, without the containing
    /// function. If several copies of the function begin there, returns the functions around all of them.
    pub fn around(&mut self, probe: &Probe, copy: &str) -> Vec<String> {
        let Some((image, symbol)) = self.place(probe) else { return Vec::new() };
        let linked = symbol.address.saturating_add(probe.place.offset().unwrap_or(0).into());
        let mut addresses = vec![linked];
        addresses.extend(probe.place.path().iter().map(|offset| symbol.address.saturating_add(*offset)));
        if let Some(callers) = image.callers() {
            addresses.extend(callers.keys_to(linked));
        }
        let Some(Ok(Some(body))) = self.opened.info(image).map(|info| info.body_at(linked)) else {
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

    fn place(&self, probe: &Probe) -> Option<(Image<'k>, Symbol)> {
        let modules = self.kernel.modules_matching(&probe.name.module);
        let named = self.kernel.functions_named(&modules, &probe.name.function);
        // Among namesakes, the probe's address selects one.
        let here = |(module, symbol): &(ModuleId, Symbol)| {
            self.kernel.run_time(*module, symbol.address).unwrap_or(0) == probe.place.func().unwrap_or(0)
        };
        let (module, symbol) = named.iter().find(|place| here(place)).or(named.first())?;
        Some((self.kernel.image(*module), *symbol))
    }
}

fn text(image: Image<'_>, symbol: &Symbol, offset: u32) -> Option<String> {
    let insn = image.instructions(symbol)?.into_iter().find(|insn| insn.offset == offset)?;
    let insn = LiveInsn { offset, bytes: insn.bytes, refused: None, machine: insn.machine };
    Some(image.insn_text(symbol, &insn, false))
}

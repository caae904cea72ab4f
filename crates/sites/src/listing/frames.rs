//! sites/listing/frames.rs: the source functions at an address of the running kernel, including inlined ones.

use super::opened::Opened;
use super::place::Place;
use crate::image::Image;
use crate::image::info::Info;
use crate::target::Kernel;
use kinst_debuginfo::Error;
use kinst_dwarf::Frame;
use std::rc::Rc;

/// A function at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFrame {
    /// Name in the source.
    pub function: String,
    /// For the innermost function, the line of the instruction; for the others, the line of the call.
    pub place: Option<Place>,
}

/// Functions at an address, as caches hold them: the innermost first.
pub type SourceFrames = Rc<[SourceFrame]>;

/// Answers queries about many addresses; the debug information of a module is opened once.
pub struct Frames<'k> {
    kernel: &'k Kernel,
    opened: Opened<'k>,
}

impl<'k> Frames<'k> {
    /// Makes the answers for a kernel; nothing is read yet.
    pub fn new(kernel: &'k Kernel) -> Frames<'k> {
        Frames { kernel, opened: Opened::default() }
    }

    /// Returns the functions at an address, the innermost first; the last one has the code. Empty without
    /// source information. With `lines`, includes their places, which takes several times as long for the
    /// first address of a unit.
    pub fn at(&mut self, address: u64, lines: bool) -> Vec<SourceFrame> {
        let Some((image, linked)) = self.linked(address) else { return Vec::new() };
        let Some(info) = self.opened.info(image) else { return Vec::new() };
        of(info, linked, lines).unwrap_or_default()
    }

    /// Returns the image of an address, and the address as in [`Kernel::symbols`].
    fn linked(&self, address: u64) -> Option<(Image<'k>, u64)> {
        let found = self.kernel.symbolize(address)?;
        let module = self.kernel.modules().named(&found.module)?;
        let named = self.kernel.functions_named(&[module], &found.function);
        let start = address.wrapping_sub(found.offset);
        let image = self.kernel.image(module);
        let here = named.iter().find(|(_, symbol)| image.run_time(symbol.address) == Some(start));
        Some((image, here?.1.address.saturating_add(found.offset)))
    }
}

/// Returns the functions at an address of a file.
pub(crate) fn of(info: &Info<'_>, address: u64, lines: bool) -> Result<Vec<SourceFrame>, Error> {
    let Some(body) = info.body_at(address)? else { return Ok(Vec::new()) };
    if !lines {
        let plain = |frame: &Frame| SourceFrame { function: frame.name.clone(), place: None };
        return Ok(body.at(address).into_iter().map(plain).collect());
    }
    let lines = info.lines_in(&(address..address.saturating_add(1)))?;
    let line = lines.as_ref().and_then(|lines| lines.at(address)).filter(|line| line.line != 0);
    let mut place = line.map(|line| Place { file: line.file.to_owned(), line: line.line.into() });
    let frames = body.at(address).into_iter().map(|frame| {
        let call = frame.call.as_ref().map(|call| Place { file: call.file.clone(), line: call.line });
        SourceFrame { function: frame.name.clone(), place: std::mem::replace(&mut place, call) }
    });
    Ok(frames.collect())
}

//! sites/image/text.rs: the instructions of an image's functions, from its file.

use kinst_base::image::ImageId;
use kinst_debuginfo::{ElfFile, Reference};

use super::handle::Image;
use crate::code::decode::{self, Insn};
use crate::model::LiveInsn;
use crate::symtab::Symbol;
use kinst_dwarf::variables::term::Register;

impl<'k> Image<'k> {
    /// Returns the instructions of a function from the file; `None` without a file, or if its machine is not
    /// supported.
    pub fn instructions(self, symbol: &Symbol) -> Option<Vec<Insn>> {
        let code = self.code(symbol.address, symbol.size)?;
        let (file, _) = self.in_code(symbol.address)?;
        Some(decode::instructions(file.machine()?, code, symbol.address))
    }

    /// Returns the registers that a function reads before it writes to them; `None` if that is not known.
    pub(crate) fn received(self, symbol: &Symbol) -> Option<Vec<Register>> {
        let code = self.code(symbol.address, symbol.size)?;
        let (file, _) = self.in_code(symbol.address)?;
        decode::of(file.machine()?).received(code, symbol.address)
    }

    /// Returns bytes of the file at an address of the symbols.
    pub fn code(self, address: u64, len: u64) -> Option<&'k [u8]> {
        let len = usize::try_from(len).ok()?;
        let (file, address) = self.in_code(address)?;
        file.machine().and_then(|_| file.code_at(address))?.get(..len)
    }

    /// Returns the file that has the instructions, and an address of the symbols converted to this file.
    pub(crate) fn in_code(self, address: u64) -> Option<(&'k ElfFile, u64)> {
        let named = self.layout();
        let code = match named {
            Some(file) if file.has_code() => file,
            _ => self.binary()?,
        };
        // A file with only debug information and the module itself may lay out their sections differently.
        let address = match named {
            Some(named) if code.is_relocatable() && !std::ptr::eq(named, code) => {
                let section = named.section_at(address)?;
                code.section(&section.name)?.address + (address - section.address)
            }
            _ => address,
        };
        Some((code, address))
    }

    /// The inverse of `in_code`: the file with the code may place its sections differently from the one with
    /// the symbols.
    fn out_of_code(self, address: u64) -> u64 {
        let named = self.layout();
        let code = named.filter(|file| file.has_code()).or_else(|| self.binary());
        let moved =
            named.zip(code).filter(|(named, code)| !std::ptr::eq(*named, *code)).and_then(|(named, code)| {
                let section = code.section_at(address)?;
                Some(named.section(&section.name)?.address + (address - section.address))
            });
        moved.unwrap_or(address)
    }

    /// Disassembles an instruction of a function; with `live`, as it is in memory, where a module has been linked.
    pub(crate) fn insn_text(self, symbol: &Symbol, insn: &LiveInsn, live: bool) -> String {
        let offset = u64::from(insn.offset);
        let at = symbol.address.saturating_add(offset);
        if live && self.all().is_linked_in_memory(self.id()) {
            let run = self.run_time(at).unwrap_or(at);
            let name = |target: u64| {
                let inside = target.wrapping_sub(run.wrapping_sub(offset));
                if inside < symbol.size {
                    return self.target_name(symbol, symbol.address.wrapping_add(inside));
                }
                let (function, offset) = self.all().name_at(target)?;
                Some(if offset == 0 { function } else { format!("{function}+{offset}") })
            };
            return decode::of(insn.machine).text_with(&insn.bytes, run, &name);
        }
        let in_file = self.in_code(at).map(|(_, at)| at);
        let bytes = |at: u64| at..at.saturating_add(insn.bytes.len() as u64);
        let reference = in_file.and_then(|at| self.all().reference(self.id(), bytes(at)));
        let name = |target| match reference {
            Some(Reference::Import(name)) => Some(name.clone()),
            Some(Reference::Address(to)) => self.target_name(symbol, self.out_of_code(*to)),
            None => self.target_name(symbol, target),
        };
        decode::of(insn.machine).text_with(&insn.bytes, at, &name)
    }

    /// Returns the target of a jump or call: an offset inside the function, as in probe names, otherwise a name.
    fn target_name(self, from: &Symbol, target: u64) -> Option<String> {
        let symbols = self.symbols()?;
        let inside = target.wrapping_sub(from.address) < from.size;
        let to = if inside { Some(from) } else { symbols.containing(target) };
        let Some(to) = to else { return self.all().import_at(self.id(), target) };
        let offset = target - to.address;
        let name = symbols.name(to);
        Some(match self.id() {
            _ if offset == 0 && !inside => name.to_owned(),
            ImageId::Kernel(_) => format!("{name}+{offset}"),
            ImageId::File(_) => format!("{name}+{offset:#x}"),
        })
    }
}

//! dwarf/variables/unwind.rs: the canonical frame address at an instruction, from .debug_frame or .eh_frame.

use gimli::{CfaRule, Encoding, Format};

use super::location::{self, Surroundings};
use super::scope::Missing;
use super::term::{Binary, Register, Term};
use crate::cfi::CallFrames;
use kinst_base::machine::Machine;
use kinst_debuginfo::{ElfFile, Error};

/// The unwind information of a file: kernels have .debug_frame, programs .eh_frame.
pub(crate) struct Unwind<'i> {
    frames: CallFrames<'i>,
    machine: Option<Machine>,
}

impl<'i> Unwind<'i> {
    /// Reads them from the file with the debug information, or else from the one with the code.
    pub(crate) fn read(image: &'i ElfFile, binary: Option<&'i ElfFile>) -> Result<Unwind<'i>, Error> {
        let mut frames = CallFrames::of_kernel(image)?;
        if let Some(binary) = binary.filter(|_| frames.is_empty()) {
            frames = CallFrames::of_kernel(binary)?;
        }
        Ok(Unwind { frames, machine: image.machine() })
    }

    /// The canonical frame address in terms of the registers at the instruction.
    pub(crate) fn cfa(&self, address: u64) -> Result<Term, Missing> {
        let damaged = |cause: gimli::Error| Missing::Damaged(cause.to_string());
        let rules = self.frames.rules(address).map_err(damaged)?.ok_or(Missing::Frame)?;
        match rules.cfa {
            CfaRule::RegisterAndOffset { register, offset } => {
                let register = self.register(register.0).ok_or(Missing::Register(register.0))?;
                Ok(Term::binary(Binary::Add, Term::Register(register), Term::Constant(offset as u64)))
            }
            CfaRule::Expression(expression) => {
                let expression = self.frames.expression(&expression).map_err(damaged)?;
                let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };
                location::value(expression, encoding, &Frameless(self))
            }
        }
    }

    fn register(&self, number: u16) -> Option<Register> {
        Register::new(self.machine?, number)
    }
}

/// The context of the frame address itself, which cannot depend on the frame.
struct Frameless<'u, 'i>(&'u Unwind<'i>);

impl Surroundings for Frameless<'_, '_> {
    fn register(&self, number: u16) -> Option<Register> {
        self.0.register(number)
    }

    fn frame_base(&self) -> Result<Term, Missing> {
        Err(Missing::Frame)
    }

    fn cfa(&self) -> Result<Term, Missing> {
        Err(Missing::Frame)
    }

    fn address(&self, _: u64) -> Result<Term, Missing> {
        Err(Missing::Frame)
    }
}

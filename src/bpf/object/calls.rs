//! bpf/object/calls.rs: subroutines, most of which are functions of the library.

use super::{Object, TUPLE};
use crate::bpf::insn::Reg::{self, Frame, R0, R1, R2, R3};
use crate::bpf::insn::{Alu, Cond, Helper, Width};
use crate::bpf::library::Function;
use crate::bpf::missing::Missing;
use crate::dif::insn::Subr;
use crate::uapi::Flt;

/// The numbers of address families.
const AF_INET: i32 = 2;
const AF_INET6: i32 = 10;

impl Object<'_, '_> {
    /// Loads an entry of the tuple stack.
    fn pushed(&mut self, into: Reg, entry: usize) -> Result<(), Missing> {
        if entry >= self.tuple.len() {
            return Err(Missing::Invalid);
        }
        self.asm.load(Width::Double, into, Frame, TUPLE - 8 * entry as i16);
        Ok(())
    }

    /// Loads an entry that need not be there.
    fn pushed_or(&mut self, into: Reg, entry: usize, default: i32) -> Result<(), Missing> {
        if entry < self.tuple.len() {
            return self.pushed(into, entry);
        }
        self.asm.mov(into, default);
        Ok(())
    }

    /// Calls a function of the library, whose arguments are in R1 to R5. The value is in R0.
    pub(super) fn library(&mut self, function: Function) {
        let label = self.shared.functions.label(self.asm, function);
        self.asm.call_local(label);
        let bad = self.failed_call();
        self.asm.if_faulted(bad);
    }

    pub(super) fn call(&mut self, subr: Subr, rd: u8) -> Result<(), Missing> {
        match subr {
            // All mutexes of Linux are adaptive.
            Subr::MutexTypeAdaptive => self.asm.mov(R0, 1),
            Subr::MutexTypeSpin => self.asm.mov(R0, 0),
            Subr::Copyout | Subr::Copyoutstr if !self.shared.context.may_write() => {
                return Err(Missing::Other("copyout() in an interrupt or at an instruction"));
            }
            Subr::Getmajor => {
                self.pushed(R1, 0)?;
                self.asm.alu(Alu::Lsh, R1, 32);
                self.asm.alu(Alu::Rsh, R1, 52);
                self.asm.mov(R0, R1);
            }
            Subr::Getminor => {
                self.pushed(R0, 0)?;
                self.asm.alu(Alu::And, R0, 0xf_ffff);
            }
            Subr::Htons | Subr::Ntohs | Subr::Htonl | Subr::Ntohl | Subr::Htonll | Subr::Ntohll => {
                self.pushed(R0, 0)?;
                let bits = match subr {
                    Subr::Htons | Subr::Ntohs => 16,
                    Subr::Htonl | Subr::Ntohl => 32,
                    _ => 64,
                };
                self.asm.to_big_endian(R0, bits);
            }
            Subr::Rand => self.asm.call(Helper::GetPrandomU32),
            Subr::InetNtop => self.inet_ntop()?,
            Subr::Copyinto | Subr::Bcopy => {
                let (to, size, function) = match subr {
                    Subr::Copyinto => (2, 1, Function::CopyUser),
                    _ => (1, 2, Function::Copy),
                };
                self.pushed(R1, to)?;
                self.pushed(R2, 0)?;
                self.pushed(R3, size)?;
                self.library(function);
            }
            Subr::Strstr => {
                let (found, done) = (self.asm.label(), self.asm.label());
                self.pushed(R1, 0)?;
                self.pushed(R2, 1)?;
                self.asm.mov(R3, 0);
                self.library(Function::Index);
                self.asm.branch(Cond::SignedGe, R0, 0, found);
                self.asm.mov(R0, 0);
                self.asm.jump(done);
                self.asm.bind(found);
                self.pushed(R1, 0)?;
                self.asm.add(R0, R1);
                self.asm.bind(done);
            }
            other => self.call_library(other)?,
        }
        self.set(rd, R0);
        Ok(())
    }

    /// Calls the function of the library that has the arguments of the subroutine, or what stands for those left out.
    fn call_library(&mut self, subr: Subr) -> Result<(), Missing> {
        let strsize = self.shared.memory.strsize as i32;
        let (function, defaults): (_, &[i32]) = match subr {
            Subr::Strlen => (Function::First, &[strsize]),
            Subr::Copyinstr => (Function::Copyinstr, &[strsize]),
            Subr::Lltostr => (Function::Lltostr, &[10]),
            Subr::Strtoll => (Function::Strtoll, &[10]),
            Subr::Substr => (Function::Substr, &[strsize]),
            Subr::Index => (Function::Index, &[0]),
            Subr::Rindex => (Function::Rindex, &[strsize]),
            Subr::Strjoin => (Function::Strjoin, &[]),
            Subr::Strchr => (Function::Strchr, &[]),
            Subr::Strrchr => (Function::Strrchr, &[]),
            Subr::Strtok => (Function::Strtok, &[]),
            Subr::Toupper => (Function::Toupper, &[]),
            Subr::Tolower => (Function::Tolower, &[]),
            Subr::Basename => (Function::Basename, &[]),
            Subr::Dirname => (Function::Dirname, &[]),
            Subr::Cleanpath => (Function::Cleanpath, &[]),
            Subr::Copyin => (Function::Copyin, &[]),
            Subr::Alloca => (Function::Allocate, &[]),
            Subr::Memref => (Function::Memref, &[]),
            Subr::Memstr => (Function::Memstr, &[]),
            Subr::InetNtoa => (Function::InetNtoa, &[]),
            Subr::InetNtoa6 => (Function::InetNtoa6, &[]),
            Subr::LinkNtop => (Function::LinkNtop, &[]),
            Subr::Json => (Function::Json, &[]),
            Subr::Progenyof => (Function::Progenyof, &[]),
            Subr::MutexOwned => (Function::MutexOwned, &[]),
            Subr::MutexOwner => (Function::MutexOwner, &[]),
            Subr::RwReadHeld => (Function::RwReadHeld, &[]),
            Subr::RwWriteHeld => (Function::RwWriteHeld, &[]),
            Subr::RwIswriter => (Function::RwIswriter, &[]),
            Subr::DPath => (Function::DPath, &[]),
            Subr::Copyout => (Function::Copyout, &[]),
            Subr::Copyoutstr => (Function::Copyoutstr, &[]),
            Subr::Speculation => (Function::Speculation, &[]),
            other => return Err(Missing::Subroutine(other)),
        };
        let arity = usize::from(function.arity());
        for (entry, into) in (0..arity).zip([R1, R2, R3]) {
            match (entry + defaults.len()).checked_sub(arity).and_then(|at| defaults.get(at)) {
                Some(default) => self.pushed_or(into, entry, *default)?,
                None => self.pushed(into, entry)?,
            }
        }
        self.library(function);
        Ok(())
    }

    fn inet_ntop(&mut self) -> Result<(), Missing> {
        let bad = self.fault(Flt::ILLOP);
        let (six, done) = (self.asm.label(), self.asm.label());
        self.pushed(R1, 0)?;
        self.asm.mov(R2, R1);
        self.asm.alu(Alu::Lsh, R2, 32);
        self.asm.alu(Alu::Rsh, R2, 32);
        self.asm.branch(Cond::Eq, R2, AF_INET6, six);
        self.asm.branch(Cond::Ne, R2, AF_INET, bad);
        self.pushed(R1, 1)?;
        self.library(Function::InetNtoa);
        self.asm.jump(done);
        self.asm.bind(six);
        self.pushed(R1, 1)?;
        self.library(Function::InetNtoa6);
        self.asm.bind(done);
        Ok(())
    }
}

//! bpf/object/calls.rs: subroutines, most of which are library functions.

use super::function::{Object, TUPLE};
use crate::insn::Reg::{self, Frame, R0, R1, R2, R3};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::library::Function;
use crate::missing::Missing;
use crate::support::COPYOUT;
use kinst_base::uapi::Flt;
use kinst_dif::insn::Subr;

/// Address families.
const AF_INET: i32 = 2;
const AF_INET6: i32 = 10;

/// The implementation of a subroutine.
enum Callee {
    /// A library function, and the default of the last argument.
    Library(Function, Option<i32>),
    Inline(fn(&mut Object<'_, '_>) -> Result<(), Missing>),
    Missing,
}

/// Returns the implementation of each subroutine; `strsize` is the maximum size of a string.
fn callee(subr: Subr, strsize: i32) -> Callee {
    use Callee::{Inline, Library};
    match subr {
        Subr::Rand => Inline(|object| object.rand()),
        // All Linux mutexes are adaptive.
        Subr::MutexTypeAdaptive => Inline(|object| object.constant(1)),
        Subr::MutexTypeSpin => Inline(|object| object.constant(0)),
        Subr::Getmajor => Inline(|object| object.getmajor()),
        Subr::Getminor => Inline(|object| object.getminor()),
        Subr::Htons | Subr::Ntohs => Inline(|object| object.swap(16)),
        Subr::Htonl | Subr::Ntohl => Inline(|object| object.swap(32)),
        Subr::Htonll | Subr::Ntohll => Inline(|object| object.swap(64)),
        Subr::InetNtop => Inline(|object| object.inet_ntop()),
        Subr::Copyinto => Inline(|object| object.copy_bytes(Function::CopyUser, (2, 1))),
        Subr::Bcopy => Inline(|object| object.copy_bytes(Function::Copy, (1, 2))),
        Subr::Strstr => Inline(|object| object.strstr()),
        Subr::Strlen => Library(Function::First, Some(strsize)),
        Subr::Copyinstr => Library(Function::Copyinstr, Some(strsize)),
        Subr::Lltostr => Library(Function::Lltostr, Some(10)),
        Subr::Strtoll => Library(Function::Strtoll, Some(10)),
        Subr::Substr => Library(Function::Substr, Some(strsize)),
        Subr::Index => Library(Function::Index, Some(0)),
        Subr::Rindex => Library(Function::Rindex, Some(strsize)),
        Subr::Strjoin => Library(Function::Strjoin, None),
        Subr::Strchr => Library(Function::Strchr, None),
        Subr::Strrchr => Library(Function::Strrchr, None),
        Subr::Strtok => Library(Function::Strtok, None),
        Subr::Toupper => Library(Function::Toupper, None),
        Subr::Tolower => Library(Function::Tolower, None),
        Subr::Basename => Library(Function::Basename, None),
        Subr::Dirname => Library(Function::Dirname, None),
        Subr::Cleanpath => Library(Function::Cleanpath, None),
        Subr::Copyin => Library(Function::Copyin, None),
        Subr::Alloca => Library(Function::Allocate, None),
        Subr::Memref => Library(Function::Memref, None),
        Subr::Memstr => Library(Function::Memstr, None),
        Subr::InetNtoa => Library(Function::InetNtoa, None),
        Subr::InetNtoa6 => Library(Function::InetNtoa6, None),
        Subr::LinkNtop => Library(Function::LinkNtop, None),
        Subr::Json => Library(Function::Json, None),
        Subr::Progenyof => Library(Function::Progenyof, None),
        Subr::MutexOwned => Library(Function::MutexOwned, None),
        Subr::MutexOwner => Library(Function::MutexOwner, None),
        Subr::RwReadHeld => Library(Function::RwReadHeld, None),
        Subr::RwWriteHeld => Library(Function::RwWriteHeld, None),
        Subr::RwIswriter => Library(Function::RwIswriter, None),
        Subr::DPath => Library(Function::DPath, None),
        Subr::Copyout => Library(Function::Copyout, None),
        Subr::Copyoutstr => Library(Function::Copyoutstr, None),
        Subr::Speculation => Library(Function::Speculation, None),
        // Subroutines of other systems.
        Subr::Msgdsize | Subr::Msgsize | Subr::DdiPathname | Subr::Getf => Callee::Missing,
        Subr::SxSharedHeld | Subr::SxExclusiveHeld | Subr::SxIsexclusive => Callee::Missing,
    }
}

impl Object<'_, '_> {
    /// Loads an entry of the tuple stack.
    fn pushed(&mut self, into: Reg, entry: usize) -> Result<(), Missing> {
        if entry >= self.tuple.len() {
            return Err(Missing::Invalid);
        }
        self.asm.load(Width::Double, into, Frame, TUPLE - 8 * entry as i16);
        Ok(())
    }

    /// Loads an optional entry.
    fn pushed_or(&mut self, into: Reg, entry: usize, default: i32) -> Result<(), Missing> {
        if entry < self.tuple.len() {
            return self.pushed(into, entry);
        }
        self.asm.mov(into, default);
        Ok(())
    }

    /// Calls a library function with arguments in R1 to R5. The result is in R0.
    pub(super) fn library(&mut self, function: Function) {
        self.shared.functions.call(self.asm, function);
        let bad = self.failed_call();
        self.asm.if_faulted(bad);
    }

    pub(super) fn call(&mut self, subr: Subr, rd: u8) -> Result<(), Missing> {
        if matches!(subr, Subr::Copyout | Subr::Copyoutstr) && !self.shared.context.may_write() {
            return Err(Missing::Other(COPYOUT));
        }
        match callee(subr, self.shared.memory.strsize as i32) {
            Callee::Library(function, default) => self.call_library(function, default)?,
            Callee::Inline(write) => write(self)?,
            Callee::Missing => return Err(Missing::Subroutine(subr)),
        }
        self.set(rd, R0);
        Ok(())
    }

    /// Calls a library function with the arguments of a subroutine, the last of which may be omitted.
    fn call_library(&mut self, function: Function, default: Option<i32>) -> Result<(), Missing> {
        let arity = usize::from(function.arity());
        for (entry, into) in (0..arity).zip([R1, R2, R3]) {
            match default.filter(|_| entry + 1 == arity) {
                Some(default) => self.pushed_or(into, entry, default)?,
                None => self.pushed(into, entry)?,
            }
        }
        self.library(function);
        Ok(())
    }

    fn constant(&mut self, value: i32) -> Result<(), Missing> {
        self.asm.mov(R0, value);
        Ok(())
    }

    fn rand(&mut self) -> Result<(), Missing> {
        self.asm.call(Helper::GetPrandomU32);
        Ok(())
    }

    fn getmajor(&mut self) -> Result<(), Missing> {
        self.pushed(R1, 0)?;
        self.asm.alu(Alu::Lsh, R1, 32);
        self.asm.alu(Alu::Rsh, R1, 52);
        self.asm.mov(R0, R1);
        Ok(())
    }

    fn getminor(&mut self) -> Result<(), Missing> {
        self.pushed(R0, 0)?;
        self.asm.alu(Alu::And, R0, 0xf_ffff);
        Ok(())
    }

    /// Swaps the bytes of a number of `bits` bits.
    fn swap(&mut self, bits: i32) -> Result<(), Missing> {
        self.pushed(R0, 0)?;
        self.asm.to_big_endian(R0, bits);
        Ok(())
    }

    /// Copies from the first argument; `to` and `size` are the entries of the other arguments.
    fn copy_bytes(&mut self, function: Function, (to, size): (usize, usize)) -> Result<(), Missing> {
        self.pushed(R1, to)?;
        self.pushed(R2, 0)?;
        self.pushed(R3, size)?;
        self.library(function);
        Ok(())
    }

    fn strstr(&mut self) -> Result<(), Missing> {
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

//! bpf/asm.rs: an assembler: instructions with labels, whose distances are resolved at the end.

use super::insn::{Alu, Cond, Helper, Insn, Operand, Reg, Wide, Width};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A place in the code, which may not be bound yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// How the kernel verifies a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// Verified anew at each call.
    Static,
    /// Takes a fixed number of scalar arguments of any value; verified once.
    Global {
        /// Name in the program's BTF.
        name: &'static str,
        /// Number of arguments, 5 at most.
        arity: u8,
    },
}

/// Code under construction.
#[derive(Debug, Default)]
pub struct Assembler {
    insns: Vec<Insn>,
    /// The 8-byte units emitted so far.
    units: usize,
    /// Position by label, in units.
    places: Vec<Option<usize>>,
    /// Unresolved jumps and calls: the index of each, the unit that it begins at, and its target.
    open: Vec<(usize, usize, Label)>,
    /// The functions after the first, each with the unit that it begins at.
    functions: Vec<(usize, FunctionKind)>,
}

/// Code with resolved jumps. Its maps are the writer's indices until it is loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Code {
    /// Instructions in order; one of two units is one entry.
    pub insns: Vec<Insn>,
    /// Functions by the unit that each begins at; the program itself is the first.
    pub functions: Vec<(usize, FunctionKind)>,
}

/// The maximum number of maps in a program.
pub const MAPS: usize = 64;
/// The maximum number of functions that the kernel accepts in one program.
pub const FUNCTIONS: usize = 256;

/// Why code cannot be assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AsmError {
    /// A distance in units that does not fit into 16 bits, or into 32 for a call.
    #[error("a jump over {0} instructions is too far")]
    TooFar(i64),
    /// A jump or call to a label that was never bound.
    #[error("a jump to an unbound label")]
    Unbound,
}

impl Assembler {
    /// Makes a label, to be bound later.
    pub fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Binds the label to the next instruction.
    pub fn bind(&mut self, label: Label) {
        if let Some(place) = self.places.get_mut(label.0) {
            *place = Some(self.units);
        }
    }

    /// Makes a label that is bound to the next instruction.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    /// Begins a function at the label.
    pub fn function(&mut self, label: Label, kind: FunctionKind) {
        self.bind(label);
        self.functions.push((self.units, kind));
    }

    fn put(&mut self, insn: Insn) {
        self.units += insn.units();
        self.insns.push(insn);
    }

    fn put_open(&mut self, insn: Insn, to: Label) {
        self.open.push((self.insns.len(), self.units, to));
        self.put(insn);
    }

    /// `dst = dst op src`; with [`Alu::Mov`], `dst = src`.
    pub fn alu(&mut self, op: Alu, dst: Reg, src: impl Into<Operand>) {
        self.put(Insn::Alu { op, dst, src: src.into() });
    }

    /// `dst = src`
    pub fn mov(&mut self, dst: Reg, src: impl Into<Operand>) {
        self.alu(Alu::Mov, dst, src);
    }

    /// Negates by complement: on the smallest number, machines differ in what the instruction for it does.
    pub fn neg(&mut self, dst: Reg) {
        self.alu(Alu::Xor, dst, -1);
        self.add(dst, 1);
    }

    /// `dst += src`
    pub fn add(&mut self, dst: Reg, src: impl Into<Operand>) {
        self.alu(Alu::Add, dst, src);
    }

    /// `dst = *(base + off)`; the upper bytes are cleared.
    pub fn load(&mut self, width: Width, dst: Reg, base: Reg, off: i16) {
        self.put(Insn::Load { width, dst, base, off });
    }

    /// `*(base + off) = src`
    pub fn store(&mut self, width: Width, base: Reg, off: i16, src: impl Into<Operand>) {
        self.put(Insn::Store { width, base, off, src: src.into() });
    }

    /// `*(base + off) += src`, atomically: 8 bytes.
    pub fn atomic_add(&mut self, base: Reg, off: i16, src: Reg) {
        self.put(Insn::AtomicAdd { base, off, src });
    }

    /// Exchanges a register and 8 bytes of memory atomically.
    pub fn exchange(&mut self, base: Reg, off: i16, src: Reg) {
        self.put(Insn::AtomicXchg { base, off, src });
    }

    /// Converts the lower 16, 32 or 64 bits to network order and clears the others.
    pub fn to_big_endian(&mut self, dst: Reg, bits: i32) {
        self.put(Insn::ToBigEndian { dst, bits });
    }

    /// Loads a number, in one unit if it fits into 32 signed bits.
    pub fn number(&mut self, dst: Reg, value: u64) {
        match i32::try_from(value as i64) {
            Ok(short) => self.mov(dst, short),
            Err(_) => self.put(Insn::Wide { kind: Wide::Number, dst, value }),
        }
    }

    /// Loads the map with this index.
    pub fn map(&mut self, dst: Reg, map: u32) {
        self.put(Insn::Wide { kind: Wide::Map, dst, value: map.into() });
    }

    /// Loads the address of a map's only value, plus an offset in bytes.
    pub fn map_value(&mut self, dst: Reg, map: u32, offset: u32) {
        self.put(Insn::Wide { kind: Wide::MapValue, dst, value: u64::from(offset) << 32 | u64::from(map) });
    }

    /// Calls a helper with its arguments in R1 to R5. The result is in R0.
    pub fn call(&mut self, helper: Helper) {
        self.put(Insn::Call(helper));
    }

    /// Looks up the key in this slot of the frame; R0 is the address of the value, or 0.
    pub fn lookup(&mut self, map: u32, slot: i16) {
        self.map(Reg::R1, map);
        self.mov(Reg::R2, Reg::Frame);
        self.add(Reg::R2, i32::from(slot));
        self.call(Helper::MapLookupElem);
    }

    /// Adds 1 to a counter; clobbers R1.
    pub fn count(&mut self, base: Reg, off: i16) {
        self.load(Width::Double, Reg::R1, base, off);
        self.add(Reg::R1, 1);
        self.store(Width::Double, base, off, Reg::R1);
    }

    /// Copies `bytes` bytes of the kernel's memory at the address in R3 to a slot of the frame, whose other
    /// bytes of 8 are cleared; jumps to `failed` if they cannot be read.
    pub fn read(&mut self, slot: i16, bytes: i32, failed: Label) {
        self.read_by(Helper::ProbeReadKernel, slot, bytes, failed);
    }

    /// Like [`Assembler::read`], from the memory of the process.
    pub fn read_user(&mut self, slot: i16, bytes: i32, failed: Label) {
        self.read_by(Helper::ProbeReadUser, slot, bytes, failed);
    }

    fn read_by(&mut self, helper: Helper, slot: i16, bytes: i32, failed: Label) {
        self.store(Width::Double, Reg::Frame, slot, 0);
        self.mov(Reg::R1, Reg::Frame);
        self.add(Reg::R1, i32::from(slot));
        self.mov(Reg::R2, bytes);
        self.call(helper);
        self.branch(Cond::Ne, Reg::R0, 0, failed);
    }

    /// Calls a function of this program.
    pub fn call_local(&mut self, function: Label) {
        self.put_open(Insn::Local { off: 0 }, function);
    }

    /// Jumps to the label.
    pub fn jump(&mut self, to: Label) {
        self.branch(Cond::Always, Reg::R0, 0, to);
    }

    /// Branches. Never compare unsigned with a negative constant: machines differ in what it is.
    pub fn branch(&mut self, cond: Cond, dst: Reg, src: impl Into<Operand>, to: Label) {
        self.put_open(Insn::Jump { cond, dst, src: src.into(), off: 0 }, to);
    }

    /// Returns R0 from the function.
    pub fn exit(&mut self) {
        self.put(Insn::Exit);
    }

    /// Resolves jumps and calls. Fails on a label that is unbound or too far away.
    pub fn finish(mut self) -> Result<Code, AsmError> {
        for (index, units, label) in self.open {
            let place = self.places.get(label.0).copied().flatten().ok_or(AsmError::Unbound)?;
            let distance = place as i64 - units as i64 - 1;
            match &mut self.insns[index] {
                Insn::Jump { off, .. } => {
                    *off = i16::try_from(distance).map_err(|_| AsmError::TooFar(distance))?;
                }
                Insn::Local { off } => {
                    *off = i32::try_from(distance).map_err(|_| AsmError::TooFar(distance))?;
                }
                _ => {}
            }
        }
        let program = (0, FunctionKind::Static);
        let functions = std::iter::once(program).chain(self.functions).collect();
        Ok(Code { insns: self.insns, functions })
    }
}

impl Code {
    /// Number of 8-byte units, of which the kernel accepts a million.
    pub fn units(&self) -> usize {
        self.insns.iter().map(|insn| insn.units()).sum()
    }

    /// Number of maps used, of which the kernel accepts [`MAPS`].
    pub fn maps(&self) -> usize {
        let maps = self.insns.iter().filter_map(|insn| match insn {
            Insn::Wide { kind: Wide::Map | Wide::MapValue, value, .. } => Some(*value as u32),
            _ => None,
        });
        maps.collect::<BTreeSet<u32>>().len()
    }

    /// Returns the bytes, with descriptors in place of the map indices.
    pub fn bytes(&self, descriptor: impl Fn(u32) -> u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.units() * 8);
        for insn in &self.insns {
            let insn = match *insn {
                Insn::Wide { kind: kind @ (Wide::Map | Wide::MapValue), dst, value } => {
                    let map = u64::from(descriptor(value as u32));
                    Insn::Wide { kind, dst, value: value >> 32 << 32 | map }
                }
                insn => insn,
            };
            insn.encode(&mut bytes);
        }
        bytes
    }

    /// Lists the code, one line for each instruction, with the index of its first unit.
    pub fn listing(&self) -> String {
        let mut text = String::new();
        let mut at = 0;
        for insn in &self.insns {
            let _ = writeln!(text, "{at:>5}: {insn}");
            at += insn.units();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_units() {
        let mut asm = Assembler::default();
        let end = asm.label();
        let again = asm.here();
        asm.branch(Cond::Eq, Reg::R1, 0, end);
        asm.number(Reg::R2, u64::MAX >> 1);
        asm.map_value(Reg::R3, 2, 8);
        asm.jump(again);
        asm.bind(end);
        asm.exit();
        let code = asm.finish().unwrap();
        let expected = "    0: if r1 == 0 goto +5\n    1: r2 = 0x7fffffffffffffff ll\n    3: r3 = map[2][0]+8\n    5: goto -6\n    6: exit\n";
        assert_eq!(code.listing(), expected);
        let bytes = code.bytes(|map| map + 40);
        assert_eq!((bytes.len(), bytes[24 + 4], bytes[24 + 12]), (7 * 8, 42, 8));
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        let mut asm = Assembler::default();
        let nowhere = asm.label();
        asm.jump(nowhere);
        assert_eq!(asm.finish(), Err(AsmError::Unbound));
        let mut asm = Assembler::default();
        let far = asm.label();
        asm.jump(far);
        (0..40_000).for_each(|_| asm.mov(Reg::R0, 0));
        asm.bind(far);
        assert_eq!(asm.finish(), Err(AsmError::TooFar(40_000)));
    }
}

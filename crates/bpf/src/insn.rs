//! bpf/insn.rs: instructions of the kernel's BPF machine: their 8-byte encoding, and the text of the kernel's tools.

pub use super::helper::{Helper, USER_STACK};
use std::fmt;

/// A register. R0 is a call's result; R1 to R5 are its arguments and are clobbered; R6 to R9 are preserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reg {
    /// Result of a call, a function or the program.
    R0,
    /// First argument.
    R1,
    /// Second argument.
    R2,
    /// Third argument.
    R3,
    /// Fourth argument.
    R4,
    /// Fifth argument.
    R5,
    /// Preserved by calls.
    R6,
    /// Preserved by calls.
    R7,
    /// Preserved by calls.
    R8,
    /// Preserved by calls.
    R9,
    /// End of the stack frame.
    Frame,
}

/// The width of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Width {
    /// 4 bytes.
    Word = 0x00,
    /// 2 bytes.
    Half = 0x08,
    /// 1 byte.
    Byte = 0x10,
    /// 8 bytes.
    Double = 0x18,
}

impl Width {
    /// Returns the width for a number of bytes; `None` if there is none.
    pub fn of(bytes: u32) -> Option<Width> {
        match bytes {
            1 => Some(Width::Byte),
            2 => Some(Width::Half),
            4 => Some(Width::Word),
            8 => Some(Width::Double),
            _ => None,
        }
    }

    /// Returns the size in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
            Width::Double => 8,
        }
    }
}

/// A 64-bit operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Alu {
    /// `dst += src`
    Add = 0x00,
    /// `dst -= src`
    Sub = 0x10,
    /// `dst *= src`
    Mul = 0x20,
    /// Unsigned; division by 0 gives 0.
    Div = 0x30,
    /// `dst |= src`
    Or = 0x40,
    /// `dst &= src`
    And = 0x50,
    /// `dst <<= src`
    Lsh = 0x60,
    /// `dst >>= src`, logical.
    Rsh = 0x70,
    /// Unsigned; modulo 0 leaves `dst`.
    Mod = 0x90,
    /// `dst ^= src`
    Xor = 0xa0,
    /// `dst = src`
    Mov = 0xb0,
    /// `dst >>= src`, arithmetic.
    Arsh = 0xc0,
}

/// A condition on 64 bits, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cond {
    /// No condition.
    Always = 0x00,
    /// `==`
    Eq = 0x10,
    /// `>`, unsigned.
    Gt = 0x20,
    /// `>=`, unsigned.
    Ge = 0x30,
    /// `!=`
    Ne = 0x50,
    /// `>`, signed.
    SignedGt = 0x60,
    /// `>=`, signed.
    SignedGe = 0x70,
    /// `<`, unsigned.
    Lt = 0xa0,
    /// `<=`, unsigned.
    Le = 0xb0,
    /// `<`, signed.
    SignedLt = 0xc0,
    /// `<=`, signed.
    SignedLe = 0xd0,
}

/// A second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The value of a register.
    Reg(Reg),
    /// A constant, sign-extended.
    Imm(i32),
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Operand {
        Operand::Reg(reg)
    }
}

impl From<i32> for Operand {
    fn from(imm: i32) -> Operand {
        Operand::Imm(imm)
    }
}

/// The kind of a 64-bit constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Wide {
    /// A plain value.
    Number = 0,
    /// The descriptor of a map.
    Map = 1,
    /// Address of an array's only value: the descriptor, and an offset in the upper half.
    MapValue = 2,
}

/// An instruction; its memory operands are `base + off`, with `off` in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insn {
    /// `dst = dst op src`
    Alu {
        /// Operation on 64 bits.
        op: Alu,
        /// First operand and destination.
        dst: Reg,
        /// Second operand.
        src: Operand,
    },
    /// `dst = *(base + off)`
    Load {
        /// Bytes to load; the rest of `dst` is cleared.
        width: Width,
        /// Destination.
        dst: Reg,
        /// Address.
        base: Reg,
        /// Offset from the address.
        off: i16,
    },
    /// `*(base + off) = src`
    Store {
        /// Bytes to store.
        width: Width,
        /// Address.
        base: Reg,
        /// Offset from the address.
        off: i16,
        /// Value.
        src: Operand,
    },
    /// Atomic addition to 8 bytes of memory.
    AtomicAdd {
        /// Address.
        base: Reg,
        /// Offset from the address.
        off: i16,
        /// Summand.
        src: Reg,
    },
    /// Atomic exchange of a register and 8 bytes of memory.
    AtomicXchg {
        /// Address.
        base: Reg,
        /// Offset from the address.
        off: i16,
        /// New value of the memory, and destination of the old one.
        src: Reg,
    },
    /// Conversion to network order; the bits above `bits` are cleared.
    ToBigEndian {
        /// Operand and destination.
        dst: Reg,
        /// 16, 32 or 64.
        bits: i32,
    },
    /// A jump over `off` units; a 64-bit constant counts as two.
    Jump {
        /// Condition on `dst` and `src`.
        cond: Cond,
        /// First operand.
        dst: Reg,
        /// Second operand.
        src: Operand,
        /// Units from the next instruction on; negative for a backward jump.
        off: i16,
    },
    /// `dst = value`, in two units.
    Wide {
        /// Meaning of the value.
        kind: Wide,
        /// Destination.
        dst: Reg,
        /// Number, or the map in the lower half, and an offset in the upper half.
        value: u64,
    },
    /// `r0 = helper(r1, r2, r3, r4, r5)`
    Call(Helper),
    /// A call to a function of the same program.
    Local {
        /// Units from the next instruction on.
        off: i32,
    },
    /// Returns R0.
    Exit,
}

/// Instruction classes, and marks in their first byte.
mod code {
    pub(super) const LD_IMM_DW: u8 = 0x18;
    pub(super) const LDX_MEM: u8 = 0x61;
    pub(super) const ST_MEM: u8 = 0x62;
    pub(super) const STX_MEM: u8 = 0x63;
    pub(super) const STX_ATOMIC_DW: u8 = 0xdb;
    pub(super) const ALU_TO_BE: u8 = 0xdc;
    pub(super) const ALU64: u8 = 0x07;
    pub(super) const JMP: u8 = 0x05;
    pub(super) const CALL: u8 = 0x85;
    pub(super) const EXIT: u8 = 0x95;
    /// The second operand is a register.
    pub(super) const BY_REG: u8 = 0x08;
}

/// The operation of an atomic exchange.
const ATOMIC_XCHG: i32 = 0xe1;
/// Marks a call within the program, in place of a register.
const LOCAL_CALL: u8 = 1;

impl Insn {
    /// Returns the number of 8-byte units.
    pub fn units(self) -> usize {
        if matches!(self, Insn::Wide { .. }) { 2 } else { 1 }
    }

    /// Appends the instruction in x86 byte order.
    pub fn encode(self, out: &mut Vec<u8>) {
        let mut put = |code: u8, dst: u8, src: u8, off: i16, imm: i32| {
            out.extend([code, src << 4 | dst]);
            out.extend(off.to_le_bytes());
            out.extend(imm.to_le_bytes());
        };
        let split = |operand: Operand| match operand {
            Operand::Reg(reg) => (code::BY_REG, reg as u8, 0),
            Operand::Imm(imm) => (0, 0, imm),
        };
        match self {
            Insn::Alu { op, dst, src } => {
                let (by_reg, src, imm) = split(src);
                put(code::ALU64 | op as u8 | by_reg, dst as u8, src, 0, imm);
            }
            Insn::Load { width, dst, base, off } => {
                put(code::LDX_MEM | width as u8, dst as u8, base as u8, off, 0);
            }
            Insn::Store { width, base, off, src: Operand::Reg(src) } => {
                put(code::STX_MEM | width as u8, base as u8, src as u8, off, 0);
            }
            Insn::Store { width, base, off, src: Operand::Imm(imm) } => {
                put(code::ST_MEM | width as u8, base as u8, 0, off, imm);
            }
            Insn::AtomicAdd { base, off, src } => put(code::STX_ATOMIC_DW, base as u8, src as u8, off, 0),
            Insn::AtomicXchg { base, off, src } => {
                put(code::STX_ATOMIC_DW, base as u8, src as u8, off, ATOMIC_XCHG);
            }
            Insn::ToBigEndian { dst, bits } => put(code::ALU_TO_BE, dst as u8, 0, 0, bits),
            Insn::Jump { cond, dst, src, off } => {
                let (by_reg, src, imm) = split(src);
                put(code::JMP | cond as u8 | by_reg, dst as u8, src, off, imm);
            }
            Insn::Wide { kind, dst, value } => {
                put(code::LD_IMM_DW, dst as u8, kind as u8, 0, value as u32 as i32);
                put(0, 0, 0, 0, (value >> 32) as u32 as i32);
            }
            Insn::Call(helper) => put(code::CALL, 0, 0, 0, helper as i32),
            Insn::Local { off } => put(code::CALL, 0, LOCAL_CALL, 0, off),
            Insn::Exit => put(code::EXIT, 0, 0, 0, 0),
        }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", *self as u8)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Reg(reg) => reg.fmt(f),
            Operand::Imm(imm) => imm.fmt(f),
        }
    }
}

impl fmt::Display for Insn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place =
            |width: Width, base: Reg, off: i16| format!("*(u{} *)({base} {off:+})", width.bytes() * 8);
        match *self {
            Insn::Alu { op, dst, src } => write!(f, "{dst} {} {src}", op.sign()),
            Insn::Load { width, dst, base, off } => write!(f, "{dst} = {}", place(width, base, off)),
            Insn::Store { width, base, off, src } => write!(f, "{} = {src}", place(width, base, off)),
            Insn::AtomicAdd { base, off, src } => {
                write!(f, "lock {} += {src}", place(Width::Double, base, off))
            }
            Insn::AtomicXchg { base, off, src } => {
                write!(f, "{src} = xchg_64({base} {off:+}, {src})")
            }
            Insn::ToBigEndian { dst, bits } => write!(f, "{dst} = be{bits} {dst}"),
            Insn::Jump { cond: Cond::Always, off, .. } => write!(f, "goto {off:+}"),
            Insn::Jump { cond, dst, src, off } => write!(f, "if {dst} {} {src} goto {off:+}", cond.sign()),
            Insn::Wide { kind: Wide::Number, dst, value } => write!(f, "{dst} = {value:#x} ll"),
            Insn::Wide { kind: Wide::Map, dst, value } => write!(f, "{dst} = map[{}]", value as u32),
            Insn::Wide { kind: Wide::MapValue, dst, value } => {
                write!(f, "{dst} = map[{}][0]+{}", value as u32, value >> 32)
            }
            Insn::Call(helper) => write!(f, "call bpf_{}#{}", helper.name(), helper as i32),
            Insn::Local { off } => write!(f, "call pc{off:+}"),
            Insn::Exit => f.write_str("exit"),
        }
    }
}

impl Alu {
    fn sign(self) -> &'static str {
        match self {
            Alu::Add => "+=",
            Alu::Sub => "-=",
            Alu::Mul => "*=",
            Alu::Div => "/=",
            Alu::Or => "|=",
            Alu::And => "&=",
            Alu::Lsh => "<<=",
            Alu::Rsh => ">>=",
            Alu::Mod => "%=",
            Alu::Xor => "^=",
            Alu::Arsh => "s>>=",
            Alu::Mov => "=",
        }
    }
}

impl Cond {
    fn sign(self) -> &'static str {
        match self {
            Cond::Always => "",
            Cond::Eq => "==",
            Cond::Ne => "!=",
            Cond::Gt => ">",
            Cond::Ge => ">=",
            Cond::Lt => "<",
            Cond::Le => "<=",
            Cond::SignedGt => "s>",
            Cond::SignedGe => "s>=",
            Cond::SignedLt => "s<",
            Cond::SignedLe => "s<=",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reg::*;
    use super::*;

    #[test]
    fn an_exchange() {
        let insn = Insn::AtomicXchg { base: R7, off: 40, src: R1 };
        let mut encoded = Vec::new();
        insn.encode(&mut encoded);
        assert_eq!(encoded, [0xdb, 0x17, 40, 0, 0xe1, 0, 0, 0]);
        assert_eq!(insn.to_string(), "r1 = xchg_64(r7 +40, r1)");
    }

    /// Bytes and text of the kernel's own tools, as `llvm-objdump` prints them for `clang -target bpf`.
    #[test]
    fn bytes_and_text() {
        let rows: &[(Insn, &[u8], &str)] = &[
            (Insn::Alu { op: Alu::Mov, dst: R6, src: R1.into() }, &[0xbf, 0x16, 0, 0, 0, 0, 0, 0], "r6 = r1"),
            (
                Insn::Alu { op: Alu::Add, dst: R2, src: (-8).into() },
                &[0x07, 2, 0, 0, 0xf8, 0xff, 0xff, 0xff],
                "r2 += -8",
            ),
            (
                Insn::Load { width: Width::Double, dst: R2, base: R1, off: 128 },
                &[0x79, 0x12, 0x80, 0, 0, 0, 0, 0],
                "r2 = *(u64 *)(r1 +128)",
            ),
            (
                Insn::Store { width: Width::Double, base: Frame, off: -8, src: R2.into() },
                &[0x7b, 0x2a, 0xf8, 0xff, 0, 0, 0, 0],
                "*(u64 *)(r10 -8) = r2",
            ),
            (
                Insn::Store { width: Width::Word, base: Frame, off: -12, src: 0.into() },
                &[0x62, 0x0a, 0xf4, 0xff, 0, 0, 0, 0],
                "*(u32 *)(r10 -12) = 0",
            ),
            (
                Insn::AtomicAdd { base: R0, off: 0, src: R1 },
                &[0xdb, 0x10, 0, 0, 0, 0, 0, 0],
                "lock *(u64 *)(r0 +0) += r1",
            ),
            (
                Insn::Jump { cond: Cond::Eq, dst: R0, src: 0.into(), off: 2 },
                &[0x15, 0, 2, 0, 0, 0, 0, 0],
                "if r0 == 0 goto +2",
            ),
            (
                Insn::Jump { cond: Cond::SignedLt, dst: R1, src: R2.into(), off: -1 },
                &[0xcd, 0x21, 0xff, 0xff, 0, 0, 0, 0],
                "if r1 s< r2 goto -1",
            ),
            (
                Insn::Wide { kind: Wide::Map, dst: R1, value: 5 },
                &[0x18, 0x11, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                "r1 = map[5]",
            ),
            (
                Insn::Wide { kind: Wide::Number, dst: R3, value: 0x1122_3344_5566_7788 },
                &[0x18, 3, 0, 0, 0x88, 0x77, 0x66, 0x55, 0, 0, 0, 0, 0x44, 0x33, 0x22, 0x11],
                "r3 = 0x1122334455667788 ll",
            ),
            (Insn::ToBigEndian { dst: R4, bits: 16 }, &[0xdc, 4, 0, 0, 16, 0, 0, 0], "r4 = be16 r4"),
            (Insn::Call(Helper::MapLookupElem), &[0x85, 0, 0, 0, 1, 0, 0, 0], "call bpf_map_lookup_elem#1"),
            (Insn::Local { off: 7 }, &[0x85, 0x10, 0, 0, 7, 0, 0, 0], "call pc+7"),
            (Insn::Exit, &[0x95, 0, 0, 0, 0, 0, 0, 0], "exit"),
        ];
        for (insn, bytes, text) in rows {
            let mut encoded = Vec::new();
            insn.encode(&mut encoded);
            assert_eq!((&encoded[..], insn.to_string().as_str()), (*bytes, *text));
            assert_eq!(encoded.len(), insn.units() * 8);
        }
    }
}

//! dif/insn.rs: the instruction word: opcodes, operand formats, and ids of variables and subroutines.

pub use super::names::{Builtin, LAST_SUBR, Subr};
use kinst_base::uapi;

/// The number of general registers; %r0 is always zero.
pub const REGISTERS: u8 = uapi::DIF_NREGS as u8;
/// The number of entries in the tuple stack.
pub const TUPLE_ENTRIES: usize = uapi::DIF_NTUPLE as usize;
/// The first id of a user variable, in each scope.
pub const FIRST_USER_VARIABLE: u32 = uapi::Varid::USER.0;
/// The largest index into a table, which has 16 bits.
pub const MAX_INDEX: usize = 0xffff;
/// The largest branch target, which has 24 bits.
pub const MAX_LABEL: u32 = 0xff_ffff;
/// The maximum size of the instructions, tables and variables of one DIFO in bytes.
pub const MAX_DIFO_BYTES: usize = 256 * 1024;
/// The type operand of pushtr and pushtv: a D type, or a string.
pub const PUSH_D: u8 = 0;
/// See [`PUSH_D`].
pub const PUSH_STRING: u8 = 1;

/// A register number; valid ones are below [`REGISTERS`].
pub type Reg = u8;

/// The operands of an instruction and their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// r1, r2, rd
    Three,
    /// r1, rd
    Two,
    /// r1, r2
    Compare,
    /// r1
    Test,
    /// 24 bits: index of an instruction
    Branch,
    /// \[r1\], rd
    Load,
    /// r1, \[rd\]
    Store,
    /// rd
    Ret,
    /// no operands
    Plain,
    /// index into the integer table, rd
    Int,
    /// offset into the string table, rd
    Str,
    /// 8-bit variable, r2 the index, rd
    Array,
    /// 16-bit variable, rd
    LoadVar,
    /// 16-bit variable, rs
    StoreVar,
    /// 16-bit subroutine, rd
    Call,
    /// type, r2 the size, rs
    PushRef,
    /// type, r2, rs
    PushVal,
    /// 16-bit reference, rd
    Xlate,
}

/// Rows of `enum kinst_op` in the module's header: the name there, the name here, the mnemonic, and the shape.
macro_rules! opcodes {
    ($($constant:ident $name:ident $mnemonic:literal $shape:ident,)*) => {
        /// The operation of an instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode {
            $(
                #[doc = concat!("`", $mnemonic, "`, with operands as of [`Shape::", stringify!($shape), "`].")]
                $name = uapi::Op::$constant.0 as u8
            ),*
        }

        impl Opcode {
            /// All opcodes in the order of their values, from 1.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$name),*];

            /// Returns the opcode in the first byte of a word; `None` for 0 and for values from `OP_MAX` on.
            pub fn from_number(number: u8) -> Option<Opcode> {
                Opcode::ALL.get(usize::from(number).checked_sub(1)?).copied()
            }

            /// Returns the name in listings: `ldsb`.
            pub fn mnemonic(self) -> &'static str {
                match self { $(Opcode::$name => $mnemonic),* }
            }

            /// Returns the shape of its operands.
            pub fn shape(self) -> Shape {
                match self { $(Opcode::$name => Shape::$shape),* }
            }
        }
    };
}

opcodes! {
    OR Or "or" Three, XOR Xor "xor" Three, AND And "and" Three,
    SLL Sll "sll" Three, SRL Srl "srl" Three,
    SUB Sub "sub" Three, ADD Add "add" Three, MUL Mul "mul" Three,
    SDIV Sdiv "sdiv" Three, UDIV Udiv "udiv" Three, SREM Srem "srem" Three, UREM Urem "urem" Three,
    NOT Not "not" Two, MOV Mov "mov" Two, CMP Cmp "cmp" Compare, TST Tst "tst" Test,
    BA Ba "ba" Branch, BE Be "be" Branch, BNE Bne "bne" Branch,
    BG Bg "bg" Branch, BGU Bgu "bgu" Branch, BGE Bge "bge" Branch, BGEU Bgeu "bgeu" Branch,
    BL Bl "bl" Branch, BLU Blu "blu" Branch, BLE Ble "ble" Branch, BLEU Bleu "bleu" Branch,
    LDSB Ldsb "ldsb" Load, LDSH Ldsh "ldsh" Load, LDSW Ldsw "ldsw" Load,
    LDUB Ldub "ldub" Load, LDUH Lduh "lduh" Load, LDUW Lduw "lduw" Load, LDX Ldx "ldx" Load,
    RET Ret "ret" Ret, NOP Nop "nop" Plain, SETX Setx "setx" Int, SETS Sets "sets" Str,
    SCMP Scmp "scmp" Compare,
    LDGA Ldga "ldga" Array, LDGS Ldgs "ldgs" LoadVar, STGS Stgs "stgs" StoreVar,
    LDTA Ldta "ldta" Array, LDTS Ldts "ldts" LoadVar, STTS Stts "stts" StoreVar,
    SRA Sra "sra" Three, CALL Call "call" Call,
    PUSHTR Pushtr "pushtr" PushRef, PUSHTV Pushtv "pushtv" PushVal,
    POPTS Popts "popts" Plain, FLUSHTS Flushts "flushts" Plain,
    LDGAA Ldgaa "ldgaa" LoadVar, LDTAA Ldtaa "ldtaa" LoadVar,
    STGAA Stgaa "stgaa" StoreVar, STTAA Sttaa "sttaa" StoreVar,
    LDLS Ldls "ldls" LoadVar, STLS Stls "stls" StoreVar,
    ALLOCS Allocs "allocs" Two, COPYS Copys "copys" Three,
    STB Stb "stb" Store, STH Sth "sth" Store, STW Stw "stw" Store, STX Stx "stx" Store,
    ULDSB Uldsb "uldsb" Load, ULDSH Uldsh "uldsh" Load, ULDSW Uldsw "uldsw" Load,
    ULDUB Uldub "uldub" Load, ULDUH Ulduh "ulduh" Load, ULDUW Ulduw "ulduw" Load, ULDX Uldx "uldx" Load,
    RLDSB Rldsb "rldsb" Load, RLDSH Rldsh "rldsh" Load, RLDSW Rldsw "rldsw" Load,
    RLDUB Rldub "rldub" Load, RLDUH Rlduh "rlduh" Load, RLDUW Rlduw "rlduw" Load, RLDX Rldx "rldx" Load,
    XLATE Xlate "xlate" Xlate, XLARG Xlarg "xlarg" Xlate,
    BOUND Bound "bound" Compare,
}

/// A decoded instruction. The shape matches the opcode if it came from [`Insn::decode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insn {
    /// `rd = r1 op r2`; copys copies `r2` bytes from `r1` to the address in `rd`.
    Three {
        /// An operation of [`Shape::Three`].
        op: Opcode,
        /// First operand.
        r1: Reg,
        /// Second operand.
        r2: Reg,
        /// Destination; for copys, a third operand.
        rd: Reg,
    },
    /// `rd = op r1`
    Two {
        /// not, mov, or allocs, which allocates `r1` bytes of scratch space.
        op: Opcode,
        /// Operand.
        r1: Reg,
        /// Destination.
        rd: Reg,
    },
    /// Sets the flags for a branch from `r1` and `r2`; bound does not set them, and faults unless `r1 < r2`.
    Compare {
        /// cmp for numbers, scmp for addresses of strings, or bound.
        op: Opcode,
        /// First operand.
        r1: Reg,
        /// Second operand.
        r2: Reg,
    },
    /// tst: sets the zero flag if `r1` is 0, and clears the others.
    Test {
        /// Operand.
        r1: Reg,
    },
    /// Jumps to `label` if the flags match.
    Branch {
        /// The condition; always true for ba.
        op: Opcode,
        /// Index of a later instruction, at most [`MAX_LABEL`].
        label: u32,
    },
    /// `rd = [r1]`
    Load {
        /// Width, sign, and memory: ld and rld read kernel memory, uld reads process memory.
        op: Opcode,
        /// Address.
        r1: Reg,
        /// Destination.
        rd: Reg,
    },
    /// Stores the value of `rs` at the address in `rd`.
    Store {
        /// Width: stb, sth, stw or stx.
        op: Opcode,
        /// Value.
        rs: Reg,
        /// Address.
        rd: Reg,
    },
    /// Ends the object with the value of `rd`.
    Ret {
        /// Result of the object.
        rd: Reg,
    },
    /// popts drops the last entry of the tuple stack, flushts drops all, nop does nothing.
    Plain {
        /// An operation of [`Shape::Plain`].
        op: Opcode,
    },
    /// setx: `rd = ints[index]`
    Int {
        /// Index into the integer table.
        index: u16,
        /// Destination.
        rd: Reg,
    },
    /// sets: `rd = &strings[offset]`
    Str {
        /// Offset into the string table in bytes.
        offset: u16,
        /// Destination.
        rd: Reg,
    },
    /// `rd = var[index]`
    Array {
        /// ldga or ldta.
        op: Opcode,
        /// Id of a built-in array, such as [`Builtin::Args`].
        var: u8,
        /// Register with the index of the element.
        index: Reg,
        /// Destination.
        rd: Reg,
    },
    /// `rd = var`, or the element whose key is on the tuple stack.
    LoadVar {
        /// ldgs, ldts or ldls; for elements ldgaa or ldtaa.
        op: Opcode,
        /// Id of the variable in the scope of `op`.
        var: u16,
        /// Destination.
        rd: Reg,
    },
    /// `var = rs`, or the element whose key is on the tuple stack.
    StoreVar {
        /// stgs, stts or stls; for elements stgaa or sttaa.
        op: Opcode,
        /// Id of the variable in the scope of `op`, from [`FIRST_USER_VARIABLE`].
        var: u16,
        /// Value.
        rs: Reg,
    },
    /// `rd = subr(…)`, with arguments from the tuple stack.
    Call {
        /// Id of a [`Subr`].
        subr: u16,
        /// Destination.
        rd: Reg,
    },
    /// pushtr: pushes the bytes at the address in `rs`.
    PushRef {
        /// [`PUSH_D`] or [`PUSH_STRING`].
        ty: u8,
        /// Register with the number of bytes; for a string the maximum, or 0 for `strsize`.
        size: Reg,
        /// Address.
        rs: Reg,
    },
    /// pushtv: pushes the value of `rs`.
    PushVal {
        /// [`PUSH_D`]
        ty: u8,
        /// Unused.
        size: Reg,
        /// Value.
        rs: Reg,
    },
    /// A reference to a translator, which a program for the kernel must not have.
    Xlate {
        /// xlate or xlarg.
        op: Opcode,
        /// Index of the reference.
        index: u16,
        /// Destination.
        rd: Reg,
    },
}

/// Why a word is not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A first byte that is not an [`Opcode`].
    #[error("unknown opcode {0}")]
    Opcode(u8),
    /// A field that must be 0 in the shape of this opcode.
    #[error("an unused operand of {} is not zero", .0.mnemonic())]
    Reserved(Opcode),
}

impl Insn {
    /// Returns the registers that it reads, or 0, and the register that it writes.
    pub fn registers(self) -> ([Reg; 3], Option<Reg>) {
        match self {
            // The destination address is read.
            Insn::Three { op: Opcode::Copys, r1, r2, rd } => ([r1, r2, rd], None),
            Insn::Three { r1, r2, rd, .. } => ([r1, r2, 0], Some(rd)),
            Insn::Two { r1, rd, .. } | Insn::Load { r1, rd, .. } => ([r1, 0, 0], Some(rd)),
            Insn::Compare { r1, r2, .. } => ([r1, r2, 0], None),
            Insn::Store { rs, rd, .. } => ([rs, rd, 0], None),
            Insn::PushRef { size, rs, .. } | Insn::PushVal { size, rs, .. } => ([size, rs, 0], None),
            Insn::Array { index, rd, .. } => ([index, 0, 0], Some(rd)),
            Insn::Test { r1: read } | Insn::Ret { rd: read } | Insn::StoreVar { rs: read, .. } => {
                ([read, 0, 0], None)
            }
            Insn::Int { rd, .. }
            | Insn::Str { rd, .. }
            | Insn::LoadVar { rd, .. }
            | Insn::Call { rd, .. }
            | Insn::Xlate { rd, .. } => ([0; 3], Some(rd)),
            Insn::Branch { .. } | Insn::Plain { .. } => ([0; 3], None),
        }
    }

    /// Decodes a word: the opcode is in its highest byte.
    pub fn decode(word: u32) -> Result<Insn, DecodeError> {
        let [op, a, b, c] = word.to_be_bytes();
        let op = Opcode::from_number(op).ok_or(DecodeError::Opcode(op))?;
        let wide = u16::from_be_bytes([a, b]);
        let insn = match op.shape() {
            Shape::Three => Insn::Three { op, r1: a, r2: b, rd: c },
            Shape::Two => Insn::Two { op, r1: a, rd: c },
            Shape::Compare => Insn::Compare { op, r1: a, r2: b },
            Shape::Test => Insn::Test { r1: a },
            Shape::Branch => Insn::Branch { op, label: word & MAX_LABEL },
            Shape::Load => Insn::Load { op, r1: a, rd: c },
            Shape::Store => Insn::Store { op, rs: a, rd: c },
            Shape::Ret => Insn::Ret { rd: c },
            Shape::Plain => Insn::Plain { op },
            Shape::Int => Insn::Int { index: wide, rd: c },
            Shape::Str => Insn::Str { offset: wide, rd: c },
            Shape::Array => Insn::Array { op, var: a, index: b, rd: c },
            Shape::LoadVar => Insn::LoadVar { op, var: wide, rd: c },
            Shape::StoreVar => Insn::StoreVar { op, var: wide, rs: c },
            Shape::Call => Insn::Call { subr: wide, rd: c },
            Shape::PushRef => Insn::PushRef { ty: a, size: b, rs: c },
            Shape::PushVal => Insn::PushVal { ty: a, size: b, rs: c },
            Shape::Xlate => Insn::Xlate { op, index: wide, rd: c },
        };
        // Encoding writes zeros into unused fields, so a word that differs had something in one of them.
        if insn.encode() == word { Ok(insn) } else { Err(DecodeError::Reserved(op)) }
    }

    /// Encodes a word, the inverse of [`Insn::decode`]; a label loses bits above the lowest 24.
    pub fn encode(self) -> u32 {
        let abc = |a: u8, b: u8, c: u8| u32::from_be_bytes([self.op() as u8, a, b, c]);
        let wide = |n: u16, c: u8| {
            let [a, b] = n.to_be_bytes();
            abc(a, b, c)
        };
        match self {
            Insn::Three { r1, r2, rd, .. } => abc(r1, r2, rd),
            Insn::Two { r1, rd, .. } | Insn::Load { r1, rd, .. } => abc(r1, 0, rd),
            Insn::Store { rs, rd, .. } => abc(rs, 0, rd),
            Insn::Compare { r1, r2, .. } => abc(r1, r2, 0),
            Insn::Test { r1 } => abc(r1, 0, 0),
            Insn::Branch { label, .. } => abc(0, 0, 0) | (label & MAX_LABEL),
            Insn::Ret { rd } => abc(0, 0, rd),
            Insn::Plain { .. } => abc(0, 0, 0),
            Insn::Int { index, rd } | Insn::Xlate { index, rd, .. } => wide(index, rd),
            Insn::Str { offset, rd } => wide(offset, rd),
            Insn::Array { var, index, rd, .. } => abc(var, index, rd),
            Insn::LoadVar { var, rd, .. } => wide(var, rd),
            Insn::StoreVar { var, rs, .. } => wide(var, rs),
            Insn::Call { subr, rd } => wide(subr, rd),
            Insn::PushRef { ty, size, rs } | Insn::PushVal { ty, size, rs } => abc(ty, size, rs),
        }
    }

    /// Returns the operation, which some shapes imply.
    pub fn op(self) -> Opcode {
        match self {
            Insn::Three { op, .. }
            | Insn::Two { op, .. }
            | Insn::Compare { op, .. }
            | Insn::Branch { op, .. }
            | Insn::Load { op, .. }
            | Insn::Store { op, .. }
            | Insn::Plain { op }
            | Insn::Array { op, .. }
            | Insn::LoadVar { op, .. }
            | Insn::StoreVar { op, .. }
            | Insn::Xlate { op, .. } => op,
            Insn::Test { .. } => Opcode::Tst,
            Insn::Ret { .. } => Opcode::Ret,
            Insn::Int { .. } => Opcode::Setx,
            Insn::Str { .. } => Opcode::Sets,
            Insn::Call { .. } => Opcode::Call,
            Insn::PushRef { .. } => Opcode::Pushtr,
            Insn::PushVal { .. } => Opcode::Pushtv,
        }
    }
}

impl Opcode {
    /// Whether it loads from process memory.
    pub fn reads_process(self) -> bool {
        use Opcode::{Uldsb, Uldsh, Uldsw, Uldub, Ulduh, Ulduw, Uldx};
        matches!(self, Uldsb | Uldsh | Uldsw | Uldub | Ulduh | Ulduw | Uldx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_numbers_of_the_header_have_a_row() {
        let rows = Opcode::ALL.iter().map(|op| *op as u32);
        assert!(rows.eq(uapi::Op::ALL.iter().map(|op| op.0).filter(|op| *op != uapi::Op::MAX.0)));
        assert!(Opcode::ALL.iter().map(|op| *op as u32).eq(1..uapi::Op::MAX.0), "a gap");
        let rows = Builtin::ALL.iter().map(|variable| variable.number());
        assert!(rows.eq(uapi::Varid::ALL.iter().map(|id| id.0).filter(|id| *id != FIRST_USER_VARIABLE)));
        assert!(Builtin::ALL.is_sorted_by_key(|variable| variable.number()));
        let rows = Subr::ALL.iter().map(|subr| subr.number());
        assert!(rows.eq(uapi::Subr::ALL.iter().map(|subr| subr.0).filter(|subr| *subr != uapi::Subr::MAX.0)));
        assert!(Subr::ALL.iter().map(|subr| subr.number()).eq(0..=LAST_SUBR), "a gap");
    }

    #[test]
    fn words_of_the_listing() {
        assert_eq!(Insn::Int { index: 0, rd: 1 }.encode(), 0x2500_0001);
        assert_eq!(Insn::Ret { rd: 1 }.encode(), 0x2300_0001);
        assert_eq!(Insn::decode(0x2500_0001), Ok(Insn::Int { index: 0, rd: 1 }));
        assert_eq!(Insn::decode(0), Err(DecodeError::Opcode(0)));
        assert_eq!(Insn::decode(uapi::Op::MAX.0 << 24), Err(DecodeError::Opcode(uapi::Op::MAX.0 as u8)));
        assert_eq!(Insn::decode(0x2401_0000), Err(DecodeError::Reserved(Opcode::Nop)));
    }

    proptest! {
        #[test]
        fn decoding_and_encoding_are_inverse(word: u32) {
            if let Ok(insn) = Insn::decode(word) {
                prop_assert_eq!(insn.encode(), word);
                prop_assert_eq!(insn.op() as u32, word >> 24);
            }
        }
    }
}

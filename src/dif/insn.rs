//! dif/insn.rs: the instruction word: opcodes, operand formats, and the numbers of variables and subroutines.

/// The number of general registers; %r0 is always zero.
pub const REGISTERS: u8 = 8;
/// The number of entries in the tuple stack.
pub const TUPLE_ENTRIES: usize = 8;
/// The first id of a user variable, in each scope.
pub const FIRST_USER_VARIABLE: u32 = 0x500;
/// The largest index into a table, which has 16 bits.
pub const MAX_INDEX: usize = 0xffff;
/// The largest branch target, which has 24 bits.
pub const MAX_LABEL: u32 = 0xff_ffff;
/// The most bytes of instructions, tables and variables in one DIFO.
pub const MAX_DIFO_BYTES: usize = 256 * 1024;
/// The type operand of pushtr and pushtv: a D type, or a string.
pub const PUSH_D: u8 = 0;
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

macro_rules! opcodes {
    ($($number:literal $name:ident $mnemonic:literal $shape:ident,)*) => {
        /// The operation of an instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode { $($name = $number),* }

        impl Opcode {
            /// All opcodes in the order of their numbers, from 1.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$name),*];

            pub fn from_number(number: u8) -> Option<Opcode> {
                match number {
                    $($number => Some(Opcode::$name),)*
                    _ => None,
                }
            }

            pub fn mnemonic(self) -> &'static str {
                match self { $(Opcode::$name => $mnemonic),* }
            }

            pub fn shape(self) -> Shape {
                match self { $(Opcode::$name => Shape::$shape),* }
            }
        }
    };
}

opcodes! {
    1 Or "or" Three, 2 Xor "xor" Three, 3 And "and" Three,
    4 Sll "sll" Three, 5 Srl "srl" Three,
    6 Sub "sub" Three, 7 Add "add" Three, 8 Mul "mul" Three,
    9 Sdiv "sdiv" Three, 10 Udiv "udiv" Three, 11 Srem "srem" Three, 12 Urem "urem" Three,
    13 Not "not" Two, 14 Mov "mov" Two, 15 Cmp "cmp" Compare, 16 Tst "tst" Test,
    17 Ba "ba" Branch, 18 Be "be" Branch, 19 Bne "bne" Branch,
    20 Bg "bg" Branch, 21 Bgu "bgu" Branch, 22 Bge "bge" Branch, 23 Bgeu "bgeu" Branch,
    24 Bl "bl" Branch, 25 Blu "blu" Branch, 26 Ble "ble" Branch, 27 Bleu "bleu" Branch,
    28 Ldsb "ldsb" Load, 29 Ldsh "ldsh" Load, 30 Ldsw "ldsw" Load,
    31 Ldub "ldub" Load, 32 Lduh "lduh" Load, 33 Lduw "lduw" Load, 34 Ldx "ldx" Load,
    35 Ret "ret" Ret, 36 Nop "nop" Plain, 37 Setx "setx" Int, 38 Sets "sets" Str,
    39 Scmp "scmp" Compare,
    40 Ldga "ldga" Array, 41 Ldgs "ldgs" LoadVar, 42 Stgs "stgs" StoreVar,
    43 Ldta "ldta" Array, 44 Ldts "ldts" LoadVar, 45 Stts "stts" StoreVar,
    46 Sra "sra" Three, 47 Call "call" Call,
    48 Pushtr "pushtr" PushRef, 49 Pushtv "pushtv" PushVal,
    50 Popts "popts" Plain, 51 Flushts "flushts" Plain,
    52 Ldgaa "ldgaa" LoadVar, 53 Ldtaa "ldtaa" LoadVar,
    54 Stgaa "stgaa" StoreVar, 55 Sttaa "sttaa" StoreVar,
    56 Ldls "ldls" LoadVar, 57 Stls "stls" StoreVar,
    58 Allocs "allocs" Two, 59 Copys "copys" Three,
    60 Stb "stb" Store, 61 Sth "sth" Store, 62 Stw "stw" Store, 63 Stx "stx" Store,
    64 Uldsb "uldsb" Load, 65 Uldsh "uldsh" Load, 66 Uldsw "uldsw" Load,
    67 Uldub "uldub" Load, 68 Ulduh "ulduh" Load, 69 Ulduw "ulduw" Load, 70 Uldx "uldx" Load,
    71 Rldsb "rldsb" Load, 72 Rldsh "rldsh" Load, 73 Rldsw "rldsw" Load,
    74 Rldub "rldub" Load, 75 Rlduh "rlduh" Load, 76 Rlduw "rlduw" Load, 77 Rldx "rldx" Load,
    78 Xlate "xlate" Xlate, 79 Xlarg "xlarg" Xlate,
}

/// A decoded instruction. The shape matches the opcode if it came from [`Insn::decode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insn {
    Three {
        op: Opcode,
        r1: Reg,
        r2: Reg,
        rd: Reg,
    },
    Two {
        op: Opcode,
        r1: Reg,
        rd: Reg,
    },
    Compare {
        op: Opcode,
        r1: Reg,
        r2: Reg,
    },
    Test {
        r1: Reg,
    },
    Branch {
        op: Opcode,
        label: u32,
    },
    Load {
        op: Opcode,
        r1: Reg,
        rd: Reg,
    },
    /// Stores the value of `rs` at the address in `rd`.
    Store {
        op: Opcode,
        rs: Reg,
        rd: Reg,
    },
    Ret {
        rd: Reg,
    },
    Plain {
        op: Opcode,
    },
    Int {
        index: u16,
        rd: Reg,
    },
    Str {
        offset: u16,
        rd: Reg,
    },
    Array {
        op: Opcode,
        var: u8,
        index: Reg,
        rd: Reg,
    },
    LoadVar {
        op: Opcode,
        var: u16,
        rd: Reg,
    },
    StoreVar {
        op: Opcode,
        var: u16,
        rs: Reg,
    },
    Call {
        subr: u16,
        rd: Reg,
    },
    PushRef {
        ty: u8,
        size: Reg,
        rs: Reg,
    },
    PushVal {
        ty: u8,
        size: Reg,
        rs: Reg,
    },
    Xlate {
        op: Opcode,
        index: u16,
        rd: Reg,
    },
}

/// Why a word is not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("unknown opcode {0}")]
    Opcode(u8),
    #[error("an unused operand of {} is not zero", .0.mnemonic())]
    Reserved(Opcode),
}

impl Insn {
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

macro_rules! numbered {
    ($(#[$doc:meta])* $type:ident: $($number:literal $name:ident $text:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum $type { $($name = $number),* }

        impl $type {
            pub const ALL: &'static [$type] = &[$($type::$name),*];

            pub fn from_number(number: u32) -> Option<$type> {
                match number {
                    $($number => Some($type::$name),)*
                    _ => None,
                }
            }

            pub fn name(self) -> &'static str {
                match self { $($type::$name => $text),* }
            }

            pub fn number(self) -> u32 {
                self as u32
            }
        }
    };
}

numbered! {
    /// A built-in variable. The first three are arrays.
    Builtin:
    0x000 Args "args", 0x001 Regs "regs", 0x002 Uregs "uregs",
    0x100 Curthread "curthread", 0x101 Timestamp "timestamp", 0x102 Vtimestamp "vtimestamp",
    0x103 Ipl "ipl", 0x104 Epid "epid", 0x105 Id "id",
    0x106 Arg0 "arg0", 0x107 Arg1 "arg1", 0x108 Arg2 "arg2", 0x109 Arg3 "arg3", 0x10a Arg4 "arg4",
    0x10b Arg5 "arg5", 0x10c Arg6 "arg6", 0x10d Arg7 "arg7", 0x10e Arg8 "arg8", 0x10f Arg9 "arg9",
    0x110 Stackdepth "stackdepth", 0x111 Caller "caller",
    0x112 Probeprov "probeprov", 0x113 Probemod "probemod",
    0x114 Probefunc "probefunc", 0x115 Probename "probename",
    0x116 Pid "pid", 0x117 Tid "tid", 0x118 Execname "execname", 0x119 Zonename "zonename",
    0x11a Walltimestamp "walltimestamp", 0x11b Ustackdepth "ustackdepth", 0x11c Ucaller "ucaller",
    0x11d Ppid "ppid", 0x11e Uid "uid", 0x11f Gid "gid", 0x120 Errno "errno",
    0x121 Execargs "execargs", 0x122 Jid "jid", 0x123 Jailname "jailname", 0x200 Cpu "cpu",
}

numbered! {
    /// A subroutine of `call`.
    Subr:
    0 Rand "rand", 1 MutexOwned "mutex_owned", 2 MutexOwner "mutex_owner",
    3 MutexTypeAdaptive "mutex_type_adaptive", 4 MutexTypeSpin "mutex_type_spin",
    5 RwReadHeld "rw_read_held", 6 RwWriteHeld "rw_write_held", 7 RwIswriter "rw_iswriter",
    8 Copyin "copyin", 9 Copyinstr "copyinstr", 10 Speculation "speculation",
    11 Progenyof "progenyof", 12 Strlen "strlen", 13 Copyout "copyout", 14 Copyoutstr "copyoutstr",
    15 Alloca "alloca", 16 Bcopy "bcopy", 17 Copyinto "copyinto",
    18 Msgdsize "msgdsize", 19 Msgsize "msgsize", 20 Getmajor "getmajor", 21 Getminor "getminor",
    22 DdiPathname "ddi_pathname", 23 Strjoin "strjoin", 24 Lltostr "lltostr",
    25 Basename "basename", 26 Dirname "dirname", 27 Cleanpath "cleanpath",
    28 Strchr "strchr", 29 Strrchr "strrchr", 30 Strstr "strstr", 31 Strtok "strtok",
    32 Substr "substr", 33 Index "index", 34 Rindex "rindex",
    35 Htons "htons", 36 Htonl "htonl", 37 Htonll "htonll",
    38 Ntohs "ntohs", 39 Ntohl "ntohl", 40 Ntohll "ntohll",
    41 InetNtop "inet_ntop", 42 InetNtoa "inet_ntoa", 43 InetNtoa6 "inet_ntoa6",
    44 Toupper "toupper", 45 Tolower "tolower", 46 Memref "memref",
    47 SxSharedHeld "sx_shared_held", 48 SxExclusiveHeld "sx_exclusive_held",
    49 SxIsexclusive "sx_isexclusive", 50 Memstr "memstr", 51 Getf "getf", 52 Json "json",
    53 Strtoll "strtoll", 54 DPath "d_path", 55 LinkNtop "link_ntop",
}

/// The highest subroutine number.
pub const LAST_SUBR: u32 = Subr::LinkNtop as u32;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_numbers_have_no_gaps() {
        let numbers: Vec<u8> = Opcode::ALL.iter().map(|op| *op as u8).collect();
        assert_eq!(numbers, (1..=79).collect::<Vec<u8>>());
        let numbers: Vec<u32> = Subr::ALL.iter().map(|subr| subr.number()).collect();
        assert_eq!(numbers, (0..=LAST_SUBR).collect::<Vec<u32>>());
    }

    #[test]
    fn words_of_the_listing() {
        assert_eq!(Insn::Int { index: 0, rd: 1 }.encode(), 0x2500_0001);
        assert_eq!(Insn::Ret { rd: 1 }.encode(), 0x2300_0001);
        assert_eq!(Insn::decode(0x2500_0001), Ok(Insn::Int { index: 0, rd: 1 }));
        assert_eq!(Insn::decode(0), Err(DecodeError::Opcode(0)));
        assert_eq!(Insn::decode(80 << 24), Err(DecodeError::Opcode(80)));
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

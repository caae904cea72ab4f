//! dif/action.rs: the actions of the kernel module, one row each.

use kinst_base::uapi::{self, Plain as _};

/// The DIFO that an action requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No DIFO.
    Nothing,
    /// A value of any type.
    Anything,
    /// A number.
    Value,
    /// A number or nothing.
    MaybeValue,
}

/// The size of an action's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Size of the DIFO's type.
    OfDifo,
    /// A fixed number of bytes; 0 if the action records nothing.
    Bytes(u64),
    /// The argument, from 1 to `most`, times `each`.
    PerUnit {
        /// Bytes for each unit of the argument.
        each: u64,
        /// The largest argument.
        most: u32,
    },
    /// The size of a [`Ustack`] record.
    UserFrames,
    /// The size of a [`Printm`] record.
    Memory,
}

impl Records {
    /// Whether the kernel module accepts an action with this argument.
    pub fn allows(self, arg: u64) -> bool {
        match self {
            Records::OfDifo | Records::Bytes(_) => true,
            Records::PerUnit { most, .. } => (1..=most.into()).contains(&arg),
            Records::UserFrames => Ustack::unpack(arg).is_valid(),
            // The module has no probes in processes.
            Records::Memory => (1..=uapi::MAX_TRACEMEM.into()).contains(&arg),
        }
    }

    /// Returns the size in bytes; `None` if it is the size of the DIFO's type.
    pub fn bytes(self, arg: u64) -> Option<u64> {
        match self {
            Records::OfDifo => None,
            Records::Bytes(size) => Some(size),
            Records::PerUnit { each, .. } => Some(arg.saturating_mul(each)),
            Records::UserFrames => Some(Ustack::unpack(arg).bytes()),
            Records::Memory => Some(8 + u64::from(Printm::unpack(arg).bytes)),
        }
    }
}

/// The argument of ustack(). Its record is the process id and the addresses; if the stack is copied, `struct
/// kinst_ustack` and the copy follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ustack {
    /// The maximum number of recorded frames, from 1 to `KINST_MAX_FRAMES`.
    pub frames: u32,
    /// Bytes of the stack to copy, a multiple of 8; 0 for none.
    pub copied: u32,
}

impl Ustack {
    /// Splits [`Action::arg`](crate::Action::arg): frames in the low half, bytes of the copy in the high half.
    pub fn unpack(arg: u64) -> Ustack {
        Ustack { frames: arg as u32, copied: (arg >> 32) as u32 }
    }

    /// The inverse of [`Ustack::unpack`].
    pub fn pack(self) -> u64 {
        u64::from(self.copied) << 32 | u64::from(self.frames)
    }

    /// Returns the number of bytes of the process id and the addresses.
    pub fn plain(self) -> u64 {
        8 + 8 * u64::from(self.frames)
    }

    fn bytes(self) -> u64 {
        let copy = match self.copied {
            0 => 0,
            copied => uapi::Ustack::SIZE as u64 + u64::from(copied),
        };
        self.plain() + copy
    }

    fn is_valid(self) -> bool {
        (1..=uapi::MAX_FRAMES).contains(&self.frames)
            && self.copied <= uapi::MAX_USTACK
            && self.copied.is_multiple_of(8)
    }
}

/// The argument of printm(). Its record is a number of bytes, and the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printm {
    /// The most bytes that are recorded after the number.
    pub bytes: u32,
    /// Whether the bytes are in the memory of the process. The number is then that of all bytes, recorded or not; if
    /// the address or the bytes cannot be read, it is [`Printm::UNREADABLE`], and the clause continues.
    pub process: bool,
}

impl Printm {
    /// The number in the record of memory that could not be read.
    pub const UNREADABLE: u64 = u64::MAX;

    /// Splits [`Action::arg`](crate::Action::arg): bytes in the low half, and a flag.
    pub fn unpack(arg: u64) -> Printm {
        Printm { bytes: arg as u32, process: arg >> 32 != 0 }
    }

    /// The inverse of [`Printm::unpack`].
    pub fn pack(self) -> u64 {
        u64::from(self.process) << 32 | u64::from(self.bytes)
    }

    /// Splits the record of memory of a process; `None` if the memory could not be read.
    pub fn recorded(record: &[u8]) -> Option<(u64, &[u8])> {
        let (number, bytes) = record.split_first_chunk::<8>()?;
        let number = u64::from_ne_bytes(*number);
        let most = usize::try_from(number).unwrap_or(usize::MAX).min(bytes.len());
        (number != Printm::UNREADABLE).then(|| (number, &bytes[..most]))
    }
}

macro_rules! actions {
    ($($constant:ident $name:ident $takes:ident $records:expr,)*) => {
        /// KINST_ACT_* of the ABI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum ActionKind {
            $(
                #[doc = concat!("`KINST_", stringify!($constant), "`")]
                $name = uapi::$constant as u16
            ),*
        }

        impl ActionKind {
            /// All kinds in the order of the table, which is the order of their ids.
            pub const ALL: &'static [ActionKind] = &[$(ActionKind::$name),*];

            /// Returns the DIFO that an action of this kind requires.
            pub fn takes(self) -> Takes {
                match self { $(ActionKind::$name => Takes::$takes),* }
            }

            /// Returns the size of the record of an action of this kind.
            pub fn records(self) -> Records {
                use Records::*;
                match self { $(ActionKind::$name => $records),* }
            }
        }
    };
}

actions! {
    ACT_DIFEXPR DifExpr Anything OfDifo,
    ACT_EXIT Exit Value Bytes(4),
    ACT_PRINTF Printf Anything OfDifo,
    ACT_PRINTA Printa Nothing Bytes(8),
    ACT_LIBACT Libact MaybeValue Bytes(8),
    ACT_TRACEMEM Tracemem Anything PerUnit { each: 1, most: uapi::MAX_TRACEMEM },
    ACT_TRACEMEM_DYN TracememDyn Value Bytes(8),
    ACT_PRINTM Printm Value Memory,
    ACT_USTACK Ustack Nothing UserFrames,
    ACT_USYM Usym Value Bytes(16),
    ACT_UMOD Umod Value Bytes(16),
    ACT_UADDR Uaddr Value Bytes(16),
    ACT_STOP Stop Nothing Bytes(0),
    ACT_RAISE Raise Value Bytes(0),
    ACT_SYSTEM System Anything OfDifo,
    ACT_FREOPEN Freopen Anything OfDifo,
    ACT_STACK Stack Nothing PerUnit { each: 8, most: uapi::MAX_FRAMES },
    ACT_SYM Sym Value Bytes(8),
    ACT_MOD Mod Value Bytes(8),
    ACT_BREAKPOINT Breakpoint Nothing Bytes(0),
    ACT_PANIC Panic Nothing Bytes(0),
    ACT_CHILL Chill Value Bytes(0),
    ACT_SPECULATE Speculate Value Bytes(0),
    ACT_COMMIT Commit Value Bytes(0),
    ACT_DISCARD Discard Value Bytes(0),
    ACT_COUNT Count Nothing Bytes(0),
    ACT_MIN Min Value Bytes(0),
    ACT_MAX Max Value Bytes(0),
    ACT_AVG Avg Value Bytes(0),
    ACT_SUM Sum Value Bytes(0),
    ACT_STDDEV Stddev Value Bytes(0),
    ACT_QUANTIZE Quantize Value Bytes(0),
    ACT_LQUANTIZE Lquantize Value Bytes(0),
    ACT_LLQUANTIZE Llquantize Value Bytes(0),
}

impl ActionKind {
    /// Returns the kind with this `kinst_action.kind`; `None` if the ABI does not define it.
    pub fn from_number(number: u16) -> Option<ActionKind> {
        ActionKind::ALL.iter().copied().find(|kind| *kind as u16 == number)
    }

    /// Whether its value goes into an aggregation instead of the clause's record.
    pub fn is_aggregating(self) -> bool {
        self.class() == ActionKind::Count.class()
    }

    /// Whether it changes the traced system, and so needs -w.
    pub fn is_destructive(self) -> bool {
        [ActionKind::Stop.class(), ActionKind::Breakpoint.class()].contains(&self.class())
    }

    fn class(self) -> u16 {
        self as u16 & 0xff00
    }
}

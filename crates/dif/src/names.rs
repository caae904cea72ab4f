//! dif/names.rs: variables and subroutines in instructions, by id.

use kinst_base::uapi;

/// Rows of an enum in the module's header: the name there, the name here, and the name in D.
macro_rules! numbered {
    ($(#[$doc:meta])* $type:ident of $table:ident: $($constant:ident $name:ident $text:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum $type {
            $(
                #[doc = concat!("`", $text, "`")]
                $name = uapi::$table::$constant.0 as u16
            ),*
        }

        impl $type {
            /// All rows in the order of their ids.
            pub const ALL: &'static [$type] = &[$($type::$name),*];

            /// Returns the row with this id, the inverse of `number`; `None` if there is no such row.
            pub fn from_number(number: u32) -> Option<$type> {
                let at = $type::ALL.binary_search_by_key(&number, |known| known.number()).ok()?;
                Some($type::ALL[at])
            }

            /// Returns the name in D.
            pub fn name(self) -> &'static str {
                match self { $($type::$name => $text),* }
            }

            /// Returns the id in the header and in instructions.
            pub fn number(self) -> u32 {
                self as u32
            }
        }
    };
}

numbered! {
    /// A built-in variable. The first three are arrays.
    Builtin of Varid:
    ARGS Args "args", REGS Regs "regs", UREGS Uregs "uregs",
    CURTHREAD Curthread "curthread", TIMESTAMP Timestamp "timestamp", VTIMESTAMP Vtimestamp "vtimestamp",
    IPL Ipl "ipl", EPID Epid "epid", ID Id "id",
    ARG0 Arg0 "arg0", ARG1 Arg1 "arg1", ARG2 Arg2 "arg2", ARG3 Arg3 "arg3", ARG4 Arg4 "arg4",
    ARG5 Arg5 "arg5", ARG6 Arg6 "arg6", ARG7 Arg7 "arg7", ARG8 Arg8 "arg8", ARG9 Arg9 "arg9",
    STACKDEPTH Stackdepth "stackdepth", CALLER Caller "caller",
    PROBEPROV Probeprov "probeprov", PROBEMOD Probemod "probemod",
    PROBEFUNC Probefunc "probefunc", PROBENAME Probename "probename",
    PID Pid "pid", TID Tid "tid", EXECNAME Execname "execname", ZONENAME Zonename "zonename",
    WALLTIMESTAMP Walltimestamp "walltimestamp", USTACKDEPTH Ustackdepth "ustackdepth", UCALLER Ucaller "ucaller",
    PPID Ppid "ppid", UID Uid "uid", GID Gid "gid", ERRNO Errno "errno",
    EXECARGS Execargs "execargs", JID Jid "jid", JAILNAME Jailname "jailname",
    INLINEFUNC Inlinefunc "inlinefunc", CPU Cpu "cpu",
}

numbered! {
    /// A subroutine of `call`.
    Subr of Subr:
    RAND Rand "rand", MUTEX_OWNED MutexOwned "mutex_owned", MUTEX_OWNER MutexOwner "mutex_owner",
    MUTEX_TYPE_ADAPTIVE MutexTypeAdaptive "mutex_type_adaptive", MUTEX_TYPE_SPIN MutexTypeSpin "mutex_type_spin",
    RW_READ_HELD RwReadHeld "rw_read_held", RW_WRITE_HELD RwWriteHeld "rw_write_held", RW_ISWRITER RwIswriter "rw_iswriter",
    COPYIN Copyin "copyin", COPYINSTR Copyinstr "copyinstr", SPECULATION Speculation "speculation",
    PROGENYOF Progenyof "progenyof", STRLEN Strlen "strlen", COPYOUT Copyout "copyout", COPYOUTSTR Copyoutstr "copyoutstr",
    ALLOCA Alloca "alloca", BCOPY Bcopy "bcopy", COPYINTO Copyinto "copyinto",
    MSGDSIZE Msgdsize "msgdsize", MSGSIZE Msgsize "msgsize", GETMAJOR Getmajor "getmajor", GETMINOR Getminor "getminor",
    DDI_PATHNAME DdiPathname "ddi_pathname", STRJOIN Strjoin "strjoin", LLTOSTR Lltostr "lltostr",
    BASENAME Basename "basename", DIRNAME Dirname "dirname", CLEANPATH Cleanpath "cleanpath",
    STRCHR Strchr "strchr", STRRCHR Strrchr "strrchr", STRSTR Strstr "strstr", STRTOK Strtok "strtok",
    SUBSTR Substr "substr", INDEX Index "index", RINDEX Rindex "rindex",
    HTONS Htons "htons", HTONL Htonl "htonl", HTONLL Htonll "htonll",
    NTOHS Ntohs "ntohs", NTOHL Ntohl "ntohl", NTOHLL Ntohll "ntohll",
    INET_NTOP InetNtop "inet_ntop", INET_NTOA InetNtoa "inet_ntoa", INET_NTOA6 InetNtoa6 "inet_ntoa6",
    TOUPPER Toupper "toupper", TOLOWER Tolower "tolower", MEMREF Memref "memref",
    SX_SHARED_HELD SxSharedHeld "sx_shared_held", SX_EXCLUSIVE_HELD SxExclusiveHeld "sx_exclusive_held",
    SX_ISEXCLUSIVE SxIsexclusive "sx_isexclusive", MEMSTR Memstr "memstr", GETF Getf "getf", JSON Json "json",
    STRTOLL Strtoll "strtoll", D_PATH DPath "d_path", LINK_NTOP LinkNtop "link_ntop",
}

impl Subr {
    /// Whether it copies from or to process memory.
    pub fn copies_process(self) -> bool {
        matches!(self, Subr::Copyin | Subr::Copyinstr | Subr::Copyinto | Subr::Copyout | Subr::Copyoutstr)
    }
}

/// The highest subroutine id.
pub const LAST_SUBR: u32 = Subr::LinkNtop as u32;

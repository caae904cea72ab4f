//! oracle/verify/subroutine.rs: arguments of subroutines.

use kinst_dif::insn::Subr;

/// The requirements of a subroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubrRule {
    /// The minimum number of arguments.
    pub min: u8,
    /// The maximum number; arguments beyond `min` are optional.
    pub max: u8,
    /// Whether it changes the system, and so needs -w.
    pub destructive: bool,
}

/// Returns the rule of a subroutine; `None` if it is not supported on Linux.
pub fn subr_rule(subr: Subr) -> Option<SubrRule> {
    use Subr::*;
    let (min, max) = match subr {
        Rand | Speculation => (0, 0),
        Strlen | Basename | Dirname | Cleanpath | Toupper | Tolower | Alloca => (1, 1),
        Htons | Htonl | Htonll | Ntohs | Ntohl | Ntohll | InetNtoa | InetNtoa6 => (1, 1),
        Progenyof | DPath | Getmajor | Getminor => (1, 1),
        MutexOwned | MutexOwner | MutexTypeAdaptive | MutexTypeSpin => (1, 1),
        RwReadHeld | RwWriteHeld | RwIswriter => (1, 1),
        Copyinstr | Lltostr | Strtoll => (1, 2),
        Copyin | Strjoin | Strchr | Strrchr | Strstr | Strtok | InetNtop | LinkNtop | Memref | Json => (2, 2),
        Substr | Index | Rindex => (2, 3),
        Bcopy | Copyinto | Copyout | Copyoutstr | Memstr => (3, 3),
        Msgdsize | Msgsize | DdiPathname | Getf => return None,
        SxSharedHeld | SxExclusiveHeld | SxIsexclusive => return None,
    };
    Some(SubrRule { min, max, destructive: matches!(subr, Copyout | Copyoutstr) })
}

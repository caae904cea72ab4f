//! vocabulary/builtin.rs: ONE table of the built-in variables, actions, subroutines and aggregating functions.

use kinst_dif::action::ActionKind;
use kinst_dif::insn::{Builtin, Subr};

/// A name that every program has.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in D: `execname`.
    pub name: &'static str,
    /// The kind of name, with its meaning.
    pub what: What,
    /// Whether both the kernel module and the consumer support it.
    pub supported: bool,
}

/// The kind of a built-in name.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A scalar variable.
    Variable {
        /// The id of the variable in DIF.
        id: Builtin,
        /// The type as D writes it: `uint_t`.
        ty: &'static str,
    },
    /// An array, with its id in DIF: `args`, `regs`, `uregs`.
    Array(Builtin),
    /// A variable that a D library defines over kernel types.
    Library,
    /// A function that the kernel computes: `strlen()`.
    Subroutine(Prototype),
    /// An action: a statement by itself.
    Action(Action),
    /// A function on the right of `@a =`.
    Aggregating(Aggregating),
}

/// A subroutine's type; the last `optional` parameters may be left out.
#[derive(Clone, Copy, Debug)]
pub struct Prototype {
    /// The id of the subroutine in DIF.
    pub id: Subr,
    /// The type of the result as D writes it: `string`.
    pub returns: &'static str,
    /// The types of the parameters as D writes them: `char *`.
    pub params: &'static [&'static str],
    /// How many parameters may be left out, from the last one.
    pub optional: usize,
}

/// The actions; a comment shows the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `trace(value)`: the value in the format of its type.
    Trace,
    /// `print(value)`: the value with its type and members; also `print(args)`, `print(locals)`.
    Print,
    /// `printf(format, …)`.
    Printf,
    /// `system(format, …)`: runs a shell command.
    System,
    /// `freopen(format, …)`: redirects the output to another file.
    Freopen,
    /// `printa(@a)`, `printa(format, @a, …)`.
    Printa,
    /// `tracemem(address, size)`, `tracemem(address, size, length)`: bytes of memory.
    Tracemem,
    /// `printm(size, memref(address, length))`: bytes of memory.
    Printm,
    /// `stack()`, `stack(frames)`: the kernel's stack.
    Stack,
    /// `ustack()`, `ustack(frames, strsize)`: the process' stack.
    Ustack,
    /// `jstack()`: `ustack()` with other defaults.
    Jstack,
    /// `sym(address)`, `func(address)`: a function or variable of the kernel.
    Sym,
    /// `mod(address)`: a module of the kernel.
    Mod,
    /// `usym(address)`, `ufunc(address)`: a function of the process.
    Usym,
    /// `umod(address)`: a file that the process has mapped.
    Umod,
    /// `uaddr(address)`: a function of the process, and the offset.
    Uaddr,
    /// `exit(status)`: ends the trace.
    Exit,
    /// speculate(), commit(), discard()
    Speculation(ActionKind),
    /// Actions of the kernel that change the system; with a number if the kind requires one.
    Destructive(ActionKind),
    /// `clear(@a)`: resets the values and keeps the keys.
    Clear,
    /// `trunc(@a)`, `trunc(@a, count)`: removes all keys, or keeps the `count` largest values; the smallest
    /// if it is negative.
    Trunc,
    /// `normalize(@a, divisor)`: divides the values when they are printed.
    Normalize,
    /// `denormalize(@a)`: undoes `normalize()`.
    Denormalize,
    /// `setopt(name)`, `setopt(name, value)`: sets an option while tracing.
    Setopt,
    /// `ftruncate()`: empties the output file.
    Ftruncate,
}

impl Action {
    /// Whether it returns a stack or a symbol, for use as a key of an aggregation or an argument of printf().
    pub fn leaves(self) -> bool {
        use Action as A;
        let stack = matches!(self, A::Stack | A::Ustack | A::Jstack);
        stack || matches!(self, A::Sym | A::Mod | A::Usym | A::Umod | A::Uaddr)
    }
}

/// The aggregating functions; a comment shows the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregating {
    /// `count()`.
    Count,
    /// `sum(value)`.
    Sum,
    /// `avg(value)`.
    Avg,
    /// `min(value)`.
    Min,
    /// `max(value)`.
    Max,
    /// `stddev(value)`: the standard deviation.
    Stddev,
    /// `quantize(value)`, `quantize(value, weight)`: buckets by powers of two.
    Quantize,
    /// `lquantize(value, lower, upper, step, weight)`: buckets of one width.
    Lquantize,
    /// `llquantize(value, factor, low, high, steps, weight)`: buckets whose width grows by a factor.
    Llquantize,
}

const fn var(id: Builtin, name: &'static str, ty: &'static str) -> Entry {
    Entry { name, what: What::Variable { id, ty }, supported: true }
}

const fn sub(
    id: Subr,
    name: &'static str,
    returns: &'static str,
    params: &'static [&'static str],
    optional: usize,
) -> Entry {
    Entry { name, what: What::Subroutine(Prototype { id, returns, params, optional }), supported: true }
}

const fn act(action: Action, name: &'static str) -> Entry {
    Entry { name, what: What::Action(action), supported: true }
}

const fn agg(function: Aggregating, name: &'static str) -> Entry {
    Entry { name, what: What::Aggregating(function), supported: true }
}

const fn library(name: &'static str) -> Entry {
    Entry { name, what: What::Library, supported: false }
}

impl Entry {
    const fn not_yet(self) -> Entry {
        Entry { supported: false, ..self }
    }
}

/// Language §4.1 to §4.4. A kernel pointer in a prototype means any pointer until kernel types are available.
pub const TABLE: &[Entry] = &[
    // Variables.
    Entry { name: "args", what: What::Array(Builtin::Args), supported: true },
    Entry { name: "regs", what: What::Array(Builtin::Regs), supported: true },
    Entry { name: "uregs", what: What::Array(Builtin::Uregs), supported: true },
    var(Builtin::Arg0, "arg0", "int64_t"),
    var(Builtin::Arg1, "arg1", "int64_t"),
    var(Builtin::Arg2, "arg2", "int64_t"),
    var(Builtin::Arg3, "arg3", "int64_t"),
    var(Builtin::Arg4, "arg4", "int64_t"),
    var(Builtin::Arg5, "arg5", "int64_t"),
    var(Builtin::Arg6, "arg6", "int64_t"),
    var(Builtin::Arg7, "arg7", "int64_t"),
    var(Builtin::Arg8, "arg8", "int64_t"),
    var(Builtin::Arg9, "arg9", "int64_t"),
    var(Builtin::Caller, "caller", "pc_t"),
    var(Builtin::Cpu, "cpu", "int"),
    var(Builtin::Curthread, "curthread", "void *"),
    var(Builtin::Epid, "epid", "uint_t"),
    var(Builtin::Errno, "errno", "int"),
    var(Builtin::Execargs, "execargs", "string"),
    var(Builtin::Execname, "execname", "string"),
    var(Builtin::Gid, "gid", "gid_t"),
    var(Builtin::Id, "id", "uint_t"),
    var(Builtin::Inlinefunc, "inlinefunc", "string"),
    var(Builtin::Ipl, "ipl", "uint_t"),
    var(Builtin::Jailname, "jailname", "string").not_yet(),
    var(Builtin::Jid, "jid", "int").not_yet(),
    var(Builtin::Pid, "pid", "pid_t"),
    var(Builtin::Ppid, "ppid", "pid_t"),
    var(Builtin::Probefunc, "probefunc", "string"),
    var(Builtin::Probemod, "probemod", "string"),
    var(Builtin::Probename, "probename", "string"),
    var(Builtin::Probeprov, "probeprov", "string"),
    var(Builtin::Stackdepth, "stackdepth", "uint32_t"),
    var(Builtin::Tid, "tid", "id_t"),
    var(Builtin::Timestamp, "timestamp", "uint64_t"),
    var(Builtin::Ucaller, "ucaller", "uint64_t"),
    var(Builtin::Uid, "uid", "uid_t"),
    var(Builtin::Ustackdepth, "ustackdepth", "uint32_t"),
    var(Builtin::Vtimestamp, "vtimestamp", "uint64_t"),
    var(Builtin::Walltimestamp, "walltimestamp", "int64_t"),
    var(Builtin::Zonename, "zonename", "string"),
    library("curcpu"),
    library("curlwpsinfo"),
    library("curpsinfo"),
    library("cwd"),
    library("fds"),
    library("root"),
    // Subroutines.
    sub(Subr::Alloca, "alloca", "void *", &["size_t"], 0),
    sub(Subr::Basename, "basename", "string", &["char *"], 0),
    sub(Subr::Bcopy, "bcopy", "void", &["void *", "void *", "size_t"], 0),
    sub(Subr::Cleanpath, "cleanpath", "string", &["char *"], 0),
    sub(Subr::Copyin, "copyin", "void *", &["uintptr_t", "size_t"], 0),
    sub(Subr::Copyinstr, "copyinstr", "string", &["uintptr_t", "size_t"], 1),
    sub(Subr::Copyinto, "copyinto", "void", &["uintptr_t", "size_t", "void *"], 0),
    sub(Subr::Copyout, "copyout", "void", &["void *", "uintptr_t", "size_t"], 0),
    sub(Subr::Copyoutstr, "copyoutstr", "void", &["char *", "uintptr_t", "size_t"], 0),
    sub(Subr::DPath, "d_path", "string", &["void *"], 0),
    sub(Subr::DdiPathname, "ddi_pathname", "string", &["void *", "int64_t"], 0).not_yet(),
    sub(Subr::Dirname, "dirname", "string", &["char *"], 0),
    sub(Subr::Getf, "getf", "void *", &["int"], 0).not_yet(),
    sub(Subr::Getmajor, "getmajor", "uint_t", &["uint64_t"], 0),
    sub(Subr::Getminor, "getminor", "uint_t", &["uint64_t"], 0),
    sub(Subr::Htonl, "htonl", "uint32_t", &["uint32_t"], 0),
    sub(Subr::Htonll, "htonll", "uint64_t", &["uint64_t"], 0),
    sub(Subr::Htons, "htons", "uint16_t", &["uint16_t"], 0),
    sub(Subr::Index, "index", "int", &["char *", "char *", "int"], 1),
    sub(Subr::InetNtoa, "inet_ntoa", "string", &["void *"], 0),
    sub(Subr::InetNtoa6, "inet_ntoa6", "string", &["void *"], 0),
    sub(Subr::InetNtop, "inet_ntop", "string", &["int", "void *"], 0),
    sub(Subr::Json, "json", "string", &["char *", "char *"], 0),
    sub(Subr::LinkNtop, "link_ntop", "string", &["int", "void *"], 0),
    sub(Subr::Lltostr, "lltostr", "string", &["int64_t", "int"], 1),
    sub(Subr::Memref, "memref", "uintptr_t *", &["void *", "size_t"], 0),
    sub(Subr::Memstr, "memstr", "string", &["void *", "char", "size_t"], 0),
    sub(Subr::Msgdsize, "msgdsize", "size_t", &["void *"], 0).not_yet(),
    sub(Subr::Msgsize, "msgsize", "size_t", &["void *"], 0).not_yet(),
    sub(Subr::MutexOwned, "mutex_owned", "int", &["void *"], 0),
    sub(Subr::MutexOwner, "mutex_owner", "void *", &["void *"], 0),
    sub(Subr::MutexTypeAdaptive, "mutex_type_adaptive", "int", &["void *"], 0),
    sub(Subr::MutexTypeSpin, "mutex_type_spin", "int", &["void *"], 0),
    sub(Subr::Ntohl, "ntohl", "uint32_t", &["uint32_t"], 0),
    sub(Subr::Ntohll, "ntohll", "uint64_t", &["uint64_t"], 0),
    sub(Subr::Ntohs, "ntohs", "uint16_t", &["uint16_t"], 0),
    sub(Subr::Progenyof, "progenyof", "int", &["pid_t"], 0),
    sub(Subr::Rand, "rand", "int", &[], 0),
    sub(Subr::Rindex, "rindex", "int", &["char *", "char *", "int"], 1),
    sub(Subr::RwIswriter, "rw_iswriter", "int", &["void *"], 0),
    sub(Subr::RwReadHeld, "rw_read_held", "int", &["void *"], 0),
    sub(Subr::RwWriteHeld, "rw_write_held", "int", &["void *"], 0),
    sub(Subr::Speculation, "speculation", "int", &[], 0),
    sub(Subr::Strchr, "strchr", "string", &["char *", "char"], 0),
    sub(Subr::Strjoin, "strjoin", "string", &["char *", "char *"], 0),
    sub(Subr::Strlen, "strlen", "size_t", &["char *"], 0),
    sub(Subr::Strrchr, "strrchr", "string", &["char *", "char"], 0),
    sub(Subr::Strstr, "strstr", "string", &["char *", "char *"], 0),
    sub(Subr::Strtok, "strtok", "string", &["char *", "char *"], 0),
    sub(Subr::Strtoll, "strtoll", "int64_t", &["char *", "int"], 1),
    sub(Subr::Substr, "substr", "string", &["char *", "int", "int"], 1),
    sub(Subr::SxExclusiveHeld, "sx_exclusive_held", "int", &["void *"], 0).not_yet(),
    sub(Subr::SxIsexclusive, "sx_isexclusive", "int", &["void *"], 0).not_yet(),
    sub(Subr::SxSharedHeld, "sx_shared_held", "int", &["void *"], 0).not_yet(),
    sub(Subr::Tolower, "tolower", "string", &["char *"], 0),
    sub(Subr::Toupper, "toupper", "string", &["char *"], 0),
    // Actions; their arguments are checked in action.rs.
    act(Action::Trace, "trace"),
    act(Action::Print, "print"),
    act(Action::Printf, "printf"),
    act(Action::System, "system"),
    act(Action::Freopen, "freopen"),
    act(Action::Printa, "printa"),
    act(Action::Tracemem, "tracemem"),
    act(Action::Printm, "printm"),
    act(Action::Stack, "stack"),
    act(Action::Ustack, "ustack"),
    act(Action::Jstack, "jstack"),
    act(Action::Sym, "sym"),
    act(Action::Sym, "func"),
    act(Action::Mod, "mod"),
    act(Action::Usym, "usym"),
    act(Action::Usym, "ufunc"),
    act(Action::Umod, "umod"),
    act(Action::Uaddr, "uaddr"),
    act(Action::Exit, "exit"),
    act(Action::Speculation(ActionKind::Speculate), "speculate"),
    act(Action::Speculation(ActionKind::Commit), "commit"),
    act(Action::Speculation(ActionKind::Discard), "discard"),
    act(Action::Destructive(ActionKind::Breakpoint), "breakpoint"),
    act(Action::Destructive(ActionKind::Panic), "panic"),
    act(Action::Destructive(ActionKind::Chill), "chill"),
    act(Action::Destructive(ActionKind::Stop), "stop"),
    act(Action::Destructive(ActionKind::Raise), "raise"),
    act(Action::Clear, "clear"),
    act(Action::Trunc, "trunc"),
    act(Action::Normalize, "normalize"),
    act(Action::Denormalize, "denormalize"),
    act(Action::Setopt, "setopt"),
    act(Action::Ftruncate, "ftruncate"),
    // Aggregating functions.
    agg(Aggregating::Count, "count"),
    agg(Aggregating::Sum, "sum"),
    agg(Aggregating::Avg, "avg"),
    agg(Aggregating::Min, "min"),
    agg(Aggregating::Max, "max"),
    agg(Aggregating::Stddev, "stddev"),
    agg(Aggregating::Quantize, "quantize"),
    agg(Aggregating::Lquantize, "lquantize"),
    agg(Aggregating::Llquantize, "llquantize"),
];

/// Looks up a name in all versions of the language, including unsupported ones.
pub fn lookup(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.name == name)
}

/// A version of the D language: major, minor, micro.
pub type Version = [u8; 3];

/// The names added after version 1.0.
const NEWER: &[(Version, &[&str])] = &[
    ([1, 1, 0], &["freopen", "index", "memref", "rindex", "strchr", "strrchr", "strstr", "strtok", "substr"]),
    (
        [1, 2, 0],
        &["func", "mod", "setopt", "sym", "uaddr", "ucaller", "ufunc", "umod", "ustackdepth", "usym"],
    ),
    ([1, 3, 0], &["htonl", "htonll", "htons", "ntohl", "ntohll", "ntohs"]),
    ([1, 5, 0], &["inet_ntoa", "inet_ntoa6", "inet_ntop"]),
    ([1, 6, 0], &["stddev"]),
    ([1, 7, 0], &["llquantize"]),
    ([1, 8, 0], &["tolower", "toupper"]),
    ([1, 9, 0], &["print"]),
    ([1, 10, 0], &["getf"]),
    ([1, 11, 0], &["json", "strtoll"]),
];

/// Looks up a name in a version of the language; in all versions if it is `None`. A program may define a
/// name that was added later.
pub fn lookup_in(name: &str, version: Option<Version>) -> Option<&'static Entry> {
    let later =
        |version: Version| NEWER.iter().any(|(since, names)| *since > version && names.contains(&name));
    lookup(name).filter(|_| !version.is_some_and(later))
}

/// Whether the name is a subroutine's in any version of the language.
pub fn is_subroutine(name: &str) -> bool {
    lookup(name).is_some_and(|entry| matches!(entry.what, What::Subroutine(_)))
}

/// Returns why a name from other systems' DTrace has no meaning on Linux; `None` if it has one or is planned.
pub fn absent(name: &str) -> Option<&'static str> {
    match name {
        "jid" | "jailname" => Some("FreeBSD has jails; identify a container by `curthread`'s namespaces"),
        "getf" => Some(
            "it reads the file table without the locks that Linux needs; `arg0` of most functions is a file",
        ),
        "msgdsize" | "msgsize" => Some("message blocks belong to STREAMS, which Linux does not have"),
        "ddi_pathname" => Some("devinfo nodes belong to Solaris; a device's name is in its `struct device`"),
        "sx_shared_held" | "sx_exclusive_held" | "sx_isexclusive" => {
            Some("sx locks belong to FreeBSD; use rw_read_held(), rw_write_held() and rw_iswriter()")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn newer_names_are_hidden() {
        for name in NEWER.iter().flat_map(|(_, names)| *names) {
            assert!(lookup(name).is_some(), "{name}");
            assert!(lookup_in(name, Some([1, 0, 0])).is_none(), "{name}");
        }
        assert!(lookup_in("inet_ntop", Some([1, 5, 0])).is_some());
        assert!(lookup_in("inet_ntop", Some([1, 4, 9])).is_none());
        assert!(lookup_in("trace", Some([1, 0, 0])).is_some());
    }

    #[test]
    fn names_are_unique() {
        let mut names = HashSet::new();
        for entry in TABLE {
            assert!(names.insert(entry.name), "{} is there twice", entry.name);
        }
    }

    #[test]
    fn subroutines_are_those_of_the_machine() {
        for entry in TABLE {
            let What::Subroutine(prototype) = entry.what else { continue };
            let rule = kinst_oracle::verify::subr_rule(prototype.id);
            assert_eq!(rule.is_some(), entry.supported, "{}", entry.name);
            if let Some(rule) = rule {
                let most = prototype.params.len();
                assert_eq!(
                    (rule.min.into(), rule.max.into()),
                    (most - prototype.optional, most),
                    "{}",
                    entry.name
                );
            }
        }
    }
}

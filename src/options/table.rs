//! options/table.rs: all options: names, kinds of values, when they can be set, defaults.

use crate::uapi;

/// The form of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value, or yes/no, on/off, enable/disable, true/false, set/unset, 1/0, in upper or lower case.
    Flag,
    /// Bytes: a number with k, m, g or t. A value below the minimum is raised to it, as the kernel rounds anyway.
    Size {
        min: u64,
        max: u64,
    },
    /// A period: a number with ns us ms s m h d, or hz. Kept in nanoseconds.
    Rate {
        min: u64,
        max: u64,
    },
    Number {
        min: u64,
        max: u64,
    },
    /// A number that the table does not interpret: decimal, octal or 0x.
    Mask,
    Choice(&'static [&'static str]),
    Text,
    /// Every use adds a value.
    List,
    /// `1.9.2`
    Version,
    /// `Evolving/Evolving/Common`
    Attributes,
}

/// Where an option may be set, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before compiling.
    Compile,
    /// Before compiling, and not from a D program.
    Context,
    /// Before tracing starts.
    Run,
    /// At any time, also by setopt().
    Dynamic,
    /// A dtrace option that does nothing here, with the reason: programs that set it compile, but cannot be enabled.
    Refused(&'static str),
}

pub struct Spec {
    pub name: &'static str,
    pub kind: Kind,
    pub when: When,
    /// The default as the user would write it; empty if it is unset.
    pub default: &'static str,
}

const fn row(name: &'static str, kind: Kind, when: When, default: &'static str) -> Spec {
    Spec { name, kind, when, default }
}

pub(super) const SECOND: u64 = 1_000_000_000;
const ANY: u64 = u64::MAX;
const fn number(max: u64) -> Kind {
    Kind::Number { min: 0, max }
}
/// A buffer, with the kernel module's minimum and maximum.
const BUFFER: Kind = Kind::Size { min: uapi::MIN_BUFSIZE as u64, max: uapi::MAX_SIZE };
const STRING: Kind = Kind::Size { min: uapi::MIN_STRSIZE as u64, max: uapi::MAX_STRSIZE as u64 };
const fn rate(min: u64, max: u64) -> Kind {
    Kind::Rate { min, max }
}

/// All options, by name. (Spec: dtrace's options, the D language §8.) Oracle's options about BPF, CTF archives,
/// locked memory and its own paths are accepted and have no effect here.
pub const TABLE: &[Spec] = &[
    row("agghist", Kind::Flag, When::Dynamic, ""),
    row("aggpack", Kind::Flag, When::Refused("it is not there yet"), ""),
    row("aggpercpu", Kind::Flag, When::Compile, ""),
    row("aggrate", rate(1_000_000, ANY), When::Dynamic, "1s"),
    row("aggsize", BUFFER, When::Run, "4m"),
    row("aggsortkey", Kind::Flag, When::Dynamic, ""),
    row("aggsortkeypos", number(u32::MAX as u64), When::Dynamic, "0"),
    row("aggsortpos", number(u32::MAX as u64), When::Dynamic, "0"),
    row("aggsortrev", Kind::Flag, When::Dynamic, ""),
    row("aggzoom", Kind::Flag, When::Dynamic, ""),
    row("amin", Kind::Attributes, When::Compile, ""),
    row("argref", Kind::Flag, When::Compile, ""),
    row("bpflog", Kind::Flag, When::Run, ""),
    row("bpflogsize", Kind::Text, When::Run, ""),
    row("bufpolicy", Kind::Choice(&["switch", "ring", "fill"]), When::Run, "switch"),
    row("bufresize", Kind::Choice(&["auto", "manual"]), When::Run, "auto"),
    row("bufsize", BUFFER, When::Run, "4m"),
    row("cleanrate", rate(200_000, 60 * SECOND), When::Run, "101hz"),
    row("core", Kind::Text, When::Compile, ""),
    row("cpp", Kind::Flag, When::Compile, ""),
    row("cppargs", Kind::List, When::Context, ""),
    row("cpphdrs", Kind::Flag, When::Context, ""),
    row("cpppath", Kind::Text, When::Context, "cpp"),
    row("cpu", number(u32::MAX as u64 - 1), When::Run, ""),
    row("ctfpath", Kind::Text, When::Compile, ""),
    row("ctypes", Kind::Text, When::Compile, ""),
    row("debug", Kind::Flag, When::Compile, ""),
    row("debugassert", Kind::Text, When::Compile, ""),
    row("defaultargs", Kind::Flag, When::Compile, ""),
    row("define", Kind::List, When::Context, ""),
    row("destructive", Kind::Flag, When::Run, ""),
    row("disasm", Kind::Text, When::Compile, ""),
    row("dofstashpath", Kind::Text, When::Compile, ""),
    row("droptags", Kind::Flag, When::Compile, ""),
    row("dtypes", Kind::Text, When::Compile, ""),
    row("dump", Kind::Choice(&["ast", "plain", "typed", "dif"]), When::Compile, ""),
    row("dynvarsize", BUFFER, When::Run, "1m"),
    row("empty", Kind::Flag, When::Compile, ""),
    row("encoding", Kind::Choice(&["ascii", "utf8"]), When::Dynamic, "ascii"),
    row("errtags", Kind::Flag, When::Compile, ""),
    row("evaltime", Kind::Choice(&["exec", "preinit", "postinit", "main"]), When::Compile, "exec"),
    row("flowindent", Kind::Flag, When::Dynamic, ""),
    row("grabanon", Kind::Flag, When::Refused("there is no anonymous tracing"), ""),
    row("incdir", Kind::List, When::Context, ""),
    row("iregs", Kind::Number { min: 1, max: 8 }, When::Compile, ""),
    row("jstackframes", number(512), When::Run, "50"),
    row("jstackstrsize", STRING, When::Run, "512"),
    row("kdefs", Kind::Flag, When::Compile, ""),
    row("knodefs", Kind::Flag, When::Compile, ""),
    row("late", Kind::Choice(&["static", "dynamic"]), When::Compile, ""),
    row("lazyload", Kind::Flag, When::Compile, ""),
    row("ldpath", Kind::Text, When::Context, ""),
    row("libdir", Kind::List, When::Compile, ""),
    row("linkmode", Kind::Text, When::Compile, ""),
    row("linknommap", Kind::Flag, When::Compile, ""),
    row("linktype", Kind::Text, When::Compile, ""),
    row("lockmem", Kind::Text, When::Run, ""),
    row("maxframes", Kind::Text, When::Run, ""),
    row("missinglocals", Kind::Choice(&["error", "zero", "skip"]), When::Compile, "error"),
    row("maxprobes", number(100_000_000), When::Context, "1024"),
    row("modpath", Kind::Text, When::Compile, ""),
    row("nocache", Kind::Flag, When::Context, ""),
    row("nojump", Kind::Flag, When::Run, ""),
    row("nolibs", Kind::Flag, When::Compile, ""),
    row("noresolve", Kind::Flag, When::Refused("it is not there yet"), ""),
    row("nspec", number(uapi::MAX_NSPEC as u64), When::Run, "1"),
    row("pcapsize", Kind::Text, When::Run, ""),
    row("pgmax", number(u32::MAX as u64), When::Compile, ""),
    row("preallocate", Kind::Text, When::Compile, ""),
    row("printsize", Kind::Text, When::Refused("it is not there yet"), ""),
    row("procfspath", Kind::Text, When::Compile, ""),
    row("pspec", Kind::Flag, When::Compile, ""),
    row("quiet", Kind::Flag, When::Dynamic, ""),
    row("quietresize", Kind::Flag, When::Run, ""),
    row("rawbytes", Kind::Flag, When::Dynamic, ""),
    row("scratchsize", Kind::Text, When::Run, ""),
    row("setenv", Kind::List, When::Context, ""),
    row("specsize", BUFFER, When::Run, "32k"),
    row("stackframes", number(512), When::Run, "20"),
    row("stackindent", number(4096), When::Dynamic, "14"),
    row("statusrate", rate(1_000_000, 10 * SECOND), When::Run, "1s"),
    row("stdc", Kind::Choice(&["a", "c", "s", "t"]), When::Context, "a"),
    row("strip", Kind::Flag, When::Compile, ""),
    row("strsize", STRING, When::Run, "256"),
    row("switchrate", rate(1_000_000, ANY), When::Dynamic, "1s"),
    row("syslibdir", Kind::Text, When::Compile, ""),
    row("sysroot", Kind::Text, When::Context, ""),
    row("sysslice", Kind::Flag, When::Compile, ""),
    row("temporal", Kind::Flag, When::Run, ""),
    row("tree", Kind::Mask, When::Compile, ""),
    row("tregs", Kind::Number { min: 1, max: 8 }, When::Compile, ""),
    row("udefs", Kind::Flag, When::Compile, ""),
    row("undef", Kind::List, When::Context, ""),
    row("unodefs", Kind::Flag, When::Compile, ""),
    row("unsetenv", Kind::List, When::Context, ""),
    row("useruid", Kind::Text, When::Compile, ""),
    row("ustackframes", number(512), When::Run, "20"),
    row("verbose", Kind::Flag, When::Compile, ""),
    row("version", Kind::Version, When::Compile, ""),
    row("vmlinux", Kind::Text, When::Context, ""),
    row("zdefs", Kind::Flag, When::Compile, ""),
];

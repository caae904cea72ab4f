//! options/table.rs: all options: names, kinds of values, when they can be set, defaults.

use kinst_base::uapi;

/// The kind of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value, or yes/no, on/off, enable/disable, true/false, set/unset, 1/0, in upper or lower case.
    Flag,
    /// Bytes: a number with k, m, g or t. A value below the minimum is raised to it, as the kernel rounds
    /// anyway; 0 is valid only if it is the minimum.
    Size {
        /// The minimum, to which smaller values are raised.
        min: u64,
        /// The maximum; a larger value is an error.
        max: u64,
    },
    /// A period: a number with ns us ms s m h d, or hz. Stored in nanoseconds.
    Rate {
        /// The shortest period in nanoseconds, to which shorter ones are raised.
        min: u64,
        /// The longest period in nanoseconds, to which longer ones are lowered.
        max: u64,
    },
    /// A number: decimal, octal or 0x.
    Number {
        /// The minimum; a smaller value is an error.
        min: u64,
        /// The maximum; a larger value is an error.
        max: u64,
    },
    /// A number that the table does not interpret: decimal, octal or 0x.
    Mask,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any string that is not empty.
    Text,
    /// Every use adds a value.
    List,
    /// `1.9.2`
    Version,
    /// `Evolving/Evolving/Common`
    Attributes,
}

/// The permitted source and time of a setting.
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
    /// An option of another DTrace whose effect would be missed, with the reason: programs that set it
    /// compile, but cannot be enabled.
    Refused(&'static str),
    /// An option of another DTrace that can be ignored without loss, with the reason, which a notice shows when
    /// it is set.
    Without(&'static str),
    /// An option of another DTrace that changes nothing, as its effect is permanent here.
    Always(&'static str),
}

/// One option.
pub struct Spec {
    /// The name after -x.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// The permitted source and time of a setting, or the reason why it has no effect.
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
/// A buffer size, with the kernel module's minimum and maximum.
const BUFFER: Kind = Kind::Size { min: uapi::MIN_BUFSIZE as u64, max: uapi::MAX_SIZE };
const STRING: Kind = Kind::Size { min: uapi::MIN_STRSIZE as u64, max: uapi::MAX_STRSIZE as u64 };
const fn rate(min: u64, max: u64) -> Kind {
    Kind::Rate { min, max }
}

/// The reason why options of -G have no effect.
const NO_OBJECT: When = When::Without("no object file is made of a program (-G)");
const NO_BPF: When = When::Without("the compiler reports what the kernel's verifier would refuse");
const NO_DEFINITIONS: &str = "an unknown kernel symbol is an error";

/// All options, by name. (Spec: dtrace's options, the D language §8.) Each has either a key, for its
/// effect, or a reason.
pub const TABLE: &[Spec] = &[
    row("agghist", Kind::Flag, When::Dynamic, ""),
    row("aggpack", Kind::Flag, When::Dynamic, ""),
    row(
        "aggpercpu",
        Kind::Flag,
        When::Without("values are merged over all CPUs; the key cpu separates them"),
        "",
    ),
    row("aggrate", rate(1_000_000, ANY), When::Dynamic, "1s"),
    row("aggsize", BUFFER, When::Run, "4m"),
    row("aggsortkey", Kind::Flag, When::Dynamic, ""),
    row("aggsortkeypos", number(u32::MAX as u64), When::Dynamic, "0"),
    row("aggsortpos", number(u32::MAX as u64), When::Dynamic, "0"),
    row("aggsortrev", Kind::Flag, When::Dynamic, ""),
    row("aggzoom", Kind::Flag, When::Dynamic, ""),
    row("amin", Kind::Attributes, When::Compile, ""),
    row("argref", Kind::Flag, When::Compile, ""),
    row("backend", Kind::Choice(&["auto", "module", "bpf"]), When::Run, "auto"),
    row("bpflog", Kind::Flag, NO_BPF, ""),
    row("bpflogsize", Kind::Text, NO_BPF, ""),
    row("bufpolicy", Kind::Choice(&["switch", "ring", "fill"]), When::Run, "switch"),
    row("bufresize", Kind::Choice(&["auto", "manual"]), When::Run, "auto"),
    row("bufsize", BUFFER, When::Run, "4m"),
    row("cleanrate", rate(200_000, 60 * SECOND), When::Run, "101hz"),
    row("core", Kind::Text, When::Without("the system decides what a crash of dtrace leaves"), ""),
    row("cpp", Kind::Flag, When::Compile, ""),
    row("cppargs", Kind::List, When::Context, ""),
    row("cpphdrs", Kind::Flag, When::Context, ""),
    row("cpppath", Kind::Text, When::Context, "cpp"),
    row("cpu", number(u32::MAX as u64 - 1), When::Run, ""),
    row("ctfpath", Kind::Text, When::Without("types come from BTF and debug information"), ""),
    row("ctypes", Kind::Text, When::Refused("no file of types is written"), ""),
    row("debug", Kind::Flag, When::Without("the compiler writes no log; -v shows more"), ""),
    row("debugassert", Kind::Text, When::Without("assertions are chosen when dtrace is built"), ""),
    row("defaultargs", Kind::Flag, When::Compile, ""),
    row("define", Kind::List, When::Context, ""),
    row("destructive", Kind::Flag, When::Run, ""),
    row("disasm", Kind::Text, When::Without("-S prints the code once, as it is loaded"), ""),
    row("dofstashpath", Kind::Text, When::Without("user programs have no probes"), ""),
    row("droptags", Kind::Flag, When::Compile, ""),
    row("dtypes", Kind::Text, When::Refused("no file of types is written"), ""),
    row("dump", Kind::Choice(&["ast", "plain", "typed", "dif"]), When::Compile, ""),
    row("dynvarsize", BUFFER, When::Run, "1m"),
    row("empty", Kind::Flag, When::Compile, ""),
    row("encoding", Kind::Choice(&["ascii", "utf8"]), When::Dynamic, "ascii"),
    row("errtags", Kind::Flag, When::Compile, ""),
    row("evaltime", Kind::Choice(&["exec", "preinit", "postinit", "main"]), When::Run, ""),
    row("flowindent", Kind::Flag, When::Dynamic, ""),
    row(
        "grabanon",
        Kind::Flag,
        When::Refused("anonymous tracing does not exist, so none can be claimed"),
        "",
    ),
    row("incdir", Kind::List, When::Context, ""),
    row(
        "iregs",
        Kind::Number { min: 1, max: 8 },
        When::Without("the kernel module has 8 registers for every program"),
        "",
    ),
    row("jstackframes", number(512), When::Run, "50"),
    row("jstackstrsize", STRING, When::Run, "512"),
    row("kdefs", Kind::Flag, When::Always(NO_DEFINITIONS), ""),
    row("knodefs", Kind::Flag, When::Without(NO_DEFINITIONS), ""),
    row(
        "late",
        Kind::Choice(&["static", "dynamic"]),
        When::Always("a translation is compiled where it is used"),
        "",
    ),
    row("lazyload", Kind::Flag, NO_OBJECT, ""),
    row("ldpath", Kind::Text, NO_OBJECT, ""),
    row("libdir", Kind::List, When::Compile, ""),
    row(
        "linkmode",
        Kind::Choice(&["kernel", "primary", "dynamic", "static"]),
        When::Without("kernel symbols are resolved when a program is compiled"),
        "",
    ),
    row("linknommap", Kind::Flag, NO_OBJECT, ""),
    row("linktype", Kind::Choice(&["elf", "dof"]), NO_OBJECT, ""),
    row("lockmem", Kind::Text, When::Without("the buffers are the kernel module's, which need no limit"), ""),
    row("maxframes", Kind::Number { min: 1, max: uapi::MAX_FRAMES as u64 }, When::Run, ""),
    row("missinglocals", Kind::Choice(&["error", "zero", "skip"]), When::Compile, "error"),
    row("maxprobes", number(100_000_000), When::Context, "1024"),
    row("modpath", Kind::Text, When::Refused("all files of a kernel come from one folder: --sysroot"), ""),
    row("nocache", Kind::Flag, When::Context, ""),
    row("noinline", Kind::Flag, When::Dynamic, ""),
    row("nojump", Kind::Flag, When::Run, ""),
    row("nolibs", Kind::Flag, When::Compile, ""),
    row("noresolve", Kind::Flag, When::Run, ""),
    row("nspec", number(uapi::MAX_NSPEC as u64), When::Run, "1"),
    row("once", Kind::Flag, When::Run, ""),
    row("otlpqueue", Kind::Size { min: 64 << 10, max: 1 << 40 }, When::Run, "16m"),
    row("outputfiles", Kind::Number { min: 1, max: 9999 }, When::Run, "5"),
    row("outputsize", Kind::Size { min: 4096, max: ANY }, When::Run, ""),
    row("outputtime", rate(SECOND, ANY), When::Run, ""),
    row("pcapsize", Kind::Text, When::Without("pcap() does not exist"), ""),
    row("pgmax", Kind::Number { min: 1, max: u32::MAX as u64 }, When::Run, ""),
    row("preallocate", Kind::Text, When::Without("memory is allocated on demand"), ""),
    row("printsize", Kind::Size { min: 1, max: uapi::MAX_SIZE }, When::Dynamic, ""),
    row("procfspath", Kind::Choice(&["/proc"]), When::Always("processes are looked up in /proc"), ""),
    row("promlabels", Kind::List, When::Run, ""),
    row("promseries", Kind::Number { min: 1, max: 10_000_000 }, When::Run, "10000"),
    row("pspec", Kind::Flag, When::Compile, ""),
    row("quiet", Kind::Flag, When::Dynamic, ""),
    row("quietresize", Kind::Flag, When::Run, ""),
    row("rawbytes", Kind::Flag, When::Dynamic, ""),
    row(
        "scratchsize",
        Kind::Size { min: 1, max: 64 << 10 },
        When::Always("a clause has 64k, and eight strings"),
        "",
    ),
    row("setenv", Kind::List, When::Context, ""),
    row("sourcepath", Kind::List, When::Context, ""),
    row("specsize", BUFFER, When::Run, "32k"),
    row("stackframes", number(512), When::Run, "20"),
    row("stackindent", number(4096), When::Dynamic, "14"),
    row("stacklines", Kind::Flag, When::Dynamic, ""),
    row("statusrate", rate(1_000_000, 10 * SECOND), When::Run, "1s"),
    row("stdc", Kind::Choice(&["a", "c", "s", "t"]), When::Context, "a"),
    row("strip", Kind::Flag, NO_OBJECT, ""),
    row("strsize", STRING, When::Run, "256"),
    row("switchrate", rate(1_000_000, ANY), When::Dynamic, ""),
    row("syslibdir", Kind::Text, When::Compile, ""),
    row("sysroot", Kind::Text, When::Context, ""),
    row("sysslice", Kind::Flag, When::Without("dtrace stays in its slice"), ""),
    row("temporal", Kind::Flag, When::Always("records are printed in the order of time"), ""),
    row("tree", Kind::Mask, When::Compile, ""),
    row(
        "tregs",
        Kind::Number { min: 1, max: 8 },
        When::Without("the kernel module holds the longest key of any program"),
        "",
    ),
    row("udefs", Kind::Flag, When::Always("a program names no symbol of user space"), ""),
    row("undef", Kind::List, When::Context, ""),
    row("unodefs", Kind::Flag, When::Always("a program names no symbol of user space"), ""),
    row("unsetenv", Kind::List, When::Context, ""),
    row("useruid", Kind::Text, When::Without("no process is stopped for inspection"), ""),
    row("ustackcopy", Kind::Size { min: 0, max: uapi::MAX_USTACK as u64 }, When::Run, ""),
    row("ustackframes", number(512), When::Run, "20"),
    row("verbose", Kind::Flag, When::Compile, ""),
    row("version", Kind::Version, When::Compile, ""),
    row("vmlinux", Kind::Text, When::Context, ""),
    row("zdefs", Kind::Flag, When::Compile, ""),
];

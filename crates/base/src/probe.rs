//! base/probe.rs: probes: how a program describes one, where it is, and what identifies it.

use std::borrow::Cow;
use std::fmt;

use crate::image::FileId;
use crate::space::Space;

/// `provider:module:function:name`. In a description, an empty field matches anything, and globs are kept as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fields {
    /// `kinst`, `fbt`, `syscall`, or the provider of a driver's static probes.
    pub provider: String,
    /// Module that contains the code: `vmlinux`, `ext4`.
    pub module: String,
    /// Function that contains the code, or the system call.
    pub function: String,
    /// Last field: `entry`, `53-61`, `tick-1s`.
    pub name: String,
}

/// A clause's description of its probes, after the sugar.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Description {
    /// The D variable `id` of one probe.
    Id(u32),
    /// The fields as they were written.
    Fields(Box<Fields>),
    /// One place in the kernel's code.
    Site(Box<Site>),
}

/// An instruction, or an edge of the control flow: what `kinst:module:function:53-61` names, and in a program
/// `pid1234:module:function:35-3d`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// The kernel, a process, or all processes that map a file.
    pub space: Space,
    /// A glob, or empty: any module that has the function.
    pub module: String,
    /// The function's symbol; `name#2` where there are namesakes.
    pub function: String,
    /// Bytes from the symbol.
    pub offset: u64,
    /// Static keys that control must cross, in bytes from the symbol.
    pub over: Vec<u64>,
    /// End of the edge; `None` if the site is an instruction.
    pub to: Option<Target>,
    /// The function whose inlined copy is meant, for `args[]` and `locals`; `None` means the innermost copy.
    pub copy: Option<String>,
    /// Whether `copy` is inlined here, rather than the function's own code.
    pub inlined: bool,
    /// The end of the copy's run that the site marks, if it does.
    pub end: Option<End>,
}

/// An end of a function's run: its entry or its return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// Control enters the function: `entry`.
    Entry,
    /// Control leaves the function: `return`.
    Return,
}

impl End {
    /// Returns the end that a probe's name denotes, and the name without it.
    pub fn of_name(name: &str) -> Option<(End, &str)> {
        let entry = name.strip_suffix("entry").map(|rest| (End::Entry, rest));
        entry.or_else(|| name.strip_suffix("return").map(|rest| (End::Return, rest)))
    }
}

/// The end of a control-flow edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The target's function symbol if it differs from the branch's: a part placed elsewhere (`f.cold`).
    pub function: Option<String>,
    /// Bytes from the symbol.
    pub offset: u64,
}

/// A probe that exists: what a description matches, `-l` lists, and the kernel arms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The D variable `id`. Created on demand for kinst, and for profile except at its usual rates; the
    /// others are fixed for one kernel.
    pub id: u32,
    /// The D variables `probeprov` and so on.
    pub name: Fields,
    /// Kind and place of the probe, as the kernel arms it.
    pub place: Place,
}

/// The place where a probe fires; the kinds are those of the ABI. `func` is the address of a function's
/// symbol, and offsets count from it. All places but those of [`Place::Program`] are in the running kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `dtrace:::BEGIN`: the first probe of a run.
    Begin,
    /// `dtrace:::END`: the last probe of a run.
    End,
    /// `dtrace:::ERROR`: a clause had a fault.
    Error,
    /// `bytes` is the instruction that is expected there, at most 16 bytes; empty means that it is not
    /// compared.
    Insn {
        /// Run-time address of the function's symbol.
        func: u64,
        /// Bytes from the symbol.
        offset: u32,
        /// Expected instruction; empty: not compared.
        bytes: Vec<u8>,
    },
    /// The branch at `offset` when it goes to `to`, a signed distance.
    Edge {
        /// Run-time address of the function's symbol.
        func: u64,
        /// Bytes from the symbol.
        offset: u32,
        /// Static keys that it crosses; 0: none.
        over: [u32; 2],
        /// Signed distance from the symbol to the end of the edge.
        to: u32,
        /// Expected branch; empty: not compared.
        bytes: Vec<u8>,
    },
    /// The nop of a static probe in a driver.
    Driver {
        /// Run-time address of the symbol before the nop; 0 if the module is not loaded.
        func: u64,
        /// Bytes from the symbol.
        offset: u32,
    },
    /// A function is entered.
    FbtEntry {
        /// Run-time address of the function's symbol.
        func: u64,
    },
    /// A function is left, by any of its exits.
    FbtReturn {
        /// Run-time address of the function's symbol.
        func: u64,
    },
    /// On every CPU; `interval` is in nanoseconds.
    Profile {
        /// Time between two hits on a CPU.
        interval: u64,
    },
    /// On one CPU.
    Tick {
        /// Time between two hits, in nanoseconds.
        interval: u64,
    },
    /// A system call begins.
    SyscallEntry {
        /// Number of the call on this machine.
        number: u64,
    },
    /// A system call ends.
    SyscallReturn {
        /// Number of the call on this machine.
        number: u64,
    },
    /// `func` is the run-time address of the tracepoint's own function.
    Sdt {
        /// Run-time address of `__traceiter_NAME`.
        func: u64,
    },
    /// An event of processes, threads or disks: `proc:::exit`.
    Event {
        /// One of `enum kinst_event`.
        number: u64,
    },
    /// Never fires. While it is enabled, the gate of a driver's probe is open, at `func` + `to`, a signed
    /// distance.
    Gate {
        /// Run-time address of the symbol before the driver's probe.
        func: u64,
        /// Distance from `func` to the gate, in bytes.
        to: u32,
    },
    /// A place in a program or library.
    Program(Box<InProgram>),
}

/// A place in the file of a program or library. Its instructions are known from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InProgram {
    /// The file.
    pub file: FileId,
    /// The only process whose hits count; `None`: all that map the file.
    pub process: Option<u32>,
    /// The end of a function's run, which gives the probe its arguments; `None` for an instruction or an edge.
    pub end: Option<End>,
    /// The convention by which the function gets its arguments.
    pub passing: Passing,
    /// The instructions at which it fires, by their addresses in the file's layout.
    pub spots: Vec<Spot>,
    /// The address of a counter that the kernel increments in each process while the probe is there, in the file's
    /// layout: a static probe's semaphore.
    pub semaphore: Option<u64>,
}

/// A calling convention of programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Passing {
    /// The registers and stack of C.
    #[default]
    C,
    /// Registers of Go (ABIInternal).
    Go,
    /// The stack, as for functions of Go in assembly code (ABI0).
    GoStack,
    /// Either of Go: a function in assembly code of a stripped program.
    GoUnknown,
}

/// An instruction at which a probe fires, and the hits that count: a [`Place`] resolved in the kernel's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Run-time address; in a program, an address in the file's layout.
    pub address: u64,
    /// The offset in the function; a return probe identifies its exits by it.
    pub exit: u64,
    /// The hits at which the probe fires.
    pub when: When,
    /// The static keys that control crosses afterwards.
    pub keys: Vec<Key>,
}

/// The hits of an instruction that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// All hits.
    Always,
    /// Hits at which the branch is taken.
    Taken(Condition),
    /// Hits at which control continues after the branch.
    NotTaken(Condition),
    /// Hits at which these bits of a register are all 0, or are not all 0.
    Zero {
        /// The register's number in instructions.
        register: u8,
        /// Mask of the bits.
        bits: u64,
        /// Whether the bits must all be 0.
        is: bool,
    },
    /// Hits at which an indirect jump goes to the address.
    Goes(Jump, u64),
    /// Hits at which an indirect jump leaves a function, or goes to its first instruction: a tail call, and
    /// not a case of a `switch`. The two parts of the function are from an address up to another.
    Leaves(Jump, [(u64, u64); 2]),
}

/// The condition of a branch on flags, as its machine encodes it: on x86-64 the opcode of the short form, on
/// arm64 the number in b.cond. The code that makes programs for the machine maps it to flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition(pub u8);

/// The operand of an indirect jump: a register, or memory at `base + index * 2^shift + by`. Registers are
/// numbered as in instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jump {
    /// Base, or the register that holds the target; `None`: nothing is added. A rip-relative address is in
    /// `by`.
    pub base: Option<u8>,
    /// Index; `None`: nothing is added.
    pub index: Option<u8>,
    /// Power of two that the index is multiplied by.
    pub shift: u8,
    /// Displacement, with its sign; sums wrap around.
    pub by: u64,
    /// Whether the target is read from memory at that sum, rather than being the sum itself.
    pub memory: bool,
}

/// A jump label, and where control goes from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Run-time address of the label's instruction.
    pub address: u64,
    /// Bytes of the instruction.
    pub len: u8,
    /// Run-time address of the next label on the edge, or of its end.
    pub to: u64,
}

impl Fields {
    /// Copies the four fields.
    pub fn new(provider: &str, module: &str, function: &str, name: &str) -> Fields {
        let [provider, module, function, name] = [provider, module, function, name].map(str::to_owned);
        Fields { provider, module, function, name }
    }
}

impl Description {
    /// The fields of the description; `None` if it is an id.
    pub fn fields(&self) -> Option<Fields> {
        match self {
            Description::Id(_) => None,
            Description::Fields(fields) => Some(Fields::clone(fields)),
            Description::Site(site) => Some(site.fields()),
        }
    }
}

impl Description {
    /// The inlined function whose copy is meant.
    pub fn inlined(&self) -> Option<&str> {
        match self {
            Description::Site(site) if site.inlined => site.copy.as_deref(),
            _ => None,
        }
    }

    /// The end of that copy's run, if the description marks one.
    pub fn end(&self) -> Option<End> {
        match self {
            Description::Site(site) => site.end,
            _ => None,
        }
    }
}

impl Site {
    /// The last field of the description: `53`; for an edge `53-61` or `53-f.cold+4`; over a static key `53-61-80`.
    pub fn name(&self) -> String {
        let mut name = self.space.number(self.offset);
        for key in &self.over {
            name += &format!("-{}", self.space.number(*key));
        }
        match &self.to {
            None => name,
            Some(Target { function: None, offset }) => format!("{name}-{}", self.space.number(*offset)),
            Some(Target { function: Some(function), offset }) => {
                format!("{name}-{function}+{}", self.space.number(*offset))
            }
        }
    }

    /// The site as a description.
    pub fn fields(&self) -> Fields {
        Fields {
            provider: self.space.provider(),
            module: self.module.clone(),
            function: self.function.clone(),
            name: self.name(),
        }
    }

    /// The offsets along an edge, in control-flow order; an end outside the function is left out.
    pub fn path(&self) -> Vec<u64> {
        let to = self.to.iter().filter(|to| to.function.is_none()).map(|to| to.offset);
        self.over.iter().copied().chain(to).collect()
    }
}

impl Probe {
    /// The site of a kinst probe. An edge's end outside its function is left out.
    pub fn site(&self) -> Option<Site> {
        let (offset, mut path) = (self.place.offset()?, self.place.path());
        let inside = matches!(self.place, Place::Edge { to, .. } if to.cast_signed() >= 0);
        let to = if inside { path.pop() } else { None };
        Some(Site {
            space: Space::Kernel,
            module: self.name.module.clone(),
            function: self.name.function.clone(),
            offset: offset.into(),
            over: path,
            to: to.map(|offset| Target { function: None, offset }),
            copy: None,
            inlined: false,
            end: None,
        })
    }
}

impl Place {
    /// Whether the place is in the kernel's text, located by its address.
    pub fn is_text(&self) -> bool {
        self.func().is_some()
    }

    /// The run-time address of the function's symbol in the kernel.
    pub fn func(&self) -> Option<u64> {
        use Place as P;
        match self {
            P::Insn { func, .. } | P::Edge { func, .. } => Some(*func),
            P::FbtEntry { func } | P::FbtReturn { func } | P::Sdt { func } => Some(*func),
            P::Driver { func, .. } | P::Gate { func, .. } => Some(*func),
            P::Begin | P::End | P::Error | P::Profile { .. } | P::Tick { .. } => None,
            P::SyscallEntry { .. } | P::SyscallReturn { .. } | P::Event { .. } | P::Program(_) => None,
        }
    }

    /// The offset of the instruction of a kinst probe.
    pub fn offset(&self) -> Option<u32> {
        match self {
            Place::Insn { offset, .. } | Place::Edge { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// The offsets along an edge, in control-flow order; an end outside the function is left out.
    pub fn path(&self) -> Vec<u64> {
        let Place::Edge { over, to, .. } = self else { return Vec::new() };
        let keys = over.iter().copied().filter(|key| *key != 0);
        let to = Some(*to).filter(|to| to.cast_signed() >= 0);
        keys.chain(to).map(u64::from).collect()
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fields { provider, module, function, name } = self;
        write!(f, "{provider}:{module}:{}:{name}", in_description(function))
    }
}

/// Whether a function is named by a symbol of C++ or Rust.
pub fn is_mangled(function: &str) -> bool {
    function.starts_with("_Z") || function.starts_with("_R")
}

/// Splits the name of a clone that a C compiler has made of a function, `f.isra.0`, from its suffix, which is empty for
/// other functions. The dots of Go are not of clones: `main.fib`.
pub fn split_clone(function: &str) -> (&str, &str) {
    let is_kind = |part: &str| {
        matches!(part, "constprop" | "isra" | "part" | "cold" | "llvm" | "lto_priv" | "localalias")
            || !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    match function.find('.') {
        Some(dot) if function[dot + 1..].split('.').all(is_kind) => function.split_at(dot),
        _ => (function, ""),
    }
}

/// Returns a function as it is written in a description: the names of C++ and Rust that have other characters than
/// names in C are in quotes.
pub fn in_description(function: &str) -> Cow<'_, str> {
    // In a symbol, a dollar sign does not begin a macro.
    let is_macro = |c: char| c == '$' && is_mangled(function);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-$_.?*\\[]!`#@+/".contains(c) && !is_macro(c);
    match function.chars().all(is_plain) {
        true => function.into(),
        false => format!("\"{function}\"").into(),
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Description::Id(id) => write!(f, "{id}"),
            Description::Fields(fields) => write!(f, "{fields}"),
            Description::Site(site) => write!(f, "{}", site.fields()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            None => write!(f, "{}", self.offset),
            Some(function) => write!(f, "{function}+{}", self.offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_clone;

    #[test]
    fn dots_of_clones_and_of_go() {
        for (name, function, suffix) in [
            ("f.isra.0", "f", ".isra.0"),
            ("f.constprop.0.isra.1", "f", ".constprop.0.isra.1"),
            ("f.cold", "f", ".cold"),
            ("f.0", "f", ".0"),
            ("f", "f", ""),
            ("main.fib", "main.fib", ""),
            ("main.main.func1.2", "main.main.func1.2", ""),
            ("example.org/x.(*T).f", "example.org/x.(*T).f", ""),
        ] {
            assert_eq!(split_clone(name), (function, suffix));
        }
    }
}

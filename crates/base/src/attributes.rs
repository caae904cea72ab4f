//! base/attributes.rs: stability attributes: how much of a name may be relied on.

use std::fmt;

/// The stabilities, from the least stable to the most.
pub const STABILITIES: [&str; 8] =
    ["Internal", "Private", "Obsolete", "External", "Unstable", "Evolving", "Stable", "Standard"];
/// The dependency classes, from the least common to the most.
pub const CLASSES: [&str; 6] = ["Unknown", "CPU", "Platform", "Group", "ISA", "Common"];

/// The stability of a name and of its data, and the dependency class of both; indices into [`STABILITIES`] and
/// [`CLASSES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Stability of the name, an index into [`STABILITIES`].
    pub name: usize,
    /// Stability of the data, an index into [`STABILITIES`].
    pub data: usize,
    /// Dependency class, an index into [`CLASSES`].
    pub class: usize,
}

/// Attributes of a program's own definitions, and of most of D itself.
pub const STABLE: Attributes = Attributes { name: 6, data: 6, class: 5 };
/// Attributes of providers of kernel code (`fbt`), and of subroutines that read kernel data (`mutex_owner`).
pub const EVOLVING: Attributes = Attributes { name: 5, data: 5, class: 5 };
/// Attributes of anything that declares none.
pub const UNSTABLE: Attributes = Attributes { name: 4, data: 4, class: 5 };
/// Attributes of a kernel symbol or type.
pub const KERNEL: Attributes = Attributes { name: 1, data: 1, class: 0 };

impl Attributes {
    /// The less stable of the two, part by part.
    pub fn min(self, other: Attributes) -> Attributes {
        Attributes {
            name: self.name.min(other.name),
            data: self.data.min(other.data),
            class: self.class.min(other.class),
        }
    }

    /// Whether every part is at least as stable as in `least`.
    pub fn reaches(self, least: Attributes) -> bool {
        self.min(least) == least
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", STABILITIES[self.name], STABILITIES[self.data], CLASSES[self.class])
    }
}

/// The attributes of a provider: of its name, the fields of its probes' descriptions, and the probes'
/// arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Attributes of the provider's name.
    pub provider: Attributes,
    /// Attributes of a description's module field.
    pub module: Attributes,
    /// Attributes of its function field.
    pub function: Attributes,
    /// Attributes of its last field, `entry`.
    pub name: Attributes,
    /// Attributes of `args[]`.
    pub args: Attributes,
}

const PRIVATE: Attributes = Attributes { class: 4, ..KERNEL };
const UNSTABLE_ISA: Attributes = Attributes { class: 4, ..UNSTABLE };

const OF_CODE: Provider =
    Provider { provider: EVOLVING, module: KERNEL, function: PRIVATE, name: EVOLVING, args: PRIVATE };

/// The providers of programs: `pid1234` and `uprobe`.
const OF_PROGRAMS: Provider = Provider {
    provider: Attributes { class: 4, ..EVOLVING },
    module: KERNEL,
    function: KERNEL,
    name: Attributes { class: 4, ..EVOLVING },
    args: KERNEL,
};

/// The providers of the kernel and of programs, with their attributes from the tables in the DTrace guide and FreeBSD.
/// Providers of D libraries declare theirs in the library.
pub const PROVIDERS: [(&str, Provider); 11] = [
    ("dtrace", Provider { provider: STABLE, module: KERNEL, function: KERNEL, name: STABLE, args: STABLE }),
    ("fbt", OF_CODE),
    ("io", Provider::UNKNOWN),
    ("kinst", OF_CODE),
    ("pid", OF_PROGRAMS),
    ("proc", Provider::UNKNOWN),
    (
        "profile",
        Provider {
            provider: EVOLVING,
            module: Attributes { class: 0, ..UNSTABLE },
            function: KERNEL,
            name: EVOLVING,
            args: EVOLVING,
        },
    ),
    ("sched", Provider::UNKNOWN),
    (
        "sdt",
        Provider {
            provider: Attributes { class: 4, ..EVOLVING },
            module: KERNEL,
            function: KERNEL,
            name: PRIVATE,
            args: PRIVATE,
        },
    ),
    (
        "syscall",
        Provider {
            provider: EVOLVING,
            module: KERNEL,
            function: UNSTABLE_ISA,
            name: EVOLVING,
            args: UNSTABLE_ISA,
        },
    ),
    ("uprobe", OF_PROGRAMS),
];

/// Providers of D libraries whose probes share the places of other providers.
pub const ALIASES: [&str; 3] = ["mib", "sysinfo", "vminfo"];

/// The names of all providers, in order.
pub fn providers() -> Vec<&'static str> {
    // The provider of a process is named with its number.
    let known = PROVIDERS.iter().map(|known| known.0).filter(|name| *name != "pid");
    let mut names: Vec<&str> = known.chain(ALIASES).collect();
    names.sort_unstable();
    names
}

impl Provider {
    /// The attributes of a provider that declares none, and of a description that names no provider.
    pub const UNKNOWN: Provider =
        Provider { provider: UNSTABLE, module: UNSTABLE, function: UNSTABLE, name: UNSTABLE, args: UNSTABLE };

    /// The attributes of a provider that no library declares.
    pub fn known(name: &str) -> Option<Provider> {
        // The provider of a process has its number: pid1234.
        let name = match name.strip_prefix("pid") {
            Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => "pid",
            _ => name,
        };
        PROVIDERS.iter().find(|known| known.0 == name).map(|known| known.1)
    }

    /// The part that a pragma names.
    pub fn part(&mut self, part: &str) -> Option<&mut Attributes> {
        Some(match part {
            "provider" => &mut self.provider,
            "module" => &mut self.module,
            "function" => &mut self.function,
            "name" => &mut self.name,
            "args" => &mut self.args,
            _ => return None,
        })
    }

    /// The attributes of a description: the least stable among the provider and the fields that it spells
    /// out.
    pub fn of_description(&self, module: bool, function: bool, name: bool) -> Attributes {
        let fields = [(module, self.module), (function, self.function), (name, self.name)];
        let written = fields.into_iter().filter(|(written, _)| *written);
        written.fold(self.provider, |least, (_, attributes)| least.min(attributes))
    }
}

/// Why a string is not a set of attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is not three words separated by slashes.
    Shape,
    /// The first or second word, which is not in [`STABILITIES`].
    Stability(String),
    /// The third word, which is not in [`CLASSES`].
    Class(String),
}

/// Parses `Evolving/Evolving/Common`; case is ignored.
pub fn parse(text: &str) -> Result<Attributes, Trouble> {
    let words: Vec<&str> = text.split('/').collect();
    let [name, data, class] = words[..] else { return Err(Trouble::Shape) };
    let stability = |word: &str| {
        let found = STABILITIES.iter().position(|known| known.eq_ignore_ascii_case(word));
        found.ok_or_else(|| Trouble::Stability(word.to_owned()))
    };
    let found = CLASSES.iter().position(|known| known.eq_ignore_ascii_case(class));
    Ok(Attributes {
        name: stability(name)?,
        data: stability(data)?,
        class: found.ok_or_else(|| Trouble::Class(class.to_owned()))?,
    })
}

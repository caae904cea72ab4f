//! knowledge/symbols.rs: functions and variables of the running kernel by name, from /proc/kallsyms.

use kinst_base::image::KERNEL_PROPER;

/// The facts about one symbol, without its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The module that contains it; `vmlinux` for the kernel proper.
    pub module: String,
    /// The symbol's name.
    pub name: String,
    /// The address in the running kernel; in a sysroot, the address in the file.
    pub address: u64,
    /// The size in bytes; 0 if unknown.
    pub bytes: u64,
    /// Whether it is a function rather than a variable.
    pub function: bool,
}

/// The text of /proc/kallsyms.
#[derive(Debug, Default)]
pub(crate) struct Kallsyms(String);

impl Kallsyms {
    pub(crate) fn read() -> Kallsyms {
        Kallsyms(std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// The first symbol of this name; the kernel proper comes before modules, as in the file.
    pub(crate) fn find(&self, module: Option<&str>, name: &str) -> Option<Located> {
        let mut rest = self.0.as_str();
        let finder = memchr::memmem::Finder::new(name.as_bytes());
        while let Some(at) = finder.find(rest.as_bytes()) {
            let start = rest[..at].rfind('\n').map_or(0, |at| at + 1);
            let end = rest[at..].find('\n').map_or(rest.len(), |length| at + length);
            let line = Line::parse(&rest[start..end])
                .filter(|line| line.name == name && module.is_none_or(|module| module == line.module));
            if let Some(line) = line {
                return Some(self.located(&line));
            }
            rest = &rest[end..];
        }
        None
    }

    fn located(&self, line: &Line<'_>) -> Located {
        let named = matches!(line.kind, "t" | "T" | "w" | "W" | "i");
        Located {
            module: line.module.to_owned(),
            name: line.name.to_owned(),
            address: line.address,
            bytes: 0,
            function: named && (line.module != KERNEL_PROPER || self.is_text(line.address)),
        }
    }

    /// Newer kernels list variables as `T` too. If the bounds of the text are unknown, every address counts
    /// as text.
    fn is_text(&self, address: u64) -> bool {
        let within = |(first, last)| match (self.address(first), self.address(last)) {
            (Some(first), Some(last)) => (first..last).contains(&address),
            _ => true,
        };
        within(("_stext", "_etext")) || within(("_sinittext", "_einittext"))
    }

    fn address(&self, bound: &str) -> Option<u64> {
        let line = memchr::memmem::find_iter(self.0.as_bytes(), bound).find_map(|at| {
            let start = self.0[..at].rfind('\n').map_or(0, |at| at + 1);
            Line::parse(self.0[start..].lines().next()?).filter(|line| line.name == bound)
        });
        line.map(|line| line.address)
    }
}

/// `ffffffff81000000 T _text [module]`
struct Line<'a> {
    address: u64,
    kind: &'a str,
    name: &'a str,
    module: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Line<'a>> {
        let mut fields = line.split_ascii_whitespace();
        let address = u64::from_str_radix(fields.next()?, 16).ok()?;
        let (kind, name) = (fields.next()?, fields.next()?);
        let module = fields.next().map_or(KERNEL_PROPER, |module| module.trim_matches(['[', ']']));
        Some(Line { address, kind, name, module })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_the_text_is_a_variable_whatever_its_letter() {
        let text = "ffffffff81000000 T _stext
ffffffff81000010 t helper
ffffffff81000100 T _etext
ffffffff82000000 T jiffies
ffffffff83000000 T _sinittext
ffffffff83000010 t start
ffffffff83000100 T _einittext
ffffffffc0000000 t helper\t[ext4]
ffffffffc0000800 d table\t[ext4]
";
        let symbols = Kallsyms(text.to_owned());
        let function = |module, name| symbols.find(module, name).map(|found| found.function);
        assert_eq!(function(None, "helper"), Some(true));
        assert_eq!(function(None, "jiffies"), Some(false));
        assert_eq!(function(None, "start"), Some(true));
        assert_eq!(function(Some("ext4"), "helper"), Some(true));
        assert_eq!(function(Some("ext4"), "table"), Some(false));
        assert_eq!(function(Some("vmlinux"), "table"), None);
        assert_eq!(symbols.find(Some("ext4"), "helper").unwrap().address, 0xffff_ffff_c000_0000);
        assert_eq!(function(None, "help"), None, "a part of a name");
    }
}

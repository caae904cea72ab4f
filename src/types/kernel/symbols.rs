//! types/kernel/symbols.rs: functions and variables of the running kernel by name, from /proc/kallsyms.

use super::Located;

/// The text of /proc/kallsyms.
#[derive(Debug, Default)]
pub(super) struct Kallsyms(String);

impl Kallsyms {
    pub fn read() -> Kallsyms {
        Kallsyms(std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// The first symbol of the name; of the kernel proper before those of modules, as the file has them.
    pub fn find(&self, module: Option<&str>, name: &str) -> Option<Located> {
        let mut rest = self.0.as_str();
        let finder = memchr::memmem::Finder::new(name.as_bytes());
        while let Some(at) = finder.find(rest.as_bytes()) {
            let start = rest[..at].rfind('\n').map_or(0, |at| at + 1);
            let end = rest[at..].find('\n').map_or(rest.len(), |length| at + length);
            let located = Line::parse(&rest[start..end])
                .filter(|line| line.name == name && module.is_none_or(|module| module == line.module));
            if let Some(located) = located {
                return Some(located.into());
            }
            rest = &rest[end..];
        }
        None
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
        let module =
            fields.next().map_or(crate::sites::KERNEL_PROPER, |module| module.trim_matches(['[', ']']));
        Some(Line { address, kind, name, module })
    }
}

impl From<Line<'_>> for Located {
    fn from(line: Line<'_>) -> Located {
        Located {
            module: line.module.to_owned(),
            name: line.name.to_owned(),
            address: line.address,
            bytes: 0,
            function: matches!(line.kind, "t" | "T" | "w" | "W" | "i"),
        }
    }
}

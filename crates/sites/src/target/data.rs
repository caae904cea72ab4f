//! sites/target/data.rs: the symbols of the running kernel by address, to look up variables.

use super::symbolized::Symbolized;
use kinst_base::image::KERNEL_PROPER;
use std::sync::OnceLock;

/// The text of /proc/kallsyms, and its symbols by address, which are parsed on demand.
#[derive(Debug, Default)]
pub(super) struct AllSymbols {
    text: String,
    /// The text of /proc/modules, read before it.
    modules: String,
    by_address: OnceLock<ByAddress>,
}

#[derive(Debug, Default)]
struct ByAddress {
    /// Start of each line.
    lines: Vec<(u64, u32)>,
    /// Code of the kernel proper: newer kernels list its variables as `T` too.
    code: Vec<(u64, u64)>,
}

/// A variable at the end of a module's symbols extends at most to the end of its page.
const PAGE: u64 = 4096;

impl AllSymbols {
    pub(super) fn new(text: String) -> AllSymbols {
        AllSymbols { text, ..AllSymbols::default() }
    }

    pub(super) fn of_running_kernel() -> AllSymbols {
        let [modules, text] =
            ["/proc/modules", "/proc/kallsyms"].map(|file| std::fs::read_to_string(file).unwrap_or_default());
        AllSymbols { text, modules, ..AllSymbols::default() }
    }

    fn by_address(&self) -> &ByAddress {
        self.by_address.get_or_init(|| ByAddress::read(&self.text))
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn modules(&self) -> &str {
        &self.modules
    }

    /// Returns the variable that contains an address.
    pub(super) fn variable(&self, address: u64) -> Option<Symbolized> {
        let ByAddress { lines, .. } = self.by_address();
        let after = lines.partition_point(|(start, _)| *start <= address);
        let start = lines[..after].last()?.0;
        let same = lines[..after].iter().rev().take_while(|(other, _)| *other == start);
        let names = same.filter_map(|(_, line)| Line::parse(&self.text[*line as usize..]));
        // Linker labels begin with an underscore.
        let symbol = names.min_by_key(|line| (line.name.starts_with('_'), line.kind.is_ascii_lowercase()))?;
        let next = lines.get(after).and_then(|(_, line)| Line::parse(&self.text[*line as usize..]));
        let end = match next.filter(|next| next.module == symbol.module) {
            Some(next) => next.address,
            None => (start / PAGE + 1).saturating_mul(PAGE),
        };
        (address < end && self.is_variable(&symbol)).then(|| Symbolized {
            module: symbol.module.to_owned(),
            function: symbol.name.to_owned(),
            offset: address - start,
        })
    }

    /// Returns the address of the kernel proper's symbol with this name.
    pub(super) fn address_of(&self, name: &str) -> Option<u64> {
        let found = memchr::memmem::find_iter(self.text.as_bytes(), name);
        let mut lines = found.filter_map(|at| {
            let start = self.text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
            Line::parse(self.text.get(start..)?)
        });
        lines
            .find(|line| line.name == name && line.module == KERNEL_PROPER && line.address != 0)
            .map(|line| line.address)
    }

    /// Returns the address of the next symbol.
    pub(super) fn next(&self, address: u64) -> Option<u64> {
        let ByAddress { lines, .. } = self.by_address();
        lines.get(lines.partition_point(|(start, _)| *start <= address)).map(|(start, _)| *start)
    }

    fn is_variable(&self, line: &Line<'_>) -> bool {
        let ByAddress { code, .. } = self.by_address();
        match line.kind.to_ascii_lowercase() {
            'b' | 'd' | 'g' | 'r' | 's' | 'v' => true,
            't' if line.module == KERNEL_PROPER && code[0].0 < code[0].1 => {
                !code.iter().any(|(first, last)| (*first..*last).contains(&line.address))
            }
            _ => false,
        }
    }
}

impl ByAddress {
    fn read(text: &str) -> ByAddress {
        let (mut lines, mut at) = (Vec::new(), 0);
        let bounds = ["_stext", "_etext", "_sinittext", "_einittext"];
        let mut found = [0; 4];
        for line in text.split_inclusive('\n') {
            if let (Some(parsed), Ok(start)) = (Line::parse(line), u32::try_from(at)) {
                // Low addresses are offsets of per-CPU variables.
                if parsed.address >> 63 != 0 {
                    lines.push((parsed.address, start));
                }
                if let Some(bound) = bounds.iter().position(|bound| *bound == parsed.name) {
                    found[bound] = parsed.address;
                }
            }
            at += line.len();
        }
        lines.sort_unstable();
        ByAddress { lines, code: vec![(found[0], found[1]), (found[2], found[3])] }
    }
}

/// `ffffffff81000000 T _text [module]`
struct Line<'a> {
    address: u64,
    kind: char,
    name: &'a str,
    module: &'a str,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Option<Line<'a>> {
        let mut fields = text.lines().next()?.split_ascii_whitespace();
        let address = u64::from_str_radix(fields.next()?, 16).ok()?;
        let (kind, name) = (fields.next()?.chars().next()?, fields.next()?);
        let module = fields.next().map_or(KERNEL_PROPER, |module| module.trim_matches(['[', ']']));
        Some(Line { address, kind, name, module })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_by_address() {
        let text = "0000000000001000 A this_cpu_off\nffffffff81000000 T _stext\nffffffff81000100 T open\nffffffff81001000 T _etext\n\
                    ffffffff81002000 D _sdata\nffffffff81002000 D max_pfn\nffffffff81002008 T late\nffffffff81002010 b hidden\n\
                    ffffffffc0000000 t init_one [one]\nffffffffc0001000 d state [one]\nbroken\n";
        let symbols = AllSymbols::new(text.to_owned());
        let shown = |address| {
            symbols
                .variable(address)
                .map(|found| format!("{}`{}+{}", found.module, found.function, found.offset))
        };
        assert_eq!(symbols.address_of("late"), Some(0xffff_ffff_8100_2008));
        assert_eq!(symbols.address_of("state"), None, "it is a module's");
        assert_eq!(symbols.next(0xffff_ffff_8100_2000), Some(0xffff_ffff_8100_2008));
        assert_eq!(shown(0xffff_ffff_8100_2000).unwrap(), "vmlinux`max_pfn+0");
        assert_eq!(shown(0xffff_ffff_8100_2004).unwrap(), "vmlinux`max_pfn+4");
        assert_eq!(shown(0xffff_ffff_8100_200a).unwrap(), "vmlinux`late+2");
        assert_eq!(shown(0xffff_ffff_8100_2fff).unwrap(), "vmlinux`hidden+4079");
        assert_eq!(shown(0xffff_ffff_c000_1001).unwrap(), "one`state+1");
        for nothing in [
            0,
            0x1000,
            0xffff_8880_0000_0000,
            0xffff_ffff_8100_0100,
            0xffff_ffff_8100_3000,
            0xffff_ffff_c000_0010,
        ] {
            assert_eq!(shown(nothing), None, "{nothing:x}");
        }
    }
}

//! sites/symtab.rs: lookup of module, symbol and offset by address, in ELF symbol tables and in /proc/kallsyms.

use kinst_base::image::KERNEL_PROPER;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use kinst_debuginfo::{CodeSymbol, ElfFile, Error};

/// The name of a function, or of a label in assembly code.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Symbol {
    pub address: u64,
    /// Size in bytes; for a symbol without a size, up to the next symbol.
    pub size: u64,
    name_at: u32,
    name_len: u16,
    /// Rank among the names at one address, lower is better; the highest bit is [`Symbol::gone`].
    rank: u16,
}

/// Bit of `rank` that marks freed code.
const GONE: u16 = 1 << 15;
/// Bits of labels in assembly code, and of symbols that are not global.
const UNTYPED: u16 = 1 << 12;
const LOCAL: u16 = 1 << 8;

/// The code symbols of one module.
#[derive(Debug, Default)]
pub struct Symbols {
    table: Table,
    /// Indices in the table, sorted by name; built when it pays off.
    by_name: OnceLock<Vec<u32>>,
    asked: AtomicU32,
    /// Address of `_stext`, for comparing the running kernel with the file.
    text_start: Option<u64>,
}

/// Storage of the symbols.
#[derive(Debug)]
enum Table {
    /// Read from a file, by address, with the preferred name of an address first.
    Read {
        names: String,
        symbols: Vec<Symbol>,
    },
    Stored(Arc<dyn Stored>),
}

/// Cached symbols: the results of [`Symbols::parts`] and [`Symbols::sorted_by_name`].
pub trait Stored: std::fmt::Debug + Send + Sync {
    fn parts(&self) -> (&[u8], &[Symbol]);
    fn by_name(&self) -> &[u32];
    fn text_start(&self) -> Option<u64>;
}

impl Default for Table {
    fn default() -> Table {
        Table::Read { names: String::new(), symbols: Vec::new() }
    }
}

impl Symbol {
    /// Whether it is code of the kernel proper that is freed after boot. For modules, such symbols are dropped.
    pub fn gone(&self) -> bool {
        self.rank & GONE != 0
    }

    /// Whether its name is UTF-8 and one of these.
    pub(crate) fn is_named_in(&self, names: &[u8]) -> bool {
        self.name_in(names).is_some_and(|name| str::from_utf8(name).is_ok())
    }

    fn name_in<'n>(&self, names: &'n [u8]) -> Option<&'n [u8]> {
        let start = self.name_at as usize;
        names.get(start..start.saturating_add(self.name_len.into()))
    }
}

/// Role of a file in the kernel; determines which code is freed after initialization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its .exit.text is freed together with its .init.text.
    Vmlinux,
    Module,
    /// A program, or a separate file: all code counts.
    Program,
}

impl Role {
    fn is_freed(self, section: &str) -> bool {
        match self {
            Role::Vmlinux => {
                [".init", ".exit", ".altinstr_aux"].iter().any(|freed| section.starts_with(freed))
            }
            Role::Module => section.starts_with(".init"),
            Role::Program => false,
        }
    }
}

impl Symbols {
    pub fn of_image(image: &ElfFile, role: Role) -> Result<Symbols, Error> {
        let mut read = Reader::default();
        image.for_each_code_symbol(|symbol| {
            if symbol.name == "_stext" {
                read.text_start = Some(symbol.address);
            }
            if let Some(section) = image.section_at(symbol.address).filter(|_| !is_no_function(symbol.name)) {
                let gone = role.is_freed(&section.name);
                // Only vmlinux retains the names of freed code (as kallsyms does).
                if role == Role::Vmlinux || !gone {
                    read.push(symbol, gone, section.range().end);
                }
            }
        })?;
        Ok(read.finish())
    }

    /// Adds functions to those of a file: name, address and size. Both have the names that `name` returns.
    pub fn with(self, functions: &[(&str, u64, u64)], name: impl Fn(&str) -> Cow<'_, str>) -> Symbols {
        let mut read = Reader::default();
        let old = self.iter().map(|(name, symbol)| (name, symbol.address, symbol.size, symbol.rank));
        let new = functions.iter().map(|(name, address, size)| (*name, *address, *size, 0));
        for (old, address, size, rank) in old.chain(new) {
            let name = name(old);
            let (function, global) = (rank & UNTYPED == 0, rank & LOCAL == 0);
            read.push(
                CodeSymbol { name: &name, address, size, function, global },
                rank & GONE != 0,
                u64::MAX,
            );
        }
        Symbols { text_start: self.text_start, ..read.finish() }
    }

    /// Wraps the cached symbols of a module.
    pub fn stored(stored: Arc<dyn Stored>) -> Symbols {
        let text_start = stored.text_start();
        Symbols { table: Table::Stored(stored), text_start, ..Symbols::default() }
    }

    /// Parses the symbols of all modules in /proc/kallsyms; `vmlinux` is the kernel proper. Addresses are
    /// zero for users who may not see them. `proper` says whether to include the kernel proper, which is most
    /// of the text.
    pub fn of_kallsyms(text: &str, proper: bool) -> HashMap<String, Symbols> {
        let mut modules: HashMap<&str, Reader> = HashMap::new();
        let (mut init_start, mut init_end) = (0, 0);
        for line in text.lines().filter(|line| proper || line.ends_with(']')) {
            let mut fields = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            match name {
                "_sinittext" => init_start = address,
                "__init_end" => init_end = address,
                _ => {}
            }
            let module = fields.next().map_or(KERNEL_PROPER, |module| module.trim_matches(['[', ']']));
            if !matches!(kind, "t" | "T" | "w" | "W") || is_no_function(name) || is_no_module(module) {
                continue;
            }
            let symbol = CodeSymbol { name, address, size: 0, function: true, global: kind != "t" };
            modules.entry(module).or_default().push(symbol, false, u64::MAX);
        }
        if let Some(vmlinux) = modules.get_mut(KERNEL_PROPER) {
            for symbol in &mut vmlinux.symbols {
                if (init_start..init_end).contains(&symbol.address) {
                    symbol.rank |= GONE;
                }
            }
        }
        modules.into_iter().map(|(name, read)| (name.to_owned(), read.finish())).collect()
    }

    /// Returns the address of `_stext` in the file.
    pub fn text_start(&self) -> Option<u64> {
        self.text_start
    }

    pub fn name(&self, symbol: &Symbol) -> &str {
        let range = symbol.name_at as usize..symbol.name_at as usize + usize::from(symbol.name_len);
        match &self.table {
            Table::Read { names, .. } => names.get(range).unwrap_or_default(),
            Table::Stored(stored) => {
                let bytes = stored.parts().0.get(range);
                bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
            }
        }
    }

    /// Returns the symbols by address; aliases are adjacent, the preferred one first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Symbol)> {
        self.table().iter().map(|symbol| (self.name(symbol), symbol))
    }

    /// Returns the symbols in the order of [`Symbols::iter`], without their names, which are slower to read.
    pub fn records(&self) -> &[Symbol] {
        self.table()
    }

    /// Returns the symbol at an index in that order.
    pub fn at(&self, place: usize) -> (&str, &Symbol) {
        let symbol = &self.table()[place];
        (self.name(symbol), symbol)
    }

    /// Returns the symbol that contains the address, if any.
    pub fn containing(&self, address: u64) -> Option<&Symbol> {
        let symbols = self.table();
        let after = symbols.partition_point(|symbol| symbol.address <= address);
        let last = symbols[..after].last()?;
        let before = symbols[..after].iter().rposition(|symbol| symbol.address != last.address);
        let aliases = &symbols[before.map_or(0, |before| before + 1)..after];
        let inside = |symbol: &Symbol| address - symbol.address < symbol.size;
        aliases.iter().find(|symbol| inside(symbol))
    }

    /// Returns all names of the function at an address.
    pub fn names_at(&self, address: u64) -> impl Iterator<Item = &str> {
        let first = self.table().partition_point(|symbol| symbol.address < address);
        let same = self.table()[first..].iter().take_while(move |symbol| symbol.address == address);
        same.map(|symbol| self.name(symbol))
    }

    /// Returns the symbols with this name, by address; freed init symbols are included, as in kallsyms.
    pub fn named(&self, name: &str) -> Vec<&Symbol> {
        let (names, symbols) = self.parts();
        let Some(by_name) = self.by_name() else {
            return symbols.iter().filter(|symbol| symbol.name_in(names) == Some(name.as_bytes())).collect();
        };
        let named = |place: &u32| self.at(*place as usize).0;
        let first = by_name.partition_point(|place| named(place) < name);
        let same = by_name[first..].iter().take_while(|place| named(place) == name);
        same.map(|place| &symbols[*place as usize]).collect()
    }

    /// Returns the out-of-line instances of a function, by their names in fbt: the function itself and its
    /// clones that begin at its start (`.isra.0`, `.constprop.0`), but not its split-off parts (`.part.0`,
    /// `.cold`).
    pub fn instances(&self, function: &str) -> Vec<String> {
        let (names, symbols) = self.parts();
        let is_instance = |symbol: &Symbol| {
            let name = self.name(symbol);
            !symbol.gone() && name.strip_prefix(function).is_some_and(is_clone_suffix)
        };
        let begins = |symbol: &&Symbol| {
            symbol.name_in(names).is_some_and(|name| name.starts_with(function.as_bytes()))
        };
        let candidates: Vec<&Symbol> = match self.by_name() {
            None => symbols.iter().filter(begins).filter(|symbol| is_instance(symbol)).collect(),
            Some(by_name) => {
                let named = |place: &u32| self.at(*place as usize).0;
                let first = by_name.partition_point(|place| named(place) < function);
                let clones = by_name[first..].iter().take_while(|place| {
                    let rest = named(place).strip_prefix(function);
                    rest.is_some_and(|rest| rest.bytes().next().is_none_or(|byte| byte <= b'.'))
                });
                let mut places: Vec<u32> = clones.copied().collect();
                places.sort_unstable();
                let clones = places.iter().map(|place| &symbols[*place as usize]);
                clones.filter(|symbol| is_instance(symbol)).collect()
            }
        };
        let mut found: Vec<String> = Vec::new();
        let mut last_address = None;
        for symbol in candidates {
            let name = self.name(symbol);
            if last_address != Some(symbol.address) && !found.iter().any(|known| known == name) {
                found.push(name.to_owned());
            }
            last_address = Some(symbol.address);
        }
        found.sort();
        found
    }

    /// Returns their memory use in bytes.
    pub fn bytes(&self) -> usize {
        let (names, symbols) = self.parts();
        names.len() + size_of_val(symbols)
    }

    /// Returns the concatenated names, and the symbols by address.
    pub(crate) fn parts(&self) -> (&[u8], &[Symbol]) {
        match &self.table {
            Table::Read { names, symbols } => (names.as_bytes(), symbols),
            Table::Stored(stored) => stored.parts(),
        }
    }

    /// Returns the indices of the symbols, ordered by name, then by address.
    pub(crate) fn sorted_by_name(&self) -> Vec<u32> {
        let mut places: Vec<u32> = (0..self.table().len() as u32).collect();
        places.sort_unstable_by_key(|place| (self.at(*place as usize).0, *place));
        places
    }

    fn by_name(&self) -> Option<&[u32]> {
        // Most scripts look up a few names, which is faster than building an index.
        const FEW: u32 = 32;
        if let Table::Stored(stored) = &self.table {
            return Some(stored.by_name());
        }
        if self.by_name.get().is_none() && self.asked.fetch_add(1, Ordering::Relaxed) < FEW {
            return None;
        }
        Some(self.by_name.get_or_init(|| self.sorted_by_name()))
    }

    fn table(&self) -> &[Symbol] {
        self.parts().1
    }
}

/// Symbols being read, in the order of their file.
#[derive(Default)]
struct Reader {
    names: String,
    symbols: Vec<Symbol>,
    /// End of each symbol's section; the highest address if unknown.
    ends: Vec<u64>,
    text_start: Option<u64>,
}

impl Reader {
    fn push(&mut self, symbol: CodeSymbol<'_>, gone: bool, end: u64) {
        // No compiler generates longer names, or so many that their offsets do not fit.
        let (Ok(name_at), Ok(name_len)) = (u32::try_from(self.names.len()), u16::try_from(symbol.name.len()))
        else {
            return;
        };
        self.names.push_str(symbol.name);
        let underscores = symbol.name.len() - symbol.name.trim_start_matches('_').len();
        let rank = (u16::from(gone) * GONE)
            | (u16::from(!symbol.function) * UNTYPED)
            | (u16::from(!symbol.global) * LOCAL)
            | underscores.min(0xff) as u16;
        let (address, size) = (symbol.address, symbol.size);
        self.symbols.push(Symbol { address, size, name_at, name_len, rank });
        self.ends.push(end);
    }

    /// Sorts the symbols, and assigns sizes to those without.
    fn finish(self) -> Symbols {
        let (names, symbols, ends) = (self.names, self.symbols, self.ends);
        let name = |symbol: &Symbol| {
            &names[symbol.name_at as usize..symbol.name_at as usize + usize::from(symbol.name_len)]
        };
        let mut order: Vec<(u64, u16, u32)> =
            (0..).zip(&symbols).map(|(place, symbol)| (symbol.address, symbol.rank, place)).collect();
        // If all addresses are zero, the order of kallsyms is the only information.
        let hidden = symbols.iter().all(|symbol| symbol.address == 0);
        if !hidden {
            order.sort_unstable_by(|a, b| {
                let by_name = || name(&symbols[a.2 as usize]).cmp(name(&symbols[b.2 as usize]));
                (a.0, a.1).cmp(&(b.0, b.1)).then_with(by_name).then(a.2.cmp(&b.2))
            });
        }
        let mut keyed: Vec<(Symbol, u64)> =
            order.iter().map(|(_, _, place)| (symbols[*place as usize], ends[*place as usize])).collect();
        let mut next = None;
        for index in (0..keyed.len()).rev() {
            let (symbol, end) = keyed[index];
            if let Some((following, _)) =
                keyed.get(index + 1).filter(|(following, _)| following.address > symbol.address)
            {
                next = Some(following.address);
            }
            if symbol.size == 0 && !hidden {
                // The end of the last symbol in kallsyms is unknown; a page suffices to read its instructions.
                let end = if end == u64::MAX { symbol.address.saturating_add(4096) } else { end };
                keyed[index].0.size = next.map_or(end, |next| next.min(end)) - symbol.address;
            }
        }
        let symbols = keyed.into_iter().map(|(symbol, _)| symbol).collect();
        let table = Table::Read { names, symbols };
        Symbols { table, text_start: self.text_start, ..Symbols::default() }
    }
}

/// Whether the name is a marker in the text, or of padding before a function: never a function. Kallsyms
/// omits most of them too (scripts/kallsyms.c).
fn is_no_function(name: &str) -> bool {
    const MARKS: [&str; 14] = [
        "_text",
        "_stext",
        "_etext",
        "_sinittext",
        "_einittext",
        "__init_begin",
        "__init_end",
        "_sexittext",
        "_eexittext",
        "runtime.text",
        "runtime.etext",
        "__indirect_thunk_start",
        "__indirect_thunk_end",
        "__end_of_kernel_reserve",
    ];
    // Code that runs before or beside the kernel has copies of all names, including the assembler's.
    let own = ["__pi_", "__kvm_nvhe_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    name.starts_with("__pfx_")
        || name.starts_with("__cfi_")
        || name.starts_with("__efistub_")
        || own.starts_with(".L")
        || own.starts_with('$')
        || name.ends_with("_text_start")
        || name.ends_with("_text_end")
        || MARKS.contains(&name)
}

/// Whether kallsyms lists generated code under this name, as if it were a module.
fn is_no_module(module: &str) -> bool {
    module == "bpf" || module.starts_with("__builtin__")
}

/// Whether this is a suffix that compilers append to the name of a copy of a whole function.
fn is_clone_suffix(suffix: &str) -> bool {
    let mut parts = suffix.split('.');
    if parts.next() != Some("") {
        return false;
    }
    let mut previous_is_kind = false;
    for part in parts {
        match part {
            "isra" | "constprop" | "lto_priv" | "llvm" => previous_is_kind = true,
            number
                if previous_is_kind
                    && !number.is_empty()
                    && number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                previous_is_kind = false;
            }
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests;

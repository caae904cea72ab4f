//! sites/code/tables.rs: the tables of special places in the text of a kernel or module, read from its file.

use std::borrow::Cow;
use std::ops::Range;

use super::refusal::{Refusal, overlap};
use kinst_debuginfo::ElfFile;

/// The tables, each sorted, with the addresses of the file that has the code.
#[derive(Debug, Default)]
pub struct Tables {
    fentry: Vec<u64>,
    jump_labels: Vec<u64>,
    static_calls: Vec<u64>,
    /// Function addresses, and whole ranges of text.
    blacklist: Vec<u64>,
    blacklisted_text: Vec<Range<u64>>,
    static_call_text: Vec<Range<u64>>,
    rewritten: Vec<(Range<u64>, Rewriting)>,
}

/// How the kernel rewrites an instruction at boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rewriting {
    /// For the CPU.
    Alternative,
    /// For the hypervisor.
    Paravirt,
    /// An indirect call or jump.
    Retpoline,
    /// A return.
    ReturnThunk,
}

impl Rewriting {
    /// Returns the phrase for a listing: "rewritten at boot (return)".
    pub fn words(self) -> &'static str {
        match self {
            Rewriting::Alternative => "rewritten at boot for the CPU (alternative)",
            Rewriting::Paravirt => "rewritten at boot for the hypervisor (paravirt)",
            Rewriting::Retpoline => "rewritten at boot (indirect branch)",
            Rewriting::ReturnThunk => "rewritten at boot (return)",
        }
    }
}

/// A table: between two symbols in vmlinux, a section in a module.
struct Table {
    start: &'static str,
    stop: &'static str,
    section: &'static str,
}

const MCOUNT: Table =
    Table { start: "__start_mcount_loc", stop: "__stop_mcount_loc", section: "__mcount_loc" };
/// A section of modules on machines whose functions begin with space for a call.
const PATCHABLE: &str = "__patchable_function_entries";

const TABLES: [Table; 8] = [
    MCOUNT,
    Table { start: "__start___jump_table", stop: "__stop___jump_table", section: "__jump_table" },
    Table {
        start: "__start_static_call_sites",
        stop: "__stop_static_call_sites",
        section: ".static_call_sites",
    },
    Table {
        start: "__start_kprobe_blacklist",
        stop: "__stop_kprobe_blacklist",
        section: "_kprobe_blacklist",
    },
    Table { start: "__alt_instructions", stop: "__alt_instructions_end", section: ".altinstructions" },
    Table { start: "__parainstructions", stop: "__parainstructions_end", section: ".parainstructions" },
    Table { start: "__retpoline_sites", stop: "__retpoline_sites_end", section: ".retpoline_sites" },
    Table { start: "__return_sites", stop: "__return_sites_end", section: ".return_sites" },
];

/// Ranges of text, located in the same way.
const TEXT: [Table; 4] = [
    Table { start: "__kprobes_text_start", stop: "__kprobes_text_end", section: ".kprobes.text" },
    Table { start: "__noinstr_text_start", stop: "__noinstr_text_end", section: ".noinstr.text" },
    Table { start: "__entry_text_start", stop: "__entry_text_end", section: ".entry.text" },
    Table { start: "__static_call_text_start", stop: "__static_call_text_end", section: ".static_call.text" },
];

/// Bytes, and their address.
struct Contents<'i> {
    address: u64,
    bytes: Cow<'i, [u8]>,
}

impl Tables {
    /// Reads the tables. `image` is the file that has the code; `names` has its symbols, and may be another file.
    pub fn read(image: &ElfFile, names: &ElfFile) -> Tables {
        let [mcount, jumps, calls, blacklist, alternatives, paravirt, retpolines, returns] =
            contents(image, names, &TABLES);
        let mut tables = Tables {
            fentry: mcount.absolute(image),
            jump_labels: jumps.relative(16),
            static_calls: calls.relative(8),
            blacklist: blacklist.absolute(image),
            ..Tables::default()
        };
        let [kprobes, noinstr, entry, static_calls] = text(image, names);
        tables.blacklisted_text = [kprobes, noinstr, entry].into_iter().flatten().collect();
        tables.static_call_text = static_calls.into_iter().collect();
        let mut rewritten = alternatives.alternatives(image);
        rewritten.extend(paravirt.paravirt());
        // Five bytes: a call or jump to a thunk.
        let thunks =
            |addresses: Vec<u64>, how| addresses.into_iter().map(move |at| (at..at.saturating_add(5), how));
        rewritten.extend(thunks(retpolines.relative(4), Rewriting::Retpoline));
        rewritten.extend(thunks(returns.relative(4), Rewriting::ReturnThunk));
        rewritten.sort_by_key(|(range, how)| (range.start, range.end, *how));
        tables.rewritten = rewritten;
        for list in
            [&mut tables.fentry, &mut tables.jump_labels, &mut tables.static_calls, &mut tables.blacklist]
        {
            list.sort_unstable();
        }
        tables
    }

    /// Returns the ftrace site of a function.
    pub fn fentry(&self, function: Range<u64>) -> Option<u64> {
        first_in(&self.fentry, function)
    }

    pub fn is_blacklisted(&self, address: u64) -> bool {
        self.blacklist.binary_search(&address).is_ok()
            || self.blacklisted_text.iter().any(|text| text.contains(&address))
    }

    pub fn is_static_call(&self, address: u64) -> bool {
        self.static_call_text.iter().any(|text| text.contains(&address))
    }

    /// Returns why an instruction at these addresses cannot be traced.
    pub fn refusal(&self, covered: &Range<u64>) -> Option<Refusal> {
        const STATIC_CALL: u64 = 5;
        if first_in(&self.jump_labels, covered.clone()).is_some() {
            return Some(Refusal::JumpLabel);
        }
        let before = covered.start.saturating_sub(STATIC_CALL - 1);
        first_in(&self.static_calls, before..covered.end).map(|_| Refusal::StaticCall)
    }

    pub fn rewriting(&self, covered: &Range<u64>) -> Option<Rewriting> {
        // No range is longer than 255 bytes.
        let first =
            self.rewritten.partition_point(|(range, _)| range.start.saturating_add(255) < covered.start);
        let near = self.rewritten[first..].iter().take_while(|(range, _)| range.start < covered.end);
        near.filter(|(range, _)| overlap(range, covered)).map(|(_, how)| *how).next()
    }
}

fn first_in(sorted: &[u64], range: Range<u64>) -> Option<u64> {
    let first = sorted.partition_point(|address| *address < range.start);
    sorted.get(first).copied().filter(|address| *address < range.end)
}

fn symbols<const N: usize>(image: &ElfFile, tables: &[Table; N]) -> [Option<Range<u64>>; N] {
    let start = image.addresses(std::array::from_fn::<_, N, _>(|at| tables[at].start));
    let stop = image.addresses(std::array::from_fn::<_, N, _>(|at| tables[at].stop));
    std::array::from_fn(|at| start[at].zip(stop[at]).map(|(start, stop)| start..stop))
}

/// Whether a symbol is needed to locate a table.
pub(crate) fn is_bound(name: &[u8]) -> bool {
    let is = |table: &Table| name == table.start.as_bytes() || name == table.stop.as_bytes();
    TABLES.iter().chain(&TEXT).any(is)
}

fn contents<'i, const N: usize>(
    image: &'i ElfFile,
    names: &ElfFile,
    tables: &[Table; N],
) -> [Contents<'i>; N] {
    let between = if image.is_relocatable() { [const { None }; N] } else { symbols(names, tables) };
    std::array::from_fn(|at| {
        let empty = Contents { address: 0, bytes: Cow::Borrowed(&[]) };
        if image.is_relocatable() {
            let section = image.section(tables[at].section);
            let patchable = || image.section(PATCHABLE).filter(|_| tables[at].section == MCOUNT.section);
            let Some(section) = section.or_else(patchable) else { return empty };
            let bytes = image.debug_section(&section.name).unwrap_or_default();
            return Contents { address: section.address, bytes };
        }
        let Some(range) = &between[at] else { return empty };
        let len = range.end.saturating_sub(range.start) as usize;
        let bytes = image.code_at(range.start).and_then(|bytes| bytes.get(..len)).unwrap_or_default();
        Contents { address: range.start, bytes: Cow::Borrowed(bytes) }
    })
}

fn text(image: &ElfFile, names: &ElfFile) -> [Option<Range<u64>>; 4] {
    if !image.is_relocatable() {
        return symbols(names, &TEXT);
    }
    std::array::from_fn(|at| Some(image.section(TEXT[at].section)?.range()))
}

impl Contents<'_> {
    /// Reads entries of eight bytes, each an address.
    fn absolute(&self, image: &ElfFile) -> Vec<u64> {
        let entries = self.bytes.chunks_exact(8);
        let entries = entries.filter_map(|entry| Some(u64::from_le_bytes(entry.try_into().ok()?)));
        if image.is_relocatable()
            || !image.machine().is_some_and(|machine| machine.facts().is_relocated_at_start)
        {
            return entries.collect();
        }
        let end = self.address.saturating_add(self.bytes.len() as u64);
        let relative = image.relative_addresses(self.address..end).into_iter().map(|(_, value)| value);
        entries.filter(|address| *address != 0).chain(relative).collect()
    }

    /// Reads entries that begin with a four-byte distance from their own address.
    fn relative(&self, size: usize) -> Vec<u64> {
        let entries = self.bytes.chunks_exact(size).enumerate();
        entries.filter_map(|(at, entry)| self.distance(at * size, entry)).collect()
    }

    fn distance(&self, at: usize, entry: &[u8]) -> Option<u64> {
        let distance = i32::from_le_bytes(entry.get(..4)?.try_into().ok()?);
        Some(self.address.wrapping_add(at as u64).wrapping_add_signed(distance.into()))
    }

    /// Reads struct alt_instr: two distances, the feature, and two lengths at the end; its size has varied
    /// over the years.
    fn alternatives(&self, image: &ElfFile) -> Vec<(Range<u64>, Rewriting)> {
        // Size, and offset of the original's length.
        const SHAPES: [(usize, usize); 3] = [(14, 12), (12, 10), (13, 10)];
        let in_text = |address: u64| image.section_at(address).is_some_and(|section| section.executable);
        for (size, length_at) in SHAPES {
            if !self.bytes.len().is_multiple_of(size) {
                continue;
            }
            let entries = self.bytes.chunks_exact(size).enumerate();
            let read: Option<Vec<_>> = entries
                .map(|(at, entry)| {
                    let address = self.distance(at * size, entry).filter(|address| in_text(*address))?;
                    let end = address.saturating_add((*entry.get(length_at)?).into());
                    Some((address..end, Rewriting::Alternative))
                })
                .collect();
            if let Some(read) = read {
                return read;
            }
        }
        Vec::new()
    }

    /// Reads struct paravirt_patch_site: an address, the kind of patch, and the length.
    fn paravirt(&self) -> Vec<(Range<u64>, Rewriting)> {
        let entries = self.bytes.chunks_exact(16);
        let read = entries.filter_map(|entry| {
            let address = u64::from_le_bytes(entry.get(..8)?.try_into().ok()?);
            Some((address..address.checked_add((*entry.get(9)?).into())?, Rewriting::Paravirt))
        });
        read.collect()
    }
}

//! dwarf/handlers.rs: the functions of a program that catch exceptions, and the places where they do.
//!
//! The tables are those of the Itanium C++ ABI (`.gcc_except_table`), which Rust's panics use too. Each range of calls
//! has a landing pad, where the unwinder continues: a handler, or code that cleans up.

use std::ops::Range;

use crate::cfi::CallFrames;
use gimli::{DwEhPe, EndianSlice, LittleEndian, Reader as _, constants};
use kinst_debuginfo::ElfFile;

/// The functions that catch exceptions, or clean up after one, by address.
#[derive(Clone, Debug, Default)]
pub struct Handlers {
    /// The address of each one's table; `None` if it is not known.
    functions: Vec<(Range<u64>, Option<u64>)>,
}

impl Handlers {
    /// Reads the functions of a program.
    pub fn of_program(image: &ElfFile) -> Handlers {
        let functions = CallFrames::of_program(image).map(|frames| frames.with_handlers());
        Handlers { functions: functions.unwrap_or_default() }
    }

    fn at(&self, address: u64) -> Option<&(Range<u64>, Option<u64>)> {
        let after = self.functions.partition_point(|(range, _)| range.start <= address);
        self.functions[..after].last().filter(|(range, _)| range.contains(&address))
    }

    /// Whether the function at an address catches exceptions.
    pub fn has(&self, address: u64) -> bool {
        self.at(address).is_some()
    }

    /// Returns the landing pads of the function at an address, sorted; `None` if its table cannot be read.
    pub fn landing_pads(&self, image: &ElfFile, address: u64) -> Option<Vec<u64>> {
        let Some((range, table)) = self.at(address) else { return Some(Vec::new()) };
        let table = (*table)?;
        let mut pads = pads(image.code_at(table)?, table, range.start)?;
        pads.sort_unstable();
        pads.dedup();
        Some(pads)
    }
}

/// Parses a table at an address.
fn pads(bytes: &[u8], address: u64, function: u64) -> Option<Vec<u64>> {
    let mut table = Table { whole: bytes.len(), rest: EndianSlice::new(bytes, LittleEndian), address };
    // The pads count from the function, unless the table has another base.
    let base = match table.encoding()? {
        constants::DW_EH_PE_omit => function,
        encoding => table.number(encoding)?,
    };
    if table.encoding()? != constants::DW_EH_PE_omit {
        table.rest.read_uleb128().ok()?;
    }
    let encoding = table.encoding()?;
    let length = usize::try_from(table.rest.read_uleb128().ok()?).ok()?;
    let end = table.rest.len().checked_sub(length)?;
    let mut pads = Vec::new();
    while table.rest.len() > end {
        let [_, _, pad] = [table.number(encoding)?, table.number(encoding)?, table.number(encoding)?];
        table.rest.read_uleb128().ok()?;
        if pad != 0 {
            pads.push(base.checked_add(pad)?);
        }
    }
    (table.rest.len() == end).then_some(pads)
}

struct Table<'t> {
    whole: usize,
    rest: EndianSlice<'t, LittleEndian>,
    address: u64,
}

impl Table<'_> {
    fn encoding(&mut self) -> Option<DwEhPe> {
        self.rest.read_u8().ok().map(DwEhPe)
    }

    fn number(&mut self, encoding: DwEhPe) -> Option<u64> {
        let here = self.address + (self.whole - self.rest.len()) as u64;
        let value = match encoding.format() {
            constants::DW_EH_PE_absptr | constants::DW_EH_PE_udata8 => self.rest.read_u64().ok()?,
            constants::DW_EH_PE_uleb128 => self.rest.read_uleb128().ok()?,
            constants::DW_EH_PE_udata2 => self.rest.read_u16().ok()?.into(),
            constants::DW_EH_PE_udata4 => self.rest.read_u32().ok()?.into(),
            constants::DW_EH_PE_sleb128 => self.rest.read_sleb128().ok()?.cast_unsigned(),
            constants::DW_EH_PE_sdata2 => i64::from(self.rest.read_i16().ok()?).cast_unsigned(),
            constants::DW_EH_PE_sdata4 => i64::from(self.rest.read_i32().ok()?).cast_unsigned(),
            constants::DW_EH_PE_sdata8 => self.rest.read_i64().ok()?.cast_unsigned(),
            _ => return None,
        };
        match encoding.application() {
            constants::DW_EH_PE_absptr => Some(value),
            constants::DW_EH_PE_pcrel => Some(here.wrapping_add(value)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::pads;

    #[test]
    fn the_pads_of_a_table() {
        // No base, no types, ULEB128: two ranges, of which the first has a pad; then one with a pad of two bytes.
        let table = [0xff, 0xff, 0x01, 13, 5, 3, 0x20, 1, 9, 4, 0, 0, 0x10, 3, 0x81, 0x01, 0, 0x77];
        assert_eq!(pads(&table, 0x8000, 0x1000), Some(vec![0x1020, 0x1081]));
        // A base relative to its place, types, and four bytes each.
        let mut table = vec![0x1b, 0xff, 0x0f, 0, 0, 0x9b, 30, 0x03, 13];
        table.extend([5u32, 3, 0x20].iter().flat_map(|number| number.to_le_bytes()));
        table.push(0);
        assert_eq!(pads(&table, 0x8000, 0x1000), Some(vec![0x8001 + 0xfff + 0x20]));
        for end in 0..table.len() {
            assert_eq!(pads(&table[..end], 0x8000, 0x1000), None, "{end}");
        }
        // A length that ends inside an entry.
        assert_eq!(pads(&[0xff, 0xff, 1, 2, 5, 3, 0, 0], 0, 0), None);
    }
}

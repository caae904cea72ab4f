//! dwarf/extent.rs: the extent of an entry's code: its ranges, and the address where it is entered.

use std::ops::Range;

use gimli::{Attribute, AttributeValue, RawRngListEntry, constants as dw};

use super::entries::Unentered;
use super::sections::{Dwarf, Slice};
use super::unit::Unit;

/// The attributes that define the extent.
#[derive(Default)]
pub(crate) struct Extent<'a> {
    entry_pc: Option<AttributeValue<Slice<'a>>>,
    low_pc: Option<AttributeValue<Slice<'a>>>,
    high_pc: Option<AttributeValue<Slice<'a>>>,
    ranges: Option<AttributeValue<Slice<'a>>>,
}

impl<'a> Extent<'a> {
    /// Stores the attribute if it is one of these.
    pub(crate) fn read(&mut self, attribute: &Attribute<Slice<'a>>) {
        let slot = match attribute.name() {
            dw::DW_AT_entry_pc => &mut self.entry_pc,
            dw::DW_AT_low_pc => &mut self.low_pc,
            dw::DW_AT_high_pc => &mut self.high_pc,
            dw::DW_AT_ranges => &mut self.ranges,
            _ => return,
        };
        *slot = Some(attribute.value());
    }

    /// Whether the entry has no code.
    pub(crate) fn is_none(&self) -> bool {
        self.low_pc.is_none() && self.ranges.is_none()
    }

    /// The extent of a copy; its function's declaration and its parent are unknown here.
    pub(crate) fn unentered(&self, dwarf: &Dwarf<'a>, unit: &Unit<'a>) -> gimli::Result<Unentered> {
        let listed = self.ranges(dwarf, unit)?;
        let entry = self.entry(dwarf, unit, &listed)?;
        // Not all compilers write an attribute for the entry.
        let told = unit.tells_entries || self.entry_pc.is_some();
        Ok(Unentered { declared: None, parent: None, listed, entry, told })
    }

    /// The ranges in the order of the list, including empty ones: gcc uses an empty range for a place in the
    /// code whose instructions became the caller's.
    pub(crate) fn ranges(&self, dwarf: &Dwarf<'a>, unit: &Unit<'a>) -> gimli::Result<Vec<Range<u64>>> {
        let mut listed = Vec::new();
        if let Some(value) = self.ranges {
            if let Some(offset) = dwarf.attr_ranges_offset(&unit.inner, value)? {
                read_list(dwarf, unit, offset, &mut listed)?;
            }
        } else if let (Some(low), Some(high)) = (self.low_pc, self.high_pc)
            && let Some(start) = dwarf.attr_address(&unit.inner, low)?
        {
            let end = match dwarf.attr_address(&unit.inner, high)? {
                Some(end) => end,
                None => start.wrapping_add(high.udata_value().unwrap_or(0)),
            };
            if !is_tombstone(start) {
                listed.push(start..end);
            }
        }
        Ok(listed)
    }

    /// Whether there was code, which the linker has discarded. Entries inside it can be at any low address.
    pub(crate) fn is_gone(&self, dwarf: &Dwarf<'a>, unit: &Unit<'a>) -> gimli::Result<bool> {
        let has_code = self.low_pc.is_some() || self.ranges.is_some();
        Ok(has_code && self.ranges(dwarf, unit)?.is_empty())
    }

    /// The address where the code is entered; `None` without any address. `listed` is the result of
    /// [`Extent::ranges`].
    pub(crate) fn entry(
        &self,
        dwarf: &Dwarf<'a>,
        unit: &Unit<'a>,
        listed: &[Range<u64>],
    ) -> gimli::Result<Option<u64>> {
        let low_pc = match self.low_pc {
            Some(value) => dwarf.attr_address(&unit.inner, value)?,
            None => None,
        };
        let base = low_pc.or(listed.first().map(|range| range.start));
        let Some(value) = self.entry_pc else { return Ok(base) };
        Ok(match dwarf.attr_address(&unit.inner, value)? {
            Some(address) => Some(address),
            // Constant class: the distance from the start of the code.
            None => value.udata_value().zip(base).map(|(distance, base)| base.wrapping_add(distance)),
        })
    }
}

/// Reads a list of ranges, without those that the linker has discarded.
fn read_list<'a>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    offset: gimli::RangeListsOffset,
    listed: &mut Vec<Range<u64>>,
) -> gimli::Result<()> {
    let mut base = unit.inner.low_pc;
    let mut entries = dwarf.raw_ranges(&unit.inner, offset)?;
    while let Some(entry) = entries.next()? {
        let indexed = |index| dwarf.address(&unit.inner, index);
        let range = match entry {
            RawRngListEntry::BaseAddress { addr } => {
                base = addr;
                continue;
            }
            RawRngListEntry::BaseAddressx { addr } => {
                base = indexed(addr)?;
                continue;
            }
            RawRngListEntry::AddressOrOffsetPair { begin, end }
            | RawRngListEntry::OffsetPair { begin, end } => base.wrapping_add(begin)..base.wrapping_add(end),
            RawRngListEntry::StartxEndx { begin, end } => indexed(begin)?..indexed(end)?,
            RawRngListEntry::StartxLength { begin, length } => {
                let begin = indexed(begin)?;
                begin..begin.wrapping_add(length)
            }
            RawRngListEntry::StartEnd { begin, end } => begin..end,
            RawRngListEntry::StartLength { begin, length } => begin..begin.wrapping_add(length),
        };
        if !is_tombstone(range.start) && range.start <= range.end {
            listed.push(range);
        }
    }
    Ok(())
}

/// Whether the linker has discarded the code at the address: GNU ld writes 0, and 1 in .debug_ranges, where 0
/// ends a list; lld writes the highest address, and in .debug_ranges the one before it.
fn is_tombstone(address: u64) -> bool {
    address <= 1 || address >= u64::MAX - 1
}

/// Sorts ranges, joins those that touch, and drops empty and reversed ones.
pub fn merge(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::merge;

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merge(vec![8..12, 0..4, 4..8, 20..20, 16..18]), vec![0..12, 16..18]);
    }
}

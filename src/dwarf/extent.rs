//! dwarf/extent.rs: the extent of an entry's code: its ranges, and the address where it is entered.

use std::ops::Range;

use gimli::{Attribute, AttributeValue, RawRngListEntry, constants as dw};

use super::unit::Unit;
use super::{Dwarf, Slice};

/// The attributes that define the extent.
#[derive(Default)]
pub struct Extent<'a> {
    entry_pc: Option<AttributeValue<Slice<'a>>>,
    low_pc: Option<AttributeValue<Slice<'a>>>,
    high_pc: Option<AttributeValue<Slice<'a>>>,
    ranges: Option<AttributeValue<Slice<'a>>>,
}

impl<'a> Extent<'a> {
    /// Keeps the attribute if it is one of these.
    pub fn read(&mut self, attribute: &Attribute<Slice<'a>>) {
        let slot = match attribute.name() {
            dw::DW_AT_entry_pc => &mut self.entry_pc,
            dw::DW_AT_low_pc => &mut self.low_pc,
            dw::DW_AT_high_pc => &mut self.high_pc,
            dw::DW_AT_ranges => &mut self.ranges,
            _ => return,
        };
        *slot = Some(attribute.value());
    }

    /// Whether there is an attribute for the entry. Not all compilers write one.
    pub fn tells_entry(&self) -> bool {
        self.entry_pc.is_some()
    }

    /// The ranges in the order of the list; those without bytes are left out.
    pub fn ranges(&self, dwarf: &Dwarf<'a>, unit: &Unit<'a>) -> gimli::Result<Vec<Range<u64>>> {
        let mut listed = Vec::new();
        if let Some(value) = self.ranges {
            if let Some(mut ranges) = dwarf.attr_ranges(&unit.inner, value)? {
                while let Some(range) = ranges.next()? {
                    listed.push(range.begin..range.end);
                }
            }
        } else if let (Some(low), Some(high)) = (self.low_pc, self.high_pc)
            && let Some(start) = dwarf.attr_address(&unit.inner, low)?
        {
            let end = match dwarf.attr_address(&unit.inner, high)? {
                Some(end) => end,
                None => start.wrapping_add(high.udata_value().unwrap_or(0)),
            };
            listed.push(start..end);
        }
        Ok(listed)
    }

    /// The address where the code is entered; `None` if there is no address at all. `listed` is the result of
    /// [`Extent::ranges`].
    pub fn entry(
        &self,
        dwarf: &Dwarf<'a>,
        unit: &Unit<'a>,
        listed: &[Range<u64>],
    ) -> gimli::Result<Option<u64>> {
        let low_pc = match self.low_pc {
            Some(value) => dwarf.attr_address(&unit.inner, value)?,
            None => None,
        };
        let base = match (low_pc, self.entry_pc) {
            (Some(low_pc), _) => Some(low_pc),
            // Many copies have DW_AT_entry_pc and ranges; their lists are read once.
            (None, Some(_)) => listed.first().map(|range| range.start),
            (None, None) => self.first_start(dwarf, unit)?.or(listed.first().map(|range| range.start)),
        };
        let Some(value) = self.entry_pc else { return Ok(base) };
        Ok(match dwarf.attr_address(&unit.inner, value)? {
            Some(address) => Some(address),
            // Of class constant: the distance from the start of the code.
            None => value.udata_value().zip(base).map(|(distance, base)| base.wrapping_add(distance)),
        })
    }

    /// The start of the list's first range. That range may be empty: gcc uses one for the entry of a copy whose first
    /// instruction became the caller's.
    fn first_start(&self, dwarf: &Dwarf<'a>, unit: &Unit<'a>) -> gimli::Result<Option<u64>> {
        let Some(value) = self.ranges else { return Ok(None) };
        let Some(offset) = dwarf.attr_ranges_offset(&unit.inner, value)? else { return Ok(None) };
        let mut base = unit.inner.low_pc;
        let mut entries = dwarf.raw_ranges(&unit.inner, offset)?;
        while let Some(entry) = entries.next()? {
            let start = match entry {
                RawRngListEntry::BaseAddress { addr } => {
                    base = addr;
                    continue;
                }
                RawRngListEntry::BaseAddressx { addr } => {
                    base = dwarf.address(&unit.inner, addr)?;
                    continue;
                }
                RawRngListEntry::AddressOrOffsetPair { begin, .. }
                | RawRngListEntry::OffsetPair { begin, .. } => base.wrapping_add(begin),
                RawRngListEntry::StartxEndx { begin, .. } | RawRngListEntry::StartxLength { begin, .. } => {
                    dwarf.address(&unit.inner, begin)?
                }
                RawRngListEntry::StartEnd { begin, .. } | RawRngListEntry::StartLength { begin, .. } => begin,
            };
            if !is_tombstone(start) {
                return Ok(Some(start));
            }
        }
        Ok(None)
    }
}

/// Whether the linker has removed what was at the address.
fn is_tombstone(address: u64) -> bool {
    address == 0 || address >= u64::MAX - 1
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

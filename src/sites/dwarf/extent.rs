//! sites/dwarf/extent.rs: where the code of an entry is: its ranges, and the address where it is entered.

use std::ops::Range;

use gimli::{Attribute, AttributeValue, constants as dw};

use super::unit::Unit;
use super::{Dwarf, Slice};

/// The attributes that say it.
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

    /// The ranges in the order of the list, the empty ones too.
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

    /// `listed` is what [`Extent::ranges`] answers. `None`: the entry has no address at all.
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
        let base = low_pc.or(listed.first().map(|range| range.start));
        let Some(value) = self.entry_pc else { return Ok(base) };
        Ok(match dwarf.attr_address(&unit.inner, value)? {
            Some(address) => Some(address),
            // Of class constant: from where the code begins.
            None => value.udata_value().zip(base).map(|(distance, base)| base.wrapping_add(distance)),
        })
    }
}

/// Sorted; ranges that touch become one; empty and reversed ones go.
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

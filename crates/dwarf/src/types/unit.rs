//! dwarf/types/unit.rs: units and entries of debug information, by offset and by name.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use gimli::Section as _;
use gimli::constants::{DW_AT_declaration, DW_AT_name, DW_AT_type};
use gimli::{AttributeValue, DwAt, DwTag, Dwarf, EndianSlice, LittleEndian, UnitHeader, UnitOffset};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The units of a file.
pub(crate) struct Units<'a> {
    dwarf: Dwarf<Slice<'a>>,
    /// In file order, up to the first one that cannot be read.
    headers: Vec<(u64, UnitHeader<Slice<'a>>)>,
    /// The opened units, by offset: a struct's members lead into the same few units again and again.
    opened: RefCell<HashMap<u64, Rc<gimli::Unit<Slice<'a>>>>>,
}

pub(crate) struct Unit<'u, 'a> {
    dwarf: &'u Dwarf<Slice<'a>>,
    inner: Rc<gimli::Unit<Slice<'a>>>,
    start: u64,
}

impl<'a> Units<'a> {
    pub(crate) fn new(dwarf: Dwarf<Slice<'a>>) -> Units<'a> {
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let Some(start) = header.debug_info_offset() else { continue };
            headers.push((start.0 as u64, header));
        }
        Units { dwarf, headers, opened: RefCell::default() }
    }

    /// All of .debug_info.
    pub(crate) fn info(&self) -> &'a [u8] {
        self.dwarf.debug_info.reader().slice()
    }

    pub(crate) fn containing(&self, place: u64) -> Option<Unit<'_, 'a>> {
        let after = self.headers.partition_point(|(start, _)| *start <= place);
        let (start, header) = self.headers.get(after.checked_sub(1)?)?;
        self.open(*start, *header)
    }

    /// The first top-level entry of a unit that defines something with this name.
    pub(crate) fn find(
        &self,
        name: &str,
        is_wanted: impl Fn(DwTag) -> bool,
    ) -> Option<(Unit<'_, 'a>, UnitOffset)> {
        // Most words that are looked up are not kernel names at all.
        let mut needle = name.as_bytes().to_vec();
        needle.push(0);
        let known = [self.dwarf.debug_str.reader(), self.dwarf.debug_info.reader()]
            .into_iter()
            .any(|section| memchr::memmem::find(section.slice(), &needle).is_some());
        if !known {
            return None;
        }
        self.headers.iter().find_map(|(start, header)| {
            let unit = self.open(*start, *header)?;
            let entry = unit.top_level(name, &is_wanted)?;
            Some((unit, entry))
        })
    }

    fn open(&self, start: u64, header: UnitHeader<Slice<'a>>) -> Option<Unit<'_, 'a>> {
        let known = self.opened.borrow().get(&start).cloned();
        let inner = match known {
            Some(unit) => unit,
            None => Rc::new(self.dwarf.unit(header).ok()?),
        };
        self.opened.borrow_mut().insert(start, Rc::clone(&inner));
        Some(Unit { dwarf: &self.dwarf, inner, start })
    }
}

impl<'a> Unit<'_, 'a> {
    /// The entry's offset in .debug_info.
    pub(crate) fn global(&self, entry: UnitOffset) -> u64 {
        self.start + entry.0 as u64
    }

    pub(crate) fn local(&self, place: u64) -> Option<UnitOffset> {
        Some(UnitOffset(usize::try_from(place.checked_sub(self.start)?).ok()?))
    }

    /// The entry whose attributes contain an offset.
    pub(crate) fn entry_around(&self, place: u64) -> Option<UnitOffset> {
        let wanted = self.local(place)?;
        let mut cursor = self.inner.entries();
        let mut last = None;
        while let Ok(true) = cursor.next_entry() {
            let Some(entry) = cursor.current() else { continue };
            if entry.offset().0 > wanted.0 {
                break;
            }
            last = Some(entry.offset());
        }
        last
    }

    fn top_level(&self, name: &str, is_wanted: &impl Fn(DwTag) -> bool) -> Option<UnitOffset> {
        let mut tree = self.inner.entries_tree(None).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if is_wanted(entry.tag())
                && entry.attr_value(DW_AT_declaration).is_none()
                && self.text(entry.attr_value(DW_AT_name)).is_some_and(|found| found == name)
            {
                return Some(entry.offset());
            }
        }
        None
    }

    pub(crate) fn tag(&self, entry: UnitOffset) -> Option<DwTag> {
        Some(self.inner.entry(entry).ok()?.tag())
    }

    pub(crate) fn attribute(&self, entry: UnitOffset, name: DwAt) -> Option<AttributeValue<Slice<'a>>> {
        self.inner.entry(entry).ok()?.attr_value(name)
    }

    pub(crate) fn name(&self, entry: UnitOffset) -> Option<String> {
        self.text(self.attribute(entry, DW_AT_name)).map(str::to_owned)
    }

    pub(crate) fn number(&self, entry: UnitOffset, name: DwAt) -> Option<u64> {
        let value = self.attribute(entry, name)?;
        value.udata_value().or_else(|| value.sdata_value().map(|value| value as u64))
    }

    /// The target of a reference, as an offset in .debug_info.
    pub(crate) fn reference(&self, entry: UnitOffset, name: DwAt) -> Option<u64> {
        match self.attribute(entry, name)? {
            AttributeValue::UnitRef(offset) => Some(self.global(offset)),
            AttributeValue::DebugInfoRef(offset) => Some(offset.0 as u64),
            _ => None,
        }
    }

    pub(crate) fn type_reference(&self, entry: UnitOffset) -> Option<u64> {
        self.reference(entry, DW_AT_type)
    }

    pub(crate) fn children(&self, entry: UnitOffset) -> Vec<UnitOffset> {
        let mut offsets = Vec::new();
        let Ok(mut tree) = self.inner.entries_tree(Some(entry)) else { return offsets };
        let Ok(root) = tree.root() else { return offsets };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            offsets.push(child.entry().offset());
        }
        offsets
    }

    fn text(&self, value: Option<AttributeValue<Slice<'a>>>) -> Option<&'a str> {
        let text = self.dwarf.attr_string(&self.inner, value?).ok()?;
        std::str::from_utf8(text.slice()).ok()
    }
}

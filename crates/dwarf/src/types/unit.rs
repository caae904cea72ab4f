//! dwarf/types/unit.rs: units and entries of debug information, by offset and by name.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use gimli::Section as _;
use gimli::constants::{DW_AT_declaration, DW_AT_name, DW_AT_type};
use gimli::{AttributeValue, DwAt, DwTag, UnitOffset};

use crate::parts::Parts;
use crate::sections::Slice;
use crate::split::{self, Opened};

/// The units of a file, and of those that complete it.
pub(crate) struct Units<'a> {
    parts: &'a Parts<'a>,
    /// The opened units, by their first offset: a struct's members lead into the same few units again and again.
    opened: RefCell<BTreeMap<u64, Rc<Opened<'a>>>>,
}

pub(crate) struct Unit<'a> {
    parts: &'a Parts<'a>,
    opened: Rc<Opened<'a>>,
}

impl<'a> Units<'a> {
    pub(crate) fn new(parts: &'a Parts<'a>) -> Units<'a> {
        Units { parts, opened: RefCell::default() }
    }

    /// All of the file's own .debug_info.
    pub(crate) fn info(&self) -> &'a [u8] {
        self.parts.dwarf().debug_info.reader().slice()
    }

    pub(crate) fn containing(&self, place: u64) -> Option<Unit<'a>> {
        let known = self.opened.borrow().range(..=place).next_back().map(|(_, opened)| Rc::clone(opened));
        let opened = match known.filter(|opened| opened.unit.has(place)) {
            Some(opened) => opened,
            None => {
                let opened = Rc::new(self.parts.containing(place).ok()?);
                self.opened.borrow_mut().insert(opened.unit.global(UnitOffset(0)), Rc::clone(&opened));
                opened
            }
        };
        Some(Unit { parts: self.parts, opened })
    }

    /// The first top-level entry of a unit that defines something with this name.
    pub(crate) fn find(
        &self,
        name: &str,
        is_wanted: impl Fn(DwTag) -> bool,
    ) -> Option<(Unit<'a>, UnitOffset)> {
        // Most words that are looked up are not kernel names at all.
        let mut needle = name.as_bytes().to_vec();
        needle.push(0);
        let has = |section: Slice<'_>| memchr::memmem::find(section.slice(), &needle).is_some();
        let find = |opened: Opened<'a>| {
            let unit = Unit { parts: self.parts, opened: Rc::new(opened) };
            let entry = unit.top_level(name, &is_wanted)?;
            Some((unit, entry))
        };
        let own = self.parts.dwarf();
        let is_here = has(*own.debug_str.reader()) || has(*own.debug_info.reader());
        let is_split = split::is_mentioned(own.debug_abbrev.reader().slice());
        let has = |opened: &Opened<'a>| {
            has(*opened.dwarf.debug_str.reader()) || has(*opened.dwarf.debug_info.reader())
        };
        let units = (0..self.parts.len()).filter(|_| is_here || is_split);
        let mut own = units.filter_map(|number| self.parts.open(number).ok()).filter(|opened| {
            match opened.unit.is_split() {
                true => has(opened),
                false => is_here,
            }
        });
        let shared = self.parts.alternates().filter_map(|number| self.parts.open_alternate(number));
        own.find_map(find).or_else(|| shared.filter(has).find_map(find))
    }
}

impl<'a> Unit<'a> {
    /// The entry's offset in the space of all parts.
    pub(crate) fn global(&self, entry: UnitOffset) -> u64 {
        self.opened.unit.global(entry)
    }

    pub(crate) fn local(&self, place: u64) -> Option<UnitOffset> {
        self.opened.unit.has(place).then(|| self.opened.unit.local(place))
    }

    /// The entry whose attributes contain an offset.
    pub(crate) fn entry_around(&self, place: u64) -> Option<UnitOffset> {
        let wanted = self.local(place)?;
        let mut cursor = self.opened.unit.inner.entries();
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
        let mut tree = self.opened.unit.inner.entries_tree(None).ok()?;
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
        Some(self.opened.unit.inner.entry(entry).ok()?.tag())
    }

    pub(crate) fn attribute(&self, entry: UnitOffset, name: DwAt) -> Option<AttributeValue<Slice<'a>>> {
        self.opened.unit.inner.entry(entry).ok()?.attr_value(name)
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
        self.parts.target(&self.opened.unit, &self.attribute(entry, name)?)
    }

    pub(crate) fn type_reference(&self, entry: UnitOffset) -> Option<u64> {
        self.reference(entry, DW_AT_type)
    }

    pub(crate) fn children(&self, entry: UnitOffset) -> Vec<UnitOffset> {
        let mut offsets = Vec::new();
        let Ok(mut tree) = self.opened.unit.inner.entries_tree(Some(entry)) else { return offsets };
        let Ok(root) = tree.root() else { return offsets };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            offsets.push(child.entry().offset());
        }
        offsets
    }

    fn text(&self, value: Option<AttributeValue<Slice<'a>>>) -> Option<&'a str> {
        let text = self.opened.dwarf.attr_string(&self.opened.unit.inner, value?).ok()?;
        std::str::from_utf8(text.slice()).ok()
    }
}

//! types/btf/reader.rs: one BTF file, read on demand.

use super::format::{self, Header, Kind, Malformed, Reader, Record};
use super::index::{Group, Index};
use std::sync::{Arc, OnceLock};

/// One file of types: of the kernel proper, or of a module, whose types continue those of the kernel proper.
///
/// Nothing in the file is trusted: an offset or id that leads nowhere is the same as no type.
pub struct Btf {
    bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    header: Header,
    base: Option<Arc<Btf>>,
    /// The file's index among the kernel's, for the handles of its types.
    pub(super) number: u16,
    first_type: u32,
    first_string: u32,
    /// The offset of each record in the section of types, by type id from `first_type`.
    offsets: Vec<u32>,
    indices: [OnceLock<Index>; Group::COUNT],
}

impl Btf {
    /// Reads only the heads of the records. A record of an unknown kind is skipped by the layout of this file
    /// or of the file that it continues; without a layout it is an error, because its length is unknown.
    pub fn parse(
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        base: Option<Arc<Btf>>,
        number: u16,
    ) -> Result<Btf, Malformed> {
        let header = Header::read(bytes.as_ref())?;
        let base_layout = || base.as_ref().map(|base| base.layout()).unwrap_or_default();
        let layout = Some(header.layout(bytes.as_ref())).filter(|layout| !layout.is_empty());
        let offsets =
            format::record_offsets(header.types(bytes.as_ref()), layout.unwrap_or_else(base_layout))?;
        // Type 0 is void and has no record.
        let (first_type, first_string) = base.as_ref().map_or((1, 0), |base| (base.end(), base.string_end()));
        Ok(Btf {
            bytes: Box::new(bytes),
            header,
            base,
            number,
            first_type,
            first_string,
            offsets,
            indices: Default::default(),
        })
    }

    /// The id after the last type.
    fn end(&self) -> u32 {
        self.first_type.saturating_add(self.offsets.len() as u32)
    }

    fn string_end(&self) -> u32 {
        self.first_string.saturating_add(self.strings().len() as u32)
    }

    fn layout(&self) -> &[u8] {
        self.header.layout((*self.bytes).as_ref())
    }

    fn strings(&self) -> &[u8] {
        self.header.strings((*self.bytes).as_ref())
    }

    /// The file that contains the type: this one, or the one that it continues.
    pub(super) fn owner(&self, id: u32) -> &Btf {
        match &self.base {
            Some(base) if id < self.first_type => base,
            _ => self,
        }
    }

    /// Name and contents of a type; `None` for void and for an id without a type.
    pub fn record(&self, id: u32) -> Option<(&str, Record<'_>)> {
        let owner = self.owner(id);
        let (name, record) = owner.reader(id)?.record()?;
        Some((self.string(name), record))
    }

    fn reader(&self, id: u32) -> Option<Reader<'_>> {
        let at = *self.offsets.get(id.checked_sub(self.first_type)? as usize)?;
        Reader::at(self.header.types((*self.bytes).as_ref()), at as usize)
    }

    /// A name; empty if there is none, or if it is not UTF-8.
    pub fn string(&self, offset: u32) -> &str {
        std::str::from_utf8(self.bytes_of(offset)).unwrap_or_default()
    }

    /// The bytes of a name, which need not be UTF-8.
    fn bytes_of(&self, offset: u32) -> &[u8] {
        match &self.base {
            Some(base) if offset < self.first_string => base.bytes_of(offset),
            _ => {
                let rest = self.strings().get((offset.wrapping_sub(self.first_string)) as usize..);
                let end = rest.and_then(|rest| memchr::memchr(0, rest));
                rest.zip(end).and_then(|(rest, end)| rest.get(..end)).unwrap_or_default()
            }
        }
    }

    /// The types with this name in this file only, in order.
    pub(super) fn find<'a>(
        &'a self,
        group: Group,
        name: &'a str,
    ) -> impl Iterator<Item = (u32, Record<'a>)> + 'a {
        let named = || self.members_of(group).map(|(id, name)| (id, self.bytes_of(name)));
        let index = self.indices[group as usize].get_or_init(|| Index::new(named()));
        index.candidates(name).filter_map(move |id| {
            let (found, record) = self.record(id)?;
            (found == name).then_some((id, record))
        })
    }

    /// The types of a group that have a name: id, and offset of the name.
    pub(super) fn members_of(&self, group: Group) -> impl Iterator<Item = (u32, u32)> {
        let types = self.header.types((*self.bytes).as_ref());
        self.offsets.iter().zip(self.first_type..).filter_map(move |(at, id)| {
            let (name, info) = format::head(types, *at as usize)?;
            (name != 0 && group.has(Kind::of(info)?)).then_some((id, name))
        })
    }
}

impl std::fmt::Debug for Btf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Btf {{ number: {}, types: {}..{} }}", self.number, self.first_type, self.end())
    }
}

//! dwarf/unit.rs: one unit, opened without its line program, and the traversal of its tree.

use std::sync::Arc;

use gimli::{
    Abbreviation, Attribute, AttributeValue, DebugAddrBase, DebugRngListsBase, DebugStrOffsetsBase,
    DwarfFileType, EntriesRaw, UnitOffset, UnitType, constants as dw,
};

use super::sections::{Dwarf, Slice};

/// A unit with everything needed to read names, addresses and ranges in it.
pub(crate) struct Unit<'a> {
    pub inner: gimli::Unit<Slice<'a>>,
    /// Offset of the first entry below the root.
    pub first: Option<UnitOffset>,
    /// Whether functions may be defined anywhere, in types and in namespaces: not in C.
    pub nested_definitions: bool,
    /// Whether the names of functions are whole paths, as in Go.
    pub is_go: bool,
    /// Whether copies may have their origin in another unit (link-time optimisation, dwz).
    pub has_foreign_origins: bool,
    /// Whether the compiler records the entries of copies, and omits only an entry where the copy's code
    /// begins.
    pub tells_entries: bool,
    /// The offset of the unit's section in the space of all parts.
    base: u64,
    in_main_file: bool,
    line_program: Option<gimli::DebugLineOffset>,
    /// The name of the .dwo file with the rest of a skeleton unit.
    dwo_name: Option<Slice<'a>>,
}

/// The attributes of a skeleton unit for the unit with the rest, in a separate file.
pub(crate) struct Skeleton<'a> {
    /// The path of the .dwo file.
    pub name: Slice<'a>,
    pub id: gimli::DwoId,
    pub comp_dir: Option<Slice<'a>>,
    low_pc: u64,
    addr_base: DebugAddrBase<usize>,
    rnglists_base: DebugRngListsBase<usize>,
    line_program: Option<gimli::DebugLineOffset>,
}

/// The bits of an offset that number the part of the debug information: 0 is the file's own, others are those of the
/// files that complete it. Offsets in one .debug_info are smaller.
pub(crate) const PART: u64 = !0 << PART_SHIFT;
/// The lowest of these bits.
pub(crate) const PART_SHIFT: u32 = 40;
/// Marks sections that only have type units.
pub(crate) const TYPES: u64 = 1 << 62;
/// The part of the alternate file.
pub(crate) const ALTERNATE: u64 = 1 << 63;

impl<'a> Unit<'a> {
    pub(crate) fn new(dwarf: &Dwarf<'a>, header: gimli::UnitHeader<Slice<'a>>) -> gimli::Result<Unit<'a>> {
        let abbreviations = Arc::new(header.abbreviations(&dwarf.debug_abbrev)?);
        Unit::with_abbreviations(dwarf, header, abbreviations)
    }

    /// A unit whose abbreviations have been read before.
    pub(crate) fn with_abbreviations(
        dwarf: &Dwarf<'a>,
        header: gimli::UnitHeader<Slice<'a>>,
        abbreviations: Arc<gimli::Abbreviations>,
    ) -> gimli::Result<Unit<'a>> {
        Unit::open(dwarf, header, abbreviations, DwarfFileType::Main)
    }

    /// The unit of a .dwo file that belongs to a skeleton unit; `dwarf` has that file's sections.
    pub(crate) fn of_split(
        dwarf: &Dwarf<'a>,
        header: gimli::UnitHeader<Slice<'a>>,
        abbreviations: Arc<gimli::Abbreviations>,
        skeleton: &Skeleton<'a>,
        base: u64,
    ) -> gimli::Result<Unit<'a>> {
        let mut unit = Unit { base, ..Unit::open(dwarf, header, abbreviations, DwarfFileType::Dwo)? };
        let Skeleton { low_pc, addr_base, rnglists_base, comp_dir, line_program, .. } = *skeleton;
        (unit.inner.low_pc, unit.inner.addr_base) = (low_pc, addr_base);
        if unit.inner.header.version() < 5 {
            unit.inner.rnglists_base = rnglists_base;
        }
        unit.inner.comp_dir = unit.inner.comp_dir.or(comp_dir);
        unit.line_program = line_program;
        Ok(unit)
    }

    fn open(
        dwarf: &Dwarf<'a>,
        header: gimli::UnitHeader<Slice<'a>>,
        abbreviations: Arc<gimli::Abbreviations>,
        file: DwarfFileType,
    ) -> gimli::Result<Unit<'a>> {
        let encoding = header.encoding();
        let dwo_id = match header.type_() {
            UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id),
            _ => None,
        };
        let mut unit = Unit {
            inner: gimli::Unit {
                header,
                abbreviations: abbreviations.clone(),
                name: None,
                comp_dir: None,
                low_pc: 0,
                str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(encoding, file),
                addr_base: DebugAddrBase(0),
                loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(encoding, file),
                rnglists_base: DebugRngListsBase::default_for_encoding_and_file(encoding, file),
                line_program: None,
                dwo_id,
            },
            first: None,
            nested_definitions: false,
            is_go: false,
            has_foreign_origins: false,
            tells_entries: true,
            base: 0,
            in_main_file: file == DwarfFileType::Main,
            line_program: None,
            dwo_name: None,
        };
        unit.read_root(dwarf, &abbreviations)?;

        Ok(unit)
    }

    /// A unit of the alternate file; `dwarf` has that file's sections.
    pub(crate) fn of_alternate(
        dwarf: &Dwarf<'a>,
        header: gimli::UnitHeader<Slice<'a>>,
    ) -> gimli::Result<Unit<'a>> {
        Ok(Unit { base: ALTERNATE, ..Unit::new(dwarf, header)? })
    }

    /// A unit with one type.
    pub(crate) fn of_type(
        dwarf: &Dwarf<'a>,
        header: gimli::UnitHeader<Slice<'a>>,
        base: u64,
    ) -> gimli::Result<Unit<'a>> {
        let abbreviations = Arc::new(header.abbreviations(&dwarf.debug_abbrev)?);
        Ok(Unit { base, ..Unit::open(dwarf, header, abbreviations, dwarf.file_type)? })
    }

    /// The offset of a type unit's type.
    pub(crate) fn described_type(&self) -> Option<u64> {
        match self.inner.header.type_() {
            UnitType::Type { type_offset, .. } | UnitType::SplitType { type_offset, .. } => {
                Some(self.global(type_offset))
            }
            _ => None,
        }
    }

    /// The bits of the part that has the unit.
    pub(crate) fn part(&self) -> u64 {
        self.base & PART
    }

    fn read_root(&mut self, dwarf: &Dwarf<'a>, abbreviations: &gimli::Abbreviations) -> gimli::Result<()> {
        let mut entries = self.inner.header.entries_raw(abbreviations, None)?;
        let Some(root) = entries.read_abbreviation()? else { return Ok(()) };
        let (mut low_pc, mut name, mut comp_dir, mut producer, mut dwo_name) = (None, None, None, None, None);
        for spec in root.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            match (attribute.name(), attribute.value()) {
                (dw::DW_AT_low_pc, value) => low_pc = Some(value),
                (dw::DW_AT_name, value) => name = Some(value),
                (dw::DW_AT_comp_dir, value) => comp_dir = Some(value),
                (dw::DW_AT_producer, value) => producer = Some(value),
                (dw::DW_AT_dwo_name | dw::DW_AT_GNU_dwo_name, value) => dwo_name = Some(value),
                (dw::DW_AT_GNU_dwo_id, AttributeValue::DwoId(id)) => self.inner.dwo_id = Some(id),
                (dw::DW_AT_str_offsets_base, AttributeValue::DebugStrOffsetsBase(base)) => {
                    self.inner.str_offsets_base = base
                }
                (dw::DW_AT_addr_base | dw::DW_AT_GNU_addr_base, AttributeValue::DebugAddrBase(base)) => {
                    self.inner.addr_base = base;
                }
                (
                    dw::DW_AT_rnglists_base | dw::DW_AT_GNU_ranges_base,
                    AttributeValue::DebugRngListsBase(base),
                ) => {
                    self.inner.rnglists_base = base;
                }
                (dw::DW_AT_loclists_base, AttributeValue::DebugLocListsBase(base)) => {
                    self.inner.loclists_base = base;
                }
                (dw::DW_AT_stmt_list, AttributeValue::DebugLineRef(offset)) => {
                    self.line_program = Some(offset)
                }
                (dw::DW_AT_language, AttributeValue::Language(language)) => {
                    self.nested_definitions = !is_c(language);
                    self.is_go = language == dw::DW_LANG_Go;
                }
                _ => {}
            }
        }
        if let Some(value) = low_pc {
            self.inner.low_pc = dwarf.attr_address(&self.inner, value)?.unwrap_or(0);
        }
        let string = |value| dwarf.attr_string(&self.inner, value).ok();
        let dwo_name = dwo_name.and_then(string);
        (self.inner.name, self.inner.comp_dir) = (name.and_then(string), comp_dir.and_then(string));
        self.dwo_name = dwo_name;

        if let Some(producer) = producer.and_then(|value| dwarf.attr_string(&self.inner, value).ok()) {
            self.tells_entries = producer.starts_with(b"GNU ");
        }
        if root.has_children() {
            self.first = Some(entries.next_offset());
        }
        self.has_foreign_origins = abbreviations_with_foreign_origins(abbreviations);
        Ok(())
    }

    /// The attributes for the rest, if this is a skeleton unit: a unit in a .dwo file may name that file,
    /// too. A skeleton may have entries of inlined functions itself.
    pub(crate) fn skeleton(&self) -> Option<Skeleton<'a>> {
        let inner = &self.inner;
        Some(Skeleton {
            name: self.dwo_name.filter(|_| self.in_main_file)?,
            id: inner.dwo_id?,
            low_pc: inner.low_pc,
            addr_base: inner.addr_base,
            rnglists_base: inner.rnglists_base,
            comp_dir: inner.comp_dir,
            line_program: self.line_program,
        })
    }

    /// Whether it is the rest of a skeleton unit.
    pub(crate) fn is_split(&self) -> bool {
        !self.in_main_file
    }

    /// A path without the compilation directory, as in [`Unit::file_path`].
    pub(crate) fn without_directory<'p>(&self, path: &'p str) -> &'p str {
        let directory = self.inner.comp_dir.map(|directory| directory.to_string_lossy());
        let inside = directory.and_then(|directory| path.strip_prefix(&*directory)?.strip_prefix('/'));
        inside.unwrap_or(path)
    }

    /// The path with the unit's directory, if the path is relative.
    pub(crate) fn absolute(&self, path: &str) -> String {
        match self.inner.comp_dir {
            Some(directory) if !path.starts_with('/') => format!("{}/{path}", directory.to_string_lossy()),
            _ => path.to_owned(),
        }
    }

    pub(crate) fn entries(&self, at: UnitOffset) -> gimli::Result<EntriesRaw<'_, Slice<'a>>> {
        self.inner.entries_raw(Some(at))
    }

    /// Moves `entries` past the attributes and children of an entry.
    pub(crate) fn skip_tree<'u>(
        &'u self,
        entries: &mut EntriesRaw<'u, Slice<'a>>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<()> {
        if let Some(next) = skip_tree(entries, abbreviation)? {
            *entries = self.entries(next)?;
        }
        Ok(())
    }

    /// Whether the first parameter or variable from this entry to the end of its siblings, or below them, is
    /// declared at a line and column.
    pub(crate) fn declares_first_at(
        &self,
        first: UnitOffset,
        (line, column): (u64, u64),
    ) -> gimli::Result<bool> {
        let mut entries = self.entries(first)?;
        let mut depth = 1usize;
        while depth > 0 && !entries.is_empty() {
            let Some(abbreviation) = entries.read_abbreviation()? else {
                depth -= 1;
                continue;
            };
            let is_one = matches!(abbreviation.tag(), dw::DW_TAG_formal_parameter | dw::DW_TAG_variable);
            let mut at = (None, None);
            for spec in abbreviation.attributes() {
                let attribute = entries.read_attribute(*spec)?;
                match attribute.name() {
                    dw::DW_AT_decl_line => at.0 = attribute.udata_value(),
                    dw::DW_AT_decl_column => at.1 = attribute.udata_value(),
                    _ => {}
                }
            }
            if let (true, (Some(at_line), Some(at_column))) = (is_one, at) {
                return Ok((at_line, at_column) == (line, column));
            }
            depth += usize::from(abbreviation.has_children());
        }
        Ok(false)
    }

    /// The offset in the space of all parts of an entry of this unit.
    pub(crate) fn global(&self, offset: UnitOffset) -> u64 {
        self.in_part(self.inner.header.offset().0 as u64 + offset.0 as u64)
    }

    /// The inverse of [`Unit::global`].
    pub(crate) fn local(&self, global: u64) -> UnitOffset {
        UnitOffset(global.wrapping_sub(self.base).wrapping_sub(self.inner.header.offset().0 as u64) as usize)
    }

    /// Whether this unit contains the entry at this offset.
    pub(crate) fn has(&self, global: u64) -> bool {
        let start = self.global(UnitOffset(0));
        global.checked_sub(start).is_some_and(|at| at < self.inner.header.length_including_self() as u64)
    }

    /// The offset of a reference's target in the space of all parts; `None` for type signatures.
    pub(crate) fn target(&self, value: &AttributeValue<Slice<'a>>) -> Option<u64> {
        match value {
            AttributeValue::UnitRef(offset) => Some(self.global(*offset)),
            AttributeValue::DebugInfoRef(offset) => Some(self.in_part(offset.0 as u64)),
            AttributeValue::DebugInfoRefSup(offset) => Some(offset.0 as u64 & !PART | ALTERNATE),
            _ => None,
        }
    }

    fn in_part(&self, offset: u64) -> u64 {
        self.base.wrapping_add(offset)
    }

    /// The unit's line program, if it has one.
    pub(crate) fn line_program(
        &self,
        dwarf: &Dwarf<'a>,
    ) -> gimli::Result<Option<gimli::IncompleteLineProgram<Slice<'a>>>> {
        let Some(offset) = self.line_program else { return Ok(None) };
        let address_size = self.inner.header.address_size();
        dwarf.debug_line.program(offset, address_size, self.inner.comp_dir, None).map(Some)
    }

    /// The path of a file of the unit's line program, without the compilation directory.
    pub(crate) fn file_path(&self, dwarf: &Dwarf<'a>, index: u64) -> Option<String> {
        let program = self.line_program(dwarf).ok()??;
        self.path_in(dwarf, program.header(), index)
    }

    /// The paths of all files of the unit's line program, by index, as in [`Unit::file_path`].
    pub(crate) fn file_paths(&self, dwarf: &Dwarf<'a>) -> Vec<String> {
        let Ok(Some(program)) = self.line_program(dwarf) else { return Vec::new() };
        let header = program.header();
        self.paths_in(dwarf, header, header.file_names().len() as u64 + 1)
    }

    /// The paths of the first `files` files of an open line program.
    pub(crate) fn paths_in(
        &self,
        dwarf: &Dwarf<'a>,
        header: &gimli::LineProgramHeader<Slice<'a>>,
        files: u64,
    ) -> Vec<String> {
        let path = |file| self.path_in(dwarf, header, file).unwrap_or_else(|| "??".to_owned());
        (0..files).map(path).collect()
    }

    /// The path of the file that the unit is compiled from, without the compilation directory.
    pub(crate) fn path(&self) -> Option<String> {
        let name = self.inner.name?.to_string_lossy().into_owned();
        let directory = self.inner.comp_dir.map(|directory| directory.to_string_lossy().into_owned());
        let inside = directory.and_then(|directory| name.strip_prefix(&directory).map(str::to_owned));
        let path = inside.as_deref().map_or(name.as_str(), |inside| inside.trim_start_matches('/'));
        Some(path.trim_start_matches("./").to_owned())
    }

    /// Like [`Unit::file_path`], for an open line program.
    pub(crate) fn path_in(
        &self,
        dwarf: &Dwarf<'a>,
        header: &gimli::LineProgramHeader<Slice<'a>>,
        index: u64,
    ) -> Option<String> {
        let unit = &self.inner;
        let file = header.file(index)?;
        let name = dwarf.attr_string(unit, file.path_name()).ok()?.to_string_lossy().into_owned();
        let directory = file.directory(header).and_then(|value| dwarf.attr_string(unit, value).ok());
        let directory = directory.filter(|directory| Some(*directory) != unit.comp_dir);
        let joined = match directory.map(|directory| directory.to_string_lossy().into_owned()) {
            Some(directory) if !name.starts_with('/') && !directory.is_empty() => {
                format!("{}/{name}", directory.trim_end_matches('/'))
            }
            _ => name,
        };
        Some(joined.trim_start_matches("./").to_owned())
    }
}

/// The value of DW_AT_call_file and DW_AT_decl_file.
pub(crate) fn file_index(attribute: &Attribute<Slice<'_>>) -> u64 {
    match attribute.value() {
        AttributeValue::FileIndex(index) => index,
        _ => attribute.udata_value().unwrap_or(0),
    }
}

/// The offset of the entry after this one and its children; `None` if it has no children, and `entries` is
/// already there.
fn skip_tree(
    entries: &mut EntriesRaw<'_, Slice<'_>>,
    abbreviation: &Abbreviation,
) -> gimli::Result<Option<UnitOffset>> {
    if !abbreviation.has_children() {
        entries.skip_attributes(abbreviation.attributes())?;
        return Ok(None);
    }
    let specs = abbreviation.attributes();
    let mut sibling = None;
    match specs.iter().position(|spec| spec.name() == dw::DW_AT_sibling) {
        Some(at) => {
            entries.skip_attributes(&specs[..at])?;
            sibling = Some(entries.read_attribute(specs[at])?.value());
            entries.skip_attributes(&specs[at + 1..])?;
        }
        None => entries.skip_attributes(specs)?,
    }
    after_children(entries, sibling).map(Some)
}

/// The offset of the entry after an entry's children. `entries` is at the first child; it is moved only
/// without a plausible DW_AT_sibling.
pub(crate) fn after_children(
    entries: &mut EntriesRaw<'_, Slice<'_>>,
    sibling: Option<AttributeValue<Slice<'_>>>,
) -> gimli::Result<UnitOffset> {
    // A sibling that leads backwards would make the walk endless.
    if let Some(AttributeValue::UnitRef(offset)) = sibling
        && offset > entries.next_offset()
    {
        return Ok(offset);
    }
    let mut depth = 1usize;
    while depth > 0 {
        match entries.read_abbreviation()? {
            None => depth -= 1,
            Some(child) => {
                entries.skip_attributes(child.attributes())?;
                depth += usize::from(child.has_children());
            }
        }
    }
    Ok(entries.next_offset())
}

fn is_c(language: gimli::DwLang) -> bool {
    matches!(
        language,
        dw::DW_LANG_C
            | dw::DW_LANG_C89
            | dw::DW_LANG_C99
            | dw::DW_LANG_C11
            | dw::DW_LANG_C17
            | dw::DW_LANG_Mips_Assembler
    )
}

fn abbreviations_with_foreign_origins(abbreviations: &gimli::Abbreviations) -> bool {
    // All compilers number the codes of a unit 1, 2, 3 … without a gap; a gap only ends the quick check.
    (1..)
        .map_while(|code| abbreviations.get(code))
        .filter(|abbreviation| {
            matches!(abbreviation.tag(), dw::DW_TAG_inlined_subroutine | dw::DW_TAG_subprogram)
        })
        .flat_map(Abbreviation::attributes)
        .any(|spec| {
            spec.name() == dw::DW_AT_abstract_origin
                && matches!(
                    spec.form(),
                    dw::DW_FORM_ref_addr
                        | dw::DW_FORM_GNU_ref_alt
                        | dw::DW_FORM_ref_sup4
                        | dw::DW_FORM_ref_sup8
                )
        })
}

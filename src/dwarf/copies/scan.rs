//! dwarf/copies/scan.rs: the function definitions of a unit; trees that are not functions are skipped.

use std::collections::{BTreeSet, HashMap};

use gimli::{Abbreviation, AttributeValue, EntriesRaw, UnitOffset, constants as dw};

use super::names::Names;
use crate::dwarf::unit::{Unit, after_children};
use crate::dwarf::{Dwarf, Slice};

/// A definition of a wanted function.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The offset of the entry in .debug_info.
    pub offset: u64,
    /// The number of its name.
    pub name: usize,
    pub inline: bool,
    pub decl_line: u64,
}

/// A function body that may hold copies.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    pub first_child: UnitOffset,
    /// The abstract function that it is an instance of, or itself.
    pub origin: u64,
}

#[derive(Default)]
pub struct Scan {
    pub definitions: Vec<Definition>,
    /// Entries that are defined by an entry of another unit: (entry, target).
    aliases: Vec<(u64, u64)>,
    pub bodies: Vec<Body>,
}

/// All definitions of a file by their offset.
pub type Definitions = HashMap<u64, Definition>;

impl Scan {
    pub fn of_unit<'a>(dwarf: &Dwarf<'a>, unit: &Unit<'a>, names: &Names<'_>) -> gimli::Result<Scan> {
        let mut scan = Scan::default();
        for_each_function(dwarf, unit, |function| {
            if function.declaration {
                return;
            }
            match function.name.and_then(|name| names.number(name.slice())) {
                Some(name) => scan.definitions.push(Definition {
                    offset: function.offset,
                    name,
                    inline: function.inline,
                    decl_line: function.decl_line,
                }),
                None => {
                    if let Some(target) =
                        function.origin.filter(|target| unit.has_foreign_origins && !unit.has(*target))
                    {
                        scan.aliases.push((function.offset, target));
                    }
                }
            }
            if let Some(first_child) = function.first_child
                && !function.inline
            {
                scan.bodies.push(Body { first_child, origin: function.origin.unwrap_or(function.offset) });
            }
        })?;
        Ok(scan)
    }
}

/// The definitions of all units, and the entries of other units that are aliases of one.
pub fn definitions<'s>(scans: impl Iterator<Item = &'s Scan> + Clone) -> Definitions {
    let mut all: Definitions = scans
        .clone()
        .flat_map(|scan| &scan.definitions)
        .map(|definition| (definition.offset, *definition))
        .collect();
    let mut aliases: Vec<(u64, u64)> = scans.flat_map(|scan| &scan.aliases).copied().collect();
    // An alias of an alias needs another round; each round but the last removes at least one.
    loop {
        let before = aliases.len();
        aliases.retain(|(offset, target)| match all.get(target).copied() {
            Some(definition) => {
                all.insert(*offset, definition);
                false
            }
            None => true,
        });
        if aliases.len() == before {
            return all;
        }
    }
}

/// The names that have an inline definition in the unit.
pub fn inline_names<'a>(dwarf: &Dwarf<'a>, unit: &Unit<'a>) -> gimli::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for_each_function(dwarf, unit, |function| {
        if let Some(name) = function.name.filter(|_| function.inline) {
            names.insert(name.to_string_lossy().into_owned());
        }
    })?;
    Ok(names)
}

/// A DW_TAG_subprogram.
pub struct Function<'a> {
    pub offset: u64,
    name: Option<Slice<'a>>,
    pub declaration: bool,
    pub inline: bool,
    decl_line: u64,
    origin: Option<u64>,
    first_child: Option<UnitOffset>,
}

pub fn for_each_function<'a>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    mut visit: impl FnMut(Function<'a>),
) -> gimli::Result<()> {
    let Some(first) = unit.first else { return Ok(()) };
    let mut entries = unit.entries(first)?;
    let mut depth = 1usize;
    while !entries.is_empty() {
        let offset = entries.next_offset();
        let Some(abbreviation) = entries.read_abbreviation()? else {
            depth -= 1;
            if depth == 0 {
                break;
            }
            continue;
        };
        let next = if abbreviation.tag() == dw::DW_TAG_subprogram {
            let (function, sibling) = read_function(dwarf, unit, &mut entries, abbreviation, offset)?;
            let skip = abbreviation.has_children() && !unit.nested_definitions;
            visit(function);
            if skip { Some(after_children(&mut entries, sibling)?) } else { None }
        } else if descends(unit, abbreviation.tag()) {
            entries.skip_attributes(abbreviation.attributes())?;
            None
        } else {
            unit.skip_tree(&mut entries, abbreviation)?;
            continue;
        };
        match next {
            Some(next) => entries = unit.entries(next)?,
            None => depth += usize::from(abbreviation.has_children()),
        }
    }
    Ok(())
}

/// Whether functions are looked for below such an entry. In C, they are at the top of a unit; in other languages, also
/// in namespaces, types and functions.
fn descends(unit: &Unit<'_>, tag: gimli::DwTag) -> bool {
    matches!(tag, dw::DW_TAG_namespace | dw::DW_TAG_module) || unit.nested_definitions
}

fn read_function<'a>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    entries: &mut EntriesRaw<'_, Slice<'a>>,
    abbreviation: &Abbreviation,
    offset: UnitOffset,
) -> gimli::Result<(Function<'a>, Option<AttributeValue<Slice<'a>>>)> {
    let mut function = Function {
        offset: unit.global(offset),
        name: None,
        declaration: false,
        inline: false,
        decl_line: 0,
        origin: None,
        first_child: None,
    };
    let mut sibling = None;
    let mut specification = None;
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec)?;
        match attribute.name() {
            dw::DW_AT_name => function.name = dwarf.attr_string(&unit.inner, attribute.value()).ok(),
            dw::DW_AT_declaration => function.declaration = attribute.value() == AttributeValue::Flag(true),
            dw::DW_AT_inline => function.inline = is_inlined(&attribute.value()),
            dw::DW_AT_decl_line => function.decl_line = attribute.udata_value().unwrap_or(0),
            dw::DW_AT_abstract_origin => function.origin = unit.target(&attribute.value()),
            dw::DW_AT_specification => specification = Some(attribute.value()),
            dw::DW_AT_sibling => sibling = Some(attribute.value()),
            _ => {}
        }
    }
    if abbreviation.has_children() {
        function.first_child = Some(entries.next_offset());
    }
    // A method's name is in its declaration in the class.
    if let (None, Some(AttributeValue::UnitRef(declaration))) = (function.name, specification) {
        function.name = name_at(dwarf, unit, declaration).unwrap_or(None);
    }
    Ok((function, sibling))
}

fn name_at<'a>(dwarf: &Dwarf<'a>, unit: &Unit<'a>, offset: UnitOffset) -> gimli::Result<Option<Slice<'a>>> {
    let mut entries = unit.entries(offset)?;
    let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(None) };
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec)?;
        if attribute.name() == dw::DW_AT_name {
            return dwarf.attr_string(&unit.inner, attribute.value()).map(Some);
        }
    }
    Ok(None)
}

fn is_inlined(value: &AttributeValue<Slice<'_>>) -> bool {
    matches!(value, AttributeValue::Inline(dw::DW_INL_inlined | dw::DW_INL_declared_inlined))
}

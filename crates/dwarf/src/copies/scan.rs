//! dwarf/copies/scan.rs: the function definitions of a unit; trees that are not functions are skipped.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use gimli::{Abbreviation, AttributeValue, EntriesRaw, UnitOffset, constants as dw};

use super::names::Names;
use crate::entries::is_declaration;
use crate::extent::Extent;
use crate::golang::without_instance;
use crate::mangled::path_of_method;
use crate::query::without_arguments;
use crate::sections::{Dwarf, Slice};
use crate::unit::{Unit, after_children, file_index};

/// A definition of a wanted function, or of one that the same macro declares on a wanted function's line.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// The offset of the entry in .debug_info.
    pub offset: u64,
    /// The id of its name, if it is wanted.
    pub name: Option<usize>,
    pub inline: bool,
    /// The index of its file in its unit.
    pub decl_file: u64,
    pub decl_line: u64,
    pub decl_column: u64,
    /// Whether something in the function is declared at the same place: a macro generated all of it.
    pub by_macro: bool,
    first_child: Option<UnitOffset>,
    /// The path of that file, if units have origins in other units.
    pub path: Option<Arc<str>>,
    /// As [`InlineCopy::function`](super::InlineCopy::function).
    pub function: Option<Arc<str>>,
}

impl Definition {
    /// Whether a call is at the place where the function is declared.
    pub(crate) fn is_at(&self, call_line: u64, call_column: u64) -> bool {
        is_declaration((self.decl_line, self.decl_column), (call_line, call_column))
    }
}

/// A function body that may contain copies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    pub first_child: UnitOffset,
    /// The abstract function that it is an instance of, or itself.
    pub origin: u64,
}

#[derive(Default)]
pub(crate) struct Scan {
    pub definitions: Vec<Definition>,
    /// Entries that are defined by an entry of another unit: (entry, target).
    aliases: Vec<(u64, u64)>,
    pub bodies: Vec<Body>,
}

/// All definitions of a file by their offset.
pub(crate) type Definitions = HashMap<u64, Definition>;

impl Scan {
    pub(crate) fn of_unit<'a>(dwarf: &Dwarf<'a>, unit: &Unit<'a>, names: &Names<'_>) -> gimli::Result<Scan> {
        let mut scan = Scan::default();
        for_each_function(dwarf, unit, |function| {
            if function.declaration {
                return;
            }
            let path = unit.nested_definitions.then(|| function.path(unit)).flatten();
            let name = match &path {
                Some(path) if unit.is_go => path.last().and_then(|name| names.number_in_go(name)),
                Some(path) => {
                    let path: Vec<&str> = path.iter().map(|part| &**part).collect();
                    names.number_of(&path, function.symbol().as_deref())
                }
                None => function.name.and_then(|name| names.number(name.slice())),
            };
            if name.is_some() || function.inline && function.name.is_some() {
                scan.definitions.push(Definition {
                    offset: function.offset,
                    name,
                    inline: function.inline,
                    decl_file: function.decl_file,
                    decl_line: function.decl_line,
                    decl_column: function.decl_column,
                    by_macro: false,
                    first_child: function.first_child.filter(|_| function.inline),
                    path: None,
                    function: path.filter(|_| name.is_some()).map(|path| path.join("::").into()),
                });
            } else if let Some(target) =
                function.origin.filter(|target| unit.has_foreign_origins && !unit.has(*target))
            {
                scan.aliases.push((function.offset, target));
            }
            if let Some(first_child) = function.first_child
                && !function.inline
                && !function.is_gone
            {
                scan.bodies.push(Body { first_child, origin: function.origin.unwrap_or(function.offset) });
            }
        })?;
        scan.keep_wanted_lines();
        if unit.tells_entries {
            for definition in &mut scan.definitions {
                let Some(first) = definition.first_child else { continue };
                let place = (definition.decl_line, definition.decl_column);
                definition.by_macro = unit.declares_first_at(first, place)?;
            }
        }
        Ok(scan)
    }

    /// Drops the definitions on lines where nothing wanted is declared.
    fn keep_wanted_lines(&mut self) {
        let line =
            |definition: &Definition| (definition.decl_file, definition.decl_line, definition.decl_column);
        let wanted = self.definitions.iter().filter(|definition| definition.name.is_some());
        let wanted: HashSet<(u64, u64, u64)> = wanted.map(line).collect();
        self.definitions.retain(|definition| definition.name.is_some() || wanted.contains(&line(definition)));
    }

    /// Adds the absolute paths of the files; other units look up the lines by them.
    pub(crate) fn add_paths<'a>(&mut self, dwarf: &Dwarf<'a>, unit: &Unit<'a>) {
        let paths = unit.file_paths(dwarf).into_iter().map(|path| unit.absolute(&path));
        let paths: Vec<Arc<str>> = paths.map(Arc::from).collect();
        for definition in &mut self.definitions {
            let file = usize::try_from(definition.decl_file).ok();
            definition.path = file.and_then(|file| paths.get(file)).cloned();
        }
    }
}

/// Collects the definitions of all units, and the entries of other units that alias one.
pub(crate) fn definitions<'s>(scans: impl Iterator<Item = &'s Scan> + Clone) -> Definitions {
    let mut all: Definitions = scans
        .clone()
        .flat_map(|scan| &scan.definitions)
        .map(|definition| (definition.offset, definition.clone()))
        .collect();
    let mut aliases: Vec<(u64, u64)> = scans.flat_map(|scan| &scan.aliases).copied().collect();
    // An alias of an alias needs another round; each round but the last removes at least one.
    loop {
        let before = aliases.len();
        aliases.retain(|(offset, target)| match all.get(target).cloned() {
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

/// The names with an inline definition in the unit.
pub(crate) fn inline_names<'a>(dwarf: &Dwarf<'a>, unit: &Unit<'a>) -> gimli::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for_each_function(dwarf, unit, |function| {
        if let Some(name) = function.name.filter(|_| function.inline) {
            let path = unit.nested_definitions.then(|| function.path(unit)).flatten();
            names.insert(match path {
                Some(path) => without_arguments(&path.join("::")),
                None => name.to_string_lossy().into_owned(),
            });
        }
    })?;
    Ok(names)
}

/// A DW_TAG_subprogram.
pub(crate) struct Function<'a, 's> {
    pub offset: u64,
    name: Option<Slice<'a>>,
    symbol: Option<Slice<'a>>,
    pub declaration: bool,
    pub inline: bool,
    decl_file: u64,
    decl_line: u64,
    decl_column: u64,
    /// Whether the linker has discarded its code.
    is_gone: bool,
    /// The address of its code.
    pub start: Option<u64>,
    pub origin: Option<u64>,
    first_child: Option<UnitOffset>,
    /// The declaration of a method.
    specification: Option<UnitOffset>,
    /// The names of the namespaces and types that it is in, from the outside in.
    scope: &'s [Slice<'a>],
}

impl<'a> Function<'a, '_> {
    pub(crate) fn symbol(&self) -> Option<Cow<'a, str>> {
        self.symbol.map(|symbol| symbol.to_string_lossy())
    }

    /// Its name, preceded by its scopes' names. Where Rust has only an index (`{impl#3}`), the type comes
    /// from the symbol.
    pub(crate) fn path(&self, unit: &Unit<'a>) -> Option<Vec<Cow<'a, str>>> {
        let name = self.name?.to_string_lossy();
        if unit.is_go {
            return Some(vec![without_instance(&name).into_owned().into()]);
        }
        let scope: Vec<Cow<'a, str>> = self.scope.iter().map(|part| part.to_string_lossy()).collect();
        if scope.iter().any(|part| part.starts_with("{impl#"))
            && let Some(path) = self.symbol().and_then(|symbol| path_of_method(&symbol))
        {
            return Some(path.into_iter().map(Cow::Owned).collect());
        }
        Some(scope.into_iter().filter(|part| !part.starts_with("{impl#")).chain([name]).collect())
    }
}

pub(crate) fn for_each_function<'a>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    mut visit: impl FnMut(Function<'a, '_>),
) -> gimli::Result<()> {
    let Some(first) = unit.first else { return Ok(()) };
    let mut entries = unit.entries(first)?;
    let mut depth = 1usize;
    let mut scopes = Scopes::default();
    while !entries.is_empty() {
        let offset = entries.next_offset();
        let Some(abbreviation) = entries.read_abbreviation()? else {
            depth -= 1;
            scopes.leave(depth);
            if depth == 0 {
                break;
            }
            continue;
        };
        let next = if abbreviation.tag() == dw::DW_TAG_subprogram {
            let (mut function, sibling) = read_function(dwarf, unit, &mut entries, abbreviation, offset)?;
            let skip = abbreviation.has_children() && !unit.nested_definitions;
            // A method's name is in its declaration in the class.
            if let (None, Some(declaration)) = (function.name, function.specification) {
                function.name = name_at(dwarf, unit, declaration).unwrap_or(None);
            }
            if unit.nested_definitions {
                scopes.declare(offset, &function);
                function.scope = scopes.of(&function);
            }
            visit(function);
            if skip { Some(after_children(&mut entries, sibling)?) } else { None }
        } else if descends(unit, abbreviation.tag()) {
            let name = scope_name(dwarf, unit, &mut entries, abbreviation)?;
            if let Some(name) = name.filter(|_| abbreviation.has_children()) {
                scopes.enter(depth + 1, name);
            }
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

/// Whether functions may be below such an entry. In C, they are at the top of a unit; in other languages,
/// also in namespaces, types and functions.
fn descends(unit: &Unit<'_>, tag: gimli::DwTag) -> bool {
    matches!(tag, dw::DW_TAG_namespace | dw::DW_TAG_module) || unit.nested_definitions
}

/// The namespaces and types around an entry, and those of the methods that were declared before it.
#[derive(Default)]
struct Scopes<'a> {
    depths: Vec<usize>,
    names: Vec<Slice<'a>>,
    declared: HashMap<UnitOffset, Vec<Slice<'a>>>,
}

impl<'a> Scopes<'a> {
    /// `depth` is the depth of the entries inside.
    fn enter(&mut self, depth: usize, name: Slice<'a>) {
        self.depths.push(depth);
        self.names.push(name);
    }

    fn leave(&mut self, depth: usize) {
        while self.depths.last().is_some_and(|inside| *inside > depth) {
            self.depths.pop();
            self.names.pop();
        }
    }

    fn declare(&mut self, offset: UnitOffset, function: &Function<'a, '_>) {
        if function.declaration && !self.names.is_empty() {
            self.declared.insert(offset, self.names.clone());
        }
    }

    fn of(&self, function: &Function<'a, '_>) -> &[Slice<'a>] {
        let declared = function.specification.and_then(|declaration| self.declared.get(&declaration));
        declared.unwrap_or(&self.names)
    }
}

/// Reads the name of a namespace or type; `None` for other entries.
fn scope_name<'a>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    entries: &mut EntriesRaw<'_, Slice<'a>>,
    abbreviation: &Abbreviation,
) -> gimli::Result<Option<Slice<'a>>> {
    let is_scope = matches!(
        abbreviation.tag(),
        dw::DW_TAG_namespace
            | dw::DW_TAG_structure_type
            | dw::DW_TAG_class_type
            | dw::DW_TAG_union_type
            | dw::DW_TAG_enumeration_type
    );
    if !is_scope {
        entries.skip_attributes(abbreviation.attributes())?;
        return Ok(None);
    }
    let mut name = None;
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec)?;
        if attribute.name() == dw::DW_AT_name {
            name = dwarf.attr_string(&unit.inner, attribute.value()).ok();
        }
    }
    Ok(name)
}

fn read_function<'a, 's>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    entries: &mut EntriesRaw<'_, Slice<'a>>,
    abbreviation: &Abbreviation,
    offset: UnitOffset,
) -> gimli::Result<(Function<'a, 's>, Option<AttributeValue<Slice<'a>>>)> {
    let mut function = Function {
        offset: unit.global(offset),
        name: None,
        symbol: None,
        declaration: false,
        inline: false,
        decl_file: 0,
        decl_line: 0,
        decl_column: 0,
        is_gone: false,
        start: None,
        origin: None,
        first_child: None,
        specification: None,
        scope: &[],
    };
    let mut extent = Extent::default();
    let mut sibling = None;
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec)?;
        match attribute.name() {
            dw::DW_AT_name => function.name = dwarf.attr_string(&unit.inner, attribute.value()).ok(),
            dw::DW_AT_linkage_name | dw::DW_AT_MIPS_linkage_name => {
                function.symbol = dwarf.attr_string(&unit.inner, attribute.value()).ok();
            }
            dw::DW_AT_declaration => function.declaration = attribute.value() == AttributeValue::Flag(true),
            dw::DW_AT_inline => function.inline = is_inlined(&attribute.value()),
            dw::DW_AT_decl_file => function.decl_file = file_index(&attribute),
            dw::DW_AT_decl_line => function.decl_line = attribute.udata_value().unwrap_or(0),
            dw::DW_AT_decl_column => function.decl_column = attribute.udata_value().unwrap_or(0),
            dw::DW_AT_abstract_origin => function.origin = unit.target(&attribute.value()),
            dw::DW_AT_specification => {
                if let AttributeValue::UnitRef(declaration) = attribute.value() {
                    function.specification = Some(declaration);
                }
            }
            dw::DW_AT_sibling => sibling = Some(attribute.value()),
            _ => extent.read(&attribute),
        }
    }
    // gcc describes functions before it optimises the whole program (-flto), when it does not know yet which
    // are inlined.
    function.inline |= extent.is_none() && function.origin.is_none() && !function.declaration;
    function.is_gone = extent.is_gone(dwarf, unit)?;
    if !extent.is_none() && !function.is_gone {
        function.start = extent.entry(dwarf, unit, &extent.ranges(dwarf, unit)?)?;
    }
    if abbreviation.has_children() {
        function.first_child = Some(entries.next_offset());
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

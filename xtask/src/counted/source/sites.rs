//! The calls in the code of inlined copies, by DWARF: each has a DW_TAG_call_site below the copy that makes it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result};
use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, EntriesTreeNode, LittleEndian, Unit,
    UnitOffset,
};
use object::{Object, ObjectSection, SectionKind};

use super::text;
use crate::counted::calls::Pair;

type Slice<'f> = EndianSlice<'f, LittleEndian>;
type Entry<'f> = DebuggingInformationEntry<Slice<'f>>;

/// A function, and the ones that it calls exactly once by its text.
struct Function {
    name: String,
    once: Vec<String>,
}

/// An inlined copy, with the copies inlined into it.
struct Copy {
    function: Rc<Function>,
    inner: Vec<Copy>,
    sites: Vec<Site>,
}

struct Site {
    /// The address after the call.
    end: u64,
    callee: String,
}

/// The call sites that measure the calls of a function in a caller: addresses; `None` if one of its copies there has
/// none.
pub(super) type Sites = BTreeMap<Pair, Option<Vec<u64>>>;

/// Finds the sites in a kernel whose source is in `source`.
pub(super) fn find(vmlinux: &Path, source: &Path) -> Result<Sites> {
    let bytes = fs::read(vmlinux).with_context(|| format!("cannot read {}", vmlinux.display()))?;
    let file = object::File::parse(&*bytes)?;
    let section = |id: gimli::SectionId| -> Result<Slice<'_>> {
        let data = file.section_by_name(id.name()).map(|section| section.data()).transpose()?;
        Ok(EndianSlice::new(data.unwrap_or_default(), LittleEndian))
    };
    let dwarf = Dwarf::load(section)?;
    let mut code = Vec::new();
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        code.push((section.address(), section.data()?));
    }
    let mut finder = Finder { source, code, texts: HashMap::new(), sites: Sites::new() };
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        finder.unit(&dwarf, &unit)?;
    }
    Ok(finder.sites)
}

struct Finder<'f> {
    source: &'f Path,
    code: Vec<(u64, &'f [u8])>,
    texts: HashMap<PathBuf, Option<Rc<str>>>,
    sites: Sites,
}

/// The names and functions of one unit.
struct Names<'u, 'f> {
    dwarf: &'u Dwarf<Slice<'f>>,
    unit: &'u Unit<Slice<'f>>,
    functions: HashMap<UnitOffset, Rc<Function>>,
}

impl<'f> Finder<'f> {
    fn unit(&mut self, dwarf: &Dwarf<Slice<'f>>, unit: &Unit<Slice<'f>>) -> Result<()> {
        let mut names = Names { dwarf, unit, functions: HashMap::new() };
        let mut tree = unit.entries_tree(None)?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            if entry.tag() != gimli::DW_TAG_subprogram || !has_code(entry) {
                continue;
            }
            let Some(caller) = names.name(entry)? else { continue };
            let (mut copies, mut sites) = (Vec::new(), Vec::new());
            self.block(child, &mut names, &mut copies, &mut sites)?;
            for copy in &copies {
                self.add(copy, &caller);
            }
        }
        Ok(())
    }

    /// Collects the copies and the calls of a block and its nested blocks.
    fn block(
        &mut self,
        node: EntriesTreeNode<'_, '_, Slice<'f>>,
        names: &mut Names<'_, 'f>,
        copies: &mut Vec<Copy>,
        sites: &mut Vec<Site>,
    ) -> Result<()> {
        let mut children = node.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_lexical_block => self.block(child, names, copies, sites)?,
                gimli::DW_TAG_call_site => sites.extend(names.site(entry)?),
                gimli::DW_TAG_inlined_subroutine => {
                    let Some(function) = self.function(entry, names)? else { continue };
                    let mut copy = Copy { function, inner: Vec::new(), sites: Vec::new() };
                    self.block(child, names, &mut copy.inner, &mut copy.sites)?;
                    copies.push(copy);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The function that is inlined here.
    fn function(&mut self, entry: &Entry<'f>, names: &mut Names<'_, 'f>) -> Result<Option<Rc<Function>>> {
        let Some(AttributeValue::UnitRef(origin)) = entry.attr_value(gimli::DW_AT_abstract_origin) else {
            return Ok(None);
        };
        if let Some(function) = names.functions.get(&origin) {
            return Ok(Some(function.clone()));
        }
        let entry = names.unit.entry(origin)?;
        let Some(name) = names.name(&entry)? else { return Ok(None) };
        let line = entry.attr(gimli::DW_AT_decl_line).and_then(|line| line.udata_value()).unwrap_or(0);
        let text = names.file(&entry)?.and_then(|file| self.text(&file));
        let once = text.map_or(Vec::new(), |text| text::calls_once(&text, line as usize, &name));
        let function = Rc::new(Function { name, once });
        names.functions.insert(origin, function.clone());
        Ok(Some(function))
    }

    /// The text of a source file. The compiler may have run in another folder: leading components of the path are
    /// dropped until a file matches.
    fn text(&mut self, file: &Path) -> Option<Rc<str>> {
        if let Some(text) = self.texts.get(file) {
            return text.clone();
        }
        let mut components = file.components();
        let rests = std::iter::from_fn(|| {
            let rest = components.as_path().to_owned();
            components.next().map(|_| rest)
        });
        let mut texts = rests.filter_map(|rest| fs::read_to_string(self.source.join(rest)).ok());
        let text: Option<Rc<str>> = texts.next().map(Into::into);
        self.texts.insert(file.to_owned(), text.clone());
        text
    }

    /// Adds the calls that a copy, and the copies in it, make exactly once.
    fn add(&mut self, copy: &Copy, caller: &str) {
        let once = copy.function.once.iter().find_map(|callee| calls(copy, callee));
        let starts =
            once.and_then(|ends| ends.into_iter().map(|end| self.start(end)).collect::<Option<Vec<u64>>>());
        let key = (copy.function.name.clone(), caller.to_owned());
        let all = self.sites.entry(key).or_insert_with(|| Some(Vec::new()));
        match (all.as_mut(), starts) {
            (Some(all), Some(starts)) => all.extend(starts),
            _ => *all = None,
        }
        for inner in &copy.inner {
            self.add(inner, caller);
        }
    }

    /// The start of a direct call, or of a tail jump, that ends at an address.
    fn start(&self, end: u64) -> Option<u64> {
        const LENGTH: u64 = 5;
        let start = end.checked_sub(LENGTH)?;
        let byte = self
            .code
            .iter()
            .find_map(|(address, code)| code.get(usize::try_from(start.checked_sub(*address)?).ok()?))?;
        matches!(byte, 0xe8 | 0xe9).then_some(start)
    }
}

impl<'f> Names<'_, 'f> {
    /// The name of a function, from its entry, its abstract origin or its specification.
    fn name(&self, entry: &Entry<'f>) -> Result<Option<String>> {
        if let Some(name) = entry.attr_value(gimli::DW_AT_name) {
            return Ok(Some(self.dwarf.attr_string(self.unit, name)?.to_string_lossy().into_owned()));
        }
        for link in [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification] {
            if let Some(AttributeValue::UnitRef(offset)) = entry.attr_value(link) {
                return self.name(&self.unit.entry(offset)?);
            }
        }
        Ok(None)
    }

    fn site(&self, entry: &Entry<'f>) -> Result<Option<Site>> {
        let Some(AttributeValue::Addr(end)) = entry.attr_value(gimli::DW_AT_call_return_pc) else {
            return Ok(None);
        };
        let Some(AttributeValue::UnitRef(origin)) = entry.attr_value(gimli::DW_AT_call_origin) else {
            return Ok(None);
        };
        let callee = self.name(&self.unit.entry(origin)?)?;
        Ok(callee.map(|callee| Site { end, callee }))
    }

    /// The file that declares a function.
    fn file(&self, entry: &Entry<'f>) -> Result<Option<PathBuf>> {
        let Some(AttributeValue::FileIndex(index)) = entry.attr_value(gimli::DW_AT_decl_file) else {
            return Ok(None);
        };
        let Some(program) = &self.unit.line_program else { return Ok(None) };
        let Some(file) = program.header().file(index) else { return Ok(None) };
        let string = |value| {
            Ok::<_, anyhow::Error>(self.dwarf.attr_string(self.unit, value)?.to_string_lossy().into_owned())
        };
        let folder = file.directory(program.header()).map(string).transpose()?.unwrap_or_default();
        Ok(Some(Path::new(&folder).join(string(file.path_name())?)))
    }
}

fn has_code(entry: &Entry<'_>) -> bool {
    [gimli::DW_AT_low_pc, gimli::DW_AT_ranges].iter().any(|name| entry.attr(*name).is_some())
}

/// The ends of the calls that a copy makes in place of one call of `callee`, which may be inlined into it.
fn calls(copy: &Copy, callee: &str) -> Option<Vec<u64>> {
    let direct = copy.sites.iter().filter(|site| site.callee == callee);
    let mut ends: Vec<u64> = direct.map(|site| site.end).collect();
    for inner in copy.inner.iter().filter(|inner| inner.function.name == callee) {
        ends.extend(inner.function.once.iter().find_map(|callee| calls(inner, callee))?);
    }
    (!ends.is_empty()).then_some(ends)
}

//! debuginfo/reloc.rs: the relocations of a module's debug sections and tables.

use std::borrow::Cow;

use super::reloc_arm64::Kind;
use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationEncoding, RelocationKind,
    RelocationTarget, Section,
};

/// `data` with the section's relocations applied; `bases` are the addresses of the sections by index.
pub(crate) fn apply<'a>(
    file: &object::File<'a>,
    section: &Section<'a, '_>,
    bases: &[u64],
    data: Cow<'a, [u8]>,
) -> Result<Cow<'a, [u8]>, String> {
    let mut relocations = section.relocations().peekable();
    if relocations.peek().is_none() {
        return Ok(data);
    }
    let values = symbol_values(file, bases);
    let here = bases.get(section.index().0).copied().unwrap_or(0);
    let mut data = data.into_owned();
    for (offset, relocation) in relocations {
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(index) => values.get(index.0).copied().unwrap_or(0),
            RelocationTarget::Section(index) => bases.get(index.0).copied().unwrap_or(0),
            _ => 0,
        };
        // R_X86_64_NONE and the like.
        if relocation.kind() == RelocationKind::Unknown && relocation.size() == 0 {
            continue;
        }
        let mut value = symbol.wrapping_add_signed(relocation.addend());
        match (relocation.kind(), relocation.encoding()) {
            (RelocationKind::Absolute, RelocationEncoding::Generic | RelocationEncoding::X86Signed) => {}
            (RelocationKind::Relative, RelocationEncoding::Generic) => {
                value = value.wrapping_sub(here.wrapping_add(offset));
            }
            (kind, _) => {
                return Err(format!("an unknown relocation ({kind:?}, {:?})", relocation.flags()));
            }
        }
        let size = usize::from(relocation.size() / 8).min(8);
        let at = offset as usize;
        let field = at
            .checked_add(size)
            .and_then(|end| data.get_mut(at..end))
            .ok_or("a relocation beyond the end")?;
        if relocation.has_implicit_addend() {
            let mut implicit = [0; 8];
            implicit[..size].copy_from_slice(field);
            value = value.wrapping_add(u64::from_le_bytes(implicit));
        }
        field.copy_from_slice(&value.to_le_bytes()[..size]);
    }
    Ok(Cow::Owned(data))
}

/// A module's instructions or table, as they are once it is loaded at `bases`: distances within the module
/// are right; other relocated values (addresses of data) are unchanged. `import` returns the addresses of
/// functions that other modules export.
pub(crate) fn link<'a>(
    file: &object::File<'a>,
    section: &Section<'a, '_>,
    bases: &[u64],
    data: Cow<'a, [u8]>,
    import: impl Fn(&[u8]) -> u64,
) -> Cow<'a, [u8]> {
    let mut relocations = section.relocations().peekable();
    if relocations.peek().is_none() {
        return data;
    }
    let base = bases.get(section.index().0).copied().unwrap_or(0);
    let mut data = data.into_owned();
    for (offset, relocation) in relocations {
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        let insn = Kind::of(relocation.flags()).filter(|_| file.architecture() == Architecture::Aarch64);
        let relative = matches!(relocation.kind(), RelocationKind::Relative | RelocationKind::PltRelative);
        if !relative && insn.is_none() || relocation.has_implicit_addend() {
            continue;
        }
        let Ok(symbol) = file.symbol_by_index(index) else { continue };
        let target = match symbol.section_index() {
            Some(section) => bases.get(section.0).copied().unwrap_or(0).wrapping_add(symbol.address()),
            None => import(symbol.name_bytes().unwrap_or_default()),
        };
        let (target, place) = (target.wrapping_add_signed(relocation.addend()), base.wrapping_add(offset));
        let at = offset as usize;
        if let Some(insn) = insn {
            if let Some(field) = at.checked_add(4).and_then(|end| data.get_mut(at..end)) {
                let word = field.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
                field.copy_from_slice(&insn.apply(word, place, target).to_le_bytes());
            }
            continue;
        }
        let value = target.wrapping_sub(place);
        let size = usize::from(relocation.size() / 8).min(8);
        if let Some(field) = at.checked_add(size).and_then(|end| data.get_mut(at..end)) {
            field.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
    Cow::Owned(data)
}

fn symbol_values(file: &object::File<'_>, bases: &[u64]) -> Vec<u64> {
    let Some(table) = file.symbol_table() else { return Vec::new() };
    let mut values = Vec::new();
    for symbol in table.symbols() {
        let index = symbol.index().0;
        if values.len() <= index {
            values.resize(index + 1, 0);
        }
        // A section that is not loaded (such as a debug section) is at 0: offsets in it stay offsets.
        let base = symbol.section_index().and_then(|section| bases.get(section.0)).copied().unwrap_or(0);
        values[index] = base.wrapping_add(symbol.address());
    }
    values
}

//! dwarf/types/graph.rs: entries of debug information → [`Type`], members, enumerators, prototypes.

use std::borrow::Cow;

use gimli::constants as dw;
use gimli::{DwTag, UnitOffset};

use super::sections::Types;
use super::unit::Unit;
use kinst_base::variant::Variant;
use kinst_types::TagKind;
use kinst_types::btf::integer;
use kinst_types::{Member, Prototype, Tagged, Type, TypeId, TypeOrigin, intrinsic};

const MAX_DEPTH: usize = 48;
const MAX_NESTING: usize = 12;
const MAX_MEMBERS: usize = 1 << 16;
const MAX_BASES: usize = 1 << 8;

pub(crate) fn kind_of(tag: DwTag) -> Option<TagKind> {
    match tag {
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type => Some(TagKind::Struct),
        dw::DW_TAG_union_type => Some(TagKind::Union),
        dw::DW_TAG_enumeration_type => Some(TagKind::Enum),
        _ => None,
    }
}

impl<'a> Types<'a> {
    /// The entry at an offset, and its unit.
    fn entry_at(&self, place: u64) -> Option<(Unit<'a>, UnitOffset)> {
        let unit = self.units.containing(place)?;
        let entry = unit.local(place)?;
        Some((unit, entry))
    }

    /// The type of a variable, which may be in its declaration elsewhere.
    pub(crate) fn type_of(&self, unit: &Unit<'_>, entry: UnitOffset) -> Option<Type> {
        if let Some(ty) = unit.type_reference(entry) {
            return Some(self.ty(ty));
        }
        let declared = [dw::DW_AT_specification, dw::DW_AT_abstract_origin]
            .into_iter()
            .find_map(|attribute| unit.reference(entry, attribute))?;
        let (unit, entry) = self.entry_at(declared)?;
        Some(self.ty(unit.type_reference(entry)?))
    }

    /// The type at an offset in .debug_info.
    pub(crate) fn ty(&self, place: u64) -> Type {
        self.ty_at(place, MAX_DEPTH)
    }

    fn ty_at(&self, place: u64, depth: usize) -> Type {
        let opened = self.entry_at(place).and_then(|(unit, entry)| {
            let tag = unit.tag(entry)?;
            Some((unit, entry, tag))
        });
        let (Some((unit, entry, tag)), Some(depth)) = (opened, depth.checked_sub(1)) else {
            return Type::Void;
        };
        // A declaration of a type that is in a type unit.
        if let Some(place) = unit.reference(entry, dw::DW_AT_signature) {
            return self.ty_at(place, depth);
        }
        let to = || unit.type_reference(entry).map_or(Type::Void, |to| self.ty_at(to, depth));
        let name = || unit.name(entry).unwrap_or_default();
        match tag {
            dw::DW_TAG_base_type => base(&unit, entry),
            dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
                self.pointer(&unit, entry, tag, to())
            }
            dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type => to(),
            dw::DW_TAG_typedef => Type::Typedef { name: Cow::Owned(name()), to: Box::new(to()) },
            dw::DW_TAG_array_type => lengths(&unit, entry).into_iter().rev().fold(to(), Type::array_of),
            dw::DW_TAG_subroutine_type | dw::DW_TAG_subprogram => Type::Function,
            dw::DW_TAG_ptr_to_member_type => {
                let class = unit.reference(entry, dw::DW_AT_containing_type);
                pointer_to_member(&to(), &class.map_or(Type::Void, |class| self.ty_at(class, depth)))
            }
            // std::nullptr_t
            dw::DW_TAG_unspecified_type if name() == "decltype(nullptr)" => {
                let user = matches!(self.origin, TypeOrigin::File(_));
                let to = Box::new(Type::Pointer { to: Box::new(Type::Void), user });
                Type::Typedef { name: Cow::Owned(name()), to }
            }
            tag => match kind_of(tag) {
                Some(kind) => self.tagged_at(&unit, entry, kind),
                None => Type::Void,
            },
        }
    }

    /// A pointer, or a reference, which has a name.
    fn pointer(&self, unit: &Unit<'_>, entry: UnitOffset, tag: DwTag, to: Type) -> Type {
        let reference = match tag {
            dw::DW_TAG_reference_type => Some(format!("{to} &")),
            dw::DW_TAG_rvalue_reference_type => Some(format!("{to} &&")),
            // Rust has names for pointers: those with `*` are like those of C.
            _ => unit.name(entry).filter(|name| !name.starts_with('*')),
        };
        let user = matches!(self.origin, TypeOrigin::File(_));
        let pointer = Type::Pointer { to: Box::new(to), user };
        match reference {
            Some(name) => Type::Typedef { name: Cow::Owned(name), to: Box::new(pointer) },
            None => pointer,
        }
    }

    fn tagged_at(&self, unit: &Unit<'_>, entry: UnitOffset, kind: TagKind) -> Type {
        let name = unit.name(entry).unwrap_or_default();
        let bytes = unit.number(entry, dw::DW_AT_byte_size);
        // Two files may each have a separate struct with the same name.
        let agrees = |known: &Type| match known {
            Type::Record(known) => bytes.is_none() || known.bytes == bytes,
            _ => true,
        };
        if !name.is_empty()
            && let Some(known) = (self.known)(kind, &name).filter(agrees)
        {
            return known;
        }
        let id = TypeId { origin: self.origin, index: unit.global(entry) };
        match kind {
            TagKind::Enum => {
                let bytes = bytes.filter(|bytes| matches!(bytes, 1 | 2 | 8)).or(Some(4));
                Type::Enum(Tagged { kind, name, id, bytes })
            }
            _ => Type::Record(Tagged { kind, name, id, bytes }),
        }
    }

    pub(crate) fn prototype_of(&self, unit: &Unit<'_>, entry: UnitOffset) -> Option<Prototype> {
        let parameters = unit.children(entry).into_iter();
        let parameters = parameters.filter(|child| unit.tag(*child) == Some(dw::DW_TAG_formal_parameter));
        let params = parameters
            .map(|child| Some((unit.name(child).unwrap_or_default(), self.type_of(unit, child)?)))
            .collect::<Option<Vec<_>>>()?;
        let returns = unit.type_reference(entry).map_or(Type::Void, |ty| self.ty(ty));
        Some(Prototype { params, returns })
    }

    pub(crate) fn members_at(&self, place: u64) -> Vec<Member> {
        let mut members = Vec::new();
        self.push_members(place, 0, MAX_NESTING, &mut members);
        members
    }

    fn push_members(&self, place: u64, base: u64, nesting: usize, members: &mut Vec<Member>) {
        let Some((unit, record)) = self.entry_at(place) else {
            return;
        };
        let Some(nesting) = nesting.checked_sub(1) else { return };
        for child in unit.children(record) {
            if unit.tag(child) == Some(dw::DW_TAG_variant_part) {
                self.push_variants(&unit, child, base, members);
                continue;
            }
            let is_base = unit.tag(child) == Some(dw::DW_TAG_inheritance);
            let is_member = is_base || unit.tag(child) == Some(dw::DW_TAG_member);
            if members.len() >= MAX_MEMBERS || !is_member || is_elsewhere(&unit, child) {
                continue;
            }
            let Some(to) = unit.type_reference(child) else { continue };
            let ty = self.ty(to);
            let (offset, bits) = position(&unit, child, &ty);
            let bit_offset = base.wrapping_add(offset);
            match (unit.name(child), ty.resolved()) {
                // The members of a base class are found like those of a struct without a name. clang may name it by a
                // typedef.
                (_, Type::Record(inner)) if is_base => {
                    self.push_members(inner.id.index, bit_offset, nesting, members);
                }
                (Some(name), _) => {
                    let ty = ty.clone();
                    members.push(Member { name, ty, bit_offset, bits, variant: None });
                }
                (None, Type::Record(inner)) if inner.id.origin == self.origin => {
                    self.push_members(inner.id.index, bit_offset, nesting, members);
                }
                _ => {}
            }
        }
    }

    /// Adds the variants of an enum of Rust, each as a member that exists for some values of the tag. Without a tag there
    /// is one variant.
    fn push_variants(&self, unit: &Unit<'_>, part: UnitOffset, base: u64, members: &mut Vec<Member>) {
        let tag = unit.reference(part, dw::DW_AT_discr).and_then(|tag| {
            let tag = unit.local(tag)?;
            let ty = self.ty(unit.type_reference(tag)?);
            let layout = kinst_types::Layout { strsize: 0 };
            let bytes = layout.size(&ty).filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8))?;
            Some((base.wrapping_add(position(unit, tag, &ty).0) / 8, bytes as u8))
        });
        let children = unit.children(part).into_iter();
        let variants = children.filter(|child| unit.tag(*child) == Some(dw::DW_TAG_variant));
        let variants: Vec<(UnitOffset, Option<u64>)> =
            variants.map(|variant| (variant, unit.number(variant, dw::DW_AT_discr_value))).collect();
        if tag.is_none() && variants.len() != 1 {
            return;
        }
        for (variant, value) in &variants {
            let inside = unit.children(*variant).into_iter();
            let mut inside = inside.filter(|child| unit.tag(*child) == Some(dw::DW_TAG_member));
            let Some(member) = inside.next().filter(|_| members.len() < MAX_MEMBERS) else { continue };
            let (Some(name), Some(to)) = (unit.name(member), unit.type_reference(member)) else { continue };
            let ty = self.ty(to);
            let bit_offset = base.wrapping_add(position(unit, member, &ty).0);
            let others = variants.iter().filter(|(other, _)| other != variant);
            let variant = tag.map(|(offset, bytes)| Variant {
                offset,
                bytes,
                values: value.iter().copied().collect(),
                others: others.filter_map(|(_, value)| *value).collect(),
            });
            members.push(Member { name, ty, bit_offset, bits: None, variant });
        }
    }

    /// The classes that are virtual bases of a class, directly or of its bases.
    pub(crate) fn virtual_bases_at(&self, place: u64) -> Vec<Type> {
        let (mut bases, mut places, mut next) = (Vec::new(), vec![place], 0);
        while let Some(place) = places.get(next).copied().filter(|_| next < MAX_BASES) {
            next += 1;
            let Some((unit, record)) = self.entry_at(place) else { continue };
            for child in unit.children(record) {
                let is_base = unit.tag(child) == Some(dw::DW_TAG_inheritance);
                let Some(to) = unit.type_reference(child).filter(|_| is_base) else { continue };
                let ty = self.ty(to);
                if unit.attribute(child, dw::DW_AT_virtuality).is_some() {
                    if !bases.contains(&ty) {
                        bases.push(ty);
                    }
                } else if let Type::Record(base) = ty.resolved() {
                    places.push(base.id.index);
                }
            }
        }
        bases
    }

    pub(crate) fn parameters_at(&self, place: u64) -> Vec<(String, Type)> {
        let Some((unit, record)) = self.entry_at(place) else {
            return Vec::new();
        };
        let children = unit.children(record).into_iter();
        children
            .filter(|child| unit.tag(*child) == Some(dw::DW_TAG_template_type_parameter))
            .filter_map(|child| Some((unit.name(child)?, self.ty(unit.type_reference(child)?))))
            .collect()
    }

    pub(crate) fn enumerators_at(&self, place: u64) -> Vec<(String, i64)> {
        let Some((unit, entry)) = self.entry_at(place) else {
            return Vec::new();
        };
        let children = unit.children(entry).into_iter();
        children
            .filter(|child| unit.tag(*child) == Some(dw::DW_TAG_enumerator))
            .filter_map(|child| Some((unit.name(child)?, unit.number(child, dw::DW_AT_const_value)? as i64)))
            .collect()
    }
}

/// A pointer to a member of a class: an offset; of a function, its address or place in the table of virtual functions,
/// and what is added to `this`.
fn pointer_to_member(member: &Type, class: &Type) -> Type {
    let class = match class.resolved() {
        Type::Record(class) => class.name.as_str(),
        _ => "",
    };
    let held = match member.resolved() {
        Type::Function => Type::array_of(intrinsic::LONG, 2),
        _ => intrinsic::LONG,
    };
    Type::Typedef { name: Cow::Owned(format!("{member} {class}::*")), to: Box::new(held) }
}

fn base(unit: &Unit<'_>, entry: UnitOffset) -> Type {
    let bytes =
        unit.number(entry, dw::DW_AT_byte_size).and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0);
    let name = unit.name(entry).unwrap_or_default();
    let encoding = match unit.attribute(entry, dw::DW_AT_encoding) {
        Some(gimli::AttributeValue::Encoding(encoding)) => encoding,
        _ => dw::DW_ATE_unsigned,
    };
    match (encoding, bytes) {
        (dw::DW_ATE_float, 4 | 8) => Type::Float { name: Cow::Owned(name), bytes: bytes as u8 },
        (dw::DW_ATE_complex_float, 8 | 16) => {
            let part = if bytes == 8 { "float" } else { "double" };
            let part = Type::Float { name: Cow::Borrowed(part), bytes: bytes as u8 / 2 };
            Type::Typedef { name: Cow::Owned(name), to: Box::new(Type::array_of(part, 2)) }
        }
        (dw::DW_ATE_signed | dw::DW_ATE_signed_char, 1..16) => integer(&name, bytes, true),
        (
            dw::DW_ATE_unsigned
            | dw::DW_ATE_unsigned_char
            | dw::DW_ATE_boolean
            | dw::DW_ATE_UTF
            | dw::DW_ATE_address
            | dw::DW_ATE_ASCII
            | dw::DW_ATE_UCS,
            0..16,
        ) => integer(&name, bytes, false),
        // D cannot compute with a long double, or an integer of 128 bits.
        _ => {
            let to = Box::new(Type::array_of(intrinsic::UCHAR, bytes.into()));
            Type::Typedef { name: Cow::Owned(name), to }
        }
    }
}

/// The lengths of an array, the outermost first; 0 if unknown.
fn lengths(unit: &Unit<'_>, array: UnitOffset) -> Vec<u64> {
    let children = unit.children(array).into_iter();
    let ranges = children.filter(|child| unit.tag(*child) == Some(dw::DW_TAG_subrange_type));
    let length = |range| {
        let last = || unit.number(range, dw::DW_AT_upper_bound).map(|last| last.wrapping_add(1));
        unit.number(range, dw::DW_AT_count).or_else(last).unwrap_or(0)
    };
    ranges.take(8).map(length).collect()
}

/// Whether a member has no place in its record that is known here: a static one, or a virtual base class.
fn is_elsewhere(unit: &Unit<'_>, member: UnitOffset) -> bool {
    let has = |attribute| unit.attribute(member, attribute).is_some();
    let is_computed =
        has(dw::DW_AT_data_member_location) && unit.number(member, dw::DW_AT_data_member_location).is_none();
    has(dw::DW_AT_external) || has(dw::DW_AT_declaration) || is_computed
}

/// The offset and length of a member in bits; the length only for a bit-field.
fn position(unit: &Unit<'_>, member: UnitOffset, ty: &Type) -> (u64, Option<u32>) {
    let bits = unit.number(member, dw::DW_AT_bit_size).and_then(|bits| u32::try_from(bits).ok());
    if let Some(offset) = unit.number(member, dw::DW_AT_data_bit_offset) {
        return (offset, bits);
    }
    let bytes = unit.number(member, dw::DW_AT_data_member_location).unwrap_or(0);
    let start = bytes.wrapping_mul(8);
    match (bits, unit.number(member, dw::DW_AT_bit_offset)) {
        // Before version 5, the bits were counted from the highest bit of the containing integer.
        (Some(bits), Some(from_top)) => {
            let layout = kinst_types::Layout { strsize: 0 };
            let whole = unit.number(member, dw::DW_AT_byte_size).or_else(|| layout.size(ty)).unwrap_or(4);
            let below = whole.wrapping_mul(8).wrapping_sub(from_top).wrapping_sub(bits.into());
            (start.wrapping_add(below), Some(bits))
        }
        (bits, _) => (start, bits),
    }
}

//! types/declared.rs: the types that a program defines.

use std::collections::{HashMap, HashSet};

use super::layout::{Layout, has_size};
use super::source::{Member, TypeSource};
use super::tag::TagKind;
use super::ty::{Tagged, Type, TypeId, TypeOrigin};
use kinst_base::source::Span;

/// Typedefs by name; structs, unions and enums in the order of their first appearance in the program.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    typedefs: HashMap<String, (Type, Span)>,
    tags: HashMap<(TagKind, String), u32>,
    definitions: Vec<Definition>,
    /// The definitions with open braces.
    begun: Vec<TypeId>,
    /// Packed structs: neither they nor their members are aligned.
    packed: HashSet<TypeId>,
}

#[derive(Clone, Debug)]
struct Definition {
    tagged: Tagged,
    body: Option<Body>,
    span: Span,
}

#[derive(Clone, Debug)]
enum Body {
    Record(Vec<Member>),
    Enum(Vec<(String, i64)>),
}

impl Declared {
    /// Adds a typedef; it replaces one of the same name.
    pub fn define_type(&mut self, name: &str, ty: Type, span: Span) {
        self.typedefs.insert(name.to_string(), (ty, span));
    }

    /// The type that a typedef of the program names, and the place of its declaration.
    pub fn typedef(&self, name: &str) -> Option<&(Type, Span)> {
        self.typedefs.get(name)
    }

    /// The type of a tag: a forward declaration unless the tag is known. Without a name, it is always a new
    /// type.
    pub fn declare_tag(&mut self, kind: TagKind, name: Option<&str>, span: Span) -> Tagged {
        if let Some(index) = name.and_then(|name| self.tags.get(&(kind, name.to_string()))) {
            return self.definitions[*index as usize].tagged.clone();
        }
        let index = self.definitions.len() as u32;
        let id = TypeId { origin: TypeOrigin::Program, index: index.into() };
        let tagged = Tagged { kind, name: name.unwrap_or_default().to_string(), id, bytes: None };
        self.definitions.push(Definition { tagged: tagged.clone(), body: None, span });
        if let Some(name) = name {
            self.tags.insert((kind, name.to_string()), index);
        }
        tagged
    }

    /// Makes the tag the program's own from here on, although its members are still unknown.
    pub fn begin(&mut self, tagged: &Tagged) {
        self.begun.push(tagged.id);
    }

    /// Marks a struct as packed: neither it nor its members are aligned.
    pub fn pack(&mut self, tagged: &Tagged) {
        self.packed.insert(tagged.id);
    }

    /// Whether the braces of its definition are open.
    pub fn is_begun(&self, tagged: &Tagged) -> bool {
        self.begun.contains(&tagged.id)
    }

    /// The place of the tag's definition, if it is defined and not only declared.
    pub fn defined_at(&self, kind: TagKind, name: &str) -> Option<Span> {
        let definition = &self.definitions[*self.tags.get(&(kind, name.to_string()))? as usize];
        definition.body.as_ref().map(|_| definition.span)
    }

    /// Gives a tag its members and its size in bytes, and returns it complete; `span` is the place of the definition.
    pub fn define_record(&mut self, tagged: &Tagged, members: Vec<Member>, bytes: u64, span: Span) -> Tagged {
        self.define(tagged, Body::Record(members), bytes, span)
    }

    /// An enum has the size of an int.
    pub fn define_enum(&mut self, tagged: &Tagged, enumerators: Vec<(String, i64)>, span: Span) -> Tagged {
        self.define(tagged, Body::Enum(enumerators), 4, span)
    }

    fn define(&mut self, tagged: &Tagged, body: Body, bytes: u64, span: Span) -> Tagged {
        let tagged = Tagged { bytes: Some(bytes), ..tagged.clone() };
        self.begun.retain(|id| *id != tagged.id);
        if let Some(definition) = self.definitions.get_mut(tagged.id.index as usize) {
            *definition = Definition { tagged: tagged.clone(), body: Some(body), span };
        }
        tagged
    }

    fn body(&self, tagged: &Tagged) -> Option<&Body> {
        match tagged.id.origin {
            TypeOrigin::Program => self.definitions.get(tagged.id.index as usize)?.body.as_ref(),
            TypeOrigin::Kernel(_) | TypeOrigin::File(_) => None,
        }
    }
}

impl TypeSource for Declared {
    fn named(&self, name: &str) -> Option<Type> {
        let (to, _) = self.typedefs.get(name)?;
        Some(Type::Typedef { name: name.to_string().into(), to: Box::new(to.clone()) })
    }

    fn tagged(&self, kind: TagKind, name: &str) -> Option<Type> {
        let index = self.tags.get(&(kind, name.to_string()))?;
        let tagged = self.definitions[*index as usize].tagged.clone();
        Some(if kind == TagKind::Enum { Type::Enum(tagged) } else { Type::Record(tagged) })
    }

    fn complete(&self, tagged: &Tagged) -> Tagged {
        let known = match tagged.id.origin {
            TypeOrigin::Program => self.definitions.get(tagged.id.index as usize),
            TypeOrigin::Kernel(_) | TypeOrigin::File(_) => None,
        };
        known.map_or_else(|| tagged.clone(), |definition| definition.tagged.clone())
    }

    fn members(&self, record: &Tagged) -> Vec<Member> {
        match self.body(record) {
            Some(Body::Record(members)) => members.clone(),
            _ => Vec::new(),
        }
    }

    fn enumerators(&self, tagged: &Tagged) -> Vec<(String, i64)> {
        match self.body(tagged) {
            Some(Body::Enum(enumerators)) => enumerators.clone(),
            _ => Vec::new(),
        }
    }

    fn is_packed(&self, record: &Tagged) -> bool {
        self.packed.contains(&record.id)
    }

    fn names(&self) -> Vec<&str> {
        self.typedefs.keys().map(String::as_str).collect()
    }
}

/// Why a member cannot be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// Its type has no size.
    NoSize,
    /// The whole would be larger than any value that the kernel can describe.
    TooLarge,
}

/// The limit in bytes: the kernel's own descriptions of types have no larger sizes.
const LARGEST: u64 = u32::MAX as u64;

/// Places one member after the other as the C ABI of x86-64 does.
pub struct Placement<'a> {
    types: &'a dyn TypeSource,
    layout: Layout,
    union: bool,
    members: Vec<Member>,
    /// In bits: the earliest start of the next member, and the end of the largest.
    next: u64,
    end: u64,
    align: u64,
    /// Whether no member is aligned.
    packed: bool,
}

impl<'a> Placement<'a> {
    /// Begins a struct or union; `types` has the members of structs inside it.
    pub fn new(kind: TagKind, layout: Layout, packed: bool, types: &'a dyn TypeSource) -> Placement<'a> {
        let union = kind == TagKind::Union;
        Placement { types, layout, union, members: Vec::new(), next: 0, end: 0, align: 1, packed }
    }

    /// Places a member that is not a bit-field; a struct without a name is replaced by its members.
    pub fn member(&mut self, name: &str, ty: Type) -> Result<(), Unplaced> {
        // An array at the end of a C struct may have no length.
        let bits = if matches!(ty.resolved(), Type::Array { len: 0, .. }) { 0 } else { self.bits(&ty)? };
        let align = if self.packed { 1 } else { align(self.types, &ty) };
        self.align = self.align.max(align);
        let offset = if self.union { 0 } else { self.next.next_multiple_of(align * 8) };
        self.place(offset, bits)?;
        match ty.resolved() {
            Type::Record(inner) if name.is_empty() => {
                let inner = self.types.members(inner).into_iter();
                self.members
                    .extend(inner.map(|member| Member { bit_offset: offset + member.bit_offset, ..member }));
            }
            _ => self.members.push(Member {
                name: name.to_string(),
                ty,
                bit_offset: offset,
                bits: None,
                variant: None,
            }),
        }
        Ok(())
    }

    /// A bit-field does not cross a unit of its type; a zero-width one ends the unit.
    pub fn bit_field(&mut self, name: &str, ty: Type, bits: u32) -> Result<(), Unplaced> {
        let unit = self.bits(&ty)?;
        let mut offset = if self.union { 0 } else { self.next };
        if bits == 0 || offset / unit != (offset + u64::from(bits) - 1) / unit {
            offset = offset.next_multiple_of(unit);
        }
        self.place(offset, bits.into())?;
        if !name.is_empty() {
            self.align = self.align.max(align(self.types, &ty));
            self.members.push(Member {
                name: name.to_string(),
                ty,
                bit_offset: offset,
                bits: Some(bits),
                variant: None,
            });
        }
        Ok(())
    }

    fn bits(&self, ty: &Type) -> Result<u64, Unplaced> {
        match self.layout.size(ty) {
            Some(bytes) if bytes > LARGEST => Err(Unplaced::TooLarge),
            Some(bytes) => Ok(bytes * 8),
            None if has_size(ty) => Err(Unplaced::TooLarge),
            None => Err(Unplaced::NoSize),
        }
    }

    fn place(&mut self, offset: u64, bits: u64) -> Result<(), Unplaced> {
        self.next = offset + bits;
        self.end = self.end.max(self.next);
        if self.end > LARGEST * 8 { Err(Unplaced::TooLarge) } else { Ok(()) }
    }

    /// The members, and the size of the whole in bytes.
    pub fn finish(self) -> (Vec<Member>, u64) {
        let bytes = self.end.div_ceil(8).next_multiple_of(self.align);
        (self.members, bytes)
    }
}

/// The alignment of such an object in bytes: the maximum that anything in it requires. Each struct is
/// examined once, however often it is a member.
fn align(types: &dyn TypeSource, ty: &Type) -> u64 {
    let mut most = 1;
    let mut seen = HashSet::new();
    let mut left = vec![ty.clone()];
    while let Some(ty) = left.pop() {
        let own = match ty.resolved() {
            Type::Int(int) => int.bytes.into(),
            Type::Float { bytes, .. } => (*bytes).into(),
            Type::Enum(tagged) => tagged.bytes.unwrap_or(4).clamp(1, 8),
            Type::Pointer { .. } => 8,
            Type::Array { of, .. } => {
                left.push((**of).clone());
                1
            }
            Type::Record(tagged) => {
                if !types.is_packed(tagged) && seen.insert(tagged.id) {
                    left.extend(types.members(tagged).into_iter().map(|member| member.ty));
                }
                1
            }
            _ => 1,
        };
        most = most.max(own);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intrinsic::{CHAR, INT, Intrinsic, LONG, UINT};

    fn offsets(kind: TagKind, list: &[(&str, Type, Option<u32>)]) -> (Vec<u64>, u64) {
        let mut placement = Placement::new(kind, Layout { strsize: 256 }, false, &Intrinsic);
        for (name, ty, bits) in list {
            match bits {
                Some(bits) => placement.bit_field(name, ty.clone(), *bits),
                None => placement.member(name, ty.clone()),
            }
            .unwrap();
        }
        let (members, bytes) = placement.finish();
        (members.iter().map(|member| member.bit_offset).collect(), bytes)
    }

    /// gcc computed the expected numbers.
    #[test]
    fn members_stand_where_c_puts_them() {
        let list =
            [("a", CHAR, None), ("b", LONG, None), ("c", Type::array_of(CHAR, 3), None), ("d", INT, None)];
        assert_eq!(offsets(TagKind::Struct, &list), (vec![0, 64, 128, 160], 24));
        assert_eq!(offsets(TagKind::Union, &list), (vec![0, 0, 0, 0], 8));
        let fields = [
            ("a", UINT, Some(3)),
            ("", INT, Some(5)),
            ("b", UINT, Some(25)),
            ("c", CHAR, None),
            ("d", CHAR, Some(7)),
            ("e", CHAR, Some(2)),
            ("", INT, Some(0)),
            ("f", INT, Some(1)),
        ];
        assert_eq!(offsets(TagKind::Struct, &fields), (vec![0, 32, 64, 72, 80, 96], 16));
    }
}

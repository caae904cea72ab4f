//! types/btf/graph.rs: records of BTF → [`Type`], members, enumerators, prototypes.

use std::borrow::Cow;

use super::format::Record;
use super::index::Group;
use super::reader::Btf;
use crate::intrinsic::{self, Intrinsic};
use crate::source::{Member, Prototype, TypeSource};
use crate::tag::TagKind;
use crate::ty::{Int, Tagged, Type, TypeId, TypeOrigin};

/// The most steps from a type to its parts, and the most nested structs without a name: files whose types
/// form a cycle end here.
const MAX_DEPTH: usize = 48;
const MAX_NESTING: usize = 12;
/// The most members of one struct, including those of its structs without a name.
const MAX_MEMBERS: usize = 1 << 16;

impl Btf {
    /// A base type or typedef of this file.
    pub fn named(&self, name: &str) -> Option<Type> {
        self.find(Group::Named, name).next().map(|(id, _)| self.ty(id))
    }

    /// A struct, union or enum of this file; a definition takes precedence over a forward declaration.
    pub fn tagged(&self, kind: TagKind, name: &str) -> Option<Type> {
        let fits = self.find(Group::Tagged, name).filter(|(_, record)| is_kind(record, kind));
        let (mut forward, mut defined) = (None, None);
        for (id, record) in fits {
            match record {
                Record::Forward { .. } => forward = forward.or(Some(id)),
                _ => defined = defined.or(Some(id)),
            }
        }
        defined.or(forward).map(|id| self.ty(id))
    }

    /// The type of a variable of this file.
    pub fn variable(&self, name: &str) -> Option<Type> {
        self.find(Group::Variables, name).find_map(|(_, record)| match record {
            Record::Variable(ty) => Some(self.ty(ty)),
            _ => None,
        })
    }

    /// The parameters and result of a function of this file.
    pub fn prototype(&self, name: &str) -> Option<Prototype> {
        self.find(Group::Functions, name).find_map(|(_, record)| match record {
            Record::Function(prototype) => self.prototype_of(prototype),
            _ => None,
        })
    }

    /// The id of a function, if it is the only one with this name.
    pub fn function(&self, name: &str) -> Option<u32> {
        let mut found = self.find(Group::Functions, name).map(|(id, _)| id);
        found.next().filter(|_| found.next().is_none())
    }

    fn prototype_of(&self, id: u32) -> Option<Prototype> {
        let (_, Record::Prototype { returns, params }) = self.record(id)? else { return None };
        let named = params.iter().filter(|param| *param != (0, 0));
        let params = named.map(|(name, ty)| (self.string(name).to_owned(), self.ty(ty))).collect();
        Some(Prototype { params, returns: self.ty(returns) })
    }

    /// The names that [`Btf::named`] finds.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members_of(Group::Named).map(|(_, name)| self.string(name)).filter(|name| !name.is_empty())
    }

    /// The type of an id; `void` if the file has no such type.
    pub fn ty(&self, id: u32) -> Type {
        self.ty_at(id, MAX_DEPTH)
    }

    fn ty_at(&self, id: u32, depth: usize) -> Type {
        let (Some((name, record)), Some(depth)) = (self.record(id), depth.checked_sub(1)) else {
            return Type::Void;
        };
        match record {
            Record::Int { bytes, signed, .. } => integer(name, bytes, signed),
            Record::Float { bytes: bytes @ (4 | 8) } => {
                Type::Float { name: Cow::Owned(name.to_owned()), bytes: bytes as u8 }
            }
            Record::Float { bytes } => Type::array_of(intrinsic::UCHAR, bytes.into()),
            Record::Pointer(to) => Type::pointer_to(self.ty_at(to, depth)),
            Record::Array { of, len } => Type::array_of(self.ty_at(of, depth), len.into()),
            Record::Struct { bytes, .. } => {
                Type::Record(self.tagged_at(id, name, kind_of(&record), Some(bytes)))
            }
            Record::Forward { .. } => Type::Record(self.tagged_at(id, name, kind_of(&record), None)),
            Record::Enum { bytes, .. } => {
                let bytes = if matches!(bytes, 1 | 2 | 8) { bytes } else { 4 };
                Type::Enum(self.tagged_at(id, name, TagKind::Enum, Some(bytes)))
            }
            Record::Typedef(to) => match Intrinsic.named(name) {
                Some(known @ Type::Typedef { .. }) => known,
                _ => Type::Typedef { name: Cow::Owned(name.to_owned()), to: Box::new(self.ty_at(to, depth)) },
            },
            Record::Modifier(to) | Record::Variable(to) => self.ty_at(to, depth),
            Record::Function(_) | Record::Prototype { .. } => Type::Function,
            Record::Other => Type::Void,
        }
    }

    fn tagged_at(&self, id: u32, name: &str, kind: TagKind, bytes: Option<u32>) -> Tagged {
        let origin = TypeOrigin::Kernel(self.owner(id).number);
        let id = TypeId { origin, index: id.into() };
        Tagged { kind, name: name.to_owned(), id, bytes: bytes.map(u64::from) }
    }

    /// The members of a struct or union; a member without a name is replaced by its own members.
    pub fn members(&self, index: u64) -> Vec<Member> {
        let mut members = Vec::new();
        if let Ok(id) = u32::try_from(index) {
            self.push_members(id, 0, MAX_NESTING, &mut members);
        }
        members
    }

    fn push_members(&self, id: u32, base: u64, nesting: usize, members: &mut Vec<Member>) {
        let (Some((_, Record::Struct { fields, .. })), Some(nesting)) =
            (self.record(id), nesting.checked_sub(1))
        else {
            return;
        };
        for field in fields.iter() {
            if members.len() >= MAX_MEMBERS {
                return;
            }
            let name = self.string(field.name);
            let mut bit_offset = base + u64::from(field.bit_offset);
            let plain = self.unmodified(field.ty);
            let record = self.record(plain).map(|(_, record)| record);
            if name.is_empty() && matches!(record, Some(Record::Struct { .. })) {
                self.push_members(plain, bit_offset, nesting, members);
                continue;
            }
            if name.is_empty() {
                continue;
            }
            let mut bits = Some(field.bits).filter(|bits| *bits != 0);
            // Before BTF recorded the lengths of members, a bit-field had a separate integer type.
            if let (None, Some(Record::Int { bytes, bit_offset: inside, bits: length, .. })) =
                (bits, self.record(self.resolved(field.ty)).map(|(_, record)| record))
                && length != 0
                && (inside != 0 || length != bytes.saturating_mul(8))
            {
                bit_offset += u64::from(inside);
                bits = Some(length);
            }
            members.push(Member {
                name: name.to_owned(),
                ty: self.ty(field.ty),
                bit_offset,
                bits,
                variant: None,
            });
        }
    }

    /// Names and values of an enum; empty for any other type.
    pub fn enumerators(&self, index: u64) -> Vec<(String, i64)> {
        match u32::try_from(index).ok().and_then(|id| self.record(id)) {
            Some((_, Record::Enum { values, .. })) => {
                values.iter().map(|(name, value)| (self.string(name).to_owned(), value)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The type without const, volatile and the like.
    fn unmodified(&self, id: u32) -> u32 {
        let step = |id: &u32| match self.record(*id) {
            Some((_, Record::Modifier(to))) => Some(to),
            _ => None,
        };
        std::iter::successors(Some(id), step).take(MAX_DEPTH).last().unwrap_or(id)
    }

    /// The type without typedefs, const, volatile and the like.
    fn resolved(&self, id: u32) -> u32 {
        let step = |id: &u32| match self.record(*id) {
            Some((_, Record::Modifier(to) | Record::Typedef(to))) => Some(to),
            _ => None,
        };
        std::iter::successors(Some(id), step).take(MAX_DEPTH).last().unwrap_or(id)
    }
}

fn is_kind(record: &Record<'_>, kind: TagKind) -> bool {
    match record {
        Record::Struct { .. } | Record::Forward { .. } => kind_of(record) == kind,
        // A forward declaration of an enum is an enum without values.
        Record::Enum { .. } => kind == TagKind::Enum,
        _ => false,
    }
}

/// The kind of a struct, union or forward declaration.
fn kind_of(record: &Record<'_>) -> TagKind {
    match record {
        Record::Struct { union: true, .. } | Record::Forward { union: true } => TagKind::Union,
        _ => TagKind::Struct,
    }
}

/// C has several spellings of an integer type, and BTF has another: `long unsigned int`.
///
/// Kernels since 6.2 are compiled with an unsigned char; D's char is signed, and strings consist of it.
pub fn integer(name: &str, bytes: u32, signed: bool) -> Type {
    let name = match name {
        "char" => return intrinsic::CHAR,
        "short int" => "short",
        "short unsigned int" => "unsigned short",
        "long int" => "long",
        "long unsigned int" => "unsigned long",
        "long long int" => "long long",
        "long long unsigned int" => "unsigned long long",
        name => name,
    };
    match (Intrinsic.named(name), bytes) {
        (Some(Type::Int(int)), _) if u32::from(int.bytes) == bytes => Type::Int(int),
        (_, 1 | 2 | 4 | 8) => {
            Type::Int(Int { name: Cow::Owned(name.to_owned()), bytes: bytes as u8, signed })
        }
        // No register holds it: __int128.
        _ => Type::array_of(intrinsic::UCHAR, bytes.into()),
    }
}

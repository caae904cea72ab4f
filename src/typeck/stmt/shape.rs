//! typeck/stmt/shape.rs: the layout in which print() shows a value: its numbers, strings and members.

use crate::typeck::state::Checker;
use kinst_dif::shape::{Part, Shape};
use kinst_types::{Member, Type, TypeSource as _};

/// The limit on nested structs; real ones end long before, but a damaged file may nest without end.
const MAX_DEPTH: usize = 24;
/// The limit on members of the printed value, including members of nested structs.
const MAX_PARTS: usize = 1 << 14;

impl Checker<'_> {
    pub(in crate::typeck) fn shape(&self, ty: &Type) -> Shape {
        let mut left = MAX_PARTS;
        self.shape_at(ty, MAX_DEPTH, &mut left)
    }

    fn shape_at(&self, ty: &Type, depth: usize, left: &mut usize) -> Shape {
        let ty = self.complete(ty.resolved().clone());
        let bytes = self.layout.size(&ty).unwrap_or(0);
        let opaque = Shape::Bytes { bytes };
        let Some(depth) = depth.checked_sub(1) else { return opaque };
        match &ty {
            Type::String => Shape::Text { bytes },
            Type::Array { of, .. } if ty.is_string_compatible() && self.layout.size(of) == Some(1) => {
                Shape::Text { bytes }
            }
            Type::Array { of, len } => match self.layout.size(of) {
                Some(stride) => {
                    Shape::Array { of: Box::new(self.shape_at(of, depth, left)), stride, len: *len }
                }
                None => opaque,
            },
            Type::Record(tagged) if tagged.bytes.is_some() => {
                let members = self.types().members(tagged);
                Shape::Record(members.iter().map_while(|member| self.part(member, depth, left)).collect())
            }
            Type::Enum(tagged) => {
                Shape::Enum { bytes: bytes as u32, values: self.types().enumerators(tagged) }
            }
            Type::Float { bytes: 4 | 8, .. } => Shape::Float { bytes: bytes as u32 },
            _ if ty.is_pointer() => Shape::Pointer { bytes: bytes as u32 },
            _ if ty.is_scalar() => Shape::Number { bytes: bytes as u32 },
            _ => opaque,
        }
    }

    /// Returns `None` if there are too many members.
    fn part(&self, member: &Member, depth: usize, left: &mut usize) -> Option<Part> {
        *left = left.checked_sub(1)?;
        let shape = self.shape_at(&member.ty, depth, left);
        let bits = member.bits.map(|bits| ((member.bit_offset % 8) as u32, bits));
        let (type_name, name) = (member.ty.to_string(), member.name.clone());
        let variant = member.variant.clone();
        Some(Part { type_name, name, offset: member.bit_offset / 8, bits, shape, variant })
    }
}

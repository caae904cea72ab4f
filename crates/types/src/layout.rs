//! types/layout.rs: sizes of types, and D's integer promotion.

use super::intrinsic;
use super::ty::Type;

/// The parameters that sizes depend on; the data model is LP64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The size of a `string` in bytes.
    pub strsize: u32,
}

impl Layout {
    /// The size in bytes, or `None` if the type has no size: void, a function, an undefined struct, `[]`.
    pub fn size(&self, ty: &Type) -> Option<u64> {
        match ty.resolved() {
            Type::Int(int) => Some(int.bytes.into()),
            Type::Float { bytes, .. } => Some((*bytes).into()),
            Type::Enum(tagged) => Some(tagged.bytes.unwrap_or(4)),
            Type::Record(tagged) => tagged.bytes,
            Type::Pointer { .. } => Some(8),
            Type::Array { len: 0, .. } => None,
            Type::Array { of, len } => self.size(of)?.checked_mul(*len),
            Type::String => Some(self.strsize.into()),
            Type::Void | Type::Function | Type::Dynamic | Type::Typedef { .. } => None,
        }
    }
}

/// Whether a type has a size, even if that of an array of arrays is too large to count.
pub fn has_size(mut ty: &Type) -> bool {
    while let Type::Array { of, len: 1.. } = ty.resolved() {
        ty = of;
    }
    match ty.resolved() {
        Type::Record(tagged) => tagged.bytes.is_some(),
        Type::Array { .. } | Type::Void | Type::Function | Type::Dynamic | Type::Typedef { .. } => false,
        _ => true,
    }
}

/// The type of an arithmetic result. Unlike in C, nothing is widened to int first: the rank of a type is its bits, plus
/// one if it is unsigned; the higher rank wins, and of equal ranks the type defined later.
pub fn promote(left: &Type, right: &Type) -> Type {
    match (rank(left), rank(right)) {
        (l, r) if l > r => left.clone(),
        (l, r) if l < r => right.clone(),
        _ if intrinsic::definition_order(left) >= intrinsic::definition_order(right) => left.clone(),
        _ => right.clone(),
    }
}

fn rank(ty: &Type) -> u32 {
    match ty.resolved() {
        Type::Int(int) => u32::from(int.bytes) * 8 + u32::from(!int.signed),
        // An enumerator is an int.
        _ => 32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intrinsic::Intrinsic;
    use crate::source::TypeSource;

    #[test]
    fn promotion_follows_the_rank() {
        for (left, right, result) in [
            ("char", "char", "char"),
            ("short", "unsigned char", "short"),
            ("int", "unsigned int", "unsigned int"),
            ("unsigned int", "long", "long"),
            ("int", "pid_t", "pid_t"),
            ("pid_t", "int", "pid_t"),
            ("long", "long long", "long long"),
            ("uint64_t", "int", "uint64_t"),
        ] {
            let types = Intrinsic;
            let promoted = promote(&types.named(left).unwrap(), &types.named(right).unwrap());
            assert_eq!(promoted.to_string(), result, "{left} and {right}");
        }
    }
}

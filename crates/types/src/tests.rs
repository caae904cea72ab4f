//! types/tests.rs: types as text.

use super::intrinsic::{self, Intrinsic};
use super::source::TypeSource as _;
use super::ty::Type;

#[test]
fn types_are_written_as_in_c() {
    let array = Type::array_of(intrinsic::CHAR, 16);
    let cases = [
        (Type::pointer_to(intrinsic::CHAR), "char *"),
        (array.clone(), "char [16]"),
        (Type::array_of(Type::pointer_to(intrinsic::INT), 4), "int *[4]"),
        (Type::pointer_to(array), "char (*)[16]"),
        (Type::pointer_to(Type::pointer_to(Type::Void)), "void **"),
        (Intrinsic.named("pid_t").unwrap(), "pid_t"),
    ];
    for (ty, text) in cases {
        assert_eq!(ty.to_string(), text);
    }
}

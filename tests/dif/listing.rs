//! listing.rs: the listing of every instruction and of every kind of variable.

use kinst::dif::insn::{Builtin, Insn, Opcode, Shape};
use kinst::dif::{CtfKind, Difo, Scope, Type, Variable, VariableKind, disasm};

use crate::snapshot;

#[test]
fn every_instruction() {
    let insns: Vec<u32> = Opcode::ALL.iter().map(|op| example(*op).encode()).collect();
    let difo = Difo {
        insns,
        ints: vec![0, u64::MAX],
        strings: b"\0say \"hi\"\n\0".to_vec(),
        variables: variables(),
        rtype: Type::string(256),
    };
    snapshot::settings("listing")
        .bind(|| insta::assert_snapshot!("every_instruction", disasm::difo(10, &difo)));
}

/// Code that no compiler generates still has a meaningful listing.
#[test]
fn broken_objects() {
    let words =
        [0, 0xff00_0000, 0x2401_0000, 0x2500_0901, 0x2600_ff01, 0x2f00_ff01, 0x3007_0001, 0x2905_0901];
    let difo = Difo {
        insns: words.to_vec(),
        rtype: Type { by_user_ref: true, ..Type::by_ref(CtfKind::Struct, 24) },
        ..Difo::default()
    };
    snapshot::settings("listing").bind(|| insta::assert_snapshot!("broken_objects", disasm::difo(0, &difo)));
}

fn example(op: Opcode) -> Insn {
    let user = 0x500;
    match op.shape() {
        Shape::Three => Insn::Three { op, r1: 1, r2: 2, rd: 3 },
        Shape::Two => Insn::Two { op, r1: 1, rd: 2 },
        Shape::Compare => Insn::Compare { op, r1: 1, r2: 2 },
        Shape::Test => Insn::Test { r1: 1 },
        Shape::Branch => Insn::Branch { op, label: 78 },
        Shape::Load => Insn::Load { op, r1: 1, rd: 2 },
        Shape::Store => Insn::Store { op, rs: 1, rd: 2 },
        Shape::Ret => Insn::Ret { rd: 1 },
        Shape::Plain => Insn::Plain { op },
        Shape::Int => Insn::Int { index: 1, rd: 1 },
        Shape::Str => Insn::Str { offset: 1, rd: 1 },
        Shape::Array => Insn::Array { op, var: 0, index: 1, rd: 2 },
        Shape::LoadVar => Insn::LoadVar { op, var: user, rd: 1 },
        Shape::StoreVar => Insn::StoreVar { op, var: user, rs: 1 },
        Shape::Call => Insn::Call { subr: 12, rd: 1 },
        Shape::PushRef => Insn::PushRef { ty: 1, size: 0, rs: 1 },
        Shape::PushVal => Insn::PushVal { ty: 0, size: 0, rs: 1 },
        Shape::Xlate => Insn::Xlate { op, index: 3, rd: 1 },
    }
}

fn variables() -> Vec<Variable> {
    let variable = |name: &str, id, kind, scope, read, written, ty| Variable {
        name: name.to_string(),
        id,
        kind,
        scope,
        read,
        written,
        ty,
    };
    let (array, scalar) = (VariableKind::Array, VariableKind::Scalar);
    let int = Type::by_value(CtfKind::Integer, 4);
    vec![
        variable("args", Builtin::Args.number(), array, Scope::Global, true, false, int),
        variable("global", 0x500, scalar, Scope::Global, true, true, int),
        variable("thread", 0x500, array, Scope::Thread, true, true, Type::string(0)),
        variable("local", 0x500, scalar, Scope::Local, false, true, Type::by_ref(CtfKind::Struct, 16)),
        variable("a_name_that_is_longer", 0x501, scalar, Scope::Global, false, false, int),
    ]
}

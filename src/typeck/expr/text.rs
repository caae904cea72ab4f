//! typeck/expr/text.rs: stringof() of the strings of C++, Rust and Go, which have an address and a length.

use super::member::in_user_memory;
use crate::typeck::state::Checker;
use crate::typeck::typed::{ArithOp, Expr, ExprKind};
use kinst_base::source::Span;
use kinst_dif::insn::Subr;
use kinst_types::intrinsic::ULONG;
use kinst_types::{Type, TypeSource as _};

/// The members of a string that have the address of its bytes, and their number.
struct Layout {
    /// The only types with this layout; all, if empty.
    types: &'static [&'static str],
    address: &'static [&'static str],
    length: &'static [&'static str],
}

const LAYOUTS: [Layout; 7] = [
    // &str, and slices of bytes.
    Layout { types: &[], address: &["data_ptr"], length: &["length"] },
    // String, since Rust 1.83 and before.
    Layout {
        types: &[],
        address: &["vec", "buf", "inner", "ptr", "pointer", "pointer"],
        length: &["vec", "len"],
    },
    Layout { types: &[], address: &["vec", "buf", "ptr", "pointer", "pointer"], length: &["vec", "len"] },
    // std::string and std::string_view of libstdc++.
    Layout { types: &[], address: &["_M_dataplus", "_M_p"], length: &["_M_string_length"] },
    Layout { types: &[], address: &["_M_str"], length: &["_M_len"] },
    // Go's string and []byte: the members of many other types have such names.
    Layout { types: &["string"], address: &["str"], length: &["len"] },
    Layout { types: &["[]uint8"], address: &["array"], length: &["len"] },
];

impl Checker<'_> {
    /// Returns the text of a record that is a string of C++, Rust or Go in a process; `None` for other values.
    pub(super) fn text_of(&self, value: &Expr, span: Span) -> Option<Expr> {
        let Type::Record(tagged) = value.ty.resolved() else { return None };
        let is_of =
            |layout: &&Layout| layout.types.is_empty() || layout.types.contains(&tagged.name.as_str());
        LAYOUTS.iter().filter(is_of).find_map(|layout| {
            let address = self.at_path(value, layout.address, span)?;
            let length = self.at_path(value, layout.length, span)?;
            let is_text = address.ty.referent().is_some_and(|to| self.layout.size(to) == Some(1));
            (is_text && address.ty.is_user() && length.ty.is_integer()).then_some(())?;
            let one = Expr::new(ExprKind::Int(1), ULONG, span);
            let (left, right) = (Box::new(length.clone()), Box::new(one));
            let size = ExprKind::Arith { op: ArithOp::Add, left, right };
            let address = Expr::new(ExprKind::Convert(Box::new(address)), ULONG, span);
            let args = vec![address, Expr::new(size, ULONG, span)];
            let text = Expr::new(ExprKind::Call { subroutine: Subr::Copyinstr, args }, Type::String, span);
            // An empty string of Rust or Go has no memory.
            let empty = Expr::new(ExprKind::Str(Vec::new()), Type::String, span);
            let (condition, then, otherwise) = (Box::new(length), Box::new(text), Box::new(empty));
            Some(Expr::new(ExprKind::Conditional { condition, then, otherwise }, Type::String, span))
        })
    }

    /// The member of a member, and so on; `None` if there is none, or it is a bit-field.
    fn at_path(&self, value: &Expr, path: &[&str], span: Span) -> Option<Expr> {
        path.iter().try_fold(value.clone(), |value, name| {
            let Type::Record(tagged) = value.ty.resolved() else { return None };
            let members = self.types().members(&self.types().complete(tagged));
            let found = members.into_iter().find(|member| member.name == *name && member.bits.is_none())?;
            let user = in_user_memory(&value);
            self.load_member(value, found, user, span).ok()
        })
    }
}

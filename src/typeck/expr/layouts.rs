//! typeck/expr/layouts.rs: the members by which strings, vectors and pointers of C++ and Rust refer to memory.

use super::member::in_user_memory;
use crate::typeck::state::Checker;
use crate::typeck::typed::{ArithOp, Expr, ExprKind};
use kinst_base::source::Span;
use kinst_types::intrinsic::ULONG;
use kinst_types::{Tagged, Type, TypeSource as _};

/// A path of members.
type Path = &'static [&'static str];

/// A type of a standard library that refers to memory of the process. A value has it if its members are there and have
/// suitable types, whatever the version of the library.
pub(in crate::typeck) struct Layout {
    /// The names of the type; one that ends with a sign is the beginning of the names of all instances.
    names: &'static [&'static str],
    /// The member that points to the memory.
    address: Path,
    extent: Extent,
}

/// The size of the memory.
#[derive(Clone, Copy)]
enum Extent {
    /// The member that has the number of bytes of text.
    Text(Path),
    /// The member that has the number of elements.
    Elements(Path),
    /// The member that points to the end of the elements.
    End(Path),
    /// One value.
    One,
}

/// Memory that a value refers to.
#[derive(Debug)]
pub(in crate::typeck) struct Memory {
    /// The address, as a pointer to the first element.
    pub address: Expr,
    /// The number of bytes.
    pub bytes: Expr,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::typeck) enum Kind {
    Text,
    Elements,
    One,
}

const LAYOUTS: &[Layout] = &[
    Layout {
        names: &["&str", "&mut str", "alloc::boxed::Box<str,"],
        address: &["data_ptr"],
        extent: Extent::Text(&["length"]),
    },
    // Since Rust 1.83, and before.
    Layout {
        names: &["String"],
        address: &["vec", "buf", "inner", "ptr", "pointer", "pointer"],
        extent: Extent::Text(&["vec", "len"]),
    },
    Layout {
        names: &["String"],
        address: &["vec", "buf", "ptr", "pointer", "pointer"],
        extent: Extent::Text(&["vec", "len"]),
    },
    Layout {
        names: &["OsString"],
        address: &["inner", "inner", "buf", "inner", "ptr", "pointer", "pointer"],
        extent: Extent::Text(&["inner", "inner", "len"]),
    },
    Layout {
        names: &["PathBuf"],
        address: &["inner", "inner", "inner", "buf", "inner", "ptr", "pointer", "pointer"],
        extent: Extent::Text(&["inner", "inner", "inner", "len"]),
    },
    // std::string and std::string_view of libstdc++.
    Layout {
        names: &["basic_string<char,"],
        address: &["_M_dataplus", "_M_p"],
        extent: Extent::Text(&["_M_string_length"]),
    },
    Layout { names: &["basic_string_view<char,"], address: &["_M_str"], extent: Extent::Text(&["_M_len"]) },
    Layout {
        names: &["&[", "&mut [", "alloc::boxed::Box<["],
        address: &["data_ptr"],
        extent: Extent::Elements(&["length"]),
    },
    Layout {
        names: &["Vec<"],
        address: &["buf", "inner", "ptr", "pointer", "pointer"],
        extent: Extent::Elements(&["len"]),
    },
    Layout {
        names: &["Vec<"],
        address: &["buf", "ptr", "pointer", "pointer"],
        extent: Extent::Elements(&["len"]),
    },
    Layout {
        names: &["vector<"],
        address: &["_M_impl", "_M_start"],
        extent: Extent::End(&["_M_impl", "_M_finish"]),
    },
    Layout { names: &["unique_ptr<"], address: &["_M_t", "_M_t", "_M_head_impl"], extent: Extent::One },
    Layout { names: &["shared_ptr<"], address: &["_M_ptr"], extent: Extent::One },
    Layout { names: &["Rc<", "Arc<"], address: &["ptr", "pointer"], extent: Extent::One },
];

/// The types of Go. The members of many others have such names, so the name decides.
const OF_GO: &[Layout] = &[
    Layout { names: &["string"], address: &["str"], extent: Extent::Text(&["len"]) },
    Layout { names: &["[]"], address: &["array"], extent: Extent::Elements(&["len"]) },
    Layout { names: &["[]uint8"], address: &["array"], extent: Extent::Text(&["len"]) },
];

impl Layout {
    fn is_of(&self, name: &str) -> bool {
        let is_beginning = |known: &str| !known.ends_with(|last: char| last.is_ascii_alphanumeric());
        // The length of an array is not in its pointer.
        let is_array = matches!(self.extent, Extent::One) && name.contains("[]");
        let is_named = |known: &&str| name == *known || is_beginning(known) && name.starts_with(known);
        !is_array && self.names.iter().any(is_named)
    }
}

impl Checker<'_> {
    /// Returns the text that a value with the members of a string has, whatever its type is called.
    pub(super) fn text_in(&self, value: &Expr, span: Span) -> Option<Memory> {
        let is_text = |layout: &&Layout| matches!(layout.extent, Extent::Text(_));
        let name = match value.ty.resolved() {
            Type::Record(record) => record.name.as_str(),
            _ => "",
        };
        let of_go = OF_GO.iter().filter(|layout| layout.is_of(name));
        let layouts = LAYOUTS.iter().chain(of_go).filter(is_text);
        layouts.into_iter().find_map(|layout| self.memory_by(layout, value, None, span))
    }

    /// Returns the memory that a value of a standard library's type refers to; `None` if it is of another type, or its
    /// members are not those that are known.
    pub(in crate::typeck) fn memory_of(&self, value: &Expr, record: &Tagged, span: Span) -> Option<Memory> {
        let layouts = LAYOUTS.iter().chain(OF_GO).filter(|layout| layout.is_of(&record.name));
        layouts.into_iter().find_map(|layout| self.memory_by(layout, value, Some(record), span))
    }

    fn memory_by(
        &self,
        layout: &Layout,
        value: &Expr,
        record: Option<&Tagged>,
        span: Span,
    ) -> Option<Memory> {
        let address = self.at_path(value, layout.address, span).filter(|address| address.ty.is_user())?;
        let to = self.complete(address.ty.referent()?.clone());
        let length = |path| self.at_path(value, path, span).filter(|length| length.ty.is_integer());
        let expr = |kind| Expr::new(kind, ULONG, span);
        let arith =
            |op, left, right| expr(ExprKind::Arith { op, left: Box::new(left), right: Box::new(right) });
        let number = |value: &Expr| expr(ExprKind::Convert(Box::new(value.clone())));
        let pointer_to = |address: Expr, of: Type| {
            let ty = Type::Pointer { to: Box::new(of), user: true };
            Expr::new(ExprKind::Convert(Box::new(address)), ty, span)
        };
        match layout.extent {
            Extent::Text(path) => {
                let bytes = length(path).filter(|_| self.layout.size(&to) == Some(1))?;
                Some(Memory { address, bytes, kind: Kind::Text })
            }
            Extent::Elements(path) => {
                // A vector of Rust has the type of its elements as its parameter only.
                let own = record.into_iter().flat_map(|record| self.types().parameters(record));
                let own = own.into_iter().find(|(name, _)| name == "T").map(|(_, ty)| self.complete(ty));
                let is_erased = self.layout.size(&to) == Some(1);
                let of = match own {
                    Some(own) if own.same(&to) || is_erased => own,
                    Some(_) => return None,
                    None => to,
                };
                let stride = self.layout.size(&of).filter(|stride| *stride > 0)?;
                let bytes = arith(ArithOp::Mul, number(&length(path)?), expr(ExprKind::Int(stride)));
                Some(Memory { address: pointer_to(address, of), bytes, kind: Kind::Elements })
            }
            Extent::End(path) => {
                let end = self.at_path(value, path, span)?;
                let is_like = end.ty.is_user() && end.ty.referent()?.same(address.ty.referent()?);
                (is_like && self.layout.size(&to)? > 0).then_some(())?;
                let bytes = arith(ArithOp::Sub, number(&end), number(&address));
                Some(Memory { address, bytes, kind: Kind::Elements })
            }
            Extent::One => self.memory_at(address, span),
        }
    }

    /// Returns the value that a pointer points to.
    pub(in crate::typeck) fn memory_at(&self, address: Expr, span: Span) -> Option<Memory> {
        let to = self.complete(address.ty.referent()?.clone());
        let size = self.layout.size(&to).filter(|size| *size > 0)?;
        // Nothing is at 0.
        let condition = Box::new(Expr::new(ExprKind::Convert(Box::new(address.clone())), ULONG, span));
        let [then, otherwise] = [size, 0].map(|size| Box::new(Expr::new(ExprKind::Int(size), ULONG, span)));
        let bytes = Expr::new(ExprKind::Conditional { condition, then, otherwise }, ULONG, span);
        Some(Memory { address, bytes, kind: Kind::One })
    }

    /// The member of a member, and so on; `None` if there is none, or it is a bit-field. Of several members with the last
    /// name, as base classes may have, it is the one that is a pointer or a number.
    fn at_path(&self, value: &Expr, path: Path, span: Span) -> Option<Expr> {
        let last = path.len().checked_sub(1)?;
        path.iter().enumerate().try_fold(value.clone(), |value, (index, name)| {
            let Type::Record(tagged) = value.ty.resolved() else { return None };
            let members = self.types().members(&self.types().complete(tagged));
            let found = members.into_iter().find(|member| {
                member.name == *name
                    && member.bits.is_none()
                    && member.variant.is_none()
                    && (index < last || member.ty.is_scalar())
            })?;
            let user = in_user_memory(&value);
            self.load_member(value, found, user, span).ok()
        })
    }
}

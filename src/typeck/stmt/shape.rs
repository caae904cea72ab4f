//! typeck/stmt/shape.rs: the layout in which print() shows a value: its numbers, strings and members, and the memory
//! of the process that it refers to.

use crate::typeck::expr::layouts::{Kind, Memory};
use crate::typeck::expr::member::{in_user_memory, is_repeatable};
use crate::typeck::state::Checker;
use crate::typeck::typed::{ArithOp, Expr, ExprKind, PrintedValue, Referent};
use kinst_base::source::Span;
use kinst_base::variant::Variant;
use kinst_dif::insn::Subr;
use kinst_dif::shape::{Contents, Part, Referring, Shape};
use kinst_types::intrinsic::{LONG, ULONG};
use kinst_types::{Member, Tagged, Type, TypeOrigin, TypeSource as _};

/// The limit on nested structs; real ones end long before, but a damaged file may nest without end.
const MAX_DEPTH: usize = 24;
/// The limit on members of the printed value, including members of nested structs.
const MAX_PARTS: usize = 1 << 14;
/// The limit on strings, vectors and referents that are copied with a value: each makes the program larger.
const MAX_REFERENTS: usize = 64;
/// The limit on pointers after each other that are followed.
const MAX_HOPS: usize = 3;
/// The limit on the elements that themselves refer to memory.
const MAX_REFERRING: u64 = 4;
/// The largest element, or value that a pointer points to, that is copied.
const MAX_BYTES: u64 = 1024;

impl Checker<'_> {
    /// Returns a value for print(), with its shape and the memory that it refers to.
    pub(in crate::typeck) fn printed_value(&self, value: Expr) -> PrintedValue {
        let span = value.span;
        let is_repeatable = is_repeatable(&value, &|id| self.names.variable(id).name.starts_with('%'));
        let mut shaping = Shaping { checker: self, left: MAX_PARTS, referents: Vec::new(), span };
        let found = Found { ty: &value.ty, value: is_repeatable.then_some(&value), hops: MAX_HOPS };
        let shape = shaping.shape(found, MAX_DEPTH);
        let referents = shaping.referents;
        PrintedValue { value: self.copied_in(value), shape, referents }
    }
}

/// The state of one walk.
struct Shaping<'c, 'e> {
    checker: &'c Checker<'e>,
    left: usize,
    referents: Vec<Referent>,
    span: Span,
}

/// A value inside the printed one.
#[derive(Clone, Copy)]
struct Found<'v> {
    ty: &'v Type,
    /// The expression that reads it again; `None` if there is none.
    value: Option<&'v Expr>,
    /// The number of pointers that may still be followed.
    hops: usize,
}

impl Shaping<'_, '_> {
    fn shape(&mut self, found: Found<'_>, depth: usize) -> Shape {
        let ty = self.checker.complete(found.ty.resolved().clone());
        let bytes = self.checker.layout.size(&ty).unwrap_or(0);
        let opaque = Shape::Bytes { bytes };
        let Some(depth) = depth.checked_sub(1) else { return opaque };
        if found.ty.is_wide_integer() {
            return Shape::Number { bytes: bytes as u32 };
        }
        if found.ty.is_long_double() {
            return Shape::Float { bytes: bytes as u32 };
        }
        match &ty {
            Type::String => Shape::Text { bytes },
            Type::Array { of, .. }
                if ty.is_string_compatible() && self.checker.layout.size(of) == Some(1) =>
            {
                Shape::Text { bytes }
            }
            Type::Array { of, len } => match self.checker.layout.size(of) {
                Some(stride) => {
                    let element = Found { ty: of, value: None, ..found };
                    Shape::Array { of: Box::new(self.shape(element, depth)), stride, len: *len }
                }
                None => opaque,
            },
            Type::Record(tagged) if tagged.bytes.is_some() => self.record(tagged, found, depth),
            Type::Enum(tagged) => {
                Shape::Enum { bytes: bytes as u32, values: self.checker.types().enumerators(tagged) }
            }
            Type::Float { bytes: 4 | 8, .. } => Shape::Float { bytes: bytes as u32 },
            _ if ty.is_pointer() => {
                let plain = Shape::Pointer { bytes: bytes as u32 };
                let is_reference = is_reference(found.ty);
                let memory = found.value.filter(|value| is_reference && value.ty.is_user());
                let memory = memory.and_then(|value| self.checker.memory_at(value.clone(), self.span));
                self.referring(memory, plain, found.hops, depth)
            }
            _ if ty.is_scalar() => Shape::Number { bytes: bytes as u32 },
            _ => opaque,
        }
    }

    fn record(&mut self, tagged: &Tagged, found: Found<'_>, depth: usize) -> Shape {
        let is_of_program = matches!(tagged.id.origin, TypeOrigin::File(_));
        let value = found.value.filter(|_| is_of_program);
        if let Some(shape) = self.optional(tagged, Found { value, ..found }, depth).filter(|_| is_of_program)
        {
            return shape;
        }
        let memory = value.and_then(|value| self.checker.memory_of(value, tagged, self.span));
        // The structure inside a string is of no interest, nor is what it refers to.
        let found = Found { value: value.filter(|_| memory.is_none()), ..found };
        let members = self.checker.types().members(tagged);
        let mut parts: Vec<Part> =
            members.iter().map_while(|member| self.part(member, found, depth)).collect();
        if is_of_program {
            let bases = self.checker.types().virtual_bases(tagged);
            parts.extend(bases.iter().map(|base| Part {
                type_name: format!("virtual {base}"),
                name: String::new(),
                offset: 0,
                bits: None,
                shape: Shape::Unplaced,
                variant: None,
            }));
        }
        self.referring(memory, Shape::Record(parts), found.hops, depth)
    }

    /// Returns the shape of std::optional of libstdc++, whose value exists if a flag is set.
    fn optional(&mut self, tagged: &Tagged, found: Found<'_>, depth: usize) -> Option<Shape> {
        tagged.name.starts_with("optional<").then_some(())?;
        let member = |tagged: &Tagged, name: &str| {
            let members = self.checker.types().members(tagged);
            members.into_iter().find(|member| member.name == name && member.bits.is_none())
        };
        let record = |member: &Member| match self.checker.complete(member.ty.clone()) {
            Type::Record(tagged) => Some(tagged),
            _ => None,
        };
        let payload = member(tagged, "_M_payload")?;
        let storage = member(&record(&payload)?, "_M_payload")?;
        let value = member(&record(&storage)?, "_M_value")?;
        let engaged = member(&record(&payload)?, "_M_engaged")?;
        (self.checker.layout.size(&engaged.ty) == Some(1)).then_some(())?;
        let variant = Variant {
            offset: (payload.bit_offset + engaged.bit_offset) / 8,
            bytes: 1,
            values: vec![1],
            others: Vec::new(),
        };
        let bit_offset = payload.bit_offset + storage.bit_offset + value.bit_offset;
        let member = Member { bit_offset, variant: Some(variant), ..value };
        Some(Shape::Record(self.part(&member, found, depth).into_iter().collect()))
    }

    /// Returns `None` if there are too many members.
    fn part(&mut self, member: &Member, found: Found<'_>, depth: usize) -> Option<Part> {
        self.left = self.left.checked_sub(1)?;
        let may_refer = member.bits.is_none() && (member.ty.is_by_ref() || is_reference(&member.ty));
        let value = found.value.filter(|_| may_refer).and_then(|base| {
            let user = in_user_memory(base);
            self.checker.load_member(base.clone(), member.clone(), user, self.span).ok()
        });
        let shape = self.shape(Found { ty: &member.ty, value: value.as_ref(), ..found }, depth);
        let bits = member.bits.map(|bits| ((member.bit_offset % 8) as u32, bits));
        let (type_name, name) = (member.ty.to_string(), member.name.clone());
        let variant = member.variant.clone();
        Some(Part { type_name, name, offset: member.bit_offset / 8, bits, shape, variant })
    }

    /// Returns the shape of a value that refers to this memory; the plain shape if it is not copied.
    fn referring(&mut self, memory: Option<Memory>, plain: Shape, hops: usize, depth: usize) -> Shape {
        let Some(memory) = memory.filter(|_| self.referents.len() < MAX_REFERENTS) else { return plain };
        let of = memory.address.ty.referent().cloned().unwrap_or(Type::Void);
        let of = self.checker.complete(of);
        let size = self.checker.layout.size(&of).unwrap_or(0);
        let strsize = u64::from(self.checker.env.strsize);
        let hops = match memory.kind {
            Kind::Text => hops,
            Kind::Elements | Kind::One if size == 0 || size > MAX_BYTES => return plain,
            Kind::Elements | Kind::One => match hops.checked_sub(1) {
                Some(hops) => hops,
                None => return plain,
            },
        };
        let most = match memory.kind {
            Kind::Text => strsize,
            Kind::Elements => (strsize / size).max(1) * size,
            Kind::One => size,
        };
        let Memory { address, bytes, kind } = memory;
        let record = self.referents.len();
        self.referents.push(Referent { pair: self.pair(&address, bytes), most: most as u32 });
        let contents = match kind {
            Kind::Text => Contents::Text,
            Kind::Elements => {
                let shapes = self.elements(&address, &of, (most / size, size), hops, depth);
                Contents::Elements { shapes, stride: size }
            }
            Kind::One => {
                let value = self.checker.dereference(address, self.span).ok();
                let shape = self.shape(Found { ty: &of, value: value.as_ref(), hops }, depth);
                Contents::Value { type_name: of.to_string(), shape }
            }
        };
        Shape::Referring(Box::new(Referring { record, contents, plain }))
    }

    /// Returns the shapes of the first elements: fewer if each refers to memory itself.
    fn elements(
        &mut self,
        address: &Expr,
        of: &Type,
        (count, size): (u64, u64),
        hops: usize,
        depth: usize,
    ) -> Vec<Shape> {
        let mut shapes = Vec::new();
        for index in 0..count {
            let before = self.referents.len();
            let value = self.element(address, index.saturating_mul(size));
            let found = Found { ty: of, value: value.as_ref(), hops };
            let shape = self.shape(found, depth);
            if index == 0 && self.referents.len() == before {
                return vec![shape; count as usize];
            }
            shapes.push(shape);
            let more = self.referents.len() - before;
            if index + 1 >= MAX_REFERRING || self.referents.len() + more > MAX_REFERENTS {
                break;
            }
        }
        shapes
    }

    fn element(&self, address: &Expr, offset: u64) -> Option<Expr> {
        let offset = Box::new(Expr::new(ExprKind::Int(offset), LONG, self.span));
        let sum = ExprKind::Arith { op: ArithOp::Add, left: Box::new(address.clone()), right: offset };
        self.checker.dereference(Expr::new(sum, address.ty.clone(), self.span), self.span).ok()
    }

    /// Returns the reference to memory that the action records.
    fn pair(&self, address: &Expr, bytes: Expr) -> Expr {
        let address = Expr::new(ExprKind::Convert(Box::new(address.clone())), ULONG, self.span);
        let args = vec![address, bytes];
        let ty = Type::pointer_to(ULONG);
        Expr::new(ExprKind::Call { subroutine: Subr::Memref, args }, ty, self.span)
    }
}

/// Whether the language guarantees that a pointer of this type points to a value: a reference, or a box of Rust.
fn is_reference(ty: &Type) -> bool {
    match ty {
        Type::Typedef { name, to } if matches!(**to, Type::Pointer { .. }) => {
            name.starts_with(['&']) || name.ends_with('&') || name.starts_with("alloc::boxed::Box<")
        }
        Type::Typedef { to, .. } => is_reference(to),
        _ => false,
    }
}

//! codegen/tests/property.rs: a property test: DIF of random integer expressions against an evaluator of the syntax tree.

use super::run;
use crate::codegen::error::Error;
use crate::codegen::generator::generate;
use crate::parser::ast::{BinaryOp, Expr, ExprKind, PostfixOp, TypeKeyword, TypeSpec, UnaryOp};
use crate::sugar::plain;
use crate::typeck::tests::{check_text, parse_text};
use kinst_dif::{Options, disasm};
use kinst_oracle::interp::Flt;
use proptest::prelude::*;
use std::collections::HashMap;

/// The variables of the generated expressions: name, type and initial value.
const VARIABLES: &[(&str, &str, i64)] = &[
    ("a", "int64_t", -5),
    ("b", "uint64_t", 77),
    ("c", "int", 3),
    ("d", "unsigned int", 1_000_000),
    ("e", "char", -1),
    ("f", "unsigned short", 0),
];

/// A value and its type: size in bytes and signedness.
#[derive(Clone, Copy, Debug)]
struct Value {
    bits: u64,
    bytes: u64,
    signed: bool,
}

impl Value {
    fn int(truth: bool) -> Value {
        Value { bits: truth.into(), bytes: 4, signed: true }
    }
}

/// Evaluates the tree as the language defines it, independently of registers; `None` is a division by zero.
struct Evaluator {
    variables: HashMap<String, Value>,
    elements: HashMap<u64, u64>,
}

impl Evaluator {
    fn eval(&mut self, expr: &Expr) -> Option<Value> {
        Some(match &expr.kind {
            ExprKind::Int { value, text } => literal(*value, text),
            ExprKind::Ident(name) => self.variables[name],
            ExprKind::Index { indices, .. } => {
                let key = self.eval(&indices[0])?;
                self.element(key.bits)
            }
            ExprKind::Unary { op: op @ (UnaryOp::PreInc | UnaryOp::PreDec), operand } => {
                let by = if *op == UnaryOp::PreInc { 1 } else { -1_i64 as u64 };
                self.step(operand, by)?.1
            }
            ExprKind::Postfix { op, operand } => {
                let by = if *op == PostfixOp::Inc { 1 } else { -1_i64 as u64 };
                self.step(operand, by)?.0
            }
            ExprKind::Unary { op, operand } => {
                let value = self.eval(operand)?;
                match op {
                    UnaryOp::Neg => Value { bits: value.bits.wrapping_neg(), ..value },
                    UnaryOp::BitNot => Value { bits: !value.bits, ..value },
                    UnaryOp::Not => Value::int(value.bits == 0),
                    _ => value,
                }
            }
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right)?,
            ExprKind::Conditional { condition, then, otherwise } => {
                let ty = self.type_of(expr);
                let taken = self.eval(condition)?.bits != 0;
                let value = self.eval(if taken { then } else { otherwise })?;
                Value { bits: value.bits, ..ty }
            }
            ExprKind::Comma { left, right } => {
                self.eval(left)?;
                self.eval(right)?
            }
            ExprKind::Cast { ty, operand } => {
                let value = self.eval(operand)?;
                cast(value, named(&ty.specs[0].node))
            }
            ExprKind::Assign { op: None, left, right } => {
                let value = self.eval(right)?;
                self.store(left, value.bits)?
            }
            ExprKind::Assign { op: Some(op), left, right } => self.update(*op, left, right)?,
            other => panic!("not generated: {other:?}"),
        })
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Value> {
        let l = self.eval(left)?;
        match op {
            BinaryOp::LogAnd if l.bits == 0 => return Some(Value::int(false)),
            BinaryOp::LogOr if l.bits != 0 => return Some(Value::int(true)),
            _ => {}
        }
        let r = self.eval(right)?;
        binary(op, l, r)
    }

    fn update(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Value> {
        let key = self.key(left)?;
        let old = self.load(left, key);
        let value = self.eval(right)?;
        // The operator computes in the type of the left side.
        let result = match op {
            BinaryOp::Div | BinaryOp::Rem => binary(op, old, Value { bits: value.bits, ..old })?,
            _ => binary(op, old, value)?,
        };
        Some(self.save(left, key, result.bits))
    }

    /// Returns the value before and after.
    fn step(&mut self, place: &Expr, by: u64) -> Option<(Value, Value)> {
        let key = self.key(place)?;
        let old = self.load(place, key);
        let new = self.save(place, key, old.bits.wrapping_add(by));
        Some((old, new))
    }

    fn store(&mut self, place: &Expr, bits: u64) -> Option<Value> {
        let key = self.key(place)?;
        Some(self.save(place, key, bits))
    }

    fn key(&mut self, place: &Expr) -> Option<u64> {
        match &place.kind {
            ExprKind::Index { indices, .. } => Some(self.eval(&indices[0])?.bits),
            _ => Some(0),
        }
    }

    fn load(&self, place: &Expr, key: u64) -> Value {
        match &place.kind {
            ExprKind::Ident(name) => self.variables[name],
            _ => self.element(key),
        }
    }

    fn save(&mut self, place: &Expr, key: u64, bits: u64) -> Value {
        match &place.kind {
            ExprKind::Ident(name) => {
                let value = self.variables.get_mut(name).unwrap();
                value.bits = extend(bits, value.bytes, value.signed);
                *value
            }
            _ => {
                self.elements.insert(key, bits);
                self.element(key)
            }
        }
    }

    fn element(&self, key: u64) -> Value {
        let bits = self.elements.get(&key).copied().unwrap_or(0);
        Value { bits, bytes: 8, signed: true }
    }

    /// The value of an expression that contains only constants.
    fn constant(&self, expr: &Expr) -> Option<u64> {
        let is_constant = |expr: &Expr| self.constant(expr).is_some();
        let made_of_constants = match &expr.kind {
            ExprKind::Int { .. } => true,
            ExprKind::Unary { op: UnaryOp::PreInc | UnaryOp::PreDec, .. } => false,
            ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => is_constant(operand),
            ExprKind::Binary { left, right, .. } => is_constant(left) && is_constant(right),
            ExprKind::Conditional { condition, then, otherwise } => self
                .constant(condition)
                .is_some_and(|value| is_constant(if value != 0 { then } else { otherwise })),
            _ => false,
        };
        let mut alone = Evaluator { variables: HashMap::new(), elements: HashMap::new() };
        made_of_constants.then(|| alone.eval(expr).map(|value| value.bits))?
    }

    /// Returns only the type, without effects.
    fn type_of(&self, expr: &Expr) -> Value {
        let zero = |bytes, signed| Value { bits: 0, bytes, signed };
        match &expr.kind {
            ExprKind::Int { value, text } => literal(*value, text),
            ExprKind::Ident(name) => self.variables[name],
            ExprKind::Index { .. } => zero(8, true),
            ExprKind::Unary { op: UnaryOp::Not, .. } => zero(4, true),
            ExprKind::Unary { operand, .. } | ExprKind::Postfix { operand, .. } => self.type_of(operand),
            ExprKind::Binary { op, left, right } => match binary_class(*op) {
                Class::Truth => zero(4, true),
                Class::Left => self.type_of(left),
                Class::Common => promote(self.type_of(left), self.type_of(right)),
            },
            // A constant selects the branch; otherwise both branches have the common type.
            ExprKind::Conditional { condition, then, otherwise } => match self.constant(condition) {
                Some(0) => self.type_of(otherwise),
                Some(_) => self.type_of(then),
                None => promote(self.type_of(then), self.type_of(otherwise)),
            },
            ExprKind::Comma { right, .. } => self.type_of(right),
            ExprKind::Cast { ty, .. } => named(&ty.specs[0].node),
            ExprKind::Assign { left, .. } => self.type_of(left),
            other => panic!("not generated: {other:?}"),
        }
    }
}

enum Class {
    Truth,
    Left,
    Common,
}

fn binary_class(op: BinaryOp) -> Class {
    use BinaryOp as B;
    match op {
        B::LogOr | B::LogXor | B::LogAnd | B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => Class::Truth,
        B::Shl | B::Shr => Class::Left,
        _ => Class::Common,
    }
}

fn binary(op: BinaryOp, l: Value, r: Value) -> Option<Value> {
    use BinaryOp as B;
    let ty = promote(l, r);
    let (a, b) = (l.bits, r.bits);
    let (sa, sb) = (a as i64, b as i64);
    let of = |ty: Value, bits: u64| Some(Value { bits, ..ty });
    let order = if ty.signed { sa.cmp(&sb) } else { a.cmp(&b) };
    match op {
        B::LogOr => Some(Value::int(a != 0 || b != 0)),
        B::LogXor => Some(Value::int((a != 0) != (b != 0))),
        B::LogAnd => Some(Value::int(a != 0 && b != 0)),
        B::BitOr => of(ty, a | b),
        B::BitXor => of(ty, a ^ b),
        B::BitAnd => of(ty, a & b),
        B::Eq => Some(Value::int(a == b)),
        B::Ne => Some(Value::int(a != b)),
        B::Lt => Some(Value::int(order.is_lt())),
        B::Le => Some(Value::int(order.is_le())),
        B::Gt => Some(Value::int(order.is_gt())),
        B::Ge => Some(Value::int(order.is_ge())),
        B::Shl => of(l, a << (b % 64)),
        B::Shr if l.signed => of(l, (sa >> (b % 64)) as u64),
        B::Shr => of(l, a >> (b % 64)),
        B::Add => of(ty, a.wrapping_add(b)),
        B::Sub => of(ty, a.wrapping_sub(b)),
        B::Mul => of(ty, a.wrapping_mul(b)),
        B::Div | B::Rem if b == 0 => None,
        B::Div if ty.signed => of(ty, sa.wrapping_div(sb) as u64),
        B::Div => of(ty, a / b),
        B::Rem if ty.signed => of(ty, sa.wrapping_rem(sb) as u64),
        B::Rem => of(ty, a % b),
    }
}

fn promote(l: Value, r: Value) -> Value {
    let rank = |v: Value| v.bytes * 8 + u64::from(!v.signed);
    if rank(l) >= rank(r) { l } else { r }
}

fn literal(value: u64, text: &str) -> Value {
    let unsigned = text.contains('u');
    match (text.contains('l'), unsigned) {
        (false, false) if value <= i32::MAX as u64 => Value { bits: value, bytes: 4, signed: true },
        (false, true) if value <= u32::MAX.into() => Value { bits: value, bytes: 4, signed: false },
        (_, unsigned) => Value { bits: value, bytes: 8, signed: !unsigned },
    }
}

fn named(spec: &TypeSpec) -> Value {
    let (bytes, signed) = match spec {
        TypeSpec::Name(name) => match name.as_str() {
            "int8_t" => (1, true),
            "uint8_t" => (1, false),
            "int16_t" => (2, true),
            "uint16_t" => (2, false),
            "uint32_t" => (4, false),
            "int64_t" => (8, true),
            "uint64_t" => (8, false),
            other => panic!("not generated: {other}"),
        },
        TypeSpec::Keyword(TypeKeyword::Int) => (4, true),
        other => panic!("not generated: {other:?}"),
    };
    Value { bits: 0, bytes, signed }
}

/// Casts a value. A narrowing cast truncates it; a widening one first reduces it to what the narrower type can hold.
fn cast(value: Value, to: Value) -> Value {
    let keep = if to.bytes >= 8 { value } else { to };
    Value { bits: extend(value.bits, keep.bytes, keep.signed), ..to }
}

fn extend(bits: u64, bytes: u64, signed: bool) -> u64 {
    let shift = 64 - 8 * bytes;
    if signed { (((bits << shift) as i64) >> shift) as u64 } else { bits << shift >> shift }
}

fn literal_text() -> impl Strategy<Value = String> {
    let value =
        prop_oneof![Just(0), Just(1), 2..10u64, any::<u32>().prop_map(u64::from), 0..=i64::MAX as u64];
    (value, prop_oneof![4 => Just(""), 1 => Just("u"), 1 => Just("l"), 1 => Just("ul")])
        .prop_map(|(value, suffix)| format!("{value}{suffix}"))
}

fn place_text(inner: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let name = (0..VARIABLES.len()).prop_map(|i| VARIABLES[i].0.to_string());
    prop_oneof![3 => name, 1 => inner.prop_map(|key| format!("m[(int64_t)({key})]"))]
}

fn expr_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![literal_text(), (0..VARIABLES.len()).prop_map(|i| VARIABLES[i].0.to_string()),];
    leaf.prop_recursive(9, 120, 3, |inner| {
        let inner = inner.boxed();
        let place = || place_text(inner.clone());
        let binary = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "&&",
            "||", "^^",
        ]);
        let ty = prop::sample::select(vec![
            "int8_t", "uint8_t", "int16_t", "uint16_t", "int", "uint32_t", "int64_t", "uint64_t",
        ]);
        let assign = prop::sample::select(vec!["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="]);
        prop_oneof![
            8 => (inner.clone(), binary, inner.clone()).prop_map(|(l, op, r)| format!("({l} {op} {r})")),
            2 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, t, e)| format!("({c} ? {t} : {e})")),
            2 => (prop::sample::select(vec!["-", "~", "!"]), inner.clone()).prop_map(|(op, v)| format!("{op} ({v})")),
            2 => (ty, inner.clone()).prop_map(|(ty, v)| format!("(({ty})({v}))")),
            1 => (inner.clone(), inner.clone()).prop_map(|(l, r)| format!("({l}, {r})")),
            1 => (place(), assign, inner.clone()).prop_map(|(p, op, v)| format!("({p} {op} {v})")),
            1 => (prop::sample::select(vec!["++", "--"]), place(), any::<bool>())
                .prop_map(|(op, p, post)| if post { format!("({p}{op})") } else { format!("({op}{p})") }),
            1 => place(),
        ]
    })
}

/// Returns the tree of the expression in the last statement, as parsed.
fn expression(text: &str) -> Expr {
    let plain = parse_text(text).unwrap();
    let Some(plain::Item::Clause(clause)) = plain.items.last() else { panic!("no clause") };
    let Some(last) = clause.body.as_ref().and_then(|body| body.last()) else { panic!("no statement") };
    match &last.kind {
        ExprKind::Call { args, .. } => args[0].clone(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    #[test]
    fn dif_computes_what_the_tree_says(expr in expr_text()) {
        let mut text = String::from("int64_t m[int64_t];\n");
        for (name, ty, _) in VARIABLES {
            text += &format!("{ty} {name};\n");
        }
        text += "BEGIN { ";
        for (name, ty, value) in VARIABLES {
            text += &format!("{name} = ({ty}){value}; ");
        }
        text += &format!("trace({expr}); }}");

        let checked = match check_text(&text) {
            // A constant divisor of zero is rejected before anything runs.
            Err(error) if error.tag.0 == "D_DIV_ZERO" => return Ok(()),
            checked => checked.map_err(|error| error.title).unwrap(),
        };
        let program = match generate(&checked) {
            Ok(program) => program,
            Err(error) => {
                let too_large = matches!(*error, Error::Object { .. });
                prop_assert!(too_large, "{:?}", error);
                return Ok(());
            }
        };
        let listing = disasm::program(&program);
        let verified = kinst_oracle::verify::verify_program(&program, &Options::default());
        prop_assert!(verified.is_ok(), "{:?}\n{}", verified, listing);

        let mut evaluator = Evaluator { variables: HashMap::new(), elements: HashMap::new() };
        for (name, ty, value) in VARIABLES {
            let signed = !ty.starts_with('u');
            let bytes = match *ty {
                "char" => 1,
                "unsigned short" => 2,
                "int" | "unsigned int" => 4,
                _ => 8,
            };
            let value = Value { bits: *value as u64, bytes, signed };
            evaluator.variables.insert(name.to_string(), value);
        }
        let expected = evaluator.eval(&expression(&text)).map(|value| value.bits);
        let found = run(&program).map(|values| values[0]);
        match expected {
            Some(expected) => prop_assert_eq!(found, Ok(expected), "{}", listing),
            None => prop_assert_eq!(found, Err(Flt::DIVZERO), "{}", listing),
        }
    }
}

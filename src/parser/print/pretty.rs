//! parser/print/pretty.rs: AST → D text, as a person would have written it.
//!
//! Literals stay as they were typed, parentheses appear only where precedence needs them, and the text parses
//! back to the same tree.

use std::fmt::{self, Write as _};

use crate::parser::ast::*;
use kinst_base::source::Spanned;

/// Prints the clauses of a program, each followed by an empty line, as `-d` shows them.
pub fn clauses<P: fmt::Display>(program: &Program<P>) -> String {
    let clauses = program.items.iter().filter_map(|item| match item {
        Item::Clause(clause) => Some(clause),
        _ => None,
    });
    clauses.map(|clause| format!("{clause}\n")).collect()
}

/// A binding strength: an operand that binds more weakly than its place requires gets parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

const COMMA: Level = Level(1);
const ASSIGNMENT: Level = Level(2);
const CONDITIONAL: Level = Level(3);
const CAST: Level = Level(15);
const UNARY: Level = Level(16);
const POSTFIX: Level = Level(17);
const PRIMARY: Level = Level(18);

impl BinaryOp {
    /// Returns the operator as D writes it.
    pub fn text(self) -> &'static str {
        match self {
            BinaryOp::LogOr => "||",
            BinaryOp::LogXor => "^^",
            BinaryOp::LogAnd => "&&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::BitAnd => "&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }

    /// Returns the binding strength, from that of `||` to that of `*`.
    pub fn level(self) -> Level {
        Level(match self {
            BinaryOp::LogOr => 4,
            BinaryOp::LogXor => 5,
            BinaryOp::LogAnd => 6,
            BinaryOp::BitOr => 7,
            BinaryOp::BitXor => 8,
            BinaryOp::BitAnd => 9,
            BinaryOp::Eq | BinaryOp::Ne => 10,
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 11,
            BinaryOp::Shl | BinaryOp::Shr => 12,
            BinaryOp::Add | BinaryOp::Sub => 13,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 14,
        })
    }
}

impl UnaryOp {
    /// Returns the operator or word as D writes it, without a space after it.
    pub fn text(self) -> &'static str {
        match self {
            UnaryOp::PreInc => "++",
            UnaryOp::PreDec => "--",
            UnaryOp::AddrOf => "&",
            UnaryOp::Deref => "*",
            UnaryOp::Plus => "+",
            UnaryOp::Neg => "-",
            UnaryOp::BitNot => "~",
            UnaryOp::Not => "!",
            UnaryOp::Sizeof => "sizeof",
            UnaryOp::Stringof => "stringof",
        }
    }
}

impl PostfixOp {
    /// Returns the operator as D writes it.
    pub fn text(self) -> &'static str {
        match self {
            PostfixOp::Inc => "++",
            PostfixOp::Dec => "--",
        }
    }
}

impl Scope {
    /// Returns the word as D writes it, without the `->`.
    pub fn text(self) -> &'static str {
        match self {
            Scope::SelfThread => "self",
            Scope::This => "this",
        }
    }
}

impl Storage {
    /// Returns the word as D writes it.
    pub fn text(self) -> &'static str {
        match self {
            Storage::Auto => "auto",
            Storage::Register => "register",
            Storage::Static => "static",
            Storage::Extern => "extern",
            Storage::Typedef => "typedef",
            Storage::SelfThread => "self",
            Storage::This => "this",
        }
    }
}

fn level(kind: &ExprKind) -> Level {
    match kind {
        ExprKind::Comma { .. } => COMMA,
        ExprKind::Assign { .. } => ASSIGNMENT,
        ExprKind::Conditional { .. } => CONDITIONAL,
        ExprKind::Binary { op, .. } => op.level(),
        ExprKind::Cast { .. } => CAST,
        ExprKind::Unary { .. } | ExprKind::SizeofType { .. } => UNARY,
        ExprKind::Postfix { .. }
        | ExprKind::Call { .. }
        | ExprKind::Index { .. }
        | ExprKind::Member { .. }
        | ExprKind::Offsetof { .. }
        | ExprKind::Xlate { .. } => POSTFIX,
        ExprKind::Int { .. }
        | ExprKind::Char { .. }
        | ExprKind::Str { .. }
        | ExprKind::Ident(_)
        | ExprKind::Aggregation(_)
        | ExprKind::Scope(_) => PRIMARY,
    }
}

/// Always prints the four fields, empty ones included.
impl fmt::Display for ProbeDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ProbeDescKind::Id(id) => write!(f, "{id}"),
            ProbeDescKind::Fields(fields) => write!(f, "{fields}"),
        }
    }
}

/// Prints a clause, ending with a newline after the closing brace.
impl<P: fmt::Display> fmt::Display for Clause<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, probe) in self.probes.iter().enumerate() {
            let comma = if at + 1 < self.probes.len() { "," } else { "" };
            writeln!(f, "{probe}{comma}")?;
        }
        if let Some(predicate) = &self.predicate {
            let text = predicate.to_string();
            // `/*` would begin a comment.
            let blank = if text.starts_with('*') { " " } else { "" };
            writeln!(f, "/{blank}{text}/")?;
        }
        writeln!(f, "{{")?;
        write_block(f, self.body.as_deref().unwrap_or_default(), 1)?;
        writeln!(f, "}}")
    }
}

fn write_block(f: &mut fmt::Formatter<'_>, block: &[Stmt], depth: usize) -> fmt::Result {
    for stmt in block {
        indent(f, depth)?;
        match stmt {
            Stmt::Expr(expr) => writeln!(f, "{expr};")?,
            Stmt::If(branch) => write_if(f, branch, depth)?,
        }
    }
    Ok(())
}

fn write_if(f: &mut fmt::Formatter<'_>, branch: &If, depth: usize) -> fmt::Result {
    let mut branch = branch;
    loop {
        writeln!(f, "if ({}) {{", branch.condition)?;
        write_block(f, &branch.then, depth + 1)?;
        indent(f, depth)?;
        match branch.otherwise.as_deref() {
            None => return writeln!(f, "}}"),
            Some([Stmt::If(next)]) => {
                f.write_str("} else ")?;
                branch = next;
            }
            Some(block) => {
                writeln!(f, "}} else {{")?;
                write_block(f, block, depth + 1)?;
                indent(f, depth)?;
                return writeln!(f, "}}");
            }
        }
    }
}

pub(super) fn indent(f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    write!(f, "{:width$}", "", width = 8 * depth)
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Int { text, .. } | ExprKind::Char { text, .. } | ExprKind::Str { text, .. } => {
                f.write_str(text)
            }
            ExprKind::Ident(name) => f.write_str(name),
            // The unnamed aggregation is `_` in the tree.
            ExprKind::Aggregation(name) if name == "_" => f.write_str("@"),
            ExprKind::Aggregation(name) => write!(f, "@{name}"),
            ExprKind::Scope(scope) => f.write_str(scope.text()),
            ExprKind::Unary { op, operand } => write_unary(f, *op, operand),
            ExprKind::Postfix { op, operand } => write!(f, "{}{}", At(operand, POSTFIX), op.text()),
            ExprKind::Binary { op, left, right } => {
                let own = op.level();
                write!(f, "{} {} {}", At(left, own), op.text(), At(right, Level(own.0 + 1)))
            }
            ExprKind::Assign { op, left, right } => {
                let op = op.map_or("", BinaryOp::text);
                write!(f, "{} {op}= {}", At(left, UNARY), At(right, ASSIGNMENT))
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                let condition = At(condition, BinaryOp::LogOr.level());
                write!(f, "{condition} ? {} : {}", At(then, COMMA), At(otherwise, CONDITIONAL))
            }
            ExprKind::Comma { left, right } => write!(f, "{}, {}", At(left, COMMA), At(right, ASSIGNMENT)),
            ExprKind::Call { callee, args } => write!(f, "{}({})", callee.node, Listed(args)),
            ExprKind::Index { base, indices } => write!(f, "{}[{}]", At(base, POSTFIX), Listed(indices)),
            ExprKind::Member { base, arrow, member } => write_member(f, base, *arrow, &member.node),
            ExprKind::Cast { ty, operand } => write!(f, "({ty}){}", At(operand, CAST)),
            ExprKind::SizeofType { ty } => write!(f, "sizeof({ty})"),
            ExprKind::Offsetof { ty, member } => write!(f, "offsetof({ty}, {})", member.node),
            ExprKind::Xlate { ty, operand } => write!(f, "xlate <{ty}>({operand})"),
        }
    }
}

fn write_unary(f: &mut fmt::Formatter<'_>, op: UnaryOp, operand: &Expr) -> fmt::Result {
    let least = match op {
        UnaryOp::Sizeof | UnaryOp::Stringof => return write!(f, "{}({operand})", op.text()),
        UnaryOp::PreInc | UnaryOp::PreDec => UNARY,
        _ => CAST,
    };
    let operand = At(operand, least).to_string();
    // Two signs in a row would be read as one operator: -(-x), &(&x).
    let sign = op.text();
    match sign != "*" && sign != "!" && sign != "~" && operand.starts_with(&sign[..1]) {
        true => write!(f, "{sign}({operand})"),
        false => write!(f, "{sign}{operand}"),
    }
}

fn write_member(f: &mut fmt::Formatter<'_>, base: &Expr, arrow: bool, member: &str) -> fmt::Result {
    // `1.x` would be read as a floating-point constant, `` a.b`c `` as a scoped name.
    let number = matches!(base.kind, ExprKind::Int { .. });
    match (arrow, number) {
        (true, _) => write!(f, "{}->{member}", At(base, POSTFIX)),
        (false, true) => write!(f, "({base}).{member}"),
        (false, false) if member.contains('`') => write!(f, "{} . {member}", At(base, POSTFIX)),
        (false, false) => write!(f, "{}.{member}", At(base, POSTFIX)),
    }
}

/// An expression at a place that requires a binding strength.
struct At<'a>(&'a Expr, Level);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match level(&self.0.kind) < self.1 {
            true => write!(f, "({})", self.0),
            false => write!(f, "{}", self.0),
        }
    }
}

struct Listed<'a>(&'a [Expr]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, expr) in self.0.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{}", At(expr, ASSIGNMENT))?;
        }
        Ok(())
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let declarator = declarator_text("", &self.derived);
        let blank = if declarator.is_empty() { "" } else { " " };
        write!(f, "{}{blank}{declarator}", words(None, &self.specs))
    }
}

impl fmt::Display for TypeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeSpec::Keyword(keyword) => f.write_str(keyword.word()),
            TypeSpec::Name(name) => f.write_str(name),
            TypeSpec::Tag { kind, name } => write!(f, "{} {name}", kind.text()),
            TypeSpec::Record(record) => {
                write!(f, "{}{} {{ ", record.kind.text(), tag(&record.name))?;
                record.members.iter().try_for_each(|member| write!(f, "{member} "))?;
                f.write_str("}")
            }
            TypeSpec::Enum(definition) => {
                let enumerators = definition.enumerators.iter().map(|(name, value)| match value {
                    Some(value) => format!("{} = {}", name.node, At(value, CONDITIONAL)),
                    None => name.node.clone(),
                });
                let enumerators: Vec<String> = enumerators.collect();
                write!(f, "enum{} {{ {} }}", tag(&definition.name), enumerators.join(", "))
            }
        }
    }
}

fn tag(name: &Option<Spanned<String>>) -> String {
    name.as_ref().map(|name| format!(" {}", name.node)).unwrap_or_default()
}

/// `int a, b : 3;`
impl fmt::Display for MemberDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.members.iter().map(|member| {
            let mut text = member
                .declarator
                .as_ref()
                .map(|declarator| declarator_text(&declarator.name.node, &declarator.derived))
                .unwrap_or_default();
            if let Some(bits) = &member.bits {
                text += if text.is_empty() { ": " } else { " : " };
                text += &At(bits, CONDITIONAL).to_string();
            }
            text
        });
        let space = if self.members.is_empty() { "" } else { " " };
        let members = members.collect::<Vec<_>>().join(", ");
        write!(f, "{}{space}{members};", words(None, &self.specs))
    }
}

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&words(self.storage.as_ref(), &self.specs))?;
        for (at, declarator) in self.declarators.iter().enumerate() {
            let comma = if at > 0 { ", " } else { " " };
            write!(f, "{comma}{}", declarator_text(&declarator.name.node, &declarator.derived))?;
        }
        f.write_str(";")
    }
}

/// Prints a storage class and the specifiers after it.
fn words(storage: Option<&Spanned<Storage>>, specs: &[Spanned<TypeSpec>]) -> String {
    let storage = storage.into_iter().map(|storage| storage.node.text().to_owned());
    storage.chain(specs.iter().map(|spec| spec.node.to_string())).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Inline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let declarator = declarator_text(&self.declarator.name.node, &self.declarator.derived);
        let words = words(self.storage.as_ref(), &self.specs);
        write!(f, "inline {words} {declarator} = {};", At(&self.value, ASSIGNMENT))
    }
}

impl fmt::Display for Translator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let input = declarator_text(&self.parameter.node, &self.input.derived);
        writeln!(f, "translator {} < {} {input} > {{", self.output, words(None, &self.input.specs))?;
        for (name, value) in &self.members {
            indent(f, 1)?;
            writeln!(f, "{} = {};", name.node, At(value, ASSIGNMENT))?;
        }
        f.write_str("};")
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dots = self.variadic.then(|| "...".to_owned());
        let list: Vec<String> = self.list.iter().map(Param::to_string).chain(dots).collect();
        f.write_str(&list.join(", "))
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_ref().map(|name| name.node.as_str()).unwrap_or_default();
        let declarator = declarator_text(name, &self.ty.derived);
        let blank = if declarator.is_empty() { "" } else { " " };
        write!(f, "{}{blank}{declarator}", words(self.storage.as_ref(), &self.ty.specs))
    }
}

impl fmt::Display for Pragma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("#pragma D ")?;
        match self {
            Pragma::Option { name, value: None, .. } => write!(f, "option {}", name.node),
            Pragma::Option { name, value: Some(value), .. } => {
                write!(f, "option {}={}", name.node, value.node)
            }
            Pragma::Attributes { attributes, of, .. } => match of {
                PragmaSubject::Identifier(name) => {
                    write!(f, "attributes {} {}", attributes.node, name.node)
                }
                PragmaSubject::Provider { name, part } => {
                    write!(f, "attributes {} provider {} {}", attributes.node, name.node, part.node)
                }
            },
            Pragma::Binding { version, name, .. } => {
                write!(f, "binding \"{}\" {}", version.node, name.node)
            }
            Pragma::DependsOn { class, name, .. } => write!(f, "depends_on {} {}", class.node, name.node),
        }
    }
}

/// Prints the declarator around a name, from the outermost step of the type to the innermost.
fn declarator_text(name: &str, derived: &[Derived]) -> String {
    let mut text = name.to_owned();
    let mut after_pointer = false;
    for step in derived {
        if let Derived::Pointer { qualifiers } = step {
            let words: String = qualifiers.iter().map(|q| format!("{} ", q.word())).collect();
            text = format!("*{words}{text}").trim_end().to_owned();
            after_pointer = true;
            continue;
        }
        if std::mem::take(&mut after_pointer) {
            text = format!("({text})");
        }
        let written = match step {
            Derived::Pointer { .. } => Ok(()),
            Derived::Array(None) => write!(text, "[]"),
            Derived::Array(Some(size)) => write!(text, "[{}]", At(size, CONDITIONAL)),
            Derived::AssocArray(keys) => write!(text, "[{keys}]"),
            Derived::Function(params) => write!(text, "({params})"),
        };
        // Writing to a String does not fail.
        debug_assert!(written.is_ok());
    }
    text
}

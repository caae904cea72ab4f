//! parser/dump.rs: the tree as indented text, one node a line, for -x dump=ast and -xtree=1.

use std::fmt::Write as _;

use super::ast::*;

/// A program's tree.
pub fn program(program: &Program) -> String {
    let mut out = Dump::default();
    for item in &program.items {
        match item {
            Item::Clause(clause) => out.clause(clause),
            Item::Pragma(Pragma::Option { name, value, .. }) => match value {
                Some(value) => out.line(0, format_args!("option {} = {}", name.node, value.node)),
                None => out.line(0, format_args!("option {}", name.node)),
            },
            Item::Declaration(declaration) => out.declaration(declaration),
        }
    }
    out.text
}

/// An expression's tree.
pub fn expression(expr: &Expr) -> String {
    let mut out = Dump::default();
    out.expr(0, expr);
    out.text
}

#[derive(Default)]
struct Dump {
    text: String,
}

impl Dump {
    fn line(&mut self, depth: usize, words: std::fmt::Arguments<'_>) {
        let written = writeln!(self.text, "{:width$}{words}", "", width = 2 * depth);
        // Writing to a String does not fail.
        debug_assert!(written.is_ok());
    }

    fn clause(&mut self, clause: &Clause) {
        self.line(0, format_args!("clause"));
        for probe in &clause.probes {
            match &probe.kind {
                ProbeDescKind::Id(id) => self.line(1, format_args!("probe id {id}")),
                ProbeDescKind::Fields(fields) => self.line(1, format_args!("probe {fields}")),
            }
        }
        if let Some(predicate) = &clause.predicate {
            self.line(1, format_args!("predicate"));
            self.expr(2, predicate);
        }
        if let Some(body) = &clause.body {
            self.line(1, format_args!("body"));
            self.block(2, body);
        }
    }

    fn declaration(&mut self, declaration: &Declaration) {
        self.line(0, format_args!("declaration"));
        if let Some(storage) = &declaration.storage {
            self.line(1, format_args!("storage {}", storage.node.text()));
        }
        for spec in &declaration.specs {
            self.line(1, format_args!("type {}", spec.node));
        }
        for declarator in &declaration.declarators {
            self.line(1, format_args!("name {}", declarator.name.node));
            self.derived(2, &declarator.derived);
        }
    }

    fn block(&mut self, depth: usize, block: &[Stmt]) {
        for stmt in block {
            match stmt {
                Stmt::Expr(expr) => self.expr(depth, expr),
                Stmt::If(branch) => {
                    self.line(depth, format_args!("if"));
                    self.expr(depth + 1, &branch.condition);
                    self.line(depth, format_args!("then"));
                    self.block(depth + 1, &branch.then);
                    if let Some(otherwise) = &branch.otherwise {
                        self.line(depth, format_args!("else"));
                        self.block(depth + 1, otherwise);
                    }
                }
            }
        }
    }

    fn expr(&mut self, depth: usize, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int { value, text } if *text == value.to_string() => {
                self.line(depth, format_args!("int {text}"))
            }
            ExprKind::Int { value, text } => self.line(depth, format_args!("int {text} = {value}")),
            ExprKind::Char { value, text } => self.line(depth, format_args!("char {text} = {value}")),
            ExprKind::Str { text, .. } => self.line(depth, format_args!("string {text}")),
            ExprKind::Ident(name) => self.line(depth, format_args!("name {name}")),
            ExprKind::Aggregation(name) => self.line(depth, format_args!("aggregation @{name}")),
            ExprKind::Scope(scope) => self.line(depth, format_args!("{}", scope.text())),
            ExprKind::Unary { op, .. } => self.line(depth, format_args!("unary {}", op.text())),
            ExprKind::Postfix { op, .. } => self.line(depth, format_args!("postfix {}", op.text())),
            ExprKind::Binary { op, .. } => self.line(depth, format_args!("binary {}", op.text())),
            ExprKind::Assign { op, .. } => {
                self.line(depth, format_args!("assign {}=", op.map_or("", BinaryOp::text)));
            }
            ExprKind::Conditional { .. } => self.line(depth, format_args!("conditional")),
            ExprKind::Comma { .. } => self.line(depth, format_args!("comma")),
            ExprKind::Call { callee, .. } => self.line(depth, format_args!("call {}", callee.node)),
            ExprKind::Index { .. } => self.line(depth, format_args!("index")),
            ExprKind::Member { arrow, member, .. } => {
                self.line(depth, format_args!("member {}{}", if *arrow { "->" } else { "." }, member.node));
            }
            ExprKind::Cast { ty, .. } => self.ty(depth, "cast", ty),
            ExprKind::SizeofType { ty } => self.ty(depth, "sizeof type", ty),
            ExprKind::Offsetof { ty, member } => {
                self.ty(depth, "offsetof", ty);
                self.line(depth + 1, format_args!("member {}", member.node));
            }
            ExprKind::Xlate { ty, .. } => self.ty(depth, "xlate", ty),
        }
        super::visit::each_operand(expr, &mut |operand| self.expr(depth + 1, operand));
    }

    fn ty(&mut self, depth: usize, what: &str, ty: &TypeName) {
        let specs: Vec<String> = ty.specs.iter().map(|spec| spec.node.to_string()).collect();
        self.line(depth, format_args!("{what} {}", specs.join(" ")));
        self.derived(depth + 1, &ty.derived);
    }

    fn derived(&mut self, depth: usize, derived: &[Derived]) {
        for step in derived {
            match step {
                Derived::Pointer { qualifiers } => {
                    let words: String = qualifiers.iter().map(|q| format!(" {}", q.word())).collect();
                    self.line(depth, format_args!("pointer{words}"));
                }
                Derived::Array(None) => self.line(depth, format_args!("array")),
                Derived::Array(Some(size)) => {
                    self.line(depth, format_args!("array of"));
                    self.expr(depth + 1, size);
                }
                Derived::AssocArray(keys) => {
                    self.line(depth, format_args!("associative array"));
                    keys.iter().for_each(|key| self.ty(depth + 1, "key", key));
                }
                Derived::Function(params) => {
                    self.line(depth, format_args!("function"));
                    params.iter().for_each(|param| self.ty(depth + 1, "parameter", param));
                }
            }
        }
    }
}
